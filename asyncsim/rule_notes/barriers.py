"""Notes on mbarriers and named barriers."""

from __future__ import annotations

from asyncsim.rule_notes.note import RuleNote
from asyncsim.rules import Rule, Severity

BARRIERS: dict[Rule, RuleNote] = {
    Rule.DEADLOCK: RuleNote(
        example="""\
with k.specialize():
    with k.role("a", warps=1), k.elect():
        k.mbarrier.wait(empty[0], 0)
        k.mbarrier.arrive(full[0])
    with k.role("b", warps=1), k.elect():
        k.mbarrier.wait(full[0], 0)
        k.mbarrier.arrive(empty[0])
""",
        fix="Let one of them start: a producer's first wait is for parity 1, which passes at once.",
    ),
    Rule.LAPPED_WAITER: RuleNote(
        example="""\
with k.specialize():
    with k.role("slow", warps=1), k.elect():
        k.mbarrier.wait(full[0], 0)
    with k.role("fast", warps=1), k.elect():
        k.mbarrier.arrive(full[0])
        k.mbarrier.arrive(full[0])
""",
        fix="Before the second phase completes, wait until everybody has seen the first.",
    ),
    Rule.VACUOUS_WAIT: RuleNote(
        example="""\
with k.elect_thread():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
k.mbarrier.wait(full[0], 0)
with k.specialize():
    with k.role("producer", warps=1), k.elect():
        k.mbarrier.arrive_expect_tx(full[0], 1024)
        k.tma.load(ring[1], data_map, (8, 0), full[0])
        k.mbarrier.wait(full[0], 1)
        k.mbarrier.arrive(full[0])
    with k.role("consumer", warps=1):
        k.mbarrier.wait(full[0], 0)  # the phase was not flipped
        k.mem.ld_shared(r.all, ring[1].box((0, k.lane), (1, 1)))
""",
        fix="Flip the phase bit each time the ring wraps, and carry it over from tile to tile.",
    ),
    Rule.FOREIGN_STATE: RuleNote(
        example="""\
state = k.mbarrier_state("state")
with k.elect():
    k.mbarrier.arrive(full[0], state=state)
    k.mbarrier.arrive(full[1], state=state)
    k.mbarrier.wait_state(full[0], state)  # it is of full[1] by now
""",
        fix="Wait on the barrier that the state comes from, before it is written again.",
    ),
    Rule.PARITY_OUT_OF_RANGE: RuleNote(
        example="k.mbarrier.wait(full[0], 2)\n",
        fix="A parity is the lowest bit of the phase number: use `phase ^ 1`, not `phase + 1`.",
    ),
    Rule.EARLY_COMPLETION: RuleNote(
        example="""\
with k.specialize():
    with k.role("a", warps=1), k.elect():
        k.mbarrier.arrive(full[0])  # may complete phase 0 alone
        k.mbarrier.wait(full[0], 0)
        k.mbarrier.arrive(full[0])
    with k.role("b", warps=1), k.elect():
        k.mbarrier.expect_tx(full[0], 1024)
        k.tma.load(ring[0], data_map, (0, 0), full[0])
        k.mbarrier.wait(full[0], 0)
        k.mbarrier.wait(full[0], 1)
""",
        fix="Announce the bytes before, or with, the last arrival: `arrive_expect_tx`.",
    ),
    Rule.ARRIVAL_OVERFLOW: RuleNote(
        example="k.mbarrier.arrive(full[0])        # 32 lanes, 1 arrival expected\n",
        fix="Arrive from one lane (`with k.elect():`) or expect as many arrivals as are made.",
    ),
    Rule.ARRIVAL_SHORTFALL: RuleNote(
        example="""\
both = k.mbarriers("both", count=2)
with k.elect():
    k.mbarrier.init(both[0], 2)
    k.mbarrier.arrive(both[0])
    k.mbarrier.wait(both[0], 0)
""",
        fix="Make the missing arrivals, or lower the count at init.",
    ),
    Rule.UNCONSUMED_PHASE: RuleNote(
        severity=Severity.WARNING,
        example="""\
with k.elect_thread():
    k.mbarrier.arrive(full[0])
    k.mbarrier.arrive(full[0])  # nobody has waited for phase 0
""",
        fix="Wait for each phase before an arrival on the next, in a thread that leads to it.",
    ),
    Rule.TX_BYTES_MISMATCH: RuleNote(
        example="""\
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1008)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
    k.mbarrier.wait(full[0], 0)
""",
        fix="Announce the bytes of the whole boxes, also where they are filled from outside.",
    ),
    Rule.TX_RANGE: RuleNote(
        example="k.mbarrier.expect_tx(full[0], 1 << 20)\n",
        fix="Announce at most 2^20 - 1 bytes a phase: split the copies over two barriers.",
    ),
    Rule.MISSING_INIT_FENCE: RuleNote(
        alone=True,
        example="""\
k = ScheduleBuilder("example")
data = k.global_tensor("data", (64, 32), "f32")
data_map = k.tensor_map("data_map", data, box=(8, 32))
ring = k.smem_tile("ring", (8, 32), "f32")
full = k.mbarriers("full", count=1)
k.block(2)
with k.elect_thread():
    k.mbarrier.init_all(full)
k.bar.sync()
with k.when(k.warp_in_role == 1), k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
    k.mbarrier.wait(full[0], 0)
""",
        fix="`k.fence.mbarrier_init()` after the inits, before the barrier that publishes them.",
    ),
    Rule.USE_BEFORE_INIT: RuleNote(
        alone=True,
        example="""\
k = ScheduleBuilder("example")
full = k.mbarriers("full", count=1)
k.block(2)
with k.elect_thread():
    k.mbarrier.init_all(full)
with k.when(k.warp_in_role == 1), k.elect():
    k.mbarrier.arrive(full[0])
    k.mbarrier.wait(full[0], 0)
""",
        fix="Cross `k.bar.sync()` between the init and the first use by another thread. Registers: "
        "load or compute them first; the first wgmma of a sum takes `accumulate=0`.",
    ),
    Rule.REINIT_WITHOUT_INVAL: RuleNote(
        example="""\
with k.elect_thread():
    k.mbarrier.init(full[0], 1)
""",
        fix="`k.mbarrier.inval` before a second init.",
    ),
    Rule.NAMED_BARRIER_COUNT: RuleNote(
        example="""\
small = k.named_barrier("small", id=1, threads=32)
large = k.named_barrier("large", id=1, threads=64)
with k.specialize():
    with k.role("a", warps=1):
        k.bar.sync(large)
    with k.role("b", warps=1):
        k.bar.sync(small)
""",
        fix="Give every bar.sync and bar.arrive of one generation the same number of threads.",
    ),
    Rule.NAMED_BARRIER_OVERRUN: RuleNote(
        example="""\
both = k.named_barrier("both", id=1, threads=64)
with k.specialize():
    with k.role("a", warps=1):
        k.bar.arrive(both)
        k.bar.arrive(both)  # the first round may still be open
    with k.role("b", warps=1):
        k.bar.sync(both)
        k.bar.sync(both)
""",
        fix="Between two arrivals of a warp, wait until the round of the first has completed.",
    ),
}
