// Loads of one kind for as long as the board needs to settle.  out[2 b], out[2 b + 1] = cycles and
// nanoseconds of CTA b, from the same marks.  Each kernel does a fixed amount of work (p2 turns).
DEV void mark(u64* out, u64 t0, u64 g0) {
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = clk() - t0;
    out[2 * blockIdx.x + 1] = gtime() - g0;
  }
}

// 16- or 8-bit values of KIND in p2 MB of data: 0 zeros, 1 standard normal, 2 uniform in [-1, 1), 3 ones,
// 4 small integers (-2..2).  WIDTH 16: bf16, 8: e4m3.
#ifndef WIDTH
#define WIDTH 16
#endif
DEV float drawn(int kind, u32 i) {
  u32 h = hash(2 * i + 1), g = hash(i ^ 0x9e3779b9u);
  float u = (h >> 8) * (1.f / 16777216.f), v = (g >> 8) * (1.f / 16777216.f);
  if (kind == 1) return __fsqrt_rn(-2.f * __logf(u + 1e-7f)) * __cosf(6.2831853f * v);
  if (kind == 2) return 2.f * u - 1.f;
  if (kind == 3) return 1.f;
  if (kind == 4) return (float)((int)(h % 5) - 2);
  return 0.f;
}
extern "C" __global__ void power_fill(KERNEL_ARGS) {
  u32 words = (u32)p2 << 18;
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
    u32 word = 0;
#if WIDTH == 16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(drawn(p0, 2 * i + 1)), "f"(drawn(p0, 2 * i)));
#else
    unsigned short low, high;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(drawn(p0, 4 * i + 1)), "f"(drawn(p0, 4 * i)));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(drawn(p0, 4 * i + 3)), "f"(drawn(p0, 4 * i + 2)));
    word = low | (u32)high << 16;
#endif
    ((u32*)data)[i] = word;
  }
}

#ifdef N
// Two warpgroups, each p2 groups of D instructions; four stages of operands from data, and a new sum
// every 128 groups, as a matrix kernel has it.  WAIT groups stay in flight.
#define STAGE (16384 + N * 128)
extern "C" __global__ void __launch_bounds__(256, 1) power_wgmma(KERNEL_ARGS) {
  u32 wg = threadIdx.x / 128;
  uint4* to = (uint4*)(smem + 1024);
  const uint4* from = (const uint4*)(data + ((u64)(blockIdx.x % 16) << 20));
  for (int i = threadIdx.x; i < 4 * STAGE / 16; i += blockDim.x) to[i] = from[i];
  fence_async_smem();
  __syncthreads();
  u32 base = saddr(smem) + 1024;
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) d[i] = 0.f;
#if RS
  u32 regs[4][4];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    regs[i / 4][i % 4] = ((const u32*)data)[threadIdx.x * 16 + i];
    asm volatile("" : "+r"(regs[i / 4][i % 4]));
  }
#endif
  u64 t0 = clk(), g0 = gtime();
#pragma unroll 1
  for (int g = 0; g < p2; ++g) {
    u32 stage = base + (g & 3) * STAGE;
    u64 b = descriptor(stage + 16384);
    wg_fence();
#pragma unroll
    for (int k = 0; k < D; ++k) {
#if RS
      wgmma_sum(d, regs[k & 3], b + 2 * (k & 3), k || (g & 127));
#else
      wgmma_sum(d, descriptor(stage + wg * 8192) + 2 * (k & 3), b + 2 * (k & 3), k || (g & 127));
#endif
    }
    wg_commit();
    wg_wait<WAIT>();
  }
  wg_wait<0>();
  hold(d);
  mark(out, t0, g0);
  float s = 0;
#pragma unroll
  for (int i = 0; i < N / 2; ++i) s += d[i];
  if (s == 1.2345e30f) out[1000] = 1;
}

