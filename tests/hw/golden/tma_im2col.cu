extern "C" __global__ void __launch_bounds__(160, 1) asyncsim_tma_im2col(
    const __grid_constant__ TensorMap m_image_map,
    const __grid_constant__ TensorMap m_weight_map,
    float* __restrict__ t_result,
    int stride_result_0,
    int a_steps,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  const u32 smem_desc = smem_base >> 4;
  constexpr int at_a = 0;                     // 2 x bf16 128 x 64, swizzled by 128
  constexpr int at_b = 32768;                 // 2 x bf16 8 x 64, swizzled by 128
  constexpr int at_full = 34816;              // 2 x mbarrier
  constexpr int at_empty = 34832;             // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 4 && elect_one()) {
    clock_mark(clocks, 5, 0);
    tma_prefetch_map(m_image_map);
    tma_prefetch_map(m_weight_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (tma_im2col.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (tma_im2col.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (tma_im2col.py)
    mbar_init(smem_base + at_empty, 1);
    // #3 MbarrierInit (tma_im2col.py)
    mbar_init(smem_base + 8 + at_empty, 1);
    // #4 FenceMbarrierInit (tma_im2col.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #5 BarSync (tma_im2col.py)
  __syncthreads();
  if (warp < 4) {  // role consumer
    const int warp_in_role = warp;
    int v_stage, v_phase;
    float f_acc0[4] = {};
    float f_acc1[4] = {};
    v_stage = 0;
    v_phase = 0;
    #pragma unroll 1
    for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
      // #6 MbarrierWait (tma_im2col.py)
      mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 6, v_i);
      // #7 WgmmaFence (tma_im2col.py)
      wgmma_fence();
      // #8 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc0, wgmma_desc(smem_desc + v_stage * 1024 + 65536 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65536 + at_b / 16, 0x40000040), (v_i != 0));
      // #9 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc0, wgmma_desc(smem_desc + v_stage * 1024 + 65538 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65538 + at_b / 16, 0x40000040), 1);
      // #10 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc0, wgmma_desc(smem_desc + v_stage * 1024 + 65540 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65540 + at_b / 16, 0x40000040), 1);
      // #11 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc0, wgmma_desc(smem_desc + v_stage * 1024 + 65542 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65542 + at_b / 16, 0x40000040), 1);
      // #12 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc1, wgmma_desc(smem_desc + v_stage * 1024 + 66048 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65536 + at_b / 16, 0x40000040), (v_i != 0));
      // #13 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc1, wgmma_desc(smem_desc + v_stage * 1024 + 66050 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65538 + at_b / 16, 0x40000040), 1);
      // #14 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc1, wgmma_desc(smem_desc + v_stage * 1024 + 66052 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65540 + at_b / 16, 0x40000040), 1);
      // #15 WgmmaMmaAsync (tma_im2col.py)
      wgmma_m64n8k16_f32_bf16_bf16(f_acc1, wgmma_desc(smem_desc + v_stage * 1024 + 66054 + at_a / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 64 + 65542 + at_b / 16, 0x40000040), 1);
      // #16 CommitGroup (tma_im2col.py)
      wgmma_commit();
      // #17 WaitGroup (tma_im2col.py)
      wgmma_wait<0>();
      pin(f_acc0);
      pin(f_acc1);
      if (warp_in_role == 0) {
        if (elect_one() && !guard.aborted) {
          // #18 MbarrierArrive (tma_im2col.py)
          mbar_arrive(smem_base + v_stage * 8 + at_empty);
        }
      }
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
    }
    // #19 WaitGroup (tma_im2col.py)
    wgmma_wait<0>();
    pin(f_acc0);
    pin(f_acc1);
    // #20 StGlobal (tma_im2col.py)
    if (!guard.aborted) store_vector(t_result + (long long)(block_x * 128 + (warp_in_role & 3) * 16 + (lane >> 2)) * stride_result_0 + block_y * 8 + (lane & 3) * 2, f_acc0[0], f_acc0[1]);
    // #21 StGlobal (tma_im2col.py)
    if (!guard.aborted) store_vector(t_result + (long long)(block_x * 128 + (warp_in_role & 3) * 16 + (lane >> 2) + 8) * stride_result_0 + block_y * 8 + (lane & 3) * 2, f_acc0[2], f_acc0[3]);
    // #22 StGlobal (tma_im2col.py)
    if (!guard.aborted) store_vector(t_result + (long long)(block_x * 128 + (warp_in_role & 3) * 16 + (lane >> 2) + 64) * stride_result_0 + block_y * 8 + (lane & 3) * 2, f_acc1[0], f_acc1[1]);
    // #23 StGlobal (tma_im2col.py)
    if (!guard.aborted) store_vector(t_result + (long long)(block_x * 128 + (warp_in_role & 3) * 16 + (lane >> 2) + 72) * stride_result_0 + block_y * 8 + (lane & 3) * 2, f_acc1[2], f_acc1[3]);
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 5, 1 + warp);
  } else if (warp < 5) {  // role producer
    int v_stage, v_phase;
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
        // #24 MbarrierWait (tma_im2col.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 24, v_i)) goto abandoned_24;
        // #25 MbarrierArriveExpectTx (tma_im2col.py)
        mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 17408);
        // #26 TmaLoad (tma_im2col.py)
        tma_load_im2col_4d(smem_base + v_stage * 16384 + at_a, m_image_map, smem_base + v_stage * 8 + at_full, (v_i & 1) * 64, floor_mod<56>(block_x * 128) - 1, floor_mod<13>(floor_div<56>(block_x * 128)) - 1, floor_div<728>(block_x * 128), floor_mod<3>((v_i >> 1)), floor_div<3>((v_i >> 1)));
        // #27 TmaLoad (tma_im2col.py)
        tma_load(smem_base + v_stage * 1024 + at_b, m_weight_map, smem_base + v_stage * 8 + at_full, v_i * 64, block_y * 8);
        v_stage = v_stage + 1;
        if (v_stage == 2) {
          v_stage = 0;
          v_phase = (v_phase ^ 1);
        }
      }
    abandoned_24:;
      if (guard.aborted) drain();
      clock_mark(clocks, 5, 1 + warp);
    }
  }
}
