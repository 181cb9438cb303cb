// mma.sync, ldmatrix and stmatrix: rates and latencies.  out[warp] = cycles of the last round.
#ifndef KIND
#define KIND 0
#define CHAINS 1
#endif
#ifndef NUM
#define NUM 4
#define STORES 0
#endif
#define TURNS 64

template <class T> DEV void product(T* d, const u32* a, const u32* b) {
#if KIND == 0
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#elif KIND == 1
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
#endif
#if KIND < 2
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#else
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#endif
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 64 products on each of CHAINS independent sums.
extern "C" __global__ void products(KERNEL_ARGS) {
#if KIND < 2
  float d[CHAINS][4];
#else
  u32 d[CHAINS][4];
#endif
  u32 a[4], b[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = p0 + threadIdx.x * 77 + i;
  b[0] = p1 + threadIdx.x, b[1] = p1 ^ threadIdx.x;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c)
#pragma unroll
    for (int i = 0; i < 4; ++i) d[c][i] = 0;
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    u64 t0 = clk();
#pragma unroll
    for (int i = 0; i < TURNS; ++i) {
#pragma unroll
      for (int c = 0; c < CHAINS; ++c) product(d[c], a, b);
    }
    u64 t1 = clk();
    float s = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i) s += (float)d[c][i];
    if (s == 1.25f) out[1023] = 1;
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t1 - t0;
  }
}

DEV void load(u32* r, u32 at) {
#if NUM == 1
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0]) : "r"(at) : "memory");
#elif NUM == 2
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(at) : "memory");
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
#endif
}
#if __CUDA_ARCH__ >= 900
DEV void store(u32 at, const u32* r) {
#if NUM == 1
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               :: "r"(at), "r"(r[0]) : "memory");
#elif NUM == 2
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :: "r"(at), "r"(r[0]), "r"(r[1]) : "memory");
#else
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
#endif
}
#endif

// 64 moves of a warp that need nothing of each other: consecutive rows, no bank conflicts.
extern "C" __global__ void moves(KERNEL_ARGS) {
  u32 r[8][4];
  u32 at = saddr(smem) + threadIdx.x * 16;
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) ((u32*)smem)[i] = i;
#pragma unroll
  for (int c = 0; c < 8; ++c)
#pragma unroll
    for (int i = 0; i < 4; ++i) r[c][i] = threadIdx.x + c + i;
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    u32 s = 0;
    u64 t0 = clk();
#pragma unroll
    for (int i = 0; i < TURNS; ++i) {
#if STORES
      store(at + 4096 * (i % 4), r[i % 8]);
#else
#pragma unroll
      for (int j = 0; j < NUM; ++j) s ^= r[i % 8][j];  // the assembler drops loads that nobody uses
      load(r[i % 8], at + 4096 * (i % 4));
#endif
    }
#if !STORES
#pragma unroll
    for (int c = 0; c < 8; ++c)
#pragma unroll
      for (int i = 0; i < NUM; ++i) s ^= r[c][i];
    asm volatile("" :: "r"(s) : "memory");
#endif
    u64 t1 = clk();
    if (s == 0x12345678u) out[1023] = s;
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t1 - t0;
  }
}

// 64 loads of which each names the row of the next: lane i finds its next address, its own row.
extern "C" __global__ void chased(KERNEL_ARGS) {
  u32 base = saddr(smem), at = base + 16 * (threadIdx.x % 32), r[4];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x)
    ((u32*)smem)[i] = base + 16 * (i % 32);
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    u64 t0 = clk();
#pragma unroll
    for (int i = 0; i < TURNS; ++i) {
      load(r, at);
      at = r[0];
    }
    u64 t1 = clk();
    if (at == 0x12345678u) out[1023] = at;
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t1 - t0;
  }
}
