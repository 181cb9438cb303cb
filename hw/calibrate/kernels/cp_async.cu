// cp.async, 16 bytes for each lane; compile-time I instructions of each warp in a group, S groups in
// flight.
#ifndef I
#define I 4
#define S 2
#endif

#ifndef MBARRIER
#define MBARRIER 0
#endif

// One group: out[i] = cycles to wait_group 0 (MBARRIER 0) or to a wait on an mbarrier that the copies
// arrive on, out[p2 + i] = cycles of issue; p1 = stride of samples.
extern "C" __global__ void cp_latency(KERNEL_ARGS) {
  u32 dst = saddr(smem) + threadIdx.x * 16;
#if MBARRIER
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem) + 36000;
  init_barriers(bar, 1, blockDim.x);
#endif
  for (int i = -4; i < p2; ++i) {
    const char* src = data + (u64)(i + 4) * p1 + threadIdx.x * 16;
    __syncthreads();
    u64 t0 = clk();
#pragma unroll
    for (int k = 0; k < I; ++k) cp16(dst + k * 4096, src + k * 4096);
    u64 t1 = clk();
#if MBARRIER
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(bar) : "memory");
    wait(bar, i & 1, deadline, abort_word);
#else
    cp_commit();
    cp_wait<0>();
#endif
    u64 t2 = clk();
    if (threadIdx.x == 0 && i >= 0) { out[i] = t2 - t0; out[p2 + i] = t1 - t0; }
    __syncthreads();
  }
}

// A pipeline of S groups: out[blockIdx.x] = cycles of p2 turns.  Each CTA reads its own p1 bytes
// again and again.
extern "C" __global__ void cp_rate(KERNEL_ARGS) {
  u32 dst = saddr(smem) + threadIdx.x * 16;
  const char* base = data + (u64)blockIdx.x * p1 + threadIdx.x * 16;
  u32 step = I * blockDim.x * 16, at = 0, slot = 0;
#pragma unroll
  for (int s = 0; s < S - 1; ++s) {
#pragma unroll
    for (int k = 0; k < I; ++k) cp16(dst + s * step + k * blockDim.x * 16, base + k * blockDim.x * 16);
    cp_commit();
  }
  __syncthreads();
  u64 t0 = clk();
  for (int i = 0; i < p2; ++i) {
    u32 d = dst + slot * step;
    const char* s = base + at;
#pragma unroll
    for (int k = 0; k < I; ++k) cp16(d + k * blockDim.x * 16, s + k * blockDim.x * 16);
    cp_commit();
    cp_wait<S - 1>();
    at += step;
    if (at >= (u32)p1) at = 0;
    if (++slot == S) slot = 0;
  }
  cp_wait<0>();
  u64 t1 = clk();
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = t1 - t0;
}
