// What SMs load and what they send out by TMA, at the same time.

// Warp 0 keeps loads of LOAD bytes in flight, warp 1 sends SEND bytes at a time, by bulk stores or
// (REDUCE 1) reductions, of which two groups may be unread, once in PACE cycles at most.  Each goes
// on for p2 cycles.
// p0: loads in flight; + 256 if even CTAs load and odd ones send; + 512 if all send to the same
// places; + 1024 * strands: a CTA writes so many stretches in turn.  p1, p3: bytes that the loads
// and the stores of a CTA go through.  The last MMA CTAs do wgmma instead, which lowers the clock.
// out[4 b ..] = bytes and cycles of loads, then of stores; out[4 gridDim.x ..] = cycles and
// nanoseconds of CTA 0.
#ifndef LOAD
#define LOAD 8192
#define SEND 8192
#define REDUCE 0
#endif
#ifndef PACE
#define PACE 0
#endif
#ifndef MMA
#define MMA 0
#endif
#define SLOT_BYTES (LOAD ? LOAD : 16)
DEV void keep_loading(u64* row, u32* abort_word, char* from, u32 bars, u32 ring, u32 depth, u32 span, u64 window) {
  u32 slot = 0, phase = 0, at = 0;
  u64 bytes = 0;
  for (u32 s = 0; s < depth; ++s) {
    mbar_expect(bars + 8 * s, SLOT_BYTES);
    bulk_load(ring + s * SLOT_BYTES, from + at, SLOT_BYTES, bars + 8 * s);
    if ((at += SLOT_BYTES) >= span) at = 0;
  }
  u64 t0 = clk(), t = t0;
#pragma unroll 1
  while (t - t0 < window) {
    wait_counted(bars + 8 * slot, phase, abort_word);
    mbar_expect(bars + 8 * slot, SLOT_BYTES);
    bulk_load(ring + slot * SLOT_BYTES, from + at, SLOT_BYTES, bars + 8 * slot);
    if ((at += SLOT_BYTES) >= span) at = 0;
    if (++slot == depth) { slot = 0; phase ^= 1; }
    bytes += SLOT_BYTES;
    t = clk();
  }
  row[0] = bytes; row[1] = t - t0;
  for (u32 s = 0; s < depth; ++s) {
    wait_counted(bars + 8 * slot, phase, abort_word);
    if (++slot == depth) { slot = 0; phase ^= 1; }
  }
}
DEV void keep_sending(u64* row, char* to, u32 src, u32 strands, u32 span, u64 window) {
  u32 apart = span / strands, strand = 0, at = 0;
  u64 bytes = 0, t0 = clk(), t = t0, due = t0;
#pragma unroll 1
  while (t - t0 < window) {
    if (PACE) {
      while (clk() < due) {}
      due += PACE;
    }
    char* place = to + strand * apart + at;
#if REDUCE
    bulk_add(place, src, SEND);
#else
    bulk_store(place, src, SEND);
#endif
    bulk_commit();
    bulk_wait_read<2>();
    if (++strand == strands) {
      strand = 0;
      if ((at += SEND) >= apart) at = 0;
    }
    bytes += SEND;
    t = clk();
  }
  bulk_wait();
  row[2] = bytes; row[3] = clk() - t0;
}
#if MMA
DEV void multiply(u64* out, u64 window) {
  OPERANDS;
  fill_operands();
#pragma unroll 1
  for (u32 g = 0; g < window / 288; ++g) {  // eight instructions of 32 cycles, and the drain
    wg_fence();
#pragma unroll
    for (int k = 0; k < 8; ++k) wgmma(d, SLICE(k), b + 2 * (k & 3));
    wg_commit();
    wg_wait<0>();
  }
  hold(d);
  KEEP;
}
#endif
extern "C" __global__ void both(KERNEL_ARGS) {
#if MMA
  if (blockIdx.x + MMA >= gridDim.x) { multiply(out, p2); return; }
#endif
  u64 t0 = clk(), g0 = gtime();
  u32 bars = saddr(smem), ring = bars + 1024, src = ring + 8 * 16384;
  init_barriers(bars, 16, 1);
  for (u32 i = threadIdx.x; i < 4096; i += blockDim.x) sts(src + 4 * i, 0);
  fence_async_smem();
  __syncthreads();
  u32 depth = p0 & 255, halves = p0 >> 8 & 1, crowd = p0 >> 9 & 1, strands = p0 >> 10;
  u64* row = out + 4 * blockIdx.x;
  u32 odd = blockIdx.x & 1, warp = uniform_warp();
  if (threadIdx.x % 32) return;
  if (warp == 0 && LOAD && depth && !(halves && odd))
    keep_loading(row, abort_word, data + (u64)blockIdx.x * p1, bars, ring, depth, p1, p2);
#if SEND
  if (warp == 1 && strands && !(halves && !odd))
    keep_sending(row, data + (300ull << 20) + (crowd ? 0 : (u64)blockIdx.x * p3), src, strands, p3, p2);
#endif
  if (blockIdx.x == 0 && (SEND ? warp == 1 : warp == 0)) {
    out[4 * gridDim.x] = clk() - t0;
    out[4 * gridDim.x + 1] = gtime() - g0;
  }
}

// Tensor stores or reductions of f32 (REDUCE 1) of 128 rows of 128 bytes into a matrix that is
// 64 boxes wide: tile i of CTA b is number i * gridDim.x + b, of p1 tiles, again and again.
// out[b] = cycles of p2 tiles.
DEV void tensor_add(const tmap* m, int x, int y, u32 src) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
               :: "l"(m), "r"(x), "r"(y), "r"(src) : "memory");
}
extern "C" __global__ void sends(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u32 src = saddr(smem) + 1024;
  for (u32 i = threadIdx.x; i < 4096; i += blockDim.x) sts(src + 4 * i, 0);
  fence_async_smem();
  __syncwarp();
  if (elect()) {
    int place = blockIdx.x;
    u64 t0 = clk();
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
#if REDUCE
      tensor_add(&m, place % 64 * 32, place / 64 * 128, src);
#else
      tensor_store(&m, place % 64 * 32, place / 64 * 128, src);
#endif
      bulk_commit();
      bulk_wait_read<2>();
      if ((place += gridDim.x) >= p1) place -= p1;
    }
    bulk_wait();
    out[blockIdx.x] = clk() - t0;
  }
}
