// tcgen05 of sm_100a. The functions of mma, cp, ld and st follow, one for each form that is used.
template <int GROUP> DEV void tcgen05_alloc(u32 word, u32 columns) {
  asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;"
               :: "r"(word), "r"(columns), "n"(GROUP) : "memory");
}
template <int GROUP> DEV void tcgen05_dealloc(u32 taddr, u32 columns) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;"
               :: "r"(taddr), "r"(columns), "n"(GROUP) : "memory");
}
template <int GROUP> DEV void tcgen05_relinquish_alloc_permit() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" :: "n"(GROUP) : "memory");
}
#define TCGEN05_COMMIT "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster"
template <int GROUP> DEV void tcgen05_commit(u32 bar) {
  asm volatile(TCGEN05_COMMIT ".b64 [%0];" :: "r"(bar), "n"(GROUP) : "memory");
}
template <int GROUP> DEV void tcgen05_commit(u32 bar, unsigned short ctas) {
  asm volatile(TCGEN05_COMMIT ".multicast::cluster.b64 [%0], %2;"
               :: "r"(bar), "n"(GROUP), "h"(ctas) : "memory");
}
template <int GROUP> DEV void tcgen05_shift(u32 taddr) {
  asm volatile("tcgen05.shift.cta_group::%1.down [%0];" :: "r"(taddr), "n"(GROUP) : "memory");
}
DEV void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
DEV void tcgen05_wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
// Pins registers after the wait: their uses must not move before it.
#define TCGEN05_LANDED(T, CONSTRAINT)                                      \
  template <int N> DEV void tcgen05_landed(T (&d)[N]) {                    \
    _Pragma("unroll") for (int i = 0; i < N; ++i)                          \
        asm volatile("" : CONSTRAINT(d[i])::"memory");                     \
  }
TCGEN05_LANDED(float, "+f")
TCGEN05_LANDED(int, "+r")
TCGEN05_LANDED(u32, "+r")
DEV void tcgen05_fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
DEV void tcgen05_fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
// Low word: start address / 16 (plus 1 << 16, the unused leading offset); high word: stride, the
// constant 1 in bit 46, swizzle.
DEV u64 tcgen05_desc(u32 low, u32 high) { return (u64)high << 32 | low; }
