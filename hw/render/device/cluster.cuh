// Clusters: addresses in the shared memory of other CTAs, st.async, and waits of other orders.
DEV int cluster_rank() { int r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
DEV u32 cluster_address(u32 own, u32 rank) {
  u32 theirs;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(own), "r"(rank));
  return theirs;
}
template <class T> DEV T* cluster_pointer(T* own, u32 rank) {
  u64 theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(own), "r"(rank));
  return (T*)theirs;
}

#define ST_ASYNC "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes."
template <class T, class... R> DEV void st_async(u32 dst, u32 bar, R... from) {
  Vector<T, sizeof...(R)> x{{(T)from...}};
  const u32* w = (const u32*)&x;
  if constexpr (sizeof(x) == 4)
    asm volatile(ST_ASYNC "u32 [%0], %1, [%2];" :: "r"(dst), "r"(w[0]), "r"(bar) : "memory");
  else if constexpr (sizeof(x) == 8)
    asm volatile(ST_ASYNC "v2.u32 [%0], {%1, %2}, [%3];"
                 :: "r"(dst), "r"(w[0]), "r"(w[1]), "r"(bar) : "memory");
  else
    asm volatile(ST_ASYNC "v4.u32 [%0], {%1, %2, %3, %4}, [%5];"
                 :: "r"(dst), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(bar) : "memory");
}

// A phase whose wait has another order than acquire.cta; the functions of mbarrier.cuh find these by
// the type of the phase.
#define ORDERED_PHASE(NAME, TYPE, CONSTRAINT, FORM, WORD)                                           \
  struct NAME { TYPE phase; };                                                                      \
  DEV u32 mbar_try_wait(u32 bar, NAME p) {                                                          \
    u32 done;                                                                                       \
    asm volatile("{ .reg .pred p; mbarrier.try_wait" FORM ".shared::cta.b64 p, [%1], %2;"           \
                 " selp.u32 %0, 1, 0, p; }"                                                         \
                 : "=r"(done) : "r"(bar), CONSTRAINT(p.phase) : "memory");                          \
    return done;                                                                                    \
  }                                                                                                 \
  DEV u32 mbar_try_often(u32 bar, NAME p) {                                                         \
    for (int i = 0; i < TRIES_PER_LOOK; ++i)                                                        \
      if (mbar_try_wait(bar, p)) return 1;                                                          \
    return 0;                                                                                       \
  }                                                                                                 \
  DEV u32 phase_word(NAME p) { return WORD; }
ORDERED_PHASE(ParityAcquireCluster, u32, "r", ".parity.acquire.cluster", p.phase)
ORDERED_PHASE(ParityRelaxedCluster, u32, "r", ".parity.relaxed.cluster", p.phase)
ORDERED_PHASE(ParityRelaxedCta, u32, "r", ".parity.relaxed.cta", p.phase)
ORDERED_PHASE(StateAcquireCluster, u64, "l", ".acquire.cluster", 2u)
ORDERED_PHASE(StateRelaxedCluster, u64, "l", ".relaxed.cluster", 2u)
ORDERED_PHASE(StateRelaxedCta, u64, "l", ".relaxed.cta", 2u)
