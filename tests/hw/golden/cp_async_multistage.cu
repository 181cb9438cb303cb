extern "C" __global__ void __launch_bounds__(128, 1) asyncsim_cp_async_multistage(
    const float* __restrict__ t_source,
    u32* __restrict__ t_result,
    int stride_result_0,
    int a_tiles,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  constexpr int at_ring = 0;                  // 2 x f32 16 x 32
  const int block_x = blockIdx.x;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const int thread_in_role = threadIdx.x;
  if (warp == 3 && elect_one()) {
    clock_mark(clocks, 4, 0);
  }
  int v_read_stage, v_write_stage;
  u32 f_hash[1];
  float f_unit[2];
  // #0 Compute hash_init (cp_async_multistage.py)
  {
    auto& hash = f_hash;
    auto& unit = f_unit;
    const int tiles = a_tiles;
    hash[0] = 0u;
    unit[0] = tiles >= 0 ? 1.0f : 2.0f;
    unit[1] = tiles >= 0 ? 0.0f : 1.0f;
  }
  if (a_tiles > 0) {
    // #1 CpAsync (cp_async_multistage.py)
    cp_async<16>(smem_base + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16 + at_ring, t_source + (thread_in_role >> 3) * 32 + (block_x * a_tiles) * 512 + (thread_in_role & 7) * 4);
  }
  // #2 CommitGroup (cp_async_multistage.py)
  cp_async_commit();
  v_read_stage = 0;
  v_write_stage = 1;
  #pragma unroll 1
  for (int v_t = 0, n_t = a_tiles; v_t < n_t; ++v_t) {
    // #3 WaitGroup (cp_async_multistage.py)
    cp_async_wait<0>();
    // #4 BarSync (cp_async_multistage.py)
    __syncthreads();
    if ((v_t + 1) < a_tiles) {
      // #5 CpAsync (cp_async_multistage.py)
      cp_async<16>(smem_base + v_write_stage * 2048 + (thread_in_role >> 3) * 128 + (thread_in_role & 7) * 16 + at_ring, t_source + (thread_in_role >> 3) * 32 + (block_x * a_tiles) * 512 + v_t * 512 + (thread_in_role & 7) * 4 + 512);
    }
    // #6 CommitGroup (cp_async_multistage.py)
    cp_async_commit();
    // #7 Compute tile_hash (cp_async_multistage.py)
    {
      auto& hash = f_hash;
      auto& unit = f_unit;
      const int tile_base = v_read_stage * 2048 + at_ring;
      constexpr int tile_rows = 16;
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
    v_read_stage = v_read_stage + 1;
    if (v_read_stage == 2) {
      v_read_stage = 0;
    }
    v_write_stage = v_write_stage + 1;
    if (v_write_stage == 2) {
      v_write_stage = 0;
    }
  }
  // #8 StGlobal (cp_async_multistage.py)
  store_vector(t_result + (long long)(block_x) * stride_result_0 + thread_in_role, f_hash[0]);
  if (elect_one()) clock_mark(clocks, 4, 1 + warp);
}
