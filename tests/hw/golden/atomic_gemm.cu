extern "C" __global__ void __launch_bounds__(320, 1) asyncsim_atomic_gemm(
    const __grid_constant__ TensorMap m_a_map,
    const __grid_constant__ TensorMap m_b_map,
    const __grid_constant__ TensorMap m_c_map,
    u32* __restrict__ t_counter,
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
  constexpr int at_slot = 28672;              // 2 x u32 1 x 1
  constexpr int at_full = 28808;              // 2 x mbarrier
  constexpr int at_empty = 28824;             // 2 x mbarrier
  constexpr int at_told = 28840;              // 2 x mbarrier
  constexpr int at_read = 28856;              // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int cluster_index = block_x;
  const int clusters = (int)gridDim.x;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 9 && elect_one()) {
    clock_mark(clocks, 10, 0);
    tma_prefetch_map(m_a_map);
    tma_prefetch_map(m_b_map);
    tma_prefetch_map(m_c_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + at_empty, 2);
    // #3 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + 8 + at_empty, 2);
    // #4 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + at_told, 1);
    // #5 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + 8 + at_told, 1);
    // #6 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + at_read, 9);
    // #7 MbarrierInit (atomic_gemm.py)
    mbar_init(smem_base + 8 + at_read, 9);
    // #8 FenceMbarrierInit (atomic_gemm.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #9 BarSync (atomic_gemm.py)
  __syncthreads();
  if (warp < 8) {  // role consumer
    const int warp_in_role = warp;
    int v_stage, v_phase, v_done_stage, v_heard_stage, v_heard_phase;
    float f_acc0[32] = {};
    u32 f_work[1];
    v_stage = 0;
    v_phase = 0;
    v_done_stage = 0;
    v_heard_stage = 0;
    v_heard_phase = 0;
    #pragma unroll 1
    for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = __any_sync(0xffffffffu, guard.aborted) ? -1 : (int)f_work[0]) {
      #pragma unroll 1
      for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
        // #10 MbarrierWait (gemm_operands.py)
        mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 10, v_i);
        // #11 WgmmaFence (gemm_operands.py)
        wgmma_fence();
        // #12 WgmmaMmaAsync (gemm_operands.py)
        wgmma_m64n64k16_f32_bf16_bf16(f_acc0, wgmma_desc(smem_desc + v_stage * 256 + (warp_in_role >> 2) * 128 + 65536 + at_a_tile / 16, 0xc0000010), wgmma_desc(smem_desc + v_stage * 128 + 65536 + at_b_tile / 16, 0xc0000010), (v_i != 0));
        // #13 CommitGroup (gemm_operands.py)
        wgmma_commit();
        // #14 WaitGroup (atomic_gemm.py)
        wgmma_wait<1>();
        if (v_i >= 1) {
          if ((warp_in_role & 3) == 0) {
            if (elect_one() && !guard.aborted) {
              // #15 MbarrierArrive (gemm_operands.py)
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
      // #16 WaitGroup (atomic_gemm.py)
      wgmma_wait<0>();
      pin(f_acc0);
      if ((warp_in_role & 3) == 0) {
        if (elect_one() && !guard.aborted) {
          // #17 MbarrierArrive (gemm_operands.py)
          mbar_arrive(smem_base + v_done_stage * 8 + at_empty);
        }
      }
      v_done_stage = v_done_stage + 1;
      if (v_done_stage == 2) {
        v_done_stage = 0;
      }
      if ((warp_in_role & 7) == 0) {
        if (elect_one() && !guard.aborted) {
          // #18 WaitGroup (gemm_epilogue.py)
          bulk_wait_read<0>();
        }
      }
      // #19 BarSync (atomic_gemm.py)
      asm volatile("bar.sync 1, 256;" ::: "memory");
      // #20 Compute strip_bf16 (gemm_epilogue.py)
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
      // #21 FenceProxyAsync (gemm_epilogue.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #22 BarSync (atomic_gemm.py)
      asm volatile("bar.sync 1, 256;" ::: "memory");
      if ((warp_in_role & 7) == 0) {
        if (elect_one() && !guard.aborted) {
          // #23 TmaStore (atomic_gemm.py)
          tma_store(m_c_map, smem_base + at_strips, (v_tile >> 8) * 512 + ((v_tile & 255) & 7) * 64, ((v_tile & 255) >> 3) * 128);
          // #24 CommitGroup (gemm_epilogue.py)
          bulk_commit();
        }
      }
      // #25 MbarrierWait (atomic_gemm.py)
      mbar_wait(guard, smem_base + v_heard_stage * 8 + at_told, v_heard_phase, 25, v_tile);
      // #26 LdShared (atomic_gemm.py)
      load_vector((u32*)(smem + v_heard_stage * 128 + at_slot), f_work[0]);
      // #27 BarWarpSync (atomic_gemm.py)
      __syncwarp();
      if (elect_one() && !guard.aborted) {
        // #28 MbarrierArrive (atomic_gemm.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + at_read);
      }
      v_heard_stage = v_heard_stage + 1;
      if (v_heard_stage == 2) {
        v_heard_stage = 0;
        v_heard_phase = (v_heard_phase ^ 1);
      }
    }
    if ((warp_in_role & 7) == 0) {
      if (elect_one() && !guard.aborted) {
        // #29 WaitGroup (gemm_epilogue.py)
        bulk_wait_read<0>();
      }
    }
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 10, 1 + warp);
  } else if (warp < 9) {  // role load
    int v_stage, v_phase, v_heard_stage, v_heard_phase;
    u32 f_work[1];
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      v_heard_stage = 0;
      v_heard_phase = 0;
      #pragma unroll 1
      for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = guard.aborted ? -1 : (int)f_work[0]) {
        #pragma unroll 1
        for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
          // #30 MbarrierWait (gemm_operands.py)
          if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 30, v_i)) goto abandoned_30;
          // #31 MbarrierArriveExpectTx (gemm_operands.py)
          mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 6144);
          // #32 TmaLoad (gemm_operands.py)
          tma_load(smem_base + v_stage * 4096 + at_a_tile, m_a_map, smem_base + v_stage * 8 + at_full, v_i * 16, ((v_tile & 255) >> 3) * 128);
          // #33 TmaLoad (gemm_operands.py)
          tma_load(smem_base + v_stage * 2048 + at_b_tile, m_b_map, smem_base + v_stage * 8 + at_full, v_i * 16, (v_tile >> 8) * 512 + ((v_tile & 255) & 7) * 64);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
        // #34 MbarrierWait (atomic_gemm.py)
        if (!mbar_wait(guard, smem_base + v_heard_stage * 8 + at_told, v_heard_phase, 34, v_tile)) goto abandoned_30;
        // #35 LdShared (atomic_gemm.py)
        load_vector((u32*)(smem + v_heard_stage * 128 + at_slot), f_work[0]);
        // #36 MbarrierArrive (atomic_gemm.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + at_read);
        v_heard_stage = v_heard_stage + 1;
        if (v_heard_stage == 2) {
          v_heard_stage = 0;
          v_heard_phase = (v_heard_phase ^ 1);
        }
      }
    abandoned_30:;
      if (guard.aborted) drain();
      clock_mark(clocks, 10, 1 + warp);
    }
  } else if (warp < 10) {  // role scheduler
    int v_stage, v_phase;
    u32 f_work[1];
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = guard.aborted ? -1 : (int)f_work[0]) {
        // #37 MbarrierWait (atomic_gemm.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + at_read, v_phase, 37, v_tile)) goto abandoned_37;
        // #38 AtomAdd (atomic_gemm.py)
        f_work[0] = clusters + atomicAdd(t_counter + 0, 1);
        // #39 StShared (atomic_gemm.py)
        store_vector((u32*)(smem + v_stage * 128 + at_slot), f_work[0]);
        // #40 MbarrierArrive (atomic_gemm.py)
        mbar_arrive(smem_base + v_stage * 8 + at_told);
        v_stage = v_stage + 1;
        if (v_stage == 2) {
          v_stage = 0;
          v_phase = (v_phase ^ 1);
        }
      }
    abandoned_37:;
      if (guard.aborted) drain();
      clock_mark(clocks, 10, 1 + warp);
    }
  }
}
