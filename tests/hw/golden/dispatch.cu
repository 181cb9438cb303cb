extern "C" __global__ void __launch_bounds__(32, 1) asyncsim_dispatch(
    const bf16* __restrict__ t_source,
    bf16* __restrict__ t_routed,
    int a_rows,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  constexpr int at_ring = 0;                  // 2 x bf16 1 x 64
  constexpr int at_full = 256;                // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 0 && elect_one()) {
    clock_mark(clocks, 1, 0);
  }
  int v_stage, v_phase, v_freed_stage;
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (dispatch.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (dispatch.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 FenceMbarrierInit (dispatch.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    if (a_rows > 0) {
      // #3 MbarrierArriveExpectTx (dispatch.py)
      mbar_arrive_expect_tx(smem_base + at_full, 128);
      // #4 BulkLoad (dispatch.py)
      bulk_load(smem_base + at_ring, t_source + (block_x * a_rows) * 64, 128, smem_base + at_full);
    }
    if (a_rows > 1) {
      // #5 MbarrierArriveExpectTx (dispatch.py)
      mbar_arrive_expect_tx(smem_base + 8 + at_full, 128);
      // #6 BulkLoad (dispatch.py)
      bulk_load(smem_base + 128 + at_ring, t_source + (block_x * a_rows) * 64 + 64, 128, smem_base + 8 + at_full);
    }
    v_stage = 0;
    v_phase = 0;
    v_freed_stage = 0;
    #pragma unroll 1
    for (int v_i = 0, n_i = a_rows; v_i < n_i; ++v_i) {
      void* far_8;
      far_8 = settled((void*)(t_routed + (((block_x * a_rows) + v_i) & 7) * 67584 + (((block_x * a_rows) + v_i) >> 3) * 64));
      u32 near_8;
      near_8 = settled(smem_base + v_stage * 128 + at_ring);
      void* far_9;
      far_9 = settled((void*)(t_routed + (((block_x * a_rows) + v_i + 1) & 7) * 67584 + (((block_x * a_rows) + v_i) >> 3) * 64 + 540672));
      void* far_13;
      far_13 = settled((void*)(t_source + (block_x * a_rows) * 64 + v_i * 64 + 64));
      u32 near_13;
      near_13 = settled(smem_base + v_freed_stage * 128 + at_ring);
      // #7 MbarrierWait (dispatch.py)
      if (!mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 7, v_i)) goto abandoned_0;
      // #8 BulkStore (dispatch.py)
      bulk_store(far_8, near_8, 128);
      // #9 BulkStore (dispatch.py)
      bulk_store(far_9, near_8, 128);
      // #10 CommitGroup (dispatch.py)
      bulk_commit();
      if ((v_i >= 1) & ((v_i + 1) < a_rows)) {
        // #11 WaitGroup (dispatch.py)
        bulk_wait_read<1>();
        // #12 MbarrierArriveExpectTx (dispatch.py)
        mbar_arrive_expect_tx(smem_base + v_freed_stage * 8 + at_full, 128);
        // #13 BulkLoad (dispatch.py)
        bulk_load(near_13, far_13, 128, smem_base + v_freed_stage * 8 + at_full);
        v_freed_stage = v_freed_stage + 1;
        if (v_freed_stage == 2) {
          v_freed_stage = 0;
        }
      }
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
    }
    // #14 WaitGroup (dispatch.py)
    bulk_wait<0>();
  abandoned_0:;
    if (guard.aborted) drain();
    clock_mark(clocks, 1, 1 + warp);
  } else if (warp_in_role != 0) {
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 1, 1 + warp);
  }
}
