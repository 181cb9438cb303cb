// Turns of generated loop bodies, on barriers that are always complete and in rings.
#ifndef STAGES
#define STAGES 4
#define PRODUCER 0   // 0 all lanes loop, one elected issues; 1 elected lane in a branch, others
#define WORK 0       //   parked; 2 the other lanes have exited
#define LOAD 1
#define PROXY 1
#define CONSUMERS 1
#define BOX 1024
#define COPIES 4
#define UNIFORM 0  // role dispatch on a warp index that was made uniform by a shuffle
#define COUNTED 0  // waits: 0 bounded by the clock, 1 by tries, 2 one try and a tight loop
#endif

#define ADVANCE if (++stage == STAGES) { stage = 0; phase ^= 1; }

DEV void bounded_wait(u32 bar, u32 parity, u64 deadline, u32* abort_word) {
  if (COUNTED == 2) wait_tight(bar, parity, abort_word);
  else if (COUNTED) wait_counted(bar, parity, abort_word);
  else wait(bar, parity, deadline, abort_word);
}

DEV void producer(u32 empty, u32 full, u32 dst, const tmap* m, int turns, u32 force, u64 deadline,
                  u32* abort_word) {
  u32 stage = 0, phase = 0;
#if PRODUCER == 0
#pragma unroll 1
  for (int i = 0; i < turns; ++i) {
    bounded_wait(empty + 8 * stage, (phase ^ 1) | force, deadline, abort_word);
    if (elect()) {
      mbar_expect(full + 8 * stage, BOX);
      tensor_load(dst + stage * BOX, m, 0, (i & 15) * (BOX / 128), full + 8 * stage);
    }
    __syncwarp();
    ADVANCE
  }
#else
#pragma unroll 1
  for (int i = 0; i < turns; ++i) {
    bounded_wait(empty + 8 * stage, (phase ^ 1) | force, deadline, abort_word);
    mbar_expect(full + 8 * stage, BOX);
    tensor_load(dst + stage * BOX, m, 0, (i & 15) * (BOX / 128), full + 8 * stage);
    ADVANCE
  }
#endif
}

DEV float consumer(u32 empty, u32 full, u32 src, float x, float a, int turns, u32 force,
                   u64 deadline, u32* abort_word) {
  u32 stage = 0, phase = 0;
  u32 lane = threadIdx.x % 32;
#pragma unroll 1
  for (int i = 0; i < turns; ++i) {
    bounded_wait(full + 8 * stage, phase | force, deadline, abort_word);
#if LOAD
    x += __uint_as_float(lds(src + stage * BOX + 4 * lane));
#endif
#pragma unroll
    for (int k = 0; k < WORK; ++k) x = ffma(x, a, a);
#if PROXY
    fence_async_smem();
#endif
    __syncwarp();
    if (lane == 0) mbar_arrive(empty + 8 * stage);
    ADVANCE
  }
  return x;
}

// out[warp] = cycles of p2 turns of a producer that never has to wait (p0 = 1).
extern "C" __global__ void producer_turn(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 empty = saddr(smem), full = empty + 256, dst = empty + 1024;
  init_barriers(empty, 64, 0xfffff);
#if PRODUCER == 0
  u64 t0 = clk();
  producer(empty, full, dst, &m, p2, p0, deadline, abort_word);
  u64 t1 = clk();
  if (threadIdx.x == 0) out[0] = t1 - t0;
#else
#if PRODUCER == 2
  if (threadIdx.x != 0) return;
  {
#else
  if (elect()) {
#endif
    u64 t0 = clk();
    producer(empty, full, dst, &m, p2, p0, deadline, abort_word);
    out[0] = clk() - t0;
  }
#if PRODUCER == 1
  __syncwarp();
#endif
#endif
  if (threadIdx.x == 0) {  // let the copies land before the CTA ends
    u64 t2 = clk();
    while (clk() - t2 < 20000) {}
  }
  __syncwarp();
}

// out[warp] = cycles of p2 turns of consumers that never have to wait (p0 = 1).
extern "C" __global__ void consumer_turn(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 empty = saddr(smem), full = empty + 256, src = empty + 1024;
  init_barriers(empty, 64, 0xfffff);
  u64 t0 = clk();
  float x = consumer(empty, full, src, threadIdx.x, p1, p2, p0, deadline, abort_word);
  u64 t1 = clk();
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t1 - t0;
  if (x == 1234.5f) out[100] = 1;
}

// The same, while one more warp brings a box every p3 cycles (0: none) to where nobody reads.
extern "C" __global__ void turns_beside(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 empty = saddr(smem), full = empty + 256, mine = empty + 512, src = empty + 1024;
  volatile u32* done = (volatile u32*)(smem + 768);
  if (threadIdx.x == 0) *done = 0;
  init_barriers(empty, 96, 0xfffff);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) mbar_init(mine + 8 * i, 1);
    mbar_fence_init();
  }
  __syncthreads();
  u32 warp = uniform_warp();
  float x = 0;
  if (warp == CONSUMERS) {
    if (p3 && elect()) {
      u64 next = clk();
      for (u32 i = 0; !*done && clk() < deadline; ++i) {
        u32 slot = i & 3;
        if (i > 3) wait(mine + 8 * slot, (i / 4 - 1) & 1, deadline, abort_word);
        while (clk() < next) {}
        next += p3;
        mbar_expect(mine + 8 * slot, BOX);
        tensor_load(src + (STAGES + slot) * BOX, &m, 0, (i & 15) * (BOX / 128), mine + 8 * slot);
      }
      u64 end = clk();
      while (clk() - end < 20000) {}
    }
    __syncwarp();
  } else {
    u64 begin = clk();
    while (clk() - begin < 4000) {}
    u64 t0 = clk();
    x = consumer(empty, full, src, threadIdx.x, p1, p2, p0, deadline, abort_word);
    u64 t1 = clk();
    if (threadIdx.x % 32 == 0) out[warp] = t1 - t0;
    __syncwarp();
    if (threadIdx.x == 0) *done = 1;
  }
  if (x == 1234.5f) out[100] = 1;
}

