// TMA loads of boxes of any rank, and of im2col windows.

// Coordinates are 0 but the outermost, p3.
#ifndef RANK
#define RANK 2
#define IM2COL 0
#endif
#define TAIL ".mbarrier::complete_tx::bytes [%0], [%1, "
#define LOAD "cp.async.bulk.tensor."
#define TO ".shared::cluster.global."
DEV void box_load(u32 dst, const tmap* m, int at, u32 bar) {
  const int o = 0;
#if IM2COL
  const short w = 0;
  asm volatile(LOAD "4d" TO "im2col" TAIL "{%3, %3, %3, %4}], [%2], {%5, %5};"
               :: "r"(dst), "l"(m), "r"(bar), "r"(o), "r"(at), "h"(w) : "memory");
#elif RANK == 1
  asm volatile(LOAD "1d" TO "tile" TAIL "{%4}], [%2];"
               :: "r"(dst), "l"(m), "r"(bar), "r"(o), "r"(at) : "memory");
#elif RANK == 2
  asm volatile(LOAD "2d" TO "tile" TAIL "{%3, %4}], [%2];"
               :: "r"(dst), "l"(m), "r"(bar), "r"(o), "r"(at) : "memory");
#elif RANK == 3
  asm volatile(LOAD "3d" TO "tile" TAIL "{%3, %3, %4}], [%2];"
               :: "r"(dst), "l"(m), "r"(bar), "r"(o), "r"(at) : "memory");
#elif RANK == 4
  asm volatile(LOAD "4d" TO "tile" TAIL "{%3, %3, %3, %4}], [%2];"
               :: "r"(dst), "l"(m), "r"(bar), "r"(o), "r"(at) : "memory");
#else
  asm volatile(LOAD "5d" TO "tile" TAIL "{%3, %3, %3, %3, %4}], [%2];"
               :: "r"(dst), "l"(m), "r"(bar), "r"(o), "r"(at) : "memory");
#endif
}

// out[i] = cycles of one load as a sleeping warp sees it, out[p2 + i] = cycles of a train of 4 p1
// loads by four elected lanes.  p0 = bytes of a load.
extern "C" __global__ void boxes(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem), dst = saddr(smem) + 1024;
  init_barriers(bar, 1, 1);
  u32 phase = 0, warp = uniform_warp();
#pragma unroll 1
  for (int i = 0; i < 2 * p2; ++i) {
    int copies = i < p2 ? 1 : p1;
    if (threadIdx.x == 0) mbar_expect(bar, (u32)p0 * (i < p2 ? 1u : 4u * p1));
    __syncthreads();
    u64 t0 = clk();
    if ((warp == 0 || i >= p2) && elect()) {
      for (int k = 0; k < copies; ++k) box_load(dst, &m, p3, bar);
    }
    __syncwarp();
    wait(bar, phase, deadline, abort_word);
    if (threadIdx.x == 0) out[i] = clk() - t0;
    phase ^= 1;
    __syncthreads();
  }
}
