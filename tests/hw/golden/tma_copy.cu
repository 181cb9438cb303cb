extern "C" __global__ void __launch_bounds__(128, 1) asyncsim_tma_copy(
    const __grid_constant__ TensorMap m_source_map,
    const __grid_constant__ TensorMap m_result_map,
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
  if (warp == 3 && elect_one()) { clock_mark(clocks, 4, 0); tma_prefetch_map(m_source_map); tma_prefetch_map(m_result_map); }
  u64 s_state = 0;
  if (warp_in_role == 0 && elect_one()) {
    if (guard.aborted) goto abandoned_0;
    // #0 MbarrierInit (tma_copy.py)
    mbar_init(smem_base + 2048, 128);
    // #1 FenceProxyAsync (tma_copy.py)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  abandoned_0:;
  }
  // #2 BarSync (tma_copy.py)
  __syncthreads();
  if (warp_in_role == 0 && elect_one()) {
    if (guard.aborted) goto abandoned_3;
    // #3 TmaLoad (tma_copy.py)
    tma_load(smem_base + 0, m_source_map, smem_base + 2048, block_x * 32, block_y * 16);
    // #4 MbarrierArriveExpectTx (tma_copy.py)
    s_state = mbar_arrive_expect_tx_state(smem_base + 2048, 2048);
  abandoned_3:;
  } else {
    // #5 MbarrierArrive (tma_copy.py)
    s_state = mbar_arrive_state(smem_base + 2048);
  }
  // #6 MbarrierWaitState (tma_copy.py)
  mbar_wait_state(guard, smem_base + 2048, s_state, 6, 0);
  // #7 Compute (tma_copy.py)
  {
    const int tile_base = warp_in_role * 512;
    constexpr int tile_rows = 4, tile_cols = 32;
    auto tile = [&](int i0, int i1) -> int& { return *(int*)(smem + tile_base + ((i0) * 32 + i1) * 4); };
    int4& mine = *(int4*)&tile(lane / 8, lane % 8 * 4);
    int4 x = mine;
    x.x += 1; x.y += 1; x.z += 1; x.w += 1;
    mine = x;
  }
  // #8 FenceProxyAsync (tma_copy.py)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  // #9 BarSync (tma_copy.py)
  __syncthreads();
  if (warp_in_role == 0 && elect_one()) {
    if (guard.aborted) goto abandoned_10;
    // #10 TmaStore (tma_copy.py)
    tma_store(m_result_map, smem_base + 0, block_x * 32, block_y * 16);
    // #11 CommitGroup (tma_copy.py)
    bulk_commit();
    // #12 WaitGroup (tma_copy.py)
    bulk_wait_read<0>();
  abandoned_10:;
  }
  if (guard.aborted) drain();
  if (elect_one()) clock_mark(clocks, 4, 1 + warp);
}
