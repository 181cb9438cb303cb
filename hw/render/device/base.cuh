// Types, elections, and the guard that keeps a broken schedule from hanging the GPU.
typedef unsigned int u32;
typedef unsigned long long u64;
#define DEV __device__ __forceinline__

struct __align__(64) TensorMap { u64 words[16]; };
struct __align__(16) Clocks { u64 global_ns, sm_cycles; };

struct bf16 {
  unsigned short bits;
  bf16() = default;
  __device__ __forceinline__ bf16(float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ __forceinline__ operator float() const { return __uint_as_float((u32)bits << 16); }
};
struct f16 {
  unsigned short bits;
  f16() = default;
  __device__ __forceinline__ f16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ __forceinline__ operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
};

DEV u64 clock_cycles() { u64 c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return c; }
DEV u64 clock_global() { u64 c; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(c) :: "memory"); return c; }
DEV u32 elect_one() {
  u32 mine;
#if __CUDA_ARCH__ >= 900
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(mine));
#else
  mine = (threadIdx.x & 31) == 0;
#endif
  return mine;
}

// Floor division and remainder by a compile-time constant (Python's, also for negative values).
template <int D> DEV int floor_div(int a) { return a / D - (a % D < 0); }
template <int D> DEV int floor_mod(int a) { int r = a % D; return r < 0 ? r + D : r; }

// A wait that reaches its limit sets word 0 of `report` and describes itself in the others. From then
// on this thread's waits return at once, and its copies and global stores are skipped.
struct Guard {
  u32* report;
  bool aborted;
};
#define WAIT_LIMIT_CYCLES 100000000ull
#define DRAIN_CYCLES 200000ull
#define TRIES_PER_LOOK 4096

DEV void report_timeout(Guard& guard, u32 op, u32 barrier, u32 parity, int index, u64 state) {
  if (atomicCAS(guard.report, 0u, 1u) != 0u) return;
  u32* out = guard.report;
  out[1] = op;
  out[2] = barrier;
  out[3] = parity;
  out[4] = (u32)index;
  out[5] = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[6] = threadIdx.x >> 5;
  out[7] = (u32)state;
  out[8] = (u32)(state >> 32);
}

// Copies in flight must land before the CTA's shared memory is given to another one.
DEV void drain() {
  asm volatile("cp.async.wait_all;" ::: "memory");
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
  u64 begin = clock_cycles();
  while (clock_cycles() - begin < DRAIN_CYCLES) {}
}

// Start of the CTA, and end of each of its warps: slot 0 and 1 + warp of the CTA's row.
DEV void clock_mark(Clocks* clocks, u32 warps, u32 slot) {
  u32 cta = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  u64 ns = clock_global(), cycles = clock_cycles();
  asm volatile("st.global.v2.u64 [%0], {%1, %2};"
               :: "l"(clocks + cta * (warps + 1) + slot), "l"(ns), "l"(cycles) : "memory");
}