#if !RS
// Two warpgroups do the same in p0 * 128 groups, and as long as they do, or for p2 cycles, a warp behind them loads
// boxes of 16 KB, four in flight, out of 192 KB of each CTA (not with p3 = 0).  out[512 + b] = boxes.
extern "C" __global__ void __launch_bounds__(288, 1) power_together(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 warp = uniform_warp(), wg = warp / 4, base = saddr(smem) + 1024, turns = 0;
  uint4* to = (uint4*)(smem + 1024);
  const uint4* from = (const uint4*)(data + ((u64)(blockIdx.x % 16) << 20));
  for (int i = threadIdx.x; i < 4 * STAGE / 16; i += blockDim.x) to[i] = from[i];
  volatile u32* over = (volatile u32*)(smem + 512);
  if (threadIdx.x == 0) *over = 0;
  init_barriers(saddr(smem), 4, 1);
  fence_async_smem();
  __syncthreads();
  u64 t0 = clk(), g0 = gtime();
  if (warp < 8) {
    float d[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i) d[i] = 0.f;
#pragma unroll 1
    for (int turn = 0; turn < p0; ++turn) {
#pragma unroll 1
      for (int g = 0; g < 128; ++g) {
        u32 stage = base + (g & 3) * STAGE;
        u64 b = descriptor(stage + 16384);
        wg_fence();
#pragma unroll
        for (int k = 0; k < D; ++k)
          wgmma_sum(d, descriptor(stage + wg * 8192) + 2 * (k & 3), b + 2 * (k & 3), k || g);
        wg_commit();
        wg_wait<WAIT>();
      }
    }
    wg_wait<0>();
    hold(d);
    if (threadIdx.x == 0) *over = 1;
    float s = 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) s += d[i];
    if (s == 1.2345e30f) out[2000] = 1;
    return;
  }
  const char* mine = data + (64u << 20) + (u64)blockIdx.x * (192u << 10);
  u32 bars = saddr(smem), ring = base + 4 * STAGE, at = 0, slot = 0, phase = 0, ahead = 0;
#pragma unroll 1
  for (bool more = true; more || ahead;) {
    more = more && clk() < deadline && (p0 ? !*over : clk() - t0 < (u64)p2);
    __syncwarp();
    if (ahead == 4 || (!more && ahead)) {
      wait(bars + 8 * slot, phase, deadline, abort_word);
      ++turns;
      --ahead;
      if (++slot == 4) { slot = 0; phase ^= 1; }
    }
    if (more && p3) {
      u32 last = (slot + ahead) % 4;
      if (elect()) {
        mbar_expect(bars + 8 * last, 16384);
        bulk_load(ring + last * 16384, mine + at, 16384, bars + 8 * last);
      }
      __syncwarp();
      ++ahead;
      at += 16384;
      if (at == 192u << 10) at = 0;
    }
  }
  if (threadIdx.x == 256) {
    out[2 * blockIdx.x] = clk() - t0;
    out[2 * blockIdx.x + 1] = gtime() - g0;
    out[512 + blockIdx.x] = turns;
  }
}
#endif
#else

// p2 boxes of 16 KB, p3 in flight, of the p1 bytes that begin p0 bytes further for each CTA.
extern "C" __global__ void power_load(KERNEL_ARGS) {
  u64 deadline = clk() + DEADLINE_CYCLES;
  u32 bars = saddr(smem), dst = bars + 1024;
  init_barriers(bars, 8, 1);
  const char* mine = data + (u64)blockIdx.x * (u32)p0;
  u32 at = 0, slot = 0, phase = 0;
  u64 t0 = clk(), g0 = gtime();
#pragma unroll 1
  for (int i = 0; i < p2 + p3; ++i) {
    if (i >= p3) wait(bars + 8 * slot, phase, deadline, abort_word);
    if (i < p2 && elect()) {
      mbar_expect(bars + 8 * slot, 16384);
      bulk_load(dst + slot * 16384, mine + at, 16384, bars + 8 * slot);
    }
    __syncwarp();
    at += 16384;
    if (at >= (u32)p1) at = 0;
    if (++slot == (u32)p3) { slot = 0; phase ^= i >= p3; }
  }
  mark(out, t0, g0);
}

