// Pipes: OP on CHAINS independent chains, 64 operations of each chain unrolled.  out[warp] = cycles.
#ifndef OP
#define OP 0
#define CHAINS 1
#endif
extern "C" __global__ void pipe(KERNEL_ARGS) {
  u32 x[CHAINS];
  u32 a = p0 | 3, b = p1 | 5;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) x[c] = threadIdx.x + c + p3;
  u32 base = saddr(smem);
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) ((u32*)smem)[i] = base + 4 * ((i * 33) % 2048);
#if OP == 5
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) x[c] = base + 4 * threadIdx.x + 128 * c;
#endif
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    u64 t0 = clk();
#pragma unroll
    for (int i = 0; i < 64; ++i) {
#pragma unroll
      for (int c = 0; c < CHAINS; ++c) {
#if OP == 0
        asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(a), "r"(b));
#elif OP == 1
        asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x[c]) : "r"(a), "r"(b));
#elif OP == 2
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+r"(x[c]));
#elif OP == 3
        asm volatile("{ .reg .f32 f; mov.b32 f, %0; cvt.rn.bf16x2.f32 %0, f, f; }" : "+r"(x[c]));
#elif OP == 4
        asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(x[c]));
#elif OP == 5
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(x[c]) :: "memory");
#elif OP == 6
        asm volatile("max.f32 %0, %0, %1;" : "+r"(x[c]) : "r"(a));
#elif OP == 7
        asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(a), "r"(b));
#elif OP == 8
        asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+r"(x[c]));
#elif OP == 9
        asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(x[c]));
#elif OP == 10
        asm volatile("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(a), "r"(b));
#endif
      }
    }
    u64 t1 = clk();
    u32 s = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) s += x[c];
    if (s == 0x12345678u) out[1023] = s;
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t1 - t0;
  }
}

// Independent 4- or 16-byte loads from shared memory: LDS_WIDTH, 64 unrolled; out[warp] = cycles.
// LDS_SHARE: lanes that read one place: 0 none, 1 the lanes of a pair (i, i^1), 2 lanes i, i^2, 3 both
// groups of eight (i, i^4), 4 four places for the warp in pairs i, i^2, 5 all lanes.
#ifndef LDS_WIDTH
#define LDS_WIDTH 4
#endif
#ifndef LDS_SHARE
#define LDS_SHARE 0
#endif
DEV u32 place(u32 lane) {
  return LDS_SHARE == 0   ? lane
         : LDS_SHARE == 1 ? lane / 2
         : LDS_SHARE == 2 ? lane / 4 * 2 + lane % 2
         : LDS_SHARE == 3 ? lane / 8 * 4 + lane % 4
         : LDS_SHARE == 4 ? lane / 16 * 2 + lane % 2
                          : 0;
}
extern "C" __global__ void lds_rate(KERNEL_ARGS) {
  u32 a = saddr(smem) + place(threadIdx.x % 32) * LDS_WIDTH;
  for (int round = 0; round < 3; ++round) {
    u32 s = 0;
    __syncthreads();
    u64 t0 = clk();
#pragma unroll
    for (int i = 0; i < 64; ++i) {
#if LDS_WIDTH == 4
      u32 v;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(a + 128 * i) : "memory");
      s ^= v;
#else
      u32 v, w, x, y;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y)
                   : "r"(a + 512 * i) : "memory");
      s ^= v ^ w ^ x ^ y;
#endif
    }
    u64 t1 = clk();
    if (s == 0x12345678u) out[1023] = s;
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t1 - t0;
  }
}

// A loop with BODY dependent FFMA; out[0] = cycles of p2 turns.
#ifndef BODY
#define BODY 8
#endif
extern "C" __global__ void loop(KERNEL_ARGS) {
  float x = threadIdx.x, a = p0, b = p1;
  __syncthreads();
  for (int round = 0; round < 3; ++round) {
    u64 t0 = clk();
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
#pragma unroll
      for (int k = 0; k < BODY; ++k) x = ffma(x, a, b);
    }
    u64 t1 = clk();
    if (threadIdx.x == 0) out[0] = t1 - t0;
  }
  if (x == 1234.5f) out[1] = 1;
}
