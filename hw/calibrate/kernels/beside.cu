// Arithmetic of other warps beside a full tensor core.  wgmma.cu stands in front of this.

// Warps 0..3: p2 groups of D wgmma, or p2 * 1000 cycles of nothing (BUSY 0).  The warps behind them repeat
// OP until those are through.  out[0] = cycles of warpgroup 0; out[2 w], out[2 w + 1] = turns of 256 OP and
// cycles of warp w.  OP 0: FFMA that reads one register and a uniform one, 1 maximum, 2 IMAD, 3 conversion to
// bf16x2, 4 ex2, 5 ex2 with the FFMA before it and the FADD behind it, 6 shuffle, 7 FADD, 8 FFMA of three registers.
#define CHAINS 8
#define EACH 256
extern "C" __global__ void __launch_bounds__(384, 1) beside(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 warp = uniform_warp();
  volatile u32* over = (volatile u32*)(smem + 512);
  if (threadIdx.x == 0) *over = 0;
  OPERANDS;
  fill_operands();
  if (warp < 4) {
    u64 t0 = clk();
#if BUSY
#pragma unroll 1
    for (int g = 0; g < p2; ++g) {
      wg_fence();
#pragma unroll
      for (int k = 0; k < D; ++k) wgmma(d, SLICE(k), b + 2 * (k & 3));
      wg_commit();
      wg_wait<WAIT>();
    }
    wg_wait<0>();
    hold(d);
#else
    while (clk() - t0 < (u64)p2 * 1000) {}
#endif
    u64 t1 = clk();
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) { *over = 1; out[0] = t1 - t0; }
    KEEP;
    return;
  }
  u32 x[CHAINS], s = 0, turns = 0, e = p0 | 3, f = p1 | 5;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) x[c] = threadIdx.x + c + p3;
#if OP == 8
  u32 y = threadIdx.x | 3, z = threadIdx.x | 5;
#endif
  u64 t0 = clk(), t1 = t0;
#pragma unroll 1
  while (!*over && clk() < deadline) {
#pragma unroll
    for (int i = 0; i < EACH / CHAINS; ++i) {
#pragma unroll
      for (int c = 0; c < CHAINS; ++c) {
#if OP == 0
        asm volatile("fma.rn.f32 %0, %0, %0, %1;" : "+r"(x[c]) : "r"(e));
#elif OP == 1
        asm volatile("max.f32 %0, %0, %1;" : "+r"(x[c]) : "r"(e));
#elif OP == 2
        asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(e), "r"(f));
#elif OP == 3
        asm volatile("{ .reg .f32 f; mov.b32 f, %0; cvt.rn.bf16x2.f32 %0, f, f; }" : "+r"(x[c]));
#elif OP == 4
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+r"(x[c]));
#elif OP == 5
        asm volatile("{ .reg .f32 f; mov.b32 f, %0; fma.rn.f32 f, f, %1, %2; ex2.approx.ftz.f32 f, f; add.f32 %0, %0, f; }"
                     : "+r"(x[c]) : "f"(__uint_as_float(e)), "f"(__uint_as_float(f)));
#elif OP == 6
        asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(x[c]));
#elif OP == 7
        asm volatile("add.f32 %0, %0, %1;" : "+r"(x[c]) : "r"(e));
#elif OP == 8
        asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(y), "r"(z));
#endif
      }
    }
    ++turns;
    t1 = clk();
  }
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) s += x[c];
  if (s == 0x12345678u) out[1023] = s;
  if (threadIdx.x % 32 == 0) { out[2 * warp] = turns; out[2 * warp + 1] = t1 - t0; }
}
