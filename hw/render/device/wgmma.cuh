// wgmma of one warpgroup. The shape functions follow, one for each shape that the kernel uses.
DEV void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEV void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> DEV void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
}
// Low word: start address / 16 (plus 1 << 16, the unused leading offset); high word: stride, swizzle.
DEV u64 wgmma_desc(u32 low, u32 high) { return (u64)high << 32 | low; }
// Pins registers before and after a wait: without it the compiler injects waits of its own (C7514),
// or moves what it computes on them to the other side.
template <int N> DEV void pin(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int N> DEV void pin(u32 (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(d[i])::"memory");
}
template <int N> DEV void pin(int (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(d[i])::"memory");
}
