// setmaxnreg: three warpgroups start with 168 registers a thread, which is the whole pool.  MODE 0: the
// third gives registers, then the others take them.  1: the others ask first, and wait for its dec.
// 2: the first asks; the third exits after p0 cycles, and after p1 cycles the second gives enough.
// Every request is served by a dec that waits for nobody.  16 words for each CTA, one for each warp:
// cycles of its setmaxnreg; in mode 1, of the requests, from before the dec of the same SM.
#ifndef MODE
#define MODE 0
#endif
#define SETMAXNREG(direction, count) \
  asm volatile("setmaxnreg." #direction ".sync.aligned.u32 " #count ";" ::: "memory")
DEV void everybody() { asm volatile("bar.sync 1, 384;" ::: "memory"); }
DEV void pause(u64 cycles) { u64 start = clk(); while (clk() - start < cycles) {} }

extern "C" __global__ void __maxnreg__(168) registers(KERNEL_ARGS) {
  u64* stamps = (u64*)smem;
  u32 warp = uniform_warp();
  u64* own = out + 16 * blockIdx.x + warp;
  __syncthreads();
  if (warp < 4 || (warp < 8 && MODE != 2)) {
#if MODE == 0
    everybody();
#endif
    u64 t0 = clk();
    SETMAXNREG(inc, 240);
    u64 t1 = clk();
#if MODE == 1
    everybody();
    t0 = stamps[0];
#endif
    if (elect()) *own = t1 - t0;
  } else {
#if MODE == 1
    pause(3000 + blockIdx.x * 7919 % 509);
#elif MODE == 2
    pause(warp < 8 ? p1 : p0);
    if (warp >= 8) return;
#endif
    u64 t0 = clk();
    SETMAXNREG(dec, 24);
    u64 t1 = clk();
#if MODE == 1
    if (warp == 8 && elect()) stamps[0] = t0;
#endif
#if MODE != 2
    everybody();
#endif
    if (elect()) *own = t1 - t0;
  }
}
