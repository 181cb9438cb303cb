extern "C" __global__ void __launch_bounds__(224, 1) asyncsim_bw_persistent_clc(
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
  const int block_x = blockIdx.x, block_y = blockIdx.y, block_z = blockIdx.z;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const int warp_in_role = warp, thread_in_role = threadIdx.x;
  Guard guard{report, false};
  const int cluster_index = block_x;
  if (warp == 6 && elect_one()) { clock_mark(clocks, 7, 0); tma_prefetch_map(m_a_map); tma_prefetch_map(m_b_map); tma_prefetch_map(m_c_map); }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29072, 1);
    // #1 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29080, 1);
    // #2 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29088, 1);
    // #3 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29096, 1);
    // #4 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29104, 1);
    // #5 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29112, 1);
    // #6 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29120, 4);
    // #7 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29128, 4);
    // #8 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29136, 1);
    // #9 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29144, 1);
    // #10 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29152, 1);
    // #11 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29160, 7);
    // #12 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29168, 7);
    // #13 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 29176, 7);
    // #14 FenceMbarrierInit (bw_persistent_clc.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp_in_role == 0) {
    // #15 Tcgen05Alloc (bw_persistent_clc.py)
    tcgen05_alloc<1>(smem_base + 28672, 128);
    // #16 Tcgen05RelinquishAllocPermit (bw_persistent_clc.py)
    tcgen05_relinquish_alloc_permit<1>();
  }
  // #17 BarSync (bw_persistent_clc.py)
  __syncthreads();
  if (warp < 4) {  // role epilogue
    const int warp_in_role = warp;
    const int thread_in_role = warp_in_role * 32 + lane;
    int v_stage, v_phase, v_heard_stage, v_heard_phase;
    float f_r[64];
    u32 f_work[1];
    const u32 tmem_address = *(const u32*)(smem + 28672);
    v_stage = 0;
    v_phase = 0;
    v_heard_stage = 0;
    v_heard_phase = 0;
    #pragma unroll 1
    for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = __any_sync(0xffffffffu, guard.aborted) ? -1 : (int)f_work[0]) {
      // #18 MbarrierWait (bw_persistent_clc.py)
      mbar_wait(guard, smem_base + v_stage * 8 + 29104, v_phase, 18, v_tile);
      // #19 Tcgen05Fence (bw_persistent_clc.py)
      tcgen05_fence_after();
      // #20 Tcgen05Ld (bw_strips.py)
      tcgen05_ld_x64_f32(tmem_address + v_stage * 64 + warp_in_role * 2097152, f_r + 0);
      // #21 Tcgen05Wait (bw_strips.py)
      tcgen05_wait_ld();
      tcgen05_landed(f_r);
      // #22 Tcgen05Fence (bw_persistent_clc.py)
      tcgen05_fence_before();
      if (elect_one()) {
        if (guard.aborted) goto abandoned_23;
        // #23 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_stage * 8 + 29120);
      abandoned_23:;
      }
      if (elect_one()) {
        if (guard.aborted) goto abandoned_24;
        // #24 WaitGroup (bw_strips.py)
        bulk_wait_read<0>();
      abandoned_24:;
      }
      // #25 BarWarpSync (bw_strips.py)
      __syncwarp();
      // #26 Compute (bw_strips.py)
      {
        const int strip_base = warp_in_role * 4096 + 12288;
        constexpr int strip_rows = 32, strip_cols = 64;
        auto strip = [&](int i0, int i1) -> bf16& { return *(bf16*)(smem + swizzled<112>(strip_base + ((i0) * 64 + i1) * 2)); };
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
      // #27 FenceProxyAsync (bw_strips.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #28 BarWarpSync (bw_strips.py)
      __syncwarp();
      if (elect_one()) {
        if (guard.aborted) goto abandoned_29;
        // #29 TmaStore (bw_strips.py)
        tma_store(m_c_map, smem_base + warp_in_role * 4096 + 12288, (v_tile >> 6) * 512 + ((v_tile & 63) & 7) * 64, ((v_tile & 63) >> 3) * 128 + warp_in_role * 32);
        // #30 CommitGroup (bw_strips.py)
        bulk_commit();
      abandoned_29:;
      }
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
      // #31 MbarrierWait (bw_persistent_clc.py)
      mbar_wait(guard, smem_base + v_heard_stage * 8 + 29136, v_heard_phase, 31, v_tile);
      // #32 ClcQueryCancel (bw_persistent_clc.py)
      f_work[0] = clc_query_cancel<1>(smem_base + v_heard_stage * 128 + 28800);
      // #33 FenceProxyAsync (bw_persistent_clc.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #34 BarWarpSync (bw_persistent_clc.py)
      __syncwarp();
      if (elect_one()) {
        if (guard.aborted) goto abandoned_35;
        // #35 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + 29160);
      abandoned_35:;
      }
      v_heard_stage = v_heard_stage + 1;
      if (v_heard_stage == 3) {
        v_heard_stage = 0;
        v_heard_phase = (v_heard_phase ^ 1);
      }
    }
    if (elect_one()) {
      if (guard.aborted) goto abandoned_36;
      // #36 WaitGroup (bw_strips.py)
      bulk_wait_read<0>();
    abandoned_36:;
    }
    // #37 BarSync (bw_persistent_clc.py)
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (warp_in_role == 0) {
      // #38 Tcgen05Dealloc (bw_persistent_clc.py)
      tcgen05_dealloc<1>(tmem_address, 128);
    }
    if (guard.aborted) drain();
    if (elect_one()) clock_mark(clocks, 7, 1 + warp);
  } else if (warp < 5) {  // role mma
    const int warp_in_role = warp - 4;
    const int thread_in_role = warp_in_role * 32 + lane;
    int v_stage, v_phase, v_slot_stage, v_slot_phase, v_heard_stage, v_heard_phase;
    u32 f_work[1];
    const u32 tmem_address = *(const u32*)(smem + 28672);
    if (elect_one()) {
      v_stage = 0;
      v_phase = 0;
      v_slot_stage = 0;
      v_slot_phase = 1;
      v_heard_stage = 0;
      v_heard_phase = 0;
      #pragma unroll 1
      for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = guard.aborted ? -1 : (int)f_work[0]) {
        // #39 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_slot_stage * 8 + 29120, v_slot_phase, 39, v_tile)) goto abandoned_39;
        // #40 Tcgen05Fence (bw_persistent_clc.py)
        tcgen05_fence_after();
        #pragma unroll 1
        for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
          // #41 MbarrierWait (bw_persistent_clc.py)
          if (!mbar_wait(guard, smem_base + v_stage * 8 + 29072, v_phase, 41, v_i)) goto abandoned_39;
          // #42 Tcgen05Fence (bw_persistent_clc.py)
          tcgen05_fence_after();
          // #43 Tcgen05Mma (bw_persistent_clc.py)
          tcgen05_mma_f16_1cta(tmem_address + v_slot_stage * 64, tcgen05_desc(smem_desc + v_stage * 256 + 65536, 0xc0004010), tcgen05_desc(smem_desc + v_stage * 128 + 66048, 0xc0004010), 0x8100490, (v_i > 0));
          // #44 Tcgen05Commit (bw_persistent_clc.py)
          tcgen05_commit<1>(smem_base + v_stage * 8 + 29088);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
        // #45 Tcgen05Commit (bw_persistent_clc.py)
        tcgen05_commit<1>(smem_base + v_slot_stage * 8 + 29104);
        v_slot_stage = v_slot_stage + 1;
        if (v_slot_stage == 2) {
          v_slot_stage = 0;
          v_slot_phase = (v_slot_phase ^ 1);
        }
        // #46 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_heard_stage * 8 + 29136, v_heard_phase, 46, v_tile)) goto abandoned_39;
        // #47 ClcQueryCancel (bw_persistent_clc.py)
        f_work[0] = clc_query_cancel<1>(smem_base + v_heard_stage * 128 + 28800);
        // #48 FenceProxyAsync (bw_persistent_clc.py)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        // #49 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + 29160);
        v_heard_stage = v_heard_stage + 1;
        if (v_heard_stage == 3) {
          v_heard_stage = 0;
          v_heard_phase = (v_heard_phase ^ 1);
        }
      }
    abandoned_39:;
      if (guard.aborted) drain();
      clock_mark(clocks, 7, 1 + warp);
    }
  } else if (warp < 6) {  // role load
    const int warp_in_role = warp - 5;
    const int thread_in_role = warp_in_role * 32 + lane;
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
          // #50 MbarrierWait (bw_persistent_clc.py)
          if (!mbar_wait(guard, smem_base + v_stage * 8 + 29088, v_phase, 50, v_i)) goto abandoned_50;
          // #51 MbarrierArriveExpectTx (bw_persistent_clc.py)
          mbar_arrive_expect_tx(smem_base + v_stage * 8 + 29072, 6144);
          // #52 TmaLoad (bw_persistent_clc.py)
          tma_load(smem_base + v_stage * 4096, m_a_map, smem_base + v_stage * 8 + 29072, v_i * 16, ((v_tile & 63) >> 3) * 128);
          // #53 TmaLoad (bw_persistent_clc.py)
          tma_load(smem_base + v_stage * 2048 + 8192, m_b_map, smem_base + v_stage * 8 + 29072, v_i * 16, (v_tile >> 6) * 512 + ((v_tile & 63) & 7) * 64);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
        // #54 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_heard_stage * 8 + 29136, v_heard_phase, 54, v_tile)) goto abandoned_50;
        // #55 ClcQueryCancel (bw_persistent_clc.py)
        f_work[0] = clc_query_cancel<1>(smem_base + v_heard_stage * 128 + 28800);
        // #56 FenceProxyAsync (bw_persistent_clc.py)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        // #57 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + 29160);
        v_heard_stage = v_heard_stage + 1;
        if (v_heard_stage == 3) {
          v_heard_stage = 0;
          v_heard_phase = (v_heard_phase ^ 1);
        }
      }
    abandoned_50:;
      if (guard.aborted) drain();
      clock_mark(clocks, 7, 1 + warp);
    }
  } else if (warp < 7) {  // role scheduler
    const int warp_in_role = warp - 6;
    const int thread_in_role = warp_in_role * 32 + lane;
    int v_stage, v_phase;
    u32 f_work[1];
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = guard.aborted ? -1 : (int)f_work[0]) {
        // #58 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + 29160, v_phase, 58, v_tile)) goto abandoned_58;
        // #59 MbarrierArriveExpectTx (bw_persistent_clc.py)
        mbar_arrive_expect_tx(smem_base + v_stage * 8 + 29136, 16);
        // #60 ClcTryCancel (bw_persistent_clc.py)
        clc_try_cancel(smem_base + v_stage * 128 + 28800, smem_base + v_stage * 8 + 29136);
        // #61 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + 29136, (v_phase ^ 1), 61, v_tile)) goto abandoned_58;
        // #62 ClcQueryCancel (bw_persistent_clc.py)
        f_work[0] = clc_query_cancel<1>(smem_base + v_stage * 128 + 28800);
        // #63 FenceProxyAsync (bw_persistent_clc.py)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        // #64 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_stage * 8 + 29160);
        v_stage = v_stage + 1;
        if (v_stage == 3) {
          v_stage = 0;
          v_phase = (v_phase ^ 1);
        }
      }
    abandoned_58:;
      if (guard.aborted) drain();
      clock_mark(clocks, 7, 1 + warp);
    }
  }
}
