// Tensor core.  `wgmma(d, a, b)` for N columns, A in shared memory (RS 0) or registers (RS 1), is
// generated in front of this file.  D instructions a group, WAIT groups left in flight.
#ifndef D
#define D 4
#define WAIT 0
#endif
#ifndef TIGHT
#define TIGHT 0  // wgmma_turn as rendered kernels write it: tight waits, one warp arrives
#endif
#ifndef ZEROS
#define ZEROS 0  // operands of zeros, which cost less power
#endif
#define THREADS (RS ? 256 : 384)  // with A in registers 168 of them are too few for N = 256
DEV void wg_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEV void wg_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int W> DEV void wg_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(W) : "memory"); }
DEV void hold(float (&d)[N / 2]) {
#pragma unroll
  for (int i = 0; i < N / 2; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
}
DEV u64 descriptor(u32 a) {  // K-major, 128-byte swizzle, 8 rows of 128 bytes apart by 1024
  return (u64)((a & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
// Random bf16 in +-[0.5, 2); A of warpgroup w at 1024 + w * 8192, B behind them.
DEV void fill_operands() {
  u32* words = (u32*)(smem + 1024);
  for (int i = threadIdx.x; i < (3 * 8192 + 32768) / 4; i += blockDim.x)
    words[i] = ZEROS ? 0 : (hash(i * 2654435761u + blockIdx.x) & 0x80ff80ffu) | 0x3f003f00u;
  fence_async_smem();
  __syncthreads();
}
#if RS
#define A_OPERAND                                                    \
  u32 a[4];                                                          \
  _Pragma("unroll") for (int i = 0; i < 4; ++i) {                    \
    a[i] = (hash(threadIdx.x * 4 + i) & 0x80ff80ffu) | 0x3f003f00u;  \
    asm volatile("" : "+r"(a[i]));                                   \
  }
#define SLICE(k) a
#else
#define A_OPERAND u64 a = descriptor(saddr(smem) + 1024 + wg * 8192)
#define SLICE(k) (a + 2 * ((k) & 3))
#endif
#define OPERANDS                                                     \
  u32 wg = threadIdx.x / 128;                                        \
  u64 b = descriptor(saddr(smem) + 1024 + 3 * 8192);                 \
  A_OPERAND;                                                         \
  float d[N / 2];                                                    \
  _Pragma("unroll") for (int i = 0; i < N / 2; ++i) d[i] = 0.f
#define KEEP                                                         \
  { float s = 0; _Pragma("unroll") for (int i = 0; i < N / 2; ++i) s += d[i]; \
    if (s == 1.2345e30f) out[1000] = 1; }

#ifndef OWN_KERNEL  // mix.cu, beside.cu and power.cu have kernels of their own
// p2 groups; out[wg] = cycles, out[4 + wg] = nanoseconds.
extern "C" __global__ void __launch_bounds__(THREADS, 1) wgmma_stream(KERNEL_ARGS) {
  OPERANDS;
  fill_operands();
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    u64 t0 = clk(), g0 = gtime();
#pragma unroll 1
    for (int g = 0; g < p2; ++g) {
      wg_fence();
#pragma unroll
      for (int k = 0; k < D; ++k) wgmma(d, SLICE(k), b + 2 * (k & 3));
      wg_commit();
      wg_wait<WAIT>();
    }
    wg_wait<0>();
    hold(d);
    u64 t1 = clk(), g1 = gtime();
    if (threadIdx.x % 128 == 0) {
      out[8 * blockIdx.x + wg] = t1 - t0;
      out[8 * blockIdx.x + 4 + wg] = g1 - g0;
    }
  }
  KEEP;
}

// Single groups: out[i] = cycles from before the fence to after wait_group 0, out[p2 + i] = issue.
extern "C" __global__ void __launch_bounds__(128, 1) wgmma_once(KERNEL_ARGS) {
  OPERANDS;
  fill_operands();
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    __syncthreads();
    u64 t0 = clk();
    wg_fence();
#pragma unroll
    for (int k = 0; k < D; ++k) wgmma(d, SLICE(k), b + 2 * (k & 3));
    u64 t1 = clk();
    wg_commit();
    wg_wait<0>();
    hold(d);
    u64 t2 = clk();
    if (threadIdx.x == 0) { out[i] = t2 - t0; out[p2 + i] = t1 - t0; }
  }
  KEEP;
}

#if !RS
// Releases at cluster scope beside the tensor core: turns of D slices (MMA 1) that leave one group
// in flight, then p1 arrives by one lane of each warpgroup but the last.  That one loads p0 bytes
// every p3 cycles (p0 = 0: none), the same in all CTAs.  out[8 * block + wg] = cycles of p2 turns.
#ifndef FAR
#define FAR 1
#define MMA 1
#endif
extern "C" __global__ void __launch_bounds__(384, 1) wgmma_release(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  OPERANDS;
  fill_operands();
  u32 bars = saddr(smem), full = bars + 64, ring = bars + 60 * 1024;
  u32 consumers = blockDim.x / 128 - 1;
  volatile u32* over = (volatile u32*)(smem + 128);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) { mbar_init(bars + 8 * i, 0xfffff); mbar_init(full + 8 * i, 1); }
    *over = 0;
    mbar_fence_init();
  }
  __syncthreads();
  if (wg == consumers) {
    if (threadIdx.x % 128 == 0 && p0) {
      u64 next = clk();
      u32 i = 0;
      for (; *over < consumers && clk() < deadline; ++i) {
        if (i >= 4) wait(full + 8 * (i & 3), (i / 4 - 1) & 1, deadline, abort_word);
        mbar_expect(full + 8 * (i & 3), p0);
        bulk_load(ring + (i & 3) * p0, data + (u64)(i % 512) * p0, p0, full + 8 * (i & 3));
        next += p3;
        while (clk() < next) {}
      }
      for (u32 j = i < 4 ? 0 : i - 4; j < i; ++j)
        wait(full + 8 * (j & 3), (j / 4) & 1, deadline, abort_word);
    }
  } else {
    u32 warp = uniform_warp();
    u64 t0 = clk();
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
#if MMA
      wg_fence();
#pragma unroll
      for (int k = 0; k < D; ++k) wgmma(d, SLICE(k), b + 2 * (k & 3));
      wg_commit();
      wg_wait<1>();
#endif
      if (warp % 4 == 0 && elect()) {
        for (int n = 0; n < p1; ++n) {
#if FAR
          mbar_arrive_far(bars + 8 * (n & 3));
#else
          mbar_arrive(bars + 8 * (n & 3));
#endif
        }
      }
      __syncwarp();
    }
    u64 t1 = clk();
    wg_wait<0>();
    hold(d);
    if (threadIdx.x % 128 == 0) {
      out[8 * blockIdx.x + wg] = t1 - t0;
      atomicAdd((u32*)over, 1u);
    }
  }
  KEEP;
}
#endif

