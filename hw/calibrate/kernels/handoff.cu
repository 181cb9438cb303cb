// Hand-offs between warps.

// mbarrier: warp 0 arrives after a pause, warps 1.. wait.  MODE 0: all lanes wait; 1: lane 0 waits in
// a branch, the others are parked.  out[2 i] = first, out[2 i + 1] = last waiter, cycles from before
// the arrive.  p1 = extra pause, so that the arrival meets every phase of a poll.
#ifndef MODE
#define MODE 0
#endif
extern "C" __global__ void handoff(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bar = saddr(smem);
  u64* stamps = (u64*)(smem + 64);
  init_barriers(bar, 1, 1);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  u32 phase = 0;
  for (int i = 0; i < p2; ++i) {
    u64 t = 0;
    if (warp == 0) {
      u64 start = clk();
      u64 pause = 2000 + (u64)((i * 7919) % 509);
      while (clk() - start < pause) {}
      t = clk();
      if (lane == 0) mbar_arrive(bar);
    } else {
#if MODE == 0
      wait(bar, phase, deadline, abort_word);
      t = clk();
#else
      if (lane == 0) { wait(bar, phase, deadline, abort_word); t = clk(); }
      __syncwarp();
#endif
    }
    if (lane == 0) stamps[warp] = t;
    __syncthreads();
    if (threadIdx.x == 0) {
      u64 first = ~0ull, last = 0;
      for (int w = 1; w < warps; ++w) {
        u64 d = stamps[w] - stamps[0];
        if (d < first) first = d;
        if (d > last) last = d;
      }
      out[2 * i] = first;
      out[2 * i + 1] = last;
    }
    __syncthreads();
    phase ^= 1;
  }
}

// bar.arrive -> bar.sync ping-pong of two halves of the block; out[0] = cycles of p2 half periods.
extern "C" __global__ void named_pingpong(KERNEL_ARGS) {
  int half = threadIdx.x >= blockDim.x / 2;
  int n = blockDim.x;
  __syncthreads();
  u64 t0 = clk();
  for (int i = 0; i < p2; ++i) {
    if (half == 0) {
      asm volatile("bar.arrive 1, %0;" :: "r"(n) : "memory");
      asm volatile("bar.sync 2, %0;" :: "r"(n) : "memory");
    } else {
      asm volatile("bar.sync 1, %0;" :: "r"(n) : "memory");
      asm volatile("bar.arrive 2, %0;" :: "r"(n) : "memory");
    }
  }
  if (threadIdx.x == 0) out[0] = clk() - t0;
}
