// Bandwidth of L2 and DRAM by bulk loads, and plain load latency.

// Each active CTA keeps p0 copies of BOX bytes in flight for p2 turns; CTA i starts at i * p1 and
// moves on by STEP bytes a turn, wrapping after WRAP bytes.  mask[smid] selects the CTAs that take
// part (the first 1024 bytes of `data` hold it when p3 = 1).  out[4 b ..] = cycles, start and end by
// globaltimer, smid.
#ifndef BOX
#define BOX 16384
#define STEP 16384
#define WRAP 131072
#endif
extern "C" __global__ void stream(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bars = saddr(smem), dst = saddr(smem) + 1024;
  init_barriers(bars, 32, 1);
  if (threadIdx.x != 0) return;
  u32 sm = smid();
  u64* row = out + 4 * blockIdx.x;
  if (p3 && !((volatile unsigned char*)data)[sm]) { row[0] = 0; row[3] = sm; return; }
  const char* base = data + 4096 + (u64)blockIdx.x * (u64)p1;
  u64 at = 0;
  for (int s = 0; s < p0; ++s) {
    mbar_expect(bars + 8 * s, BOX);
    bulk_load(dst + s * BOX, base + at, BOX, bars + 8 * s);
    at += STEP;
    if (at >= WRAP) at = 0;
  }
  u32 slot = 0, phase = 0;
  u64 g0 = gtime(), t0 = clk();
  for (int i = 0; i < p2; ++i) {
    u32 bar = bars + 8 * slot;
    wait(bar, phase, deadline, abort_word);
    mbar_expect(bar, BOX);
    bulk_load(dst + slot * BOX, base + at, BOX, bar);
    at += STEP;
    if (at >= WRAP) at = 0;
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
  }
  u64 t1 = clk(), g1 = gtime();
  for (int s = 0; s < p0; ++s) {
    wait(bars + 8 * slot, phase, deadline, abort_word);
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
  }
  row[0] = t1 - t0; row[1] = g0; row[2] = g1; row[3] = sm;
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
