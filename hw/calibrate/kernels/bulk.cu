// Turns of one thread that stores by bulk copies: wait for its load (LOAD 1), STORES stores (or
// reductions, REDUCE 1) of BYTES, commit, wait_group.read READ (-1: none), the next load.
// p0: by how many tiles the next CTA begins later; p1: tiles that all store into; p2: turns;
// p3: by how many cycles the next CTA begins later.
// out[block] = cycles, all stores sent.
#ifndef STORES
#define STORES 1
#define BYTES 2048
#define LOAD 0
#define READ 1
#define REDUCE 0
#endif
#define STAGES 4
extern "C" __global__ void bulk_turn(KERNEL_ARGS) {
  u32 full = saddr(smem), ring = full + 1024;
  init_barriers(full, STAGES, 1);
  for (u32 i = threadIdx.x; i < STAGES * BYTES / 4; i += blockDim.x) sts(ring + 4 * i, 1);
  fence_async_smem();
  __syncthreads();
  if (threadIdx.x == 0) {
    char* from = data + (256u << 20) + (u64)blockIdx.x * p2 * BYTES;
#if LOAD
    for (int i = 0; i < STAGES - 1; ++i) {
      mbar_expect(full + 8 * i, BYTES);
      bulk_load(ring + i * BYTES, from + (u64)i * BYTES, BYTES, full + 8 * i);
    }
#endif
    u32 stage = 0, phase = 0, place = (blockIdx.x * p0) % p1;
    u64 t0 = clk(), start = t0 + (u64)blockIdx.x * p3;
    while (clk() < start) {}
    if (p3) t0 = clk();
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
#if LOAD
      wait_counted(full + 8 * stage, phase, abort_word);
#endif
      char* to = data + (u64)place * BYTES;
#pragma unroll
      for (int s = 0; s < STORES; ++s) {
#if REDUCE
        bulk_add(to + (u64)s * (64 << 20), ring + stage * BYTES, BYTES);
#else
        bulk_store(to + (u64)s * (64 << 20), ring + stage * BYTES, BYTES);
#endif
      }
      bulk_commit();
#if READ >= 0
      bulk_wait_read<READ>();
#endif
#if LOAD
      u32 last = stage ? stage - 1 : STAGES - 1;
      if (i + STAGES - 1 < p2) {
        mbar_expect(full + 8 * last, BYTES);
        bulk_load(ring + last * BYTES, from + (u64)(i + STAGES - 1) * BYTES, BYTES, full + 8 * last);
      }
#endif
      if (++stage == STAGES) { stage = 0; phase ^= 1; }
      if (++place == p1) place = 0;
    }
    bulk_wait_read<0>();
    u64 t1 = clk();
    bulk_wait();
    out[blockIdx.x] = t1 - t0;
  }
}

// Turns of one thread: OPS instructions, each needing the one before, from the turn's number to where
// a bulk store of 16 bytes goes, in uniform registers; VECTOR 1: in those of the thread, as what it
// has read is. p1: turns; p2, p3: constants.
#ifndef OPS
#define OPS 0
#define VECTOR 0
#endif
extern "C" __global__ void bulk_chain(KERNEL_ARGS) {
  u32 ring = saddr(smem);
  for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) sts(ring + 4 * i, 0);
  fence_async_smem();
  __syncthreads();
  if (elect()) {
#if VECTOR
    int i = lds(ring);
#else
    int i = 0;
#endif
    u64 t0 = clk();
#pragma unroll 1
    for (; i < p1; ++i) {
      u32 x = i;
#pragma unroll
      for (int k = 0; k < OPS; k += 2) x = (x + p2) ^ p3;
      bulk_store(data + (x & 0xffff0u), ring, 16);
      bulk_commit();
      bulk_wait_read<3>();
    }
    bulk_wait_read<0>();
    u64 t1 = clk();
    bulk_wait();
    out[0] = t1 - t0;
  }
}