#if !RS
// A consumer's turn on barriers that are always complete: wait full, fence, D slices, commit,
// wait_group WAIT, elected arrive for the stage before.  out[wg] = cycles of p2 turns.
// p0 = 1 makes every wait pass.
extern "C" __global__ void __launch_bounds__(384, 1) wgmma_turn(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  OPERANDS;
  fill_operands();
  u32 full = saddr(smem), empty = full + 32;
  init_barriers(full, 8, 0xfffff);
#if TIGHT
  u32 warp = uniform_warp();
#endif
  for (int round = 0; round < 2; ++round) {
    u32 stage = 0, phase = 0, previous = 3;
    __syncthreads();
    u64 t0 = clk();
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
#if TIGHT
      wait_tight(full + 8 * stage, phase | p0, abort_word);
#else
      wait(full + 8 * stage, phase | p0, deadline, abort_word);
#endif
      wg_fence();
      u64 aa = a + stage * p1, bb = b + stage * p1;
#pragma unroll
      for (int k = 0; k < D; ++k) wgmma(d, aa + 2 * k, bb + 2 * k);
      wg_commit();
      wg_wait<WAIT>();
#if TIGHT
      if (warp == 0) {
        if (elect()) mbar_arrive(empty + 8 * (WAIT ? previous : stage));
      }
#else
      if (elect()) mbar_arrive(empty + 8 * (WAIT ? previous : stage));
#endif
      previous = stage;
      if (++stage == 4) { stage = 0; phase ^= 1; }
    }
    wg_wait<0>();
    hold(d);
    u64 t1 = clk();
    if (threadIdx.x % 128 == 0) out[wg] = t1 - t0;
  }
  KEEP;
}
#endif
#endif