// p2 bulk stores of 16 KB from shared memory with what data holds, into the p1 bytes of each CTA.
extern "C" __global__ void power_store(KERNEL_ARGS) {
  u32 src = saddr(smem) + 1024;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x)
    ((uint4*)(smem + 1024))[i] = ((const uint4*)data)[i + blockIdx.x * 4096 % 65536];
  fence_async_smem();
  __syncthreads();
  char* mine = data + (64u << 20) + (u64)blockIdx.x * (u32)p0;
  u32 at = 0;
  u64 t0 = clk(), g0 = gtime();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
      bulk_store(mine + at, src + (i & 3) * 16384, 16384);
      bulk_commit();
      asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
      at += 16384;
      if (at >= (u32)p1) at = 0;
    }
    bulk_wait();
  }
  mark(out, t0, g0);
}

// p2 turns of 64 instructions of each of eight chains, on values that keep changing; OP 0 FFMA with eight
// pairs of factors in turn, 1 LOP3, 2 ex2, 3 ld.shared.v4 (32 of them), 4 mma.sync of bf16 (32), 5 nothing but
// waits of a hundred nanoseconds, 6 tries of a barrier that does not complete.
#ifndef OP
#define OP 5
#endif
DEV u32 tried(u32 bar) {
  u32 ok;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;"
               " selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(bar) : "memory");
  return ok;
}
extern "C" __global__ void power_sm(KERNEL_ARGS) {
  u32 id = threadIdx.x + blockIdx.x * blockDim.x;
  u32 x[8], f[16];
#pragma unroll
  for (int c = 0; c < 8; ++c) x[c] = (hash(id * 8 + c) & 0x807fffffu) | 0x3f000000u;
#pragma unroll
  for (int c = 0; c < 16; ++c) {
    f[c] = (hash(id * 16 + c + 77) & 0x807fffffu) | (c & 1 ? 0x3f800000u : 0x3f000000u);
    asm volatile("" : "+r"(f[c]));
  }
#if OP == 3
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) ((u32*)smem)[i] = hash(i + blockIdx.x * 8192);
#endif
  init_barriers(saddr(smem) + 40000, 1, 1);
  u32 base = saddr(smem) + (threadIdx.x % 32) * 16;
#if OP == 4
  float sums[4][4] = {};
#endif
  u64 t0 = clk(), g0 = gtime();
#pragma unroll 1
  for (int turn = 0; turn < p2; ++turn) {
#if OP <= 2
#pragma unroll
    for (int i = 0; i < 64; ++i) {
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        u32 a = f[2 * ((i + c) % 8)], b = f[2 * ((i + c) % 8) + 1];
#if OP == 0
        asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(a), "r"(b));
#elif OP == 1
        asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x[c]) : "r"(a), "r"(b));
#else
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+r"(x[c]));
#endif
      }
    }
#elif OP == 3
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      u32 v, w, y, z;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(y), "=r"(z)
                   : "r"(base + ((i + turn) & 63) * 512) : "memory");
      x[i % 8] ^= v ^ w ^ y ^ z;
    }
#elif OP == 4
#pragma unroll
    for (int i = 0; i < 32; ++i)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                   "{%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(sums[i % 4][0]), "+f"(sums[i % 4][1]), "+f"(sums[i % 4][2]), "+f"(sums[i % 4][3])
                   : "r"(f[(i * 3) % 16]), "r"(f[(i * 3 + 1) % 16]), "r"(f[(i * 3 + 2) % 16]),
                     "r"(f[(i * 3 + 3) % 16]), "r"(f[(i * 5 + 7) % 16]), "r"(f[(i * 5 + 9) % 16]));
#elif OP == 5
    __nanosleep(100);
#else
#pragma unroll
    for (int i = 0; i < 16; ++i) x[0] += tried(saddr(smem) + 40000);
#endif
  }
  mark(out, t0, g0);
  u32 s = 0;
#pragma unroll
  for (int c = 0; c < 8; ++c) s += x[c];
#if OP == 4
#pragma unroll
  for (int c = 0; c < 16; ++c) s += __float_as_uint(sums[c / 4][c % 4]);
#endif
  if (s == 0x12345678u) out[1000] = s;
}
#endif
