// Hand-offs between warps.

// mbarrier: warp 0 arrives after a pause, warps 1.. wait.  MODE 0: all lanes wait; 1: lane 0 waits in
// a branch, the others are parked; 2: as 1, with a counted wait; 3: as 1, with a tight one.  out[2 i] = first, out[2 i + 1] = last waiter, cycles from before
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
#elif MODE == 1
      if (lane == 0) { wait(bar, phase, deadline, abort_word); t = clk(); }
      __syncwarp();
#elif MODE == 2
      if (lane == 0) { wait_counted(bar, phase, abort_word); t = clk(); }
      __syncwarp();
#else
      if (lane == 0) { wait_tight(bar, phase, abort_word); t = clk(); }
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

// Two mbarriers, warp 0 against the other warps: all lanes wait, lane 0 of each warp arrives.
// out[0] = cycles of p2 round trips.
extern "C" __global__ void pingpong(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 ping = saddr(smem), pong = ping + 8;
  u32 warps = blockDim.x / 32;
  if (threadIdx.x == 0) {
    mbar_init(ping, 1);
    mbar_init(pong, warps - 1);
    mbar_fence_init();
  }
  __syncthreads();
  u32 warp = uniform_warp(), lane = threadIdx.x % 32;
  u64 t0 = clk();
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    if (warp == 0) {
      if (lane == 0) mbar_arrive(ping);
      wait(pong, i & 1, deadline, abort_word);
    } else {
      wait(ping, i & 1, deadline, abort_word);
      if (lane == 0) mbar_arrive(pong);
    }
  }
  if (threadIdx.x == 0) out[0] = clk() - t0;
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
