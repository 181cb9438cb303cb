// What DRAM does in a long run, of loads, of stores and of both.

// One thread of each CTA goes through p2 tiles of 8 KB by bulk copies; of eight in turn p0 are loads,
// the others stores.  Loads come from p1 tiles of the GPU again and again (0: from all of them), six
// of them in flight; stores go to as many.  out[10 b ..] = cycles to each eighth of the way and to
// the end, nanoseconds.
#define TILE 8192
#define DEPTH 6
#define HALF (320ull << 20)
extern "C" __global__ void mixed(KERNEL_ARGS) {
  u32 bars = saddr(smem), ring = bars + 1024, src = ring + DEPTH * TILE;
  init_barriers(bars, DEPTH, 1);
  fence_async_smem();
  __syncthreads();
  if (threadIdx.x) return;
  u32 span = p1 ? p1 : HALF / TILE, from = blockIdx.x % span, to = from;
  u32 loads = (p2 / 8) * p0, asked = 0, slot = 0, phase = 0;
  for (; asked < DEPTH && asked < loads; ++asked) {
    mbar_expect(bars + 8 * asked, TILE);
    bulk_load(ring + asked * TILE, data + (u64)from * TILE, TILE, bars + 8 * asked);
    if ((from += gridDim.x) >= span) from -= span;
  }
  u64 g0 = gtime(), t0 = clk();
  u64* row = out + 10 * blockIdx.x;
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    if ((i & 7) * p0 % 8 < p0) {
      wait_counted(bars + 8 * slot, phase, abort_word);
      if (asked < loads) {
        ++asked;
        mbar_expect(bars + 8 * slot, TILE);
        bulk_load(ring + slot * TILE, data + (u64)from * TILE, TILE, bars + 8 * slot);
        if ((from += gridDim.x) >= span) from -= span;
      }
      if (++slot == DEPTH) { slot = 0; phase ^= 1; }
    } else {
      bulk_store(data + HALF + (u64)to * TILE, src, TILE);
      bulk_commit();
      bulk_wait_read<2>();
      if ((to += gridDim.x) >= span) to -= span;
    }
    if ((i + 1) % (p2 / 8) == 0) row[(i + 1) / (p2 / 8) - 1] = clk() - t0;
  }
  bulk_wait();
  row[8] = clk() - t0;
  row[9] = gtime() - g0;
}
