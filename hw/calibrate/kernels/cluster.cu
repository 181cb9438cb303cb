// CTAs of a cluster: barriers, arrivals at each other's mbarriers, loads, multicast.
DEV u32 cluster_rank() { u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
DEV u32 cluster_size() { u32 r; asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
DEV u32 theirs(u32 own, u32 rank) {
  u32 a;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(own), "r"(rank));
  return a;
}
#ifndef OP
#define OP 0
#define R 16
#endif
DEV void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
DEV void remote_arrive(u32 bar) {
#if OP == 3
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(bar) : "memory");
#else
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(bar) : "memory");
#endif
}

// R in a row between two clock reads, out[i] = cycles, of rank 0.  OP 0: cluster barrier; 1: the same
// with a relaxed arrive; 2: arrive at the next CTA's mbarrier; 3: the same with .release.cluster;
// 4: dependent loads from the next CTA.
extern "C" __global__ void cluster_issue(KERNEL_ARGS) {
  u32 bar = saddr(smem), next = theirs(bar, (cluster_rank() + 1) % cluster_size());
  init_barriers(bar, 1, 0xfffff);
  u32 at = next + 1024;
  *(volatile u32*)(smem + 1024) = 0;
  cluster_sync();
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    u64 t0 = clk();
#pragma unroll
    for (int k = 0; k < R; ++k) {
#if OP == 0
      cluster_sync();
#elif OP == 1
      asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#elif OP == 2 || OP == 3
      if (threadIdx.x == 0) remote_arrive(next);
#else
      u32 v;
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
      at += v;
#endif
    }
    u64 t1 = clk();
    if (blockIdx.x == 0 && threadIdx.x == 0) out[i] = t1 - t0;
  }
  if (at == 12345) out[100] = 1;
  cluster_sync();
}

// Two CTAs in turn: all lanes wait on their own barrier, lane 0 arrives at the other's.
// out[0] = cycles of p2 half periods.
extern "C" __global__ void cluster_pingpong(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem), rank = cluster_rank();
  init_barriers(bar, 1, 1);
  u32 other = theirs(bar, rank ^ 1), lane = threadIdx.x % 32;
  cluster_sync();
  u64 t0 = clk();
#pragma unroll 1
  for (int i = 0; i < p2 / 2; ++i) {
    if (rank == 0) {
      if (lane == 0) remote_arrive(other);
      __syncwarp();
      wait(bar, i & 1, deadline, abort_word);
    } else if (rank == 1) {
      wait(bar, i & 1, deadline, abort_word);
      if (lane == 0) remote_arrive(other);
      __syncwarp();
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) out[0] = clk() - t0;
  cluster_sync();
}

// Rank 0 loads p0 bytes for itself (p1 0) or for all (p1 1): out[i] = cycles to its own landing.
extern "C" __global__ void multicast(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem), dst = bar + 1024, rank = cluster_rank();
  init_barriers(bar, 1, 1);
  unsigned short mask = (unsigned short)((1u << cluster_size()) - 1);
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    if (rank == 0 || p1) { if (threadIdx.x == 0) mbar_expect(bar, p0); }
    cluster_sync();
    u64 t0 = clk();
    if (rank == 0 && elect()) {
      if (p1)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%2, %2}], [%3], %4;"
                     :: "r"(dst), "l"(&m), "r"(0), "r"(bar), "h"(mask) : "memory");
      else tensor_load(dst, &m, 0, 0, bar);
    }
    __syncwarp();
    if (rank == 0 || p1) wait(bar, i & 1, deadline, abort_word);
    u64 t1 = clk();
    if (blockIdx.x == 0 && threadIdx.x == 0) out[i] = t1 - t0;
    cluster_sync();
  }
}

// The first p0 ranks after rank 0 load from its shared memory; p0 0: each rank from the next one's.
// WORDS of 4 bytes a lane; CHAIN 1: each load waits for the one before, else 16 are under way.
// out[b] = cycles of p2 turns of 16 loads, of all warps of CTA b.
#ifndef WORDS
#define WORDS 1
#define CHAIN 1
#endif
DEV u32 load_far(u32 at) {
  u32 v, w = 0, x = 0, y = 0;
#if WORDS == 1
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
#elif WORDS == 2
  asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "r"(at) : "memory");
#else
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(at) : "memory");
#endif
  return v ^ w ^ x ^ y;
}
extern "C" __global__ void remote_read(KERNEL_ARGS) {
  u32 rank = cluster_rank(), size = cluster_size(), own = saddr(smem) + 1024;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) sts(own + 4 * i, 0);
  u32 at = theirs(own, p0 ? 0 : (rank + 1) % size) + 4 * WORDS * (threadIdx.x % 256);
  bool reads = p0 ? rank >= 1 && rank <= p0 : size > 1;
  u32 sum = 0;
  cluster_sync();
  u64 t0 = clk();
#pragma unroll 1
  for (int i = 0; reads && i < p2; ++i) {
    u32 v[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      v[k] = load_far(at);
      if (CHAIN) at += v[k];
    }
#pragma unroll
    for (int k = 0; k < 16; ++k) sum ^= v[k];
  }
  if (sum == 12345) out[1000] = 1;  // before the clock is read: it waits for the loads
  __syncthreads();
  u64 t1 = clk();
  if (threadIdx.x == 0) out[blockIdx.x] = reads ? t1 - t0 : 0;
  cluster_sync();
}
