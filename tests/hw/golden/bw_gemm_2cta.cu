extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(192, 1) asyncsim_bw_gemm_2cta(
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
  constexpr int at_b_tile = 8192;             // 2 x bf16 32 x 16, swizzled by 32
  constexpr int at_strips = 10240;            // 4 x bf16 32 x 64, swizzled by 128
  constexpr int at_address = 26624;           // u32 1 x 1
  constexpr int at_full = 26632;              // 2 x mbarrier
  constexpr int at_empty = 26648;             // 2 x mbarrier
  constexpr int at_done = 26664;              // 2 x mbarrier
  constexpr int at_free = 26680;              // 2 x mbarrier
  const int block_x = blockIdx.x;
  const int cta_rank = cluster_rank();
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 5 && elect_one()) {
    clock_mark(clocks, 6, 0);
    tma_prefetch_map(m_a_map);
    tma_prefetch_map(m_b_map);
    tma_prefetch_map(m_c_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + at_empty, 1);
    // #3 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + 8 + at_empty, 1);
    // #4 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + at_done, 1);
    // #5 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + 8 + at_done, 1);
    // #6 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + at_free, 8);
    // #7 MbarrierInit (bw_gemm_2cta.py)
    mbar_init(smem_base + 8 + at_free, 8);
    // #8 FenceMbarrierInit (bw_gemm_2cta.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  // #9 BarrierClusterArrive (bw_gemm_2cta.py)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  // #10 BarrierClusterWait (bw_gemm_2cta.py)
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (warp_in_role == 0) {
    // #11 Tcgen05Alloc (bw_gemm_2cta.py)
    tcgen05_alloc<2>(smem_base + at_address, 128);
    // #12 Tcgen05RelinquishAllocPermit (bw_gemm_2cta.py)
    tcgen05_relinquish_alloc_permit<2>();
  }
  // #13 BarSync (bw_gemm_2cta.py)
  __syncthreads();
  if (warp < 4) {  // role epilogue
    const int warp_in_role = warp;
    int v_stage, v_phase;
    float f_r[64];
    const u32 tmem_address = *(const u32*)(smem + at_address);
    v_stage = 0;
    v_phase = 0;
    #pragma unroll 1
    for (int v_t = 0, n_t = ((a_tiles - (block_x >> 1) + 1) >> 1); v_t < n_t; ++v_t) {
      // #14 MbarrierWait (bw_gemm_2cta.py)
      mbar_wait(guard, smem_base + v_stage * 8 + at_done, v_phase, 14, v_t);
      // #15 Tcgen05Fence (bw_gemm_2cta.py)
      tcgen05_fence_after();
      // #16 Tcgen05Ld (bw_strips.py)
      tcgen05_ld_x64_f32(tmem_address + v_stage * 64 + warp_in_role * 2097152, f_r + 0);
      // #17 Tcgen05Wait (bw_strips.py)
      tcgen05_wait_ld();
      tcgen05_landed(f_r);
      // #18 Tcgen05Fence (bw_gemm_2cta.py)
      tcgen05_fence_before();
      if (elect_one() && !guard.aborted) {
        // #19 MbarrierArrive (bw_gemm_2cta.py)
        remote_mbar_arrive_release_cta(cluster_address(smem_base + v_stage * 8 + at_free, 0), 1);
      }
      if (elect_one() && !guard.aborted) {
        // #20 WaitGroup (bw_strips.py)
        bulk_wait_read<0>();
      }
      // #21 BarWarpSync (bw_strips.py)
      __syncwarp();
      // #22 Compute row_bf16 (bw_strips.py)
      {
        const int strip_base = warp_in_role * 4096 + at_strips;
        auto strip = [&](int i0, int i1) -> bf16& {
          return *(bf16*)(smem + swizzled<112>(strip_base + ((i0) * 64 + i1) * 2));
        };
        auto& acc = f_r;
        #pragma unroll
        for (int c = 0; c < 64; c += 8) {
          uint4 chunk;
          u32* pair = (u32*)&chunk;
          #pragma unroll
          for (int i = 0; i < 4; ++i)
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
                : "=r"(pair[i]) : "f"(acc[c + 2 * i + 1]), "f"(acc[c + 2 * i]));
          *(uint4*)&strip(lane, c) = chunk;
        }
      }
      // #23 FenceProxyAsync (bw_strips.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #24 BarWarpSync (bw_strips.py)
      __syncwarp();
      if (elect_one() && !guard.aborted) {
        // #25 TmaStore (bw_strips.py)
        tma_store(m_c_map, smem_base + warp_in_role * 4096 + at_strips, (((block_x >> 1) + v_t * 2) >> 5) * 512 + ((((block_x >> 1) + v_t * 2) & 31) & 7) * 64, ((((block_x >> 1) + v_t * 2) & 31) >> 3) * 256 + cta_rank * 128 + warp_in_role * 32);
        // #26 CommitGroup (bw_strips.py)
        bulk_commit();
      }
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
    }
    if (elect_one() && !guard.aborted) {
      // #27 WaitGroup (bw_strips.py)
      bulk_wait_read<0>();
    }
    // #28 BarSync (bw_gemm_2cta.py)
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (warp_in_role == 0) {
      // #29 Tcgen05Dealloc (bw_gemm_2cta.py)
      tcgen05_dealloc<2>(tmem_address, 128);
    }
    // #30 BarrierClusterArrive (bw_gemm_2cta.py)
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    // #31 BarrierClusterWait (bw_gemm_2cta.py)
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 6, 1 + warp);
  } else if (warp < 5) {  // role mma
    int v_stage, v_phase, v_slot_stage, v_slot_phase;
    const u32 tmem_address = *(const u32*)(smem + at_address);
    if (elect_one()) {
      if (cta_rank == 0) {
        v_stage = 0;
        v_phase = 0;
        v_slot_stage = 0;
        v_slot_phase = 1;
        #pragma unroll 1
        for (int v_t = 0, n_t = ((a_tiles - (block_x >> 1) + 1) >> 1); v_t < n_t; ++v_t) {
          // #32 MbarrierWait (bw_gemm_2cta.py)
          if (!mbar_wait(guard, smem_base + v_slot_stage * 8 + at_free, v_slot_phase, 32, v_t)) goto abandoned_32;
          // #33 Tcgen05Fence (bw_gemm_2cta.py)
          tcgen05_fence_after();
          #pragma unroll 1
          for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
            // #34 MbarrierWait (bw_gemm_2cta.py)
            if (!mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 34, v_i)) goto abandoned_32;
            // #35 Tcgen05Fence (bw_gemm_2cta.py)
            tcgen05_fence_after();
            // #36 Tcgen05Mma (bw_gemm_2cta.py)
            tcgen05_mma_f16_2cta(tmem_address + v_slot_stage * 64, tcgen05_desc(smem_desc + v_stage * 256 + 65536 + at_a_tile / 16, 0xc0004010), tcgen05_desc(smem_desc + v_stage * 64 + 65536 + at_b_tile / 16, 0xc0004010), 0x10100490, (v_i > 0));
            // #37 Tcgen05Commit (bw_gemm_2cta.py)
            tcgen05_commit<2>(smem_base + v_stage * 8 + at_empty, 3);
            v_stage = v_stage + 1;
            if (v_stage == 2) {
              v_stage = 0;
              v_phase = (v_phase ^ 1);
            }
          }
          // #38 Tcgen05Commit (bw_gemm_2cta.py)
          tcgen05_commit<2>(smem_base + v_slot_stage * 8 + at_done, 3);
          v_slot_stage = v_slot_stage + 1;
          if (v_slot_stage == 2) {
            v_slot_stage = 0;
            v_slot_phase = (v_slot_phase ^ 1);
          }
        }
      }
    abandoned_32:;
    }
    // #39 BarrierClusterArrive (bw_gemm_2cta.py)
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    // #40 BarrierClusterWait (bw_gemm_2cta.py)
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 6, 1 + warp);
  } else if (warp < 6) {  // role load
    int v_stage, v_phase;
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_t = 0, n_t = ((a_tiles - (block_x >> 1) + 1) >> 1); v_t < n_t; ++v_t) {
        #pragma unroll 1
        for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
          // #41 MbarrierWait (bw_gemm_2cta.py)
          if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 41, v_i)) goto abandoned_41;
          if (cta_rank == 0) {
            // #42 MbarrierArriveExpectTx (bw_gemm_2cta.py)
            mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 10240);
          }
          // #43 TmaLoad (bw_gemm_2cta.py)
          tma_load_pair_2d(smem_base + v_stage * 4096 + at_a_tile, m_a_map, cluster_address(smem_base + v_stage * 8 + at_full, 0), v_i * 16, ((((block_x >> 1) + v_t * 2) & 31) >> 3) * 256 + cta_rank * 128);
          // #44 TmaLoad (bw_gemm_2cta.py)
          tma_load_pair_2d(smem_base + v_stage * 1024 + at_b_tile, m_b_map, cluster_address(smem_base + v_stage * 8 + at_full, 0), v_i * 16, (((block_x >> 1) + v_t * 2) >> 5) * 512 + ((((block_x >> 1) + v_t * 2) & 31) & 7) * 64 + cta_rank * 32);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
      }
      // #45 MbarrierWait (bw_gemm_2cta.py)
      if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 45, 0)) goto abandoned_41;
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
      // #46 MbarrierWait (bw_gemm_2cta.py)
      if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 46, 0)) goto abandoned_41;
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
    abandoned_41:;
    }
    // #47 BarrierClusterArrive (bw_gemm_2cta.py)
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    // #48 BarrierClusterWait (bw_gemm_2cta.py)
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 6, 1 + warp);
  }
}
