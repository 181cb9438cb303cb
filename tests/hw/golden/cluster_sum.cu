extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64, 1) asyncsim_cluster_sum(
    const float* __restrict__ t_source,
    float* __restrict__ t_sums,
    int a_steps,
    u32* report,
    Clocks* clocks) {
  extern __shared__ __align__(1024) unsigned char smem[];
  constexpr int at_parts = 0;                 // f32 1 x 64
  const int block_x = blockIdx.x;
  const int cta_rank = cluster_rank();
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const int warp_in_role = warp;
  const int thread_in_role = threadIdx.x;
  if (warp == 1 && elect_one()) {
    clock_mark(clocks, 2, 0);
  }
  float f_total[1];
  float f_part[4];
  // #0 Compute zero (cluster_sum.py)
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
    // #2 Compute add (cluster_sum.py)
    {
      auto& total = f_total;
      auto& part = f_part;
      total[0] += part[0] + part[1] + (part[2] + part[3]);
    }
  }
  // #3 StShared (cluster_sum.py)
  store_vector((float*)(smem + thread_in_role * 4 + at_parts), f_total[0]);
  // #4 BarrierClusterArrive (cluster_sum.py)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  // #5 BarrierClusterWait (cluster_sum.py)
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (warp_in_role == 0) {
    // #6 Compute zero (cluster_sum.py)
    {
      auto& total = f_total;
      total[0] = 0.0f;
    }
    // #7 LdShared (cluster_sum.py)
    load_vector(cluster_pointer((float*)(smem + cta_rank * 128 + lane * 4 + at_parts), (cta_rank & 1)), f_part[0]);
    // #8 Compute add_one (cluster_sum.py)
    {
      auto& total = f_total;
      float part[1] = {f_part[0]};
      total[0] += part[0];
    }
    // #9 LdShared (cluster_sum.py)
    load_vector(cluster_pointer((float*)(smem + cta_rank * 128 + lane * 4 + at_parts), ((cta_rank + 1) & 1)), f_part[0]);
    // #10 Compute add_one (cluster_sum.py)
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
