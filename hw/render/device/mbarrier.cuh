// mbarrier.* on shared-memory addresses.
DEV void mbar_init(u32 bar, u32 count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar), "r"(count) : "memory");
}
DEV void mbar_inval(u32 bar) { asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(bar) : "memory"); }
DEV void mbar_arrive(u32 bar) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"(bar) : "memory");
}
DEV void mbar_arrive(u32 bar, u32 count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(count) : "memory");
}
DEV void mbar_expect_tx(u32 bar, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :: "r"(bar), "r"(bytes) : "memory");
}
DEV void mbar_arrive_expect_tx(u32 bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(bar), "r"(bytes) : "memory");
}
// The same, keeping the state that PTX returns: the phase in which they count.
DEV u64 mbar_arrive_state(u32 bar) {
  u64 state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
  return state;
}
DEV u64 mbar_arrive_state(u32 bar, u32 count) {
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(bar), "r"(count) : "memory");
  return state;
}
DEV u64 mbar_arrive_expect_tx_state(u32 bar, u32 bytes) {
  u64 state;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(bar), "r"(bytes) : "memory");
  return state;
}
DEV u64 mbar_arrive_no_complete(u32 bar, u32 count) {
  u64 state;
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(bar), "r"(count) : "memory");
  return state;
}
// Later phases need so many arrivals fewer.
DEV u64 mbar_arrive_drop(u32 bar, u32 count) {
  u64 state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(bar), "r"(count) : "memory");
  return state;
}
DEV u64 mbar_arrive_drop_no_complete(u32 bar, u32 count) {
  u64 state;
  asm volatile("mbarrier.arrive_drop.noComplete.shared.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(bar), "r"(count) : "memory");
  return state;
}
DEV void mbar_complete_tx(u32 bar, u32 bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :: "r"(bar), "r"(bytes) : "memory");
}
// A peek: whether the phase has completed.
DEV u32 mbar_test_wait(u32 bar, u32 parity) {
  u32 done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;"
               " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  return done;
}

// A phase is named by its parity (u32) or by the state of an arrive in it (u64).
DEV u32 mbar_try_wait(u32 bar, u64 state) {
  u32 done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2;"
               " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "l"(state) : "memory");
  return done;
}
DEV u32 mbar_try_wait(u32 bar, u32 parity) {
  u32 done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
               " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  return done;
}

// The tight loop: in a diverged warp try_wait returns at once, and the loop's length is the poll period.
DEV u32 mbar_try_often(u32 bar, u32 parity) {
  u32 done;
  asm volatile("{ .reg .pred p, q; .reg .u32 n; mov.u32 n, %3;\n"
               "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
               "@p bra DONE; sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra AGAIN;\n"
               "DONE: selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(bar), "r"(parity), "n"(TRIES_PER_LOOK) : "memory");
  return done;
}

DEV u32 mbar_try_often(u32 bar, u64 state) {
  u32 done;
  asm volatile("{ .reg .pred p, q; .reg .u32 n; mov.u32 n, %3;\n"
               "AGAIN: mbarrier.try_wait.shared::cta.b64 p, [%1], %2;\n"
               "@p bra DONE; sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra AGAIN;\n"
               "DONE: selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(bar), "l"(state), "n"(TRIES_PER_LOOK) : "memory");
  return done;
}

DEV u32 phase_word(u32 parity) { return parity; }
DEV u32 phase_word(u64) { return 2u; }  // a state is opaque

template <class Phase> DEV bool mbar_wait_long(Guard& guard, u32 bar, Phase phase, u32 op, int index) {
  u64 begin = clock_cycles();
  for (;;) {
    if (mbar_try_often(bar, phase)) return true;
    bool stop = *(volatile u32*)guard.report != 0u;
    if (!stop && clock_cycles() - begin > WAIT_LIMIT_CYCLES) {
      u64 state;
      asm volatile("ld.shared.u64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
      report_timeout(guard, op, bar, phase_word(phase), index, state);
      stop = true;
    }
    if (stop) {
      guard.aborted = true;
      return false;
    }
  }
}

// True when the phase has completed, false when the launch is being abandoned.
template <class Phase> DEV bool mbar_wait_phase(Guard& guard, u32 bar, Phase phase, u32 op, int index) {
  if (mbar_try_wait(bar, phase)) return true;
  if (guard.aborted) return false;
  return mbar_wait_long(guard, bar, phase, op, index);
}
DEV bool mbar_wait(Guard& guard, u32 bar, u32 parity, u32 op, int index) {
  return mbar_wait_phase(guard, bar, parity, op, index);
}
DEV bool mbar_wait_state(Guard& guard, u32 bar, u64 state, u32 op, int index) {
  return mbar_wait_phase(guard, bar, state, op, index);
}
