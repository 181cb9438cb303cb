extern "C" __global__ void __launch_bounds__(128, 1) asyncsim_tma_copy(
    const __grid_constant__ TensorMap m_source_map,
    const __grid_constant__ TensorMap m_result_map,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  constexpr int at_tile = 0;                  // i32 16 x 32
  constexpr int at_full = 2048;               // mbarrier
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  Guard guard{report, false};
  const int warp_in_role = warp;
  if (warp == 3 && elect_one()) {
    clock_mark(clocks, 4, 0);
    tma_prefetch_map(m_source_map);
    tma_prefetch_map(m_result_map);
  }
  u64 s_state = 0;
  if (warp_in_role == 0 && elect_one() && !guard.aborted) {
    // #0 MbarrierInit (tma_copy.py)
    mbar_init(smem_base + at_full, 128);
    // #1 FenceProxyAsync (tma_copy.py)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  // #2 BarSync (tma_copy.py)
  __syncthreads();
  if (warp_in_role == 0 && elect_one()) {
    if (guard.aborted) goto abandoned_3;
    // #3 TmaLoad (tma_copy.py)
    tma_load(smem_base + at_tile, m_source_map, smem_base + at_full, block_x * 32, block_y * 16);
    // #4 MbarrierArriveExpectTx (tma_copy.py)
    s_state = mbar_arrive_expect_tx_state(smem_base + at_full, 2048);
  abandoned_3:;
  } else {
    // #5 MbarrierArrive (tma_copy.py)
    s_state = mbar_arrive_state(smem_base + at_full);
  }
  // #6 MbarrierWaitState (tma_copy.py)
  mbar_wait_state(guard, smem_base + at_full, s_state, 6, 0);
  // #7 Compute add_one (tma_copy.py)
  {
    const int tile_base = warp_in_role * 512 + at_tile;
    auto tile = [&](int i0, int i1) -> int& {
      return *(int*)(smem + tile_base + ((i0) * 32 + i1) * 4);
    };
    int4& mine = *(int4*)&tile(lane / 8, lane % 8 * 4);
    int4 x = mine;
    x.x += 1; x.y += 1; x.z += 1; x.w += 1;
    mine = x;
  }
  // #8 FenceProxyAsync (tma_copy.py)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  // #9 BarSync (tma_copy.py)
  __syncthreads();
  if (warp_in_role == 0 && elect_one() && !guard.aborted) {
    // #10 TmaStore (tma_copy.py)
    tma_store(m_result_map, smem_base + at_tile, block_x * 32, block_y * 16);
    // #11 CommitGroup (tma_copy.py)
    bulk_commit();
    // #12 WaitGroup (tma_copy.py)
    bulk_wait_read<0>();
  }
  if (guard.aborted) drain();
  if (elect_one()) clock_mark(clocks, 4, 1 + warp);
}
