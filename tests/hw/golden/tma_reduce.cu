extern "C" __global__ void __launch_bounds__(64, 1) asyncsim_tma_reduce(
    const __grid_constant__ TensorMap m_source_map,
    const __grid_constant__ TensorMap m_result_map,
    int a_tiles,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  constexpr int at_ring = 0;                  // 2 x i32 64 x 32
  constexpr int at_full = 16384;              // 2 x mbarrier
  constexpr int at_empty = 16400;             // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 1 && elect_one()) {
    clock_mark(clocks, 2, 0);
    tma_prefetch_map(m_source_map);
    tma_prefetch_map(m_result_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (tma_reduce.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (tma_reduce.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (tma_reduce.py)
    mbar_init(smem_base + at_empty, 1);
    // #3 MbarrierInit (tma_reduce.py)
    mbar_init(smem_base + 8 + at_empty, 1);
    // #4 FenceMbarrierInit (tma_reduce.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #5 BarSync (tma_reduce.py)
  __syncthreads();
  if (warp < 1) {  // role sender
    int v_stage, v_phase;
    if (elect_one()) {
      v_stage = 0;
      v_phase = 0;
      #pragma unroll 1
      for (int v_i = 0, n_i = a_tiles; v_i < n_i; ++v_i) {
        // #6 MbarrierWait (tma_reduce.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 6, v_i)) goto abandoned_6;
        // #7 TmaStore (tma_reduce.py)
        tma_reduce_min_2d(m_result_map, smem_base + v_stage * 8192 + at_ring, 0, (((block_x * a_tiles) + v_i) & 7) * 64);
        // #8 CommitGroup (tma_reduce.py)
        bulk_commit();
        // #9 WaitGroup (tma_reduce.py)
        bulk_wait_read<0>();
        // #10 MbarrierArrive (tma_reduce.py)
        mbar_arrive(smem_base + v_stage * 8 + at_empty);
        v_stage = v_stage + 1;
        if (v_stage == 2) {
          v_stage = 0;
          v_phase = (v_phase ^ 1);
        }
      }
      // #11 WaitGroup (tma_reduce.py)
      bulk_wait<0>();
    abandoned_6:;
      if (guard.aborted) drain();
      clock_mark(clocks, 2, 1 + warp);
    }
  } else if (warp < 2) {  // role producer
    int v_stage, v_phase;
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_i = 0, n_i = a_tiles; v_i < n_i; ++v_i) {
        // #12 MbarrierWait (tma_reduce.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 12, v_i)) goto abandoned_12;
        // #13 MbarrierArriveExpectTx (tma_reduce.py)
        mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 8192);
        // #14 TmaLoad (tma_reduce.py)
        tma_load(smem_base + v_stage * 8192 + at_ring, m_source_map, smem_base + v_stage * 8 + at_full, 0, (block_x * a_tiles) * 64 + v_i * 64);
        v_stage = v_stage + 1;
        if (v_stage == 2) {
          v_stage = 0;
          v_phase = (v_phase ^ 1);
        }
      }
    abandoned_12:;
      if (guard.aborted) drain();
      clock_mark(clocks, 2, 1 + warp);
    }
  }
}
