extern "C" __global__ void __launch_bounds__(160, 1) asyncsim_ws_gemm(
    const __grid_constant__ TensorMap m_a_map,
    const __grid_constant__ TensorMap m_b_map,
    float* __restrict__ t_c,
    int stride_c_0,
    int a_steps,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  const u32 smem_desc = smem_base >> 4;
  constexpr int at_a_tile = 0;                // 2 x bf16 64 x 16, swizzled by 32
  constexpr int at_b_tile = 4096;             // 2 x bf16 8 x 16, swizzled by 32
  constexpr int at_full = 4608;               // 2 x mbarrier
  constexpr int at_empty = 4624;              // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 4 && elect_one()) {
    clock_mark(clocks, 5, 0);
    tma_prefetch_map(m_a_map);
    tma_prefetch_map(m_b_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (ws_gemm.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (ws_gemm.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (ws_gemm.py)
    mbar_init(smem_base + at_empty, 1);
    // #3 MbarrierInit (ws_gemm.py)
    mbar_init(smem_base + 8 + at_empty, 1);
    // #4 FenceMbarrierInit (ws_gemm.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #5 BarSync (ws_gemm.py)
  __syncthreads();
  if (warp < 4) {  // role consumer
    const int warp_in_role = warp;
    int v_stage, v_phase, v_done_stage;
    float f_acc0[4] = {};
    v_stage = 0;
    v_phase = 0;
    v_done_stage = 0;
    #pragma unroll 1
    for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
      // #6 MbarrierWait (ws_gemm.py)
      mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 6, v_i);
      // #7 WgmmaFence (ws_gemm.py)
      wgmma_fence();
      // #8 WgmmaMmaAsync (ws_gemm.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc0, wgmma_desc(smem_desc + v_stage * 128 + 65536 + at_a_tile / 16, 0xc0000010), wgmma_desc(smem_desc + v_stage * 16 + 65536 + at_b_tile / 16, 0xc0000010), (v_i != 0));
      // #9 CommitGroup (ws_gemm.py)
      wgmma_commit();
      // #10 WaitGroup (ws_gemm.py)
      wgmma_wait<1>();
      if (v_i >= 1) {
        if (warp_in_role == 0) {
          if (elect_one() && !guard.aborted) {
            // #11 MbarrierArrive (ws_gemm.py)
            mbar_arrive(smem_base + v_done_stage * 8 + at_empty);
          }
        }
        v_done_stage = v_done_stage + 1;
        if (v_done_stage == 2) {
          v_done_stage = 0;
        }
      }
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
    }
    // #12 WaitGroup (ws_gemm.py)
    wgmma_wait<0>();
    pin(f_acc0);
    // #13 StGlobal (ws_gemm.py)
    if (!guard.aborted) store_vector(t_c + (long long)(block_x * 64 + (warp_in_role & 3) * 16 + (lane >> 2)) * stride_c_0 + block_y * 8 + (lane & 3) * 2, f_acc0[0], f_acc0[1]);
    // #14 StGlobal (ws_gemm.py)
    if (!guard.aborted) store_vector(t_c + (long long)(block_x * 64 + (warp_in_role & 3) * 16 + (lane >> 2) + 8) * stride_c_0 + block_y * 8 + (lane & 3) * 2, f_acc0[2], f_acc0[3]);
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 5, 1 + warp);
  } else if (warp < 5) {  // role producer
    int v_stage, v_phase;
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
        // #15 MbarrierWait (ws_gemm.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 15, v_i)) goto abandoned_15;
        // #16 MbarrierArriveExpectTx (ws_gemm.py)
        mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 2304);
        // #17 TmaLoad (ws_gemm.py)
        tma_load(smem_base + v_stage * 2048 + at_a_tile, m_a_map, smem_base + v_stage * 8 + at_full, v_i * 16, block_x * 64);
        // #18 TmaLoad (ws_gemm.py)
        tma_load(smem_base + v_stage * 256 + at_b_tile, m_b_map, smem_base + v_stage * 8 + at_full, v_i * 16, block_y * 8);
        v_stage = v_stage + 1;
        if (v_stage == 2) {
          v_stage = 0;
          v_phase = (v_phase ^ 1);
        }
      }
    abandoned_15:;
      if (guard.aborted) drain();
      clock_mark(clocks, 5, 1 + warp);
    }
  }
}
