// Trains of short CTAs, and one of them in parts.

// A CTA that does little: LOADS tensor loads of ROWS rows of 128 bytes (0..2), a touch of the data,
// STORE tensor stores (0, 1), and MARKS stores of time stamps as timed kernels make them: one when
// the CTA starts, one as each warp ends.  CTA b has box b.  Without marks only the first and the
// last CTAs report.  out[2 b ..] = globaltimer at the start; nanoseconds to the end << 32 | smid.
#ifndef ROWS
#define ROWS 32
#define LOADS 1
#define STORE 1
#define MARKS 0
#endif
#define BOX (ROWS * 128)
#define ACROSS 64       // boxes of a row of the matrix, which is 8 KB wide
#define STORE_ROW 40960 // results lie 320 MB behind
DEV void stamp(char* data, u32 slot) {
  u64 g = gtime(), c = clk();
  asm volatile("st.global.v2.u64 [%0], {%1, %2};"
               :: "l"(data + (600ull << 20) + 16 * slot), "l"(g), "l"(c) : "memory");
}
DEV void touch(u32 tile, int bytes) {
  u32 at = tile + 4 * threadIdx.x;
  for (int i = 0; i < bytes; i += 4 * blockDim.x) sts(at + i, lds(at + i) + 1);
}
extern "C" __global__ void cta_train(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u64 g0 = gtime();
  u32 warp = uniform_warp(), last = blockDim.x / 32 - 1;
  u32 bar = saddr(smem), tile = bar + 1024;
  u32 x = blockIdx.x % ACROSS * 64, y = blockIdx.x / ACROSS * ROWS;
  if (warp == last && elect()) {
    if (MARKS) stamp(data, blockIdx.x * (last + 2));
    if (LOADS || STORE) asm volatile("prefetch.tensormap [%0];" :: "l"(&m) : "memory");
  }
  if (LOADS) {
    if (warp == 0 && elect()) { mbar_init(bar, 1); fence_async_smem(); }
    __syncthreads();
    if (warp == 0 && elect()) {
      mbar_expect(bar, LOADS * BOX);
      for (int i = 0; i < LOADS; ++i) tensor_load(tile + i * BOX, &m, x, y + 20480 * i, bar);
    }
    __syncwarp();
    wait_tight(bar, 0, abort_word);
    touch(tile, BOX);
  }
  if (STORE) {
    fence_async_smem();
    __syncthreads();
    if (warp == 0 && elect()) {
      tensor_store(&m, x, STORE_ROW + y, tile);
      bulk_commit();
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
  }
  if (MARKS && elect()) stamp(data, blockIdx.x * (last + 2) + 1 + warp);
  if ((MARKS || blockIdx.x < 264 || blockIdx.x + 2640 >= gridDim.x) && warp == 0 && elect()) {
    u64 span = gtime() - g0;
    asm volatile("st.global.v2.u64 [%0], {%1, %2};"
                 :: "l"(out + 2 * blockIdx.x), "l"(g0), "l"(span << 32 | smid()) : "memory");
  }
}

// One such CTA in parts, on the clock of its start mark: out[0..7] = end of set-up (warp 0), copy
// issued, wait passed (warp 0; last warp), touched and block barrier passed, store issued, source
// read, end of the last warp.  All threads arrive after the expect_tx if p0 = 1.
extern "C" __global__ void cta_parts(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64* marks = (u64*)(smem + 64);
  u32 warp = uniform_warp(), last = blockDim.x / 32 - 1;
  u32 bar = saddr(smem), tile = bar + 1024;
  if (warp == last && elect()) {
    stamp(data, 0);
    marks[7] = clk();
    asm volatile("prefetch.tensormap [%0];" :: "l"(&m) : "memory");
  }
  if (warp == 0 && elect()) { mbar_init(bar, p0 ? blockDim.x : 1); fence_async_smem(); }
  __syncthreads();
  u64 t0 = clk(), t1 = 0;
  if (warp == 0 && elect()) {
    tensor_load(tile, &m, p1 * 64, p2, bar);
    if (p0) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                         :: "r"(bar), "r"(BOX) : "memory");
    else mbar_expect(bar, BOX);
    t1 = clk();
  }
  __syncwarp();
  if (p0) mbar_arrive(bar);
  wait_tight(bar, 0, abort_word);
  u64 t2 = clk();
  touch(tile, BOX);
  fence_async_smem();
  __syncthreads();
  u64 t3 = clk();
  if (warp == 0 && elect()) {
    tensor_store(&m, p1 * 64, STORE_ROW + p2, tile);
    bulk_commit();
    u64 t4 = clk();
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    u64 t5 = clk(), start = marks[7];
    out[1] = t1 - start; out[5] = t4 - start; out[6] = t5 - start;
  }
  __syncwarp();
  if (elect()) stamp(data, 1 + warp);
  u64 t6 = clk(), start = marks[7];
  if (threadIdx.x == 0) {
    out[0] = t0 - start; out[2] = t2 - start; out[4] = t3 - start; out[7] = t6 - start;
  }
  if (threadIdx.x == 32 * last) out[3] = t2 - start;
}

// A persistent CTA for each SM copies, loads or only stores p2 tiles of 16 KB, tile i of CTA c being
// number i * gridDim.x + c: MODE 1 loads, 2 stores, 3 both.  Four slots.
// out[4 b ..] = cycles, start and end by globaltimer, smid.
#ifndef MODE
#define MODE 3
#endif
#define TILE 16384
#define SLOTS 4
DEV int tile_row(int i) { return (i * gridDim.x + blockIdx.x) / ACROSS * 128; }
DEV int tile_column(int i) { return (i * gridDim.x + blockIdx.x) % ACROSS * 64; }
extern "C" __global__ void tile_copy(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u32 bars = saddr(smem), buffer = saddr(smem) + 1024;
  init_barriers(bars, SLOTS, 1);
  u64 g0 = gtime(), c0 = clk();
  if (elect()) {
    for (int s = 0; (MODE & 1) && s < SLOTS && s < p2; ++s) {
      mbar_expect(bars + 8 * s, TILE);
      tensor_load(buffer + s * TILE, &m, tile_column(s), tile_row(s), bars + 8 * s);
    }
    u32 slot = 0, phase = 0;
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
      if (MODE & 1) wait_tight(bars + 8 * slot, phase, abort_word);
      if (MODE & 2) {
        tensor_store(&m, tile_column(i), STORE_ROW + tile_row(i), buffer + slot * TILE);
        bulk_commit();
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      }
      int before = MODE & 2 ? i - 1 : i, next = before + SLOTS;
      if ((MODE & 1) && before >= 0 && next < p2) {
        u32 s = before % SLOTS;
        mbar_expect(bars + 8 * s, TILE);
        tensor_load(buffer + s * TILE, &m, tile_column(next), tile_row(next), bars + 8 * s);
      }
      if (++slot == SLOTS) { slot = 0; phase ^= 1; }
    }
    if (MODE & 2) bulk_wait();
    u64 c1 = clk(), g1 = gtime();
    u64* row = out + 4 * blockIdx.x;
    row[0] = c1 - c0; row[1] = g0; row[2] = g1; row[3] = smid();
  }
}
