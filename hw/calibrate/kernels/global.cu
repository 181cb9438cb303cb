// Warps that load from global memory into registers and wait for it, turn after turn.
// Each turn K rows of 4 bytes a lane, p0 bytes apart, which are added up; turns go on where the one
// before has ended.  p2: turns.  out[2 b], out[2 b + 1] = cycles of warp 0, of all warps of CTA b.
#ifndef K
#define K 4
#endif
extern "C" __global__ void global_turn(KERNEL_ARGS) {
  const char* at = data + (u64)blockIdx.x * p2 * K * p0 + 4 * threadIdx.x;
  float sum = 0;
  __syncthreads();
  u64 t0 = clk();
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    float v[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[k]) : "l"(at + (u64)k * p0));
#pragma unroll
    for (int k = 0; k < K; ++k) sum += v[k];
    at += (u64)K * p0;
  }
  if (sum == 1.2345e30f) out[1000] = 1;
  u64 t1 = clk();
  __syncthreads();
  u64 t2 = clk();
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = t1 - t0;
    out[2 * blockIdx.x + 1] = t2 - t0;
  }
}
