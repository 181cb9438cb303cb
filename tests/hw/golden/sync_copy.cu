extern "C" __global__ void __launch_bounds__(128, 1) asyncsim_sync_copy(
    const float* __restrict__ t_source,
    u32* __restrict__ t_result,
    int stride_result_0,
    int a_tiles,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  constexpr int at_stage = 0;                 // f32 32 x 32
  const int block_x = blockIdx.x;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const int thread_in_role = threadIdx.x;
  if (warp == 3 && elect_one()) {
    clock_mark(clocks, 4, 0);
  }
  u32 f_hash[1];
  float f_unit[2];
  float f_held[8];
  // #0 Compute hash_init (sync_copy.py)
  {
    auto& hash = f_hash;
    auto& unit = f_unit;
    const int tiles = a_tiles;
    hash[0] = 0u;
    unit[0] = tiles >= 0 ? 1.0f : 2.0f;
    unit[1] = tiles >= 0 ? 0.0f : 1.0f;
  }
  #pragma unroll 1
  for (int v_t = 0, n_t = a_tiles; v_t < n_t; ++v_t) {
    // #1 LdGlobal (sync_copy.py)
    load_vector(t_source + (thread_in_role >> 3) * 32 + (block_x * a_tiles) * 1024 + v_t * 1024 + (thread_in_role & 7) * 4, f_held[0], f_held[1], f_held[2], f_held[3]);
    // #2 LdGlobal (sync_copy.py)
    load_vector(t_source + (thread_in_role >> 3) * 32 + (block_x * a_tiles) * 1024 + v_t * 1024 + (thread_in_role & 7) * 4 + 512, f_held[4], f_held[5], f_held[6], f_held[7]);
    // #3 StShared (sync_copy.py)
    store_vector((float*)(smem + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16 + at_stage), f_held[0], f_held[1], f_held[2], f_held[3]);
    // #4 StShared (sync_copy.py)
    store_vector((float*)(smem + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16 + 2048 + at_stage), f_held[4], f_held[5], f_held[6], f_held[7]);
    // #5 BarSync (sync_copy.py)
    __syncthreads();
    // #6 Compute tile_hash (sync_copy.py)
    {
      auto& hash = f_hash;
      auto& unit = f_unit;
      const int tile_base = at_stage;
      constexpr int tile_rows = 32;
      constexpr int tile_cols = 32;
      auto tile = [&](int i0, int i1) -> float& {
        return *(float*)(smem + tile_base + ((i0) * 32 + i1) * 4);
      };
      constexpr int ffma = 4;
      float x = tile((thread_in_role / 8 + 8) % tile_rows, thread_in_role % tile_cols);
      #pragma unroll
      for (int i = 0; i < ffma; ++i) x = __fmaf_rn(x, unit[0], unit[1]);
      hash[0] = hash[0] * 31u + __float_as_uint(x);
    }
    // #7 BarSync (sync_copy.py)
    __syncthreads();
  }
  // #8 StGlobal (sync_copy.py)
  store_vector(t_result + (long long)(block_x) * stride_result_0 + thread_in_role, f_hash[0]);
  if (elect_one()) clock_mark(clocks, 4, 1 + warp);
}
