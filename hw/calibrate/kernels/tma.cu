// TMA latency, engine occupancy and queue.

// Latency of one copy as a lone thread sees it.  out[i] = cycles from before the copy to the wait's
// return.  p0 = bytes, p1 = stride between samples in bytes (0: the same place, an L2 hit),
// p2 = samples, p3 = 1: tensor copy (rows of 128 bytes, p1 in rows).
extern "C" __global__ void tma_latency(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem), dst = saddr(smem) + 1024;
  init_barriers(bar, 1, 1);
  if (threadIdx.x != 0) return;
  u32 phase = 0;
  if (p3 && p1 == 0) {  // the first use of the descriptor shall find its data in L2
    mbar_expect(bar, p0);
    bulk_load(dst, data, p0, bar);
    wait(bar, phase, deadline, abort_word);
    phase ^= 1;
  }
  for (int i = 0; i < p2; ++i) {
    mbar_expect(bar, p0);
    u64 t0 = clk();
    if (p3) tensor_load(dst, &m, 0, i * p1, bar);
    else bulk_load(dst, data + (u64)i * p1, p0, bar);
    wait(bar, phase, deadline, abort_word);
    out[i] = clk() - t0;
    phase ^= 1;
  }
}

// Trains of back-to-back loads by four elected lanes, all into one place; out[0] = cycles from the
// common start to completion.  p0 = bytes, p1 = copies of each warp (bytes * copies * 4 < 1 MB),
// p3 = 1: tensor.
extern "C" __global__ void tma_train(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem), dst = saddr(smem) + 1024;
  init_barriers(bar, 1, 1);
  u32 phase = 0;
  for (int round = 0; round < p2; ++round) {
    if (threadIdx.x == 0) mbar_expect(bar, p0 * p1 * 4);
    __syncthreads();
    u64 t0 = clk();
    if (elect()) {
      if (p3) {
        for (int i = 0; i < p1; ++i) tensor_load(dst, &m, 0, (i & 7) * (p0 / 128), bar);
      } else {
        for (int i = 0; i < p1; ++i) bulk_load(dst, data + (i & 7) * p0, p0, bar);
      }
    }
    __syncwarp();
    wait(bar, phase, deadline, abort_word);
    if (threadIdx.x == 0) out[round] = clk() - t0;
    phase ^= 1;
    __syncthreads();
  }
}

// Issue times of a run of loads: out[i] = cycles from the start to the return of copy i.
extern "C" __global__ void tma_queue(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem), dst = saddr(smem) + 1024;
  init_barriers(bar, 1, 1);
  if (elect()) {
    mbar_expect(bar, p0 * 32);
    u32 t[33];
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t[0]) :: "memory");
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      tensor_load(dst, &m, 0, (i & 7) * (p0 / 128), bar);
      asm volatile("mov.u32 %0, %%clock;" : "=r"(t[i + 1]) :: "memory");
    }
    wait(bar, 0, deadline, abort_word);
#pragma unroll
    for (int i = 0; i < 32; ++i) out[i] = t[i + 1] - t[0];
  }
}

// Stores by an elected lane: STORES of BYTES in one group.  out[i] = cycles to wait_group 0,
// out[p2 + i] = cycles of issue and commit alone.
#ifndef BYTES
#define BYTES 1024
#define STORES 1
#define TENSOR 1
#endif
extern "C" __global__ void tma_store(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u32 src = saddr(smem) + 1024;
  if (elect()) {
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
      u64 t0 = clk();
#pragma unroll
      for (int k = 0; k < STORES; ++k) {
#if TENSOR
        tensor_store(&m, 0, k * (BYTES / 128), src);
#else
        bulk_store(data + k * BYTES, src, BYTES);
#endif
      }
      bulk_commit();
      u64 t1 = clk();
      bulk_wait();
      out[i] = clk() - t0;
      out[p2 + i] = t1 - t0;
    }
  }
}

// Landing of a tensor load as converged waiters see it: warp 0 elects and issues, then waits; warp 1
// sleeps on the barrier.  out[i] = cycles from before the copy to warp 1's return, out[p2 + i] =
// to warp 0's.  p0 = bytes, p1 = rows and p3 = elements of a row from sample to sample.
extern "C" __global__ void tma_landing(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem), dst = saddr(smem) + 1024;
  u64* stamps = (u64*)(smem + 64);
  init_barriers(bar, 1, 1);
  u32 warp = uniform_warp(), lane = threadIdx.x % 32;
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    u64 t0 = 0;
    if (warp == 0) {
      u64 start = clk();
      while (clk() - start < 500) {}
      if (elect()) mbar_expect(bar, p0);
      t0 = clk();
      if (elect()) tensor_load(dst, &m, i * p3, i * p1, bar);
    }
    wait(bar, i & 1, deadline, abort_word);
    u64 t1 = clk();
    if (lane == 0) { stamps[2 * warp] = t0; stamps[2 * warp + 1] = t1; }
    __syncthreads();
    if (threadIdx.x == 0) { out[i] = stamps[3] - stamps[0]; out[p2 + i] = stamps[1] - stamps[0]; }
    __syncthreads();
  }
}

// The start of a ring as rendered kernels write it: one warp prefetches the map (p3 = 1), another
// sets up the barriers, then the producer fills four stages of p0 bytes, twice.
// out[8 b + s] = cycles from the block barrier to the landing of copy s, as sleeping warps see it.
extern "C" __global__ void first_ring(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 full = saddr(smem), dst = saddr(smem) + 1024;
  u32 warp = uniform_warp();
  if (warp == 1 && p3 && elect()) asm volatile("prefetch.tensormap [%0];" :: "l"(&m) : "memory");
  if (warp == 0 && elect()) {
    for (int i = 0; i < 8; ++i) mbar_init(full + 8 * i, 1);
    mbar_fence_init();
  }
  __syncthreads();
  u64 t0 = clk();
  int row = blockIdx.x * p1;
  if (warp == 1) {
    for (int i = 0; i < 8; ++i) {
      if (i == 4) {  // the second filling starts when the first has landed
        for (int k = 0; k < 4; ++k) wait(full + 8 * k, 0, deadline, abort_word);
      }
      if (elect()) {
        mbar_expect(full + 8 * i, p0);
        tensor_load(dst + (i & 3) * p0, &m, 0, row + i * (p0 / 128), full + 8 * i);
      }
      __syncwarp();
      if (i == 4 && threadIdx.x == 32) out[8 * gridDim.x + blockIdx.x] = clk() - t0;
    }
    for (int k = 4; k < 8; ++k) wait(full + 8 * k, 0, deadline, abort_word);
  } else {
    for (int i = 0; i < 8; ++i) {
      wait(full + 8 * i, 0, deadline, abort_word);
      if (threadIdx.x == 0) out[8 * blockIdx.x + i] = clk() - t0;
    }
  }
}
