// The CUDA runtime as host.cuh uses it, where there is no GPU: device memory is host memory.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
typedef unsigned int u32;
typedef unsigned long long u64;
struct Clocks { u64 global_ns, sm_cycles; };
inline cudaError_t done(void*) { return cudaSuccess; }
template <class T> cudaError_t allocated(T** p, size_t n) { return done(*p = (T*)std::malloc(n)); }
inline cudaError_t elapsed(float* ms) { static float t = 0; *ms = t += 0.001f; return cudaSuccess; }
#define cudaMalloc(p, n) allocated(p, n)
#define cudaMemcpy(to, from, n, kind) done(std::memcpy(to, from, n))
#define cudaMemset(to, byte, n) done(std::memset(to, byte, n))
#define cudaEventCreate(event) done(event)
#define cudaEventRecord(event) cudaSuccess
#define cudaEventSynchronize(event) cudaSuccess
#define cudaEventElapsedTime(ms, begin, end) elapsed(ms)
