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

DEV bool mbar_wait_long(Guard& guard, u32 bar, u32 parity, u32 op, int index) {
  u64 begin = clock_cycles();
  for (;;) {
    if (mbar_try_often(bar, parity)) return true;
    bool stop = *(volatile u32*)guard.report != 0u;
    if (!stop && clock_cycles() - begin > WAIT_LIMIT_CYCLES) {
      u64 state;
      asm volatile("ld.shared.u64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
      report_timeout(guard, op, bar, parity, index, state);
      stop = true;
    }
    if (stop) {
      guard.aborted = true;
      return false;
    }
  }
}

// True when the phase has completed, false when the launch is being abandoned.
DEV bool mbar_wait(Guard& guard, u32 bar, u32 parity, u32 op, int index) {
  if (mbar_try_wait(bar, parity)) return true;
  if (guard.aborted) return false;
  return mbar_wait_long(guard, bar, parity, op, index);
}
