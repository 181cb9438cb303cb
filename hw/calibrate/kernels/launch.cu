// CTA starts and ends.  out[4 b ..] = clock at start, clock at end, globaltimer at start, smid.
extern "C" __global__ void starts(KERNEL_ARGS) {
  u64 t0 = clk(), g0 = gtime();
  while (clk() - t0 < (u64)p0) {}
  __syncthreads();
  if (threadIdx.x == 0) {
    u64* row = out + 4 * blockIdx.x;
    row[0] = t0; row[2] = g0; row[3] = smid();
    row[1] = clk();
  }
}

// Set-up of a four-stage ring, from the CTA's first clock: out[3 b ..] = cycles to role dispatch,
// to the end of set-up, set-up alone.
extern "C" __global__ void setup(KERNEL_ARGS, const __grid_constant__ tmap m) {
  u64 t0 = clk();
  u32 bars = saddr(smem);
  int warp = threadIdx.x / 32;
  u64 t1 = clk();
  if (warp == 0 && elect()) {
#pragma unroll
    for (int i = 0; i < 8; ++i) mbar_init(bars + 8 * i, i < 4 ? 1 : 4);
    mbar_fence_init();
  }
  __syncthreads();
  u64 t2 = clk();
  if (threadIdx.x == 0) { out[3 * blockIdx.x] = t1 - t0; out[3 * blockIdx.x + 1] = t2 - t0; out[3 * blockIdx.x + 2] = t2 - t1; }
}

// The SM clock: out[2 b], out[2 b + 1] = cycles and nanoseconds of a spin of p0 cycles.
extern "C" __global__ void clock_rate(KERNEL_ARGS) {
  if (threadIdx.x) return;
  u64 g0 = gtime(), t0 = clk();
  while (clk() - t0 < (u64)p0) {}
  u64 t1 = clk(), g1 = gtime();
  out[2 * blockIdx.x] = t1 - t0;
  out[2 * blockIdx.x + 1] = g1 - g0;
}
