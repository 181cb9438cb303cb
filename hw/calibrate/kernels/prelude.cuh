// Shared device code of the microbenchmarks: clocks, mbarriers, copies.  Header-free; put in front
// of every kernel file.  Every kernel has the arguments KERNEL_ARGS; `out` receives cycles.
#pragma nv_diag_suppress 177  // not every kernel file uses every function
typedef unsigned int u32;
typedef unsigned long long u64;
struct __align__(64) tmap { u64 v[16]; };

#define KERNEL_ARGS u64* out, u32* abort_word, char* data, int p0, int p1, int p2, int p3
#define DEV static __device__ __forceinline__

DEV u64 clk() { u64 c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return c; }
DEV u64 gtime() { u64 c; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(c) :: "memory"); return c; }
DEV u32 smid() { u32 r; asm volatile("mov.u32 %0, %%smid;" : "=r"(r)); return r; }
DEV u32 saddr(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// A wait never spins without a bound: after the deadline every wait gives up and the host is told.
#define DEADLINE_CYCLES 200000000ull
DEV void timed_out(u32* abort_word) { atomicExch(abort_word, 1u); }

DEV void mbar_init(u32 bar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(count) : "memory");
}
DEV void mbar_fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEV void mbar_arrive(u32 bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory");
}
// Released at cluster scope; an address in shared::cta is one of the CTA itself in shared::cluster.
DEV void mbar_arrive_far(u32 bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(bar) : "memory");
}
DEV void mbar_expect(u32 bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes)
               : "memory");
}
DEV u32 try_wait(u32 bar, u32 parity) {
  u32 ok;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
               " selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(bar), "r"(parity) : "memory");
  return ok;
}
DEV void wait(u32 bar, u32 parity, u64 deadline, u32* abort_word) {
  while (!try_wait(bar, parity)) {
    if (clk() > deadline) { timed_out(abort_word); break; }
  }
}
// The same with a bound on the tries: fewer registers and a shorter loop.
#define MAX_TRIES 200000u
DEV void wait_counted(u32 bar, u32 parity, u32* abort_word) {
  for (u32 tries = 0; !try_wait(bar, parity);) {
    if (++tries > MAX_TRIES) { timed_out(abort_word); break; }
  }
}
// As rendered kernels wait: one try, then a tight loop; in a diverged warp the loop is the poll period.
DEV void wait_tight(u32 bar, u32 parity, u32* abort_word) {
  if (try_wait(bar, parity)) return;
  u32 ok;
  asm volatile("{ .reg .pred p, q; .reg .u32 n; mov.u32 n, %3;\n"
               "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
               "@p bra DONE; sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra AGAIN;\n"
               "DONE: selp.u32 %0, 1, 0, p; }"
               : "=r"(ok) : "r"(bar), "r"(parity), "n"(MAX_TRIES) : "memory");
  if (!ok) timed_out(abort_word);
}
DEV u32 elect() {
  u32 ok;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(ok));
  return ok;
}
DEV void bulk_load(u32 dst, const void* src, u32 bytes, u32 bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(dst), "l"(src), "r"(bytes), "r"(bar) : "memory");
}
DEV void tensor_load(u32 dst, const tmap* m, int x, int y, u32 bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%2, %3}], [%4];"
               :: "r"(dst), "l"(m), "r"(x), "r"(y), "r"(bar) : "memory");
}
DEV void tensor_store(const tmap* m, int x, int y, u32 src) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
               :: "l"(m), "r"(x), "r"(y), "r"(src) : "memory");
}
DEV void bulk_store(void* dst, u32 src, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(dst), "r"(src), "r"(bytes) : "memory");
}
DEV void bulk_add(void* dst, u32 src, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
               :: "l"(dst), "r"(src), "r"(bytes) : "memory");
}
template <int W> DEV void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(W) : "memory");
}
DEV void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
DEV void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
DEV void cp16(u32 dst, const void* src) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(dst), "l"(src) : "memory");
}
DEV void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEV void cp_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
DEV void fence_async_smem() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEV u32 lds(u32 a) { u32 v; asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); return v; }
DEV void sts(u32 a, u32 v) { asm volatile("st.shared.u32 [%0], %1;" :: "r"(a), "r"(v) : "memory"); }
DEV float ffma(float a, float b, float c) {
  float r; asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c)); return r;
}
DEV u32 hash(u32 x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }

// One thread sets up `n` barriers; afterwards every thread may use them.
DEV void init_barriers(u32 bar, int n, u32 count) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) mbar_init(bar + 8 * i, count);
    mbar_fence_init();
  }
  __syncthreads();
}
// The warp's index, known to the compiler to be the same in all lanes.
DEV u32 uniform_warp() { return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); }
extern __shared__ __align__(1024) char smem[];
