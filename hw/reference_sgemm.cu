// The yardstick of sgemm_cp_async: the same algorithm as a plain hand-written kernel.
// 128x128 results a block, 256 threads with 8x8 each, depth 8, STAGES stages of cp.async.
// D = alpha A B + beta C; A (M, K), B (K, N), C and D (M, N) row-major; M, N multiples of 128, K of 8.

#ifndef STAGES
#define STAGES 3
#endif

static __device__ __forceinline__ void copy16(float* shared, const float* global) {
  const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

static __device__ __forceinline__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N>
static __device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm(const float* __restrict__ A, const float* __restrict__ B, const float* __restrict__ C,
      float* __restrict__ D, int M, int N, int K, float alpha, float beta) {
  __shared__ __align__(128) float As[STAGES][128][8];
  __shared__ __align__(128) float Bs[STAGES][8][128];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int row = warp / 2 * 32 + lane / 16 * 2 + lane % 2;
  const int col = warp % 2 * 64 + lane / 2 % 8 * 4;
  const float* a = A + (long long)(blockIdx.x * 128 + tid / 2) * K + tid % 2 * 4;
  const float* b = B + (long long)(tid / 32) * N + blockIdx.y * 128 + lane * 4;
  const int steps = K / 8;

  #pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < steps) {
      copy16(&As[s][tid / 2][tid % 2 * 4], a);
      copy16(&Bs[s][tid / 32][lane * 4], b);
      a += 8;
      b += (long long)8 * N;
    }
    commit();
  }
  float acc[8][8] = {};
  int read = 0, write = STAGES - 1;
  #pragma unroll 1
  for (int t = 0; t < steps; ++t) {
    wait<STAGES - 2>();
    __syncthreads();
    if (t + STAGES - 1 < steps) {
      copy16(&As[write][tid / 2][tid % 2 * 4], a);
      copy16(&Bs[write][tid / 32][lane * 4], b);
      a += 8;
      b += (long long)8 * N;
    }
    commit();
    #pragma unroll
    for (int k4 = 0; k4 < 8; k4 += 4) {
      float4 x[8];
      #pragma unroll
      for (int i = 0; i < 8; ++i) x[i] = *(const float4*)&As[read][row + 4 * i][k4];
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        float y[8];
        *(float4*)&y[0] = *(const float4*)&Bs[read][k4 + j][col];
        *(float4*)&y[4] = *(const float4*)&Bs[read][k4 + j][col + 32];
        #pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float xi = j == 0 ? x[i].x : j == 1 ? x[i].y : j == 2 ? x[i].z : x[i].w;
          #pragma unroll
          for (int q = 0; q < 8; ++q) acc[i][q] = __fmaf_rn(xi, y[q], acc[i][q]);
        }
      }
    }
    read = read + 1 == STAGES ? 0 : read + 1;
    write = write + 1 == STAGES ? 0 : write + 1;
  }
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long at =
          (long long)(blockIdx.x * 128 + row + 4 * i) * N + blockIdx.y * 128 + col + 32 * half;
      float4 out = make_float4(alpha * acc[i][4 * half], alpha * acc[i][4 * half + 1],
                               alpha * acc[i][4 * half + 2], alpha * acc[i][4 * half + 3]);
      if (beta != 0.0f) {
        const float4 old = *(const float4*)&C[at];
        out.x += beta * old.x;
        out.y += beta * old.y;
        out.z += beta * old.z;
        out.w += beta * old.w;
      }
      *(float4*)&D[at] = out;
    }
  }
}
