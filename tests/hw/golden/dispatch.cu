extern "C" __global__ void __launch_bounds__(32, 1) asyncsim_dispatch(
    const bf16* __restrict__ t_source,
    bf16* __restrict__ t_routed,
    int a_rows,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  const u32 smem_desc = smem_base >> 4;
  const int block_x = blockIdx.x, block_y = blockIdx.y, block_z = blockIdx.z;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const int warp_in_role = warp, thread_in_role = threadIdx.x;
  Guard guard{report, false};
  if (warp == 0 && elect_one()) { clock_mark(clocks, 1, 0); }
  int v_stage, v_phase, v_freed_stage, v_freed_phase;
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (dispatch.py)
    mbar_init(smem_base + 256, 1);
    // #1 MbarrierInit (dispatch.py)
    mbar_init(smem_base + 264, 1);
    // #2 FenceMbarrierInit (dispatch.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    if (a_rows > 0) {
      // #3 MbarrierArriveExpectTx (dispatch.py)
      mbar_arrive_expect_tx(smem_base + 256, 128);
      // #4 BulkLoad (dispatch.py)
      bulk_load(smem_base + 0, t_source + (block_x * a_rows) * 64, 128, smem_base + 256);
    }
    if (a_rows > 1) {
      // #5 MbarrierArriveExpectTx (dispatch.py)
      mbar_arrive_expect_tx(smem_base + 264, 128);
      // #6 BulkLoad (dispatch.py)
      bulk_load(smem_base + 128, t_source + (block_x * a_rows) * 64 + 64, 128, smem_base + 264);
    }
    v_stage = 0;
    v_phase = 0;
    v_freed_stage = 0;
    v_freed_phase = 0;
    #pragma unroll 1
    for (int v_i = 0, n_i = a_rows; v_i < n_i; ++v_i) {
      // #7 MbarrierWait (dispatch.py)
      if (!mbar_wait(guard, smem_base + v_stage * 8 + 256, v_phase, 7, v_i)) goto abandoned_0;
      // #8 BulkStore (dispatch.py)
      bulk_store(t_routed + (((block_x * a_rows) + v_i) & 7) * 67584 + (((block_x * a_rows) + v_i) >> 3) * 64, smem_base + v_stage * 128, 128);
      // #9 BulkStore (dispatch.py)
      bulk_store(t_routed + (((block_x * a_rows) + v_i + 1) & 7) * 67584 + (((block_x * a_rows) + v_i) >> 3) * 64 + 540672, smem_base + v_stage * 128, 128);
      // #10 CommitGroup (dispatch.py)
      bulk_commit();
      if ((v_i >= 1) & ((v_i + 1) < a_rows)) {
        // #11 WaitGroup (dispatch.py)
        bulk_wait_read<1>();
        // #12 MbarrierArriveExpectTx (dispatch.py)
        mbar_arrive_expect_tx(smem_base + v_freed_stage * 8 + 256, 128);
        // #13 BulkLoad (dispatch.py)
        bulk_load(smem_base + v_freed_stage * 128, t_source + (block_x * a_rows) * 64 + v_i * 64 + 64, 128, smem_base + v_freed_stage * 8 + 256);
        v_freed_stage = v_freed_stage + 1;
        if (v_freed_stage == 2) {
          v_freed_stage = 0;
          v_freed_phase = (v_freed_phase ^ 1);
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
  }
  if (guard.aborted) drain();
  if (elect_one()) clock_mark(clocks, 1, 1 + warp);
}
