extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64, 1) asyncsim_cluster_sum(
    const float* __restrict__ t_source,
    float* __restrict__ t_sums,
    int a_steps,
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
  const int cta_rank = cluster_rank();
  if (warp == 1 && elect_one()) { clock_mark(clocks, 2, 0); }
  float f_total[1];
  float f_part[4];
  // #0 Compute (cluster_sum.py)
  {
    auto& total = f_total;
    total[0] = 0.0f;
  }
  #pragma unroll 1
  for (int v_i = 0, n_i = a_steps; v_i < n_i; ++v_i) {
    // #1 LdGlobal (cluster_sum.py)
    load_vector(t_source + (block_x * a_steps) * 256 + v_i * 256 + thread_in_role, f_part[0]);
    load_vector(t_source + (block_x * a_steps) * 256 + v_i * 256 + thread_in_role + 64, f_part[1]);
    load_vector(t_source + (block_x * a_steps) * 256 + v_i * 256 + thread_in_role + 128, f_part[2]);
    load_vector(t_source + (block_x * a_steps) * 256 + v_i * 256 + thread_in_role + 192, f_part[3]);
    // #2 Compute (cluster_sum.py)
    {
      auto& total = f_total;
      auto& part = f_part;
      total[0] += part[0] + part[1] + (part[2] + part[3]);
    }
  }
  // #3 StShared (cluster_sum.py)
  store_vector((float*)(smem + thread_in_role * 4), f_total[0]);
  // #4 BarrierClusterArrive (cluster_sum.py)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  // #5 BarrierClusterWait (cluster_sum.py)
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (warp_in_role == 0) {
    // #6 Compute (cluster_sum.py)
    {
      auto& total = f_total;
      total[0] = 0.0f;
    }
    // #7 LdShared (cluster_sum.py)
    load_vector(cluster_pointer((float*)(smem + cta_rank * 128 + lane * 4), (cta_rank & 1)), f_part[0]);
    // #8 Compute (cluster_sum.py)
    {
      auto& total = f_total;
      float part[1] = {f_part[0]};
      total[0] += part[0];
    }
    // #9 LdShared (cluster_sum.py)
    load_vector(cluster_pointer((float*)(smem + cta_rank * 128 + lane * 4), ((cta_rank + 1) & 1)), f_part[0]);
    // #10 Compute (cluster_sum.py)
    {
      auto& total = f_total;
      float part[1] = {f_part[0]};
      total[0] += part[0];
    }
    // #11 StGlobal (cluster_sum.py)
    store_vector(t_sums + (block_x >> 1) * 64 + cta_rank * 32 + lane, f_total[0]);
  }
  // #12 BarrierClusterArrive (cluster_sum.py)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  // #13 BarrierClusterWait (cluster_sum.py)
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (elect_one()) clock_mark(clocks, 2, 1 + warp);
}
