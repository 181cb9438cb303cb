// L2 and DRAM that others use as well.

// CTA PROBE, alone on its SM, probes while the others keep p0 tensor loads of 16 KB in flight: out[i] = cycles of a bulk load
// of 1 KB, out[p2 + i] of a plain load.  p1 = bytes from probe to probe (0: the same lines), p3 = bytes
// that a streaming CTA goes through.  out[4096] tells the others to stop; they look at it once a turn,
// which paces them: a box in 900 cycles or more.
#ifndef PROBE
#define PROBE 0
#endif
extern "C" __global__ void loaded(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bars = saddr(smem), dst = bars + 1024;
  init_barriers(bars, 16, 1);
  volatile u64* stop = out + 4096;
  if (blockIdx.x == PROBE) {
    char* mine = data + (560ull << 20);
    u64 start = clk();
    while (clk() - start < 200000) {}
    u32 phase = 0, v = 0;
    for (int i = 0; i < 2 * p2; ++i) {
      char* from = mine + (u64)i * p1;
      u64 pause = clk();
      while (clk() - pause < 500 + (i * 7919) % 509) {}
      __syncwarp();
      u64 t0 = 0, t1 = 0;
      if (i < p2) {
        if (elect()) mbar_expect(bars, 1024);
        __syncwarp();
        t0 = clk();
        if (elect()) bulk_load(dst, from, 1024, bars);
        __syncwarp();
        wait(bars, phase, deadline, abort_word);
        t1 = clk();
        phase ^= 1;
      } else {
        t0 = clk();
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(from + 4 * (threadIdx.x % 32)) : "memory");
        sts(saddr(smem) + 512 + 4 * (threadIdx.x % 32), v);
        t1 = clk();
      }
      if (threadIdx.x == 0) out[i] = t1 - t0;
    }
    if (threadIdx.x == 0) { *stop = 1; __threadfence(); }
    return;
  }
  int base = (int)blockIdx.x * (p3 / 128), at = 0;
  u32 slot = 0, phase = 0;
  for (int s = 0; s < p0; ++s) {
    if (elect()) { mbar_expect(bars + 8 * s, 16384); tensor_load(dst + s * 16384, &m, 0, base + at, bars + 8 * s); }
    at = (at + 128) % (p3 / 128);
  }
#pragma unroll 1
  for (u32 i = 0; p0 > 0; ++i) {
    wait(bars + 8 * slot, phase, deadline, abort_word);
    if (*stop || clk() > deadline) break;
    if (elect()) { mbar_expect(bars + 8 * slot, 16384); tensor_load(dst + slot * 16384, &m, 0, base + at, bars + 8 * slot); }
    __syncwarp();
    at = (at + 128) % (p3 / 128);
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
  }
  for (int s = 0; s + 1 < p0; ++s) {
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
    wait(bars + 8 * slot, phase, deadline, abort_word);
  }
}

// L2 policies.  Each CTA reads its p0 boxes of 16 KB with KEPT, then p1 boxes of other data with PASSED,
// then its own again, timed: out[2 b] = cycles.  0: no hint, 1: evict_first, 2: evict_last.
#ifndef KEPT
#define KEPT 0
#define PASSED 0
#endif
DEV void hinted(u32 dst, const tmap* m, int y, u32 bar, u64 policy, int hint) {
  if (hint)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(dst), "l"(m), "r"(0), "r"(y), "r"(bar), "l"(policy) : "memory");
  else tensor_load(dst, m, 0, y, bar);
}
DEV u64 read_boxes(const tmap* m, int row, int boxes, u32 bars, u32& phases, u64 policy, int hint, u64 deadline, u32* abort_word) {
  u32 dst = bars + 1024;
  u64 t0 = clk();
#pragma unroll 1
  for (int i = 0; i < boxes + 8; ++i) {
    u32 s = i % 8;
    if (i >= 8) { wait(bars + 8 * s, phases >> s & 1, deadline, abort_word); phases ^= 1u << s; }
    if (i < boxes && elect()) {
      mbar_expect(bars + 8 * s, 16384);
      hinted(dst + s * 16384, m, row + i * 128, bars + 8 * s, policy, hint);
    }
    __syncwarp();
  }
  return clk() - t0;
}
extern "C" __global__ void policies(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES, first, last;
  u32 bars = saddr(smem), phases = 0;
  init_barriers(bars, 8, 1);
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
  int own = blockIdx.x * p0 * 128, other = 132 * p0 * 128 + blockIdx.x * p1 * 128;
  read_boxes(&m, own, p0, bars, phases, KEPT == 1 ? first : last, KEPT, deadline, abort_word);
  read_boxes(&m, other, p1, bars, phases, PASSED == 1 ? first : last, PASSED, deadline, abort_word);
  u64 t = read_boxes(&m, own, p0, bars, phases, KEPT == 1 ? first : last, KEPT, deadline, abort_word);
  if (threadIdx.x == 0) out[blockIdx.x] = t;
}

// Bulk stores (p3 0) or reductions of f32 (p3 1) of 16 KB into p1 bytes of each CTA's own, three groups in flight:
// out[blockIdx.x] = cycles of p2.
extern "C" __global__ void bulk_out(KERNEL_ARGS) {
  u32 src = saddr(smem) + 1024;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) ((u32*)(smem + 1024))[i] = 0;
  fence_async_smem();
  __syncwarp();
  char* mine = data + (u64)blockIdx.x * p1;
  u32 at = 0;
  u64 t0 = clk();
  if (elect()) {
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
      if (p3)
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 16384;"
                     :: "l"(mine + at), "r"(src) : "memory");
      else bulk_store(mine + at, src, 16384);
      bulk_commit();
      asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
      at += 16384;
      if (at == (u32)p1) at = 0;
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    out[blockIdx.x] = clk() - t0;
  }
}

// One reduction of p0 bytes: out[i] = cycles to wait_group 0.
extern "C" __global__ void reduce_once(KERNEL_ARGS) {
  u32 src = saddr(smem) + 1024;
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) ((u32*)(smem + 1024))[i] = 0;
  fence_async_smem();
  __syncwarp();
  if (elect()) {
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
      u64 t0 = clk();
      if (p3)
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                     :: "l"(data + (8u << 20)), "r"(src), "r"(p0) : "memory");
      else bulk_store(data + (8u << 20), src, p0);
      bulk_commit();
      bulk_wait();
      out[i] = clk() - t0;
    }
  }
}
