// Bandwidth of L2 and DRAM by bulk loads, and plain load latency.

// Each active CTA keeps p0 tensor loads of BOX bytes in flight for p2 turns; CTA i starts at row
// i * p1 and moves on by BOX a turn, wrapping after WRAP bytes.  All lanes wait, one issues.
// mask[smid] selects the CTAs that take part (the first 1024 bytes of `data` hold it when p3 = 1).
// out[4 b ..] = cycles, start and end by globaltimer, smid.
#ifndef BOX
#define BOX 16384
#define WRAP 131072
#endif
extern "C" __global__ void stream(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bars = saddr(smem), dst = saddr(smem) + 1024;
  init_barriers(bars, 32, 1);
  u32 sm = smid();
  u64* row = out + 4 * blockIdx.x;
  if (p3 && !((volatile unsigned char*)data)[sm]) {
    if (threadIdx.x == 0) { row[0] = 0; row[3] = sm; }
    return;
  }
  int base = 8 + blockIdx.x * p1, at = 0;
  for (int s = 0; s < p0; ++s) {
    if (elect()) {
      mbar_expect(bars + 8 * s, BOX);
      tensor_load(dst + s * BOX, &m, 0, base + at, bars + 8 * s);
    }
    at += BOX / 128;
    if (at >= WRAP / 128) at = 0;
  }
  u32 slot = 0, phase = 0;
  u64 g0 = gtime(), t0 = clk();
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    u32 bar = bars + 8 * slot;
    wait(bar, phase, deadline, abort_word);
    if (elect()) {
      mbar_expect(bar, BOX);
      tensor_load(dst + slot * BOX, &m, 0, base + at, bar);
    }
    at += BOX / 128;
    if (at >= WRAP / 128) at = 0;
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
  }
  u64 t1 = clk(), g1 = gtime();
  for (int s = 0; s < p0; ++s) {
    wait(bars + 8 * slot, phase, deadline, abort_word);
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
  }
  if (threadIdx.x == 0) { row[0] = t1 - t0; row[1] = g0; row[2] = g1; row[3] = sm; }
}

// Read p0 MB, so that L2 holds only clean lines of this data.
extern "C" __global__ void sweep(KERNEL_ARGS) {
  u64 count = (u64)p0 << 16;
  uint4 sum = make_uint4(0, 0, 0, 0);
  for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    uint4 v = ((const uint4*)data)[i];
    sum.x ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum.x == 0x12345678u) out[0] = sum.x;
}

// Chains of eight dependent plain loads past L1: out[i] = cycles of a chain; stride p1, p3 = 0.
extern "C" __global__ void load_latency(KERNEL_ARGS) {
  if (threadIdx.x) return;
  u32 a = saddr(smem), v = 0;
  u64 at = 0;
  for (int i = 0; i < p2; ++i) {
    u64 t0 = clk();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(data + at) : "memory");
      at += (u64)p1 + (v & (u32)p3);
    }
    sts(a, v);
    out[i] = clk() - t0;
  }
}

// SMs that share a cluster are of one GPC: out[blockIdx.x] = smid.
extern "C" __global__ void where(KERNEL_ARGS) {
  u64 t0 = clk();
  while (clk() - t0 < 20000) {}
  if (threadIdx.x == 0) out[blockIdx.x] = smid();
}
