extern "C" __global__ void __maxnreg__(168) asyncsim_cooperative_gemm(
    const __grid_constant__ TensorMap m_a_map,
    const __grid_constant__ TensorMap m_b_map,
    const __grid_constant__ TensorMap m_c_map,
    int a_steps,
    int a_tiles,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  const u32 smem_desc = smem_base >> 4;
  constexpr int at_a_tile = 0;                // 2 x bf16 128 x 16, swizzled by 32
  constexpr int at_b_tile = 8192;             // 2 x bf16 64 x 16, swizzled by 32
  constexpr int at_strips = 12288;            // bf16 128 x 64, swizzled by 128
  constexpr int at_full = 28672;              // 2 x mbarrier
  constexpr int at_empty = 28688;             // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 11 && elect_one()) {
    clock_mark(clocks, 12, 0);
    tma_prefetch_map(m_a_map);
    tma_prefetch_map(m_b_map);
    tma_prefetch_map(m_c_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (gemm_operands.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (gemm_operands.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (gemm_operands.py)
    mbar_init(smem_base + at_empty, 2);
    // #3 MbarrierInit (gemm_operands.py)
    mbar_init(smem_base + 8 + at_empty, 2);
    // #4 FenceMbarrierInit (gemm_operands.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #5 BarSync (gemm_operands.py)
  __syncthreads();
  if (warp < 8) {  // role consumer
    const int warp_in_role = warp;
    int v_stage, v_phase, v_done_stage;
    float f_acc0[32] = {};
    // #6 SetMaxNReg (gemm_operands.py)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
    v_stage = 0;
    v_phase = 0;
    v_done_stage = 0;
    #pragma unroll 1
    for (int v_t = 0, n_t = ((a_tiles - block_x + 3) >> 2); v_t < n_t; ++v_t) {
      #pragma unroll 1
      for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
        // #7 MbarrierWait (gemm_operands.py)
        mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 7, v_i);
        // #8 WgmmaFence (gemm_operands.py)
        wgmma_fence();
        // #9 WgmmaMmaAsync (gemm_operands.py)
        wgmma_m64n64k16_f32_bf16_bf16(f_acc0, wgmma_desc(smem_desc + v_stage * 256 + (warp_in_role >> 2) * 128 + 65536 + at_a_tile / 16, 0xc0000010), wgmma_desc(smem_desc + v_stage * 128 + 65536 + at_b_tile / 16, 0xc0000010), (v_i != 0));
        // #10 CommitGroup (gemm_operands.py)
        wgmma_commit();
        // #11 WaitGroup (cooperative_gemm.py)
        wgmma_wait<1>();
        if (v_i >= 1) {
          if ((warp_in_role & 3) == 0) {
            if (elect_one() && !guard.aborted) {
              // #12 MbarrierArrive (gemm_operands.py)
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
      // #13 WaitGroup (cooperative_gemm.py)
      wgmma_wait<0>();
      pin(f_acc0);
      if ((warp_in_role & 3) == 0) {
        if (elect_one() && !guard.aborted) {
          // #14 MbarrierArrive (gemm_operands.py)
          mbar_arrive(smem_base + v_done_stage * 8 + at_empty);
        }
      }
      v_done_stage = v_done_stage + 1;
      if (v_done_stage == 2) {
        v_done_stage = 0;
      }
      if ((warp_in_role & 7) == 0) {
        if (elect_one() && !guard.aborted) {
          // #15 WaitGroup (gemm_epilogue.py)
          bulk_wait_read<0>();
        }
      }
      // #16 BarSync (cooperative_gemm.py)
      asm volatile("bar.sync 1, 256;" ::: "memory");
      // #17 Compute strip_bf16 (gemm_epilogue.py)
      {
        const int strip_base = (warp_in_role >> 2) * 8192 + (warp_in_role & 3) * 2048 + at_strips;
        auto strip = [&](int i0, int i1) -> bf16& {
          return *(bf16*)(smem + swizzled<112>(strip_base + ((i0) * 64 + i1) * 2));
        };
        auto& acc = f_acc0;
        #pragma unroll
        for (int r = 0; r < 32; r += 2) {
          u32 pair;
          asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(acc[r + 1]), "f"(acc[r]));
          *(u32*)&strip(lane / 4 + r / 2 % 2 * 8, lane % 4 * 2 + r / 4 * 8) = pair;
        }
      }
      // #18 FenceProxyAsync (gemm_epilogue.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #19 BarSync (cooperative_gemm.py)
      asm volatile("bar.sync 1, 256;" ::: "memory");
      if ((warp_in_role & 7) == 0) {
        if (elect_one() && !guard.aborted) {
          // #20 TmaStore (cooperative_gemm.py)
          tma_store(m_c_map, smem_base + at_strips, ((block_x + v_t * 4) >> 8) * 512 + (((block_x + v_t * 4) & 255) & 7) * 64, (((block_x + v_t * 4) & 255) >> 3) * 128);
          // #21 CommitGroup (gemm_epilogue.py)
          bulk_commit();
        }
      }
    }
    if ((warp_in_role & 7) == 0) {
      if (elect_one() && !guard.aborted) {
        // #22 WaitGroup (gemm_epilogue.py)
        bulk_wait_read<0>();
      }
    }
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 12, 1 + warp);
  } else if (warp < 12) {  // role producer
    const int warp_in_role = warp - 8;
    int v_stage, v_phase;
    // #23 SetMaxNReg (gemm_operands.py)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
    if (warp_in_role == 0 && elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_t = 0, n_t = ((a_tiles - block_x + 3) >> 2); v_t < n_t; ++v_t) {
        #pragma unroll 1
        for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
          // #24 MbarrierWait (gemm_operands.py)
          if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 24, v_i)) goto abandoned_24;
          // #25 MbarrierArriveExpectTx (gemm_operands.py)
          mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 6144);
          // #26 TmaLoad (gemm_operands.py)
          tma_load(smem_base + v_stage * 4096 + at_a_tile, m_a_map, smem_base + v_stage * 8 + at_full, v_i * 16, (((block_x + v_t * 4) & 255) >> 3) * 128);
          // #27 TmaLoad (gemm_operands.py)
          tma_load(smem_base + v_stage * 2048 + at_b_tile, m_b_map, smem_base + v_stage * 8 + at_full, v_i * 16, ((block_x + v_t * 4) >> 8) * 512 + (((block_x + v_t * 4) & 255) & 7) * 64);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
      }
    abandoned_24:;
      if (guard.aborted) drain();
      clock_mark(clocks, 12, 1 + warp);
    } else if (warp_in_role != 0) {
      if (guard.aborted) drain();
      if (elect_one()) clock_mark(clocks, 12, 1 + warp);
    }
  }
}
