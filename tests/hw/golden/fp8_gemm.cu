extern "C" __global__ void __maxnreg__(168) asyncsim_fp8_gemm(
    const __grid_constant__ TensorMap m_a_map,
    const __grid_constant__ TensorMap m_b_map,
    const __grid_constant__ TensorMap m_a_scales_map,
    const __grid_constant__ TensorMap m_b_scales_map,
    const __grid_constant__ TensorMap m_c_map,
    int a_steps,
    int a_tiles,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  const u32 smem_desc = smem_base >> 4;
  constexpr int at_a_tile = 0;                // 2 x e4m3 128 x 128, swizzled by 128
  constexpr int at_b_tile = 32768;            // 2 x e4m3 64 x 128, swizzled by 128
  constexpr int at_a_scales_tile = 49152;     // 2 x f32 1 x 128
  constexpr int at_b_scales_tile = 50176;     // 2 x f32 1 x 4
  constexpr int at_strips = 51200;            // bf16 128 x 64, swizzled by 128
  constexpr int at_full = 67584;              // 2 x mbarrier
  constexpr int at_empty = 67600;             // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 11 && elect_one()) {
    clock_mark(clocks, 12, 0);
    tma_prefetch_map(m_a_map);
    tma_prefetch_map(m_b_map);
    tma_prefetch_map(m_a_scales_map);
    tma_prefetch_map(m_b_scales_map);
    tma_prefetch_map(m_c_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (fp8_operands.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (fp8_operands.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (fp8_operands.py)
    mbar_init(smem_base + at_empty, 8);
    // #3 MbarrierInit (fp8_operands.py)
    mbar_init(smem_base + 8 + at_empty, 8);
    // #4 FenceMbarrierInit (fp8_operands.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #5 BarSync (fp8_operands.py)
  __syncthreads();
  if (warp < 8) {  // role consumer
    const int warp_in_role = warp;
    int v_stage, v_phase;
    float f_sums0[32];
    float f_acc[32] = {};
    float f_of_b[1];
    float f_of_a[2];
    // #6 SetMaxNReg (gemm_operands.py)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
    v_stage = 0;
    v_phase = 0;
    #pragma unroll 1
    for (int v_t = 0, n_t = ((a_tiles - block_x + 3) >> 2); v_t < n_t; ++v_t) {
      // #7 Compute clear (fp8_gemm.py)
      {
        auto& sums = f_sums0;
        #pragma unroll
        for (int r = 0; r < 32; ++r) sums[r] = 0;
      }
      #pragma unroll 1
      for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
        // #8 MbarrierWait (fp8_operands.py)
        mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 8, v_i);
        // #9 WgmmaFence (fp8_operands.py)
        wgmma_fence();
        // #10 WgmmaMmaAsync (fp8_operands.py)
        wgmma_m64n64k32_f32_e4m3_e4m3(f_acc, wgmma_desc(smem_desc + v_stage * 1024 + (warp_in_role >> 2) * 512 + 65536 + at_a_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 512 + 65536 + at_b_tile / 16, 0x40000040), 0);
        // #11 WgmmaMmaAsync (fp8_operands.py)
        wgmma_m64n64k32_f32_e4m3_e4m3(f_acc, wgmma_desc(smem_desc + v_stage * 1024 + (warp_in_role >> 2) * 512 + 65538 + at_a_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 512 + 65538 + at_b_tile / 16, 0x40000040), 1);
        // #12 WgmmaMmaAsync (fp8_operands.py)
        wgmma_m64n64k32_f32_e4m3_e4m3(f_acc, wgmma_desc(smem_desc + v_stage * 1024 + (warp_in_role >> 2) * 512 + 65540 + at_a_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 512 + 65540 + at_b_tile / 16, 0x40000040), 1);
        // #13 WgmmaMmaAsync (fp8_operands.py)
        wgmma_m64n64k32_f32_e4m3_e4m3(f_acc, wgmma_desc(smem_desc + v_stage * 1024 + (warp_in_role >> 2) * 512 + 65542 + at_a_tile / 16, 0x40000040), wgmma_desc(smem_desc + v_stage * 512 + 65542 + at_b_tile / 16, 0x40000040), 1);
        // #14 CommitGroup (fp8_operands.py)
        wgmma_commit();
        // #15 LdShared (fp8_operands.py)
        load_vector((float*)(smem + v_stage * 128 + ((((((block_x + v_t * 4) & 511) & 15) * 64) >> 7) & 3) * 4 + at_b_scales_tile), f_of_b[0]);
        // #16 LdShared (fp8_operands.py)
        load_vector((float*)(smem + v_stage * 512 + (warp_in_role >> 2) * 256 + (warp_in_role & 3) * 64 + (lane >> 2) * 4 + at_a_scales_tile), f_of_a[0]);
        // #17 LdShared (fp8_operands.py)
        load_vector((float*)(smem + v_stage * 512 + (warp_in_role >> 2) * 256 + (warp_in_role & 3) * 64 + (lane >> 2) * 4 + 32 + at_a_scales_tile), f_of_a[1]);
        // #18 FenceProxyAsync (fp8_operands.py)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        // #19 WaitGroup (fp8_operands.py)
        wgmma_wait<0>();
        pin(f_acc);
        // #20 BarWarpSync (fp8_operands.py)
        __syncwarp();
        if (elect_one() && !guard.aborted) {
          // #21 MbarrierArrive (fp8_operands.py)
          mbar_arrive(smem_base + v_stage * 8 + at_empty);
        }
        // #22 Compute promote (fp8_operands.py)
        {
          auto& sums = f_sums0;
          auto& acc = f_acc;
          auto& of_a = f_of_a;
          auto& of_b = f_of_b;
          const float scales[2] = {of_a[0] * of_b[0], of_a[1] * of_b[0]};
          #pragma unroll
          for (int r = 0; r < 32; ++r)
            sums[r] = fmaf(scales[r / 2 % 2], acc[r], sums[r]);
        }
        v_stage = v_stage + 1;
        if (v_stage == 2) {
          v_stage = 0;
          v_phase = (v_phase ^ 1);
        }
      }
      if ((warp_in_role & 7) == 0) {
        if (elect_one() && !guard.aborted) {
          // #23 WaitGroup (gemm_epilogue.py)
          bulk_wait_read<0>();
        }
      }
      // #24 BarSync (fp8_gemm.py)
      asm volatile("bar.sync 1, 256;" ::: "memory");
      // #25 Compute strip_bf16 (gemm_epilogue.py)
      {
        const int strip_base = (warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + at_strips;
        auto strip = [&](int i0, int i1) -> bf16& {
          return *(bf16*)(smem + swizzled<112>(strip_base + ((i0) * 64 + i1) * 2));
        };
        auto& acc = f_sums0;
        #pragma unroll
        for (int r = 0; r < 32; r += 2) {
          u32 pair;
          asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(acc[r + 1]), "f"(acc[r]));
          *(u32*)&strip(lane / 4 + r / 2 % 2 * 8, lane % 4 * 2 + r / 4 * 8) = pair;
        }
      }
      // #26 FenceProxyAsync (gemm_epilogue.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #27 BarSync (fp8_gemm.py)
      asm volatile("bar.sync 1, 256;" ::: "memory");
      if ((warp_in_role & 7) == 0) {
        if (elect_one() && !guard.aborted) {
          // #28 TmaStore (fp8_gemm.py)
          tma_store(m_c_map, smem_base + at_strips, ((block_x + v_t * 4) >> 9) * 1024 + (((block_x + v_t * 4) & 511) & 15) * 64, (((block_x + v_t * 4) & 511) >> 4) * 128);
          // #29 CommitGroup (gemm_epilogue.py)
          bulk_commit();
        }
      }
    }
    if ((warp_in_role & 7) == 0) {
      if (elect_one() && !guard.aborted) {
        // #30 WaitGroup (gemm_epilogue.py)
        bulk_wait_read<0>();
      }
    }
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 12, 1 + warp);
  } else if (warp < 12) {  // role producer
    const int warp_in_role = warp - 8;
    int v_stage, v_phase;
    // #31 SetMaxNReg (gemm_operands.py)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    if (warp_in_role == 0 && elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_t = 0, n_t = ((a_tiles - block_x + 3) >> 2); v_t < n_t; ++v_t) {
        #pragma unroll 1
        for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
          // #32 MbarrierWait (fp8_operands.py)
          if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 32, v_i)) goto abandoned_32;
          // #33 MbarrierArriveExpectTx (fp8_operands.py)
          mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 25104);
          // #34 TmaLoad (fp8_operands.py)
          tma_load(smem_base + v_stage * 16384 + at_a_tile, m_a_map, smem_base + v_stage * 8 + at_full, v_i * 128, (((block_x + v_t * 4) & 511) >> 4) * 128);
          // #35 TmaLoad (fp8_operands.py)
          tma_load(smem_base + v_stage * 8192 + at_b_tile, m_b_map, smem_base + v_stage * 8 + at_full, v_i * 128, ((block_x + v_t * 4) >> 9) * 1024 + (((block_x + v_t * 4) & 511) & 15) * 64);
          // #36 TmaLoad (fp8_operands.py)
          tma_load(smem_base + v_stage * 512 + at_a_scales_tile, m_a_scales_map, smem_base + v_stage * 8 + at_full, (((block_x + v_t * 4) & 511) >> 4) * 128, v_i);
          // #37 TmaLoad (fp8_operands.py)
          tma_load(smem_base + v_stage * 128 + at_b_scales_tile, m_b_scales_map, smem_base + v_stage * 8 + at_full, ((((((block_x + v_t * 4) & 511) & 15) * 64) >> 7) >> 2) * 4 + ((block_x + v_t * 4) >> 9) * 8, v_i);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
      }
    abandoned_32:;
      if (guard.aborted) drain();
      clock_mark(clocks, 12, 1 + warp);
    } else if (warp_in_role != 0) {
      if (guard.aborted) drain();
      if (elect_one()) clock_mark(clocks, 12, 1 + warp);
    }
  }
}
