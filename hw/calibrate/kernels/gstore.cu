// st.global straight from registers.  Eight warps hold a 128 x 128 fp32 tile like two wgmma
// accumulators: MODE 0 stores 8 bytes for each thread (4 lanes cover 32 bytes of a row), MODE 1 the
// same as 4-byte bf16 pairs (16 bytes of a row), MODE 2 stores 16 bytes for each lane, row by row,
// MODE 3 stores the pairs of MODE 0 in two instructions of 4 bytes, as clipped tiles are stored.
// p0 = row pitch in bytes.  CTA b stores tile (b / p1, b mod p1) of a matrix, p2 times, p2 - 1 of them
// p3 bytes further on each.  out[3 b ..] = cycles to issue
// all, cycles until all are performed (membar.gl), globaltimer span.
#ifndef MODE
#define MODE 0
#endif
extern "C" __global__ void gstore(KERNEL_ARGS) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int width = 128 * (MODE == 1 ? 2 : 4);
  char* base = data + (u64)(blockIdx.x / p1) * 128 * (u64)p0 + (blockIdx.x % p1) * width;
  float v = p3 + threadIdx.x;
  __syncthreads();
  u64 g0 = gtime(), t0 = clk();
  for (int i = 0; i < p2; ++i) {
    char* tile = base + (u64)i * (u64)p3;
#if MODE == 2
#pragma unroll
    for (int r = 0; r < 16; ++r) {
      char* at = tile + (u64)(warp * 16 + r) * p0 + lane * 16;
      asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" :: "l"(at), "f"(v) : "memory");
    }
#else
    const int size = MODE == 1 ? 4 : 8;
    char* row = tile + (u64)(warp * 16 + lane / 4) * p0 + (lane % 4) * size;
#pragma unroll
    for (int j = 0; j < 16; ++j) {
#if MODE == 0
      asm volatile("st.global.v2.f32 [%0], {%1, %1};" :: "l"(row + j * 32), "f"(v) : "memory");
      asm volatile("st.global.v2.f32 [%0], {%1, %1};" :: "l"(row + 8 * p0 + j * 32), "f"(v) : "memory");
#elif MODE == 3
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        char* at = row + half * 8 * p0 + j * 32;
        asm volatile("st.global.f32 [%0], %1;" :: "l"(at), "f"(v) : "memory");
        asm volatile("st.global.f32 [%0], %1;" :: "l"(at + 4), "f"(v) : "memory");
      }
#else
      asm volatile("st.global.f32 [%0], %1;" :: "l"(row + j * 16), "f"(v) : "memory");
      asm volatile("st.global.f32 [%0], %1;" :: "l"(row + 8 * p0 + j * 16), "f"(v) : "memory");
#endif
    }
#endif
  }
  u64 t1 = clk();
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  u64 t2 = clk(), g2 = gtime();
  __syncthreads();
  if (threadIdx.x == 0) {
    out[3 * blockIdx.x] = t1 - t0;
    out[3 * blockIdx.x + 1] = t2 - t0;
    out[3 * blockIdx.x + 2] = g2 - g0;
  }
}
