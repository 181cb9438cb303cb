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
  constexpr int at_a_tile = 0;                // 2 x bf16 128 x 16, swizzled by 32
  constexpr int at_b_tile = 8192;             // 2 x bf16 64 x 16, swizzled by 32
  constexpr int at_strips = 12288;            // 4 x bf16 32 x 64, swizzled by 128
  constexpr int at_address = 28672;           // u32 1 x 1
  constexpr int at_response = 28800;          // 3 x u32 1 x 4
  constexpr int at_full = 29072;              // 2 x mbarrier
  constexpr int at_empty = 29088;             // 2 x mbarrier
  constexpr int at_done = 29104;              // 2 x mbarrier
  constexpr int at_free = 29120;              // 2 x mbarrier
  constexpr int at_answered = 29136;          // 3 x mbarrier
  constexpr int at_read = 29160;              // 3 x mbarrier
  const int block_x = blockIdx.x;
  const int cluster_index = block_x;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 6 && elect_one()) {
    clock_mark(clocks, 7, 0);
    tma_prefetch_map(m_a_map);
    tma_prefetch_map(m_b_map);
    tma_prefetch_map(m_c_map);
  }
  if (warp_in_role == 0 && elect_one()) {
    // #0 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + at_full, 1);
    // #1 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 8 + at_full, 1);
    // #2 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + at_empty, 1);
    // #3 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 8 + at_empty, 1);
    // #4 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + at_done, 1);
    // #5 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 8 + at_done, 1);
    // #6 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + at_free, 4);
    // #7 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 8 + at_free, 4);
    // #8 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + at_answered, 1);
    // #9 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 8 + at_answered, 1);
    // #10 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 16 + at_answered, 1);
    // #11 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + at_read, 7);
    // #12 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 8 + at_read, 7);
    // #13 MbarrierInit (bw_persistent_clc.py)
    mbar_init(smem_base + 16 + at_read, 7);
    // #14 FenceMbarrierInit (bw_persistent_clc.py)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (warp_in_role == 0) {
    // #15 Tcgen05Alloc (bw_persistent_clc.py)
    tcgen05_alloc<1>(smem_base + at_address, 128);
    // #16 Tcgen05RelinquishAllocPermit (bw_persistent_clc.py)
    tcgen05_relinquish_alloc_permit<1>();
  }
  // #17 BarSync (bw_persistent_clc.py)
  __syncthreads();
  if (warp < 4) {  // role epilogue
    const int warp_in_role = warp;
    int v_stage, v_phase, v_heard_stage, v_heard_phase;
    float f_r[64];
    u32 f_work[1];
    const u32 tmem_address = *(const u32*)(smem + at_address);
    v_stage = 0;
    v_phase = 0;
    v_heard_stage = 0;
    v_heard_phase = 0;
    #pragma unroll 1
    for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = __any_sync(0xffffffffu, guard.aborted) ? -1 : (int)f_work[0]) {
      // #18 MbarrierWait (bw_persistent_clc.py)
      mbar_wait(guard, smem_base + v_stage * 8 + at_done, v_phase, 18, v_tile);
      // #19 Tcgen05Fence (bw_persistent_clc.py)
      tcgen05_fence_after();
      // #20 Tcgen05Ld (bw_strips.py)
      tcgen05_ld_x64_f32(tmem_address + v_stage * 64 + warp_in_role * 2097152, f_r + 0);
      // #21 Tcgen05Wait (bw_strips.py)
      tcgen05_wait_ld();
      tcgen05_landed(f_r);
      // #22 Tcgen05Fence (bw_persistent_clc.py)
      tcgen05_fence_before();
      if (elect_one() && !guard.aborted) {
        // #23 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_stage * 8 + at_free);
      }
      if (elect_one() && !guard.aborted) {
        // #24 WaitGroup (bw_strips.py)
        bulk_wait_read<0>();
      }
      // #25 BarWarpSync (bw_strips.py)
      __syncwarp();
      // #26 Compute row_bf16 (bw_strips.py)
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
      // #27 FenceProxyAsync (bw_strips.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #28 BarWarpSync (bw_strips.py)
      __syncwarp();
      if (elect_one() && !guard.aborted) {
        // #29 TmaStore (bw_strips.py)
        tma_store(m_c_map, smem_base + warp_in_role * 4096 + at_strips, (v_tile >> 6) * 512 + ((v_tile & 63) & 7) * 64, ((v_tile & 63) >> 3) * 128 + warp_in_role * 32);
        // #30 CommitGroup (bw_strips.py)
        bulk_commit();
      }
      v_stage = v_stage + 1;
      if (v_stage == 2) {
        v_stage = 0;
        v_phase = (v_phase ^ 1);
      }
      // #31 MbarrierWait (bw_persistent_clc.py)
      mbar_wait(guard, smem_base + v_heard_stage * 8 + at_answered, v_heard_phase, 31, v_tile);
      // #32 ClcQueryCancel (bw_persistent_clc.py)
      f_work[0] = clc_query_cancel<1>(smem_base + v_heard_stage * 128 + at_response);
      // #33 FenceProxyAsync (bw_persistent_clc.py)
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      // #34 BarWarpSync (bw_persistent_clc.py)
      __syncwarp();
      if (elect_one() && !guard.aborted) {
        // #35 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + at_read);
      }
      v_heard_stage = v_heard_stage + 1;
      if (v_heard_stage == 3) {
        v_heard_stage = 0;
        v_heard_phase = (v_heard_phase ^ 1);
      }
    }
    if (elect_one() && !guard.aborted) {
      // #36 WaitGroup (bw_strips.py)
      bulk_wait_read<0>();
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
    int v_stage, v_phase, v_slot_stage, v_slot_phase, v_heard_stage, v_heard_phase;
    u32 f_work[1];
    const u32 tmem_address = *(const u32*)(smem + at_address);
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
        if (!mbar_wait(guard, smem_base + v_slot_stage * 8 + at_free, v_slot_phase, 39, v_tile)) goto abandoned_39;
        // #40 Tcgen05Fence (bw_persistent_clc.py)
        tcgen05_fence_after();
        #pragma unroll 1
        for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
          // #41 MbarrierWait (bw_persistent_clc.py)
          if (!mbar_wait(guard, smem_base + v_stage * 8 + at_full, v_phase, 41, v_i)) goto abandoned_39;
          // #42 Tcgen05Fence (bw_persistent_clc.py)
          tcgen05_fence_after();
          // #43 Tcgen05Mma (bw_persistent_clc.py)
          tcgen05_mma_f16_1cta(tmem_address + v_slot_stage * 64, tcgen05_desc(smem_desc + v_stage * 256 + 65536 + at_a_tile / 16, 0xc0004010), tcgen05_desc(smem_desc + v_stage * 128 + 65536 + at_b_tile / 16, 0xc0004010), 0x8100490, (v_i > 0));
          // #44 Tcgen05Commit (bw_persistent_clc.py)
          tcgen05_commit<1>(smem_base + v_stage * 8 + at_empty);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
        // #45 Tcgen05Commit (bw_persistent_clc.py)
        tcgen05_commit<1>(smem_base + v_slot_stage * 8 + at_done);
        v_slot_stage = v_slot_stage + 1;
        if (v_slot_stage == 2) {
          v_slot_stage = 0;
          v_slot_phase = (v_slot_phase ^ 1);
        }
        // #46 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_heard_stage * 8 + at_answered, v_heard_phase, 46, v_tile)) goto abandoned_39;
        // #47 ClcQueryCancel (bw_persistent_clc.py)
        f_work[0] = clc_query_cancel<1>(smem_base + v_heard_stage * 128 + at_response);
        // #48 FenceProxyAsync (bw_persistent_clc.py)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        // #49 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + at_read);
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
          if (!mbar_wait(guard, smem_base + v_stage * 8 + at_empty, v_phase, 50, v_i)) goto abandoned_50;
          // #51 MbarrierArriveExpectTx (bw_persistent_clc.py)
          mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_full, 6144);
          // #52 TmaLoad (bw_persistent_clc.py)
          tma_load(smem_base + v_stage * 4096 + at_a_tile, m_a_map, smem_base + v_stage * 8 + at_full, v_i * 16, ((v_tile & 63) >> 3) * 128);
          // #53 TmaLoad (bw_persistent_clc.py)
          tma_load(smem_base + v_stage * 2048 + at_b_tile, m_b_map, smem_base + v_stage * 8 + at_full, v_i * 16, (v_tile >> 6) * 512 + ((v_tile & 63) & 7) * 64);
          v_stage = v_stage + 1;
          if (v_stage == 2) {
            v_stage = 0;
            v_phase = (v_phase ^ 1);
          }
        }
        // #54 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_heard_stage * 8 + at_answered, v_heard_phase, 54, v_tile)) goto abandoned_50;
        // #55 ClcQueryCancel (bw_persistent_clc.py)
        f_work[0] = clc_query_cancel<1>(smem_base + v_heard_stage * 128 + at_response);
        // #56 FenceProxyAsync (bw_persistent_clc.py)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        // #57 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_heard_stage * 8 + at_read);
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
    int v_stage, v_phase;
    u32 f_work[1];
    if (elect_one()) {
      v_stage = 0;
      v_phase = 1;
      #pragma unroll 1
      for (int v_tile = cluster_index, n_tile = a_tiles; (u32)v_tile < (u32)n_tile; v_tile = guard.aborted ? -1 : (int)f_work[0]) {
        // #58 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + at_read, v_phase, 58, v_tile)) goto abandoned_58;
        // #59 MbarrierArriveExpectTx (bw_persistent_clc.py)
        mbar_arrive_expect_tx(smem_base + v_stage * 8 + at_answered, 16);
        // #60 ClcTryCancel (bw_persistent_clc.py)
        clc_try_cancel(smem_base + v_stage * 128 + at_response, smem_base + v_stage * 8 + at_answered);
        // #61 MbarrierWait (bw_persistent_clc.py)
        if (!mbar_wait(guard, smem_base + v_stage * 8 + at_answered, (v_phase ^ 1), 61, v_tile)) goto abandoned_58;
        // #62 ClcQueryCancel (bw_persistent_clc.py)
        f_work[0] = clc_query_cancel<1>(smem_base + v_stage * 128 + at_response);
        // #63 FenceProxyAsync (bw_persistent_clc.py)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        // #64 MbarrierArrive (bw_persistent_clc.py)
        mbar_arrive(smem_base + v_stage * 8 + at_read);
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
