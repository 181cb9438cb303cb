// Tiles of four slices as mma_gemm has them: a warp multiplies 64x64 by 32 mma.sync a slice, loads the
// fragments of the next slice by LOADS ldmatrix, and copies COPIES times 16 bytes a lane for each tile
// by cp.async in slice AT, behind its loads; one group of copies stays in flight.
// SPLIT 1: the second half of the warps copies twice as much and does nothing else.
// p0: bytes from a row of copies to the next; p1: tiles. out[block * warps + warp] = cycles of the tiles.
#ifndef LOADS
#define LOADS 8
#define COPIES 16
#define AT 0
#define SYNC 1
#define SPLIT 0
#endif
#define STAGE (32 << 10)

DEV void product(float* d, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEV void load(u32* r, u32 at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
DEV void multiply(float (*d)[4], const u32* set) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = i % 2 ? 7 - j : j;
      product(d[8 * i + column], set + 4 * i, set + 16 + 2 * column);
    }
}
template <int N> DEV void copies(u32 to, const char* from, int pitch) {
#pragma unroll
  for (int i = 0; i < N; ++i) cp16(to + 2048 * i, from + (u64)i * pitch);
}

extern "C" __global__ void __launch_bounds__(256) tiles(KERNEL_ARGS) {
  float d[32][4];
  u32 sets[2][32];
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = threadIdx.x / 128;
  // Lanes of a load in consecutive rows, without conflicts; copies of 128 threads side by side.
  u32 at = saddr(smem) + half * 3 * STAGE + lane * 16, to = saddr(smem) + half * 3 * STAGE + threadIdx.x % 128 * 16;
  const char* from = data + (u64)(2 * blockIdx.x + half) * (1 << 20) + threadIdx.x % 128 / 8 * p0 + threadIdx.x % 8 * 16;
  for (int i = threadIdx.x; i < 6 * STAGE / 4; i += blockDim.x)
    if (i < (int)(blockDim.x / 128) * 3 * STAGE / 4) ((u32*)smem)[i] = hash(i) & 0x3fff3fffu;
#pragma unroll
  for (int s = 0; s < 2; ++s)
#pragma unroll
    for (int i = 0; i < 32; ++i) sets[s][i] = hash(threadIdx.x * 64 + s * 32 + i) & 0x3fff3fffu;
#pragma unroll
  for (int i = 0; i < 32; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) d[i][j] = 0;
  __syncthreads();
  u64 t0 = clk();
  u32 stage = 0;
#if SPLIT
  if (half == 1) {
#pragma unroll 1
    for (int t = 0; t < p1; ++t) {
      copies<COPIES>(to - 3 * STAGE + stage, from, 16 * p0);
      cp_commit();
      cp_wait<1>();
      stage = stage == 2 * STAGE ? 0 : stage + STAGE;
    }
    cp_wait<0>();
    u64 t1 = clk();
    if (lane == 0) out[blockIdx.x * (blockDim.x / 32) + warp] = t1 - t0;
    return;
  }
#endif
#pragma unroll 1
  for (int t = 0; t < p1; ++t) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      if (s == 3) {
        stage = stage == 2 * STAGE ? 0 : stage + STAGE;
#if !SPLIT && COPIES
        cp_wait<1>();
#endif
#if SYNC
        asm volatile("bar.sync %0, 128;" :: "r"(half + 1) : "memory");
#endif
      }
#pragma unroll
      for (int i = 0; i < LOADS; ++i)
        load(sets[(s + 1) % 2] + 4 * i, at + stage + 8192 * ((s + 1) % 4) + 1024 * i);
#if !SPLIT && COPIES
      if (s == AT) {
        copies<COPIES>(to + (stage ? stage - STAGE : 2 * STAGE), from, 16 * p0);
        cp_commit();
      }
#endif
      multiply(d, sets[s % 2]);
    }
  }
  u64 t1 = clk();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += d[i][j];
  if (sum == 1.25f) out[32767] = 1;
  if (lane == 0) out[blockIdx.x * (blockDim.x / 32) + warp] = t1 - t0;
}
