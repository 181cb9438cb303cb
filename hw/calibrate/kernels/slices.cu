// Which lines lie in the same part of L2.

// All CTAs reduce p3 bytes at p0 and at p1 in turn, p2 times: twice as slow if one part has both.
// out[b] = cycles.
extern "C" __global__ void same_part(KERNEL_ARGS) {
  u32 src = saddr(smem) + 1024;
  for (u32 i = threadIdx.x; i < 256; i += blockDim.x) sts(src + 4 * i, 0);
  fence_async_smem();
  __syncthreads();
  if (threadIdx.x == 0) {
    char *a = data + (u32)p0, *b = data + (u32)p1;
    u64 t0 = clk();
#pragma unroll 1
    for (int i = 0; i < p2; ++i) {
      bulk_add(a, src, p3);
      bulk_add(b, src, p3);
      bulk_commit();
      bulk_wait_read<2>();
    }
    bulk_wait();
    out[blockIdx.x] = clk() - t0;
  }
}