// A ring in L2: CONSUMERS warps, then the producer warp.  out[warp] = cycles of p2 turns.
extern "C" __global__ void ring(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 empty = saddr(smem), full = empty + 256, buffer = empty + 1024;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      mbar_init(empty + 8 * i, CONSUMERS);
      mbar_init(full + 8 * i, 1);
    }
    mbar_fence_init();
  }
  __syncthreads();
  u32 warp = UNIFORM ? uniform_warp() : threadIdx.x / 32;
  u64 t0 = clk();
  float x = 0;
  if (warp == CONSUMERS) {
#if PRODUCER == 0
    producer(empty, full, buffer, &m, p2, p0, deadline, abort_word);
#else
    if (elect()) producer(empty, full, buffer, &m, p2, p0, deadline, abort_word);
    __syncwarp();
#endif
  } else {
    x = consumer(empty, full, buffer, threadIdx.x, p1, p2, p0, deadline, abort_word);
  }
  u64 t1 = clk();
  if (threadIdx.x % 32 == 0) out[warp] = t1 - t0;
  if (x == 1234.5f) out[100] = 1;
}

// cp.async multistage turn: wait_group, block barrier, COPIES 16-byte copies of each thread, commit,
// one LDS, WORK FFMA.  The data is in L2; out[0] = cycles of p2 turns.
extern "C" __global__ void cp_async_turn(KERNEL_ARGS) {
  u32 buffer = saddr(smem) + 1024;
  u32 step = COPIES * blockDim.x * 16;
  const char* src = data + threadIdx.x * 16;
  u32 fill = 0, use = 0;
  float x = threadIdx.x, a = p1;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
#pragma unroll
    for (int k = 0; k < COPIES; ++k) {
      cp16(buffer + fill * step + (k * blockDim.x + threadIdx.x) * 16, src + k * blockDim.x * 16);
    }
    cp_commit();
    ++fill;
  }
  __syncthreads();
  u64 t0 = clk();
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    cp_wait<STAGES - 2>();
    __syncthreads();
    const char* at = src + (u64)(i & 7) * step;
#pragma unroll
    for (int k = 0; k < COPIES; ++k) {
      cp16(buffer + fill * step + (k * blockDim.x + threadIdx.x) * 16, at + k * blockDim.x * 16);
    }
    cp_commit();
    if (++fill == STAGES) fill = 0;
    x += __uint_as_float(lds(buffer + use * step + 4 * threadIdx.x));
#pragma unroll
    for (int k = 0; k < WORK; ++k) x = ffma(x, a, a);
    if (++use == STAGES) use = 0;
  }
  u64 t1 = clk();
  cp_wait<0>();
  if (threadIdx.x == 0) out[0] = t1 - t0;
  if (x == 1234.5f) out[100] = 1;
}

// Two CTAs on one SM: p3 selects the SM; each CTA streams PRODUCER-style loads through STAGES boxes.
// (The tensor core's share is measured with wgmma_stream launched with two CTAs on each SM.)
extern "C" __global__ void fill_share(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bars = saddr(smem), dst = bars + 1024;
  init_barriers(bars, STAGES, 1);
  u64* row = out + 4 * blockIdx.x;
  if (threadIdx.x != 0) return;
  row[3] = smid();
  row[0] = 0;
  if (smid() != (u32)p3) { u64 t = clk(); while (clk() - t < 400000) {} return; }
  const char* base = data + (u64)blockIdx.x * (STAGES * BOX);
  u64 start = clk();
  while (clk() - start < 20000) {}
  for (int s = 0; s < STAGES; ++s) { mbar_expect(bars + 8 * s, BOX); bulk_load(dst + s * BOX, base + s * BOX, BOX, bars + 8 * s); }
  u32 stage = 0, phase = 0;
  u64 t0 = clk();
#pragma unroll 1
  for (int i = 0; i < p2; ++i) {
    wait(bars + 8 * stage, phase, deadline, abort_word);
    mbar_expect(bars + 8 * stage, BOX);
    bulk_load(dst + stage * BOX, base + stage * BOX, BOX, bars + 8 * stage);
    ADVANCE
  }
  row[0] = clk() - t0;
  row[1] = t0;
  for (int s = 0; s < STAGES; ++s) { wait(bars + 8 * stage, phase, deadline, abort_word); ADVANCE }
}
