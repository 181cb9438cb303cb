// The period of a wait that polls: p2 tries on a phase that does not complete; out[i] = cycles of a try.
// STYLE 0: all lanes; 1: lane 0 in a branch, the others parked; 2: lane 0, the others have exited.
// TEST 1: test_wait in place of try_wait.  PAD: dependent FFMA beside the try.
#ifndef STYLE
#define STYLE 1
#define TEST 0
#define PAD 0
#endif
DEV u32 one_try(u32 bar) {
#if TEST
  u32 ok;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;"
               " selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(bar) : "memory");
  return ok;
#else
  return try_wait(bar, 0);
#endif
}
extern "C" __global__ void poll(KERNEL_ARGS) {
  u32 bar = saddr(smem);
  init_barriers(bar, 1, 1);
  float x = p0;
#if STYLE == 2
  if (threadIdx.x) return;
#endif
  for (int i = 0; i < 8; ++i) {
    if (STYLE == 0 || threadIdx.x == 0) {
      u64 t0 = clk();
      u32 n = 0;
#pragma unroll 1
      while (n < (u32)p2 && !one_try(bar)) {
        ++n;
#pragma unroll
        for (int k = 0; k < PAD; ++k) x = ffma(x, x, x);
      }
      u64 t1 = clk();
      if (threadIdx.x == 0) out[i] = t1 - t0;
    }
#if STYLE != 2
    __syncwarp();
#endif
  }
  if (x == 1234.5f) out[100] = 1;
}
