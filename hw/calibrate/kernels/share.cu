// Bandwidth of loads that SMs share, as matrix kernels make them.

// Each CTA reads two streams, a box of each for a stage: A number c % p1 and B number c / p1 for
// CTA c (p1 > 0), the same two for all (p1 = 0), its own two (p1 < 0).  A box is ROWS rows of ROW
// bytes; a stream goes on by ROW bytes along its rows a turn, and starts anew after WRAP turns.
// p0 stages, p2 turns after WARM turns that are not counted; p3 cycles of pause between the landing
// of a stage and its refill (PACED 0), or of work by the clock: the work of a stage begins when it has
// landed and that of the one before is done, and at its end the stage is filled again (PACED 1).
// A has A_BOXES boxes for each of B.  out[4 b ..] = cycles, start and end by globaltimer, smid.
#ifndef ROWS
#define ROWS 128
#define ROW 128
#define WRAP 32
#define WARM 64
#endif
#ifndef PACED
#define PACED 0
#define A_BOXES 1
#endif
#define BOX (ROWS * ROW)
#define STAGE ((A_BOXES + 1) * BOX)
DEV void fill_stage(u32 dst, const tmap* m, int x, int a, int b, u32 bar) {
  mbar_expect(bar, STAGE);
#pragma unroll
  for (int i = 0; i < A_BOXES; ++i) tensor_load(dst + i * BOX, m, x, a + i * ROWS, bar);
  tensor_load(dst + A_BOXES * BOX, m, x, b, bar);
}
extern "C" __global__ void pairs(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bars = saddr(smem), buffer = saddr(smem) + 1024;
  init_barriers(bars, 32, 1);
  int c = blockIdx.x;
  int a = p1 > 0 ? c % p1 : p1 ? c : 0;
  int b = p1 > 0 ? p1 + c / p1 : p1 ? (int)gridDim.x + c : 1;
  a *= A_BOXES * ROWS;
  b = (b + (p1 > 0 ? p1 * (A_BOXES - 1) : 0)) * ROWS;
  int x = 0;
  for (int s = 0; s < p0; ++s) {
    if (elect()) fill_stage(buffer + s * STAGE, &m, x * (ROW / 2), a, b, bars + 8 * s);
    __syncwarp();
    if (++x == WRAP) x = 0;
  }
  u32 slot = 0, phase = 0;
  u64 g0 = 0, t0 = 0, busy = 0;
#pragma unroll 1
  for (int i = 0; i < WARM + p2; ++i) {
    if (i == WARM) { g0 = gtime(); t0 = clk(); }
    u32 bar = bars + 8 * slot;
    wait_tight(bar, phase, abort_word);
    if (PACED) {
      u64 now = clk();
      busy = (now > busy ? now : busy) + (u64)p3;
      while (clk() < busy) {}
    } else if (p3) { u64 now = clk(); while (clk() - now < (u64)p3) {} }
    if (elect()) fill_stage(buffer + slot * STAGE, &m, x * (ROW / 2), a, b, bar);
    __syncwarp();
    if (++x == WRAP) x = 0;
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
  }
  u64 t1 = clk(), g1 = gtime();
  for (int s = 0; s < p0; ++s) {
    wait(bars + 8 * slot, phase, deadline, abort_word);
    if (++slot == (u32)p0) { slot = 0; phase ^= 1; }
  }
  if (threadIdx.x == 0) {
    u64* row = out + 4 * c;
    row[0] = t1 - t0; row[1] = g0; row[2] = g1; row[3] = smid();
  }
}
