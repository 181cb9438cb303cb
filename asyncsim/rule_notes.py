"""For each rule that is reported: the smallest schedule that breaks it, and the repair.

The examples stand after PREAMBLE; docs/rules.md is generated from them, and a test checks that
each is reported by its rule. Rules without a note are names for later hardware features.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.rules import Rule, Severity

PREAMBLE = """\
k = ScheduleBuilder("example")
data = k.global_tensor("data", (64, 32), "f32")
out = k.global_tensor("out", (64, 32), "f32", output=True)
data_map = k.tensor_map("data_map", data, box=(8, 32))
out_map = k.tensor_map("out_map", out, box=(8, 32))
ring = k.smem_tile("ring", (8, 32), "f32", stages=2)      # 1024 bytes a stage
full = k.mbarriers("full", count=1, stages=2)
empty = k.mbarriers("empty", count=1, stages=2)
r = k.fragment("r", registers=1)
mine = ring[0].box((0, k.lane), (1, 1))                    # one element a lane
with k.elect_thread():
    k.mbarrier.init_all(full, empty)
    k.fence.mbarrier_init()
k.bar.sync()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNote:
    """``example`` breaks the rule; ``alone``: it stands without the preamble."""

    example: str
    fix: str
    alone: bool = False
    severity: Severity = Severity.ERROR


NOTES: dict[Rule, RuleNote] = {
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
        k.mbarrier.wait(full[0], 0)                        # the phase was not flipped
        k.mem.ld_shared(r.all, ring[1].box((0, k.lane), (1, 1)))
""",
        fix="Flip the phase bit each time the ring wraps, and carry it over from tile to tile.",
    ),
    Rule.PARITY_OUT_OF_RANGE: RuleNote(
        example="k.mbarrier.wait(full[0], 2)\n",
        fix="A parity is the lowest bit of the phase number: use `phase ^ 1`, not `phase + 1`.",
    ),
    Rule.EARLY_COMPLETION: RuleNote(
        example="""\
with k.specialize():
    with k.role("a", warps=1), k.elect():
        k.mbarrier.arrive(full[0])                         # may complete phase 0 alone
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
    Rule.TX_BYTES_MISMATCH: RuleNote(
        example="""\
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1008)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
    k.mbarrier.wait(full[0], 0)
""",
        fix="Announce the bytes of the whole boxes, also where they are filled from outside.",
    ),
    Rule.READ_BEFORE_ARRIVAL: RuleNote(
        example="""\
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
k.mem.ld_shared(r.all, mine)
k.mbarrier.wait(full[0], 0)
""",
        fix="Wait for the full barrier before the read, in the thread that reads.",
    ),
    Rule.WRITE_BEFORE_RELEASE: RuleNote(
        example="""\
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
k.mbarrier.wait(full[0], 0)
k.mem.ld_shared(r.all, mine)
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (8, 0), full[0])
k.mbarrier.wait(full[0], 1)
""",
        fix="Let all readers arrive on an empty barrier (or a warp barrier) before the refill.",
    ),
    Rule.WRITE_WRITE_RACE: RuleNote(
        example="""\
with k.specialize():
    with k.role("a", warps=1):
        k.mem.st_shared(mine, r.all)
    with k.role("b", warps=1):
        k.mem.st_shared(mine, r.all)
""",
        fix="Order the two writes with a barrier, or give each its own bytes.",
    ),
    Rule.WRONG_TILE: RuleNote(
        example="""\
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (8, 0), full[0])
k.mbarrier.wait(full[0], 0)
meant = data.box((0, 0), (8, 32))
k.mem.ld_shared(r.all, ring[0].expecting(meant).box((0, k.lane), (1, 1)))
""",
        fix="Correct the coordinates, the stage, or what the reader says it expects.",
    ),
    Rule.UNCOMMITTED_COPY: RuleNote(
        example="""\
k.cp_async.copy_tile(ring[0], data, (0, 0), threads=32)
k.cp_async.wait_group(0)
k.bar.sync()
k.mem.ld_shared(r.all, mine)
""",
        fix="Call commit_group after the copies; wait_group knows committed groups alone.",
    ),
    Rule.WAIT_GROUP_TOO_LOOSE: RuleNote(
        example="""\
k.cp_async.copy_tile(ring[0], data, (0, 0), threads=32)
k.cp_async.commit_group()
k.cp_async.wait_group(1)
k.bar.sync()
k.mem.ld_shared(r.all, mine)
""",
        fix="Lower N; commit a group every round, also an empty one, so that N keeps its meaning.",
    ),
    Rule.WAIT_BY_NON_ISSUER: RuleNote(
        example="""\
with k.specialize():
    with k.role("copies", warps=1):
        k.cp_async.copy_tile(ring[0], data, (0, 0), threads=32)
        k.cp_async.commit_group()
    with k.role("reads", warps=1):
        k.cp_async.wait_group(0)
        k.mem.ld_shared(r.all, mine)
""",
        fix="A group belongs to the thread that issued it: wait there, then cross a barrier.",
    ),
    Rule.MISSING_BLOCK_BARRIER: RuleNote(
        example="""\
k.cp_async.copy_tile(ring[0], data, (0, 0), threads=32)
k.cp_async.commit_group()
k.cp_async.wait_group(0)
k.mem.ld_shared(r.all, mine)
""",
        fix="After the wait, cross a barrier with the threads that copied what you read.",
    ),
    Rule.MISSING_PROXY_FENCE: RuleNote(
        example="""\
k.mem.st_shared(mine, r.all)
k.bar.sync()
with k.elect_thread():
    k.tma.store(out_map, (0, 0), ring[0])
    k.bulk.commit_group()
    k.bulk.wait_group(0)
""",
        fix='`k.fence.proxy_async("shared")` after the writes, before the barrier.',
    ),
    Rule.PROXY_WAR: RuleNote(
        severity=Severity.WARNING,
        example="""\
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
k.mbarrier.wait(full[0], 0)
k.mem.ld_shared(r.all, mine)
k.bar.warp_sync()
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (8, 0), full[0])
k.mbarrier.wait(full[0], 1)
""",
        fix='`k.fence.proxy_async("shared")` in the reader, before it releases the stage.',
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
        fix="Cross `k.bar.sync()` between the init and the first use by another thread.",
    ),
    Rule.REINIT_WITHOUT_INVAL: RuleNote(
        example="""\
with k.elect_thread():
    k.mbarrier.init(full[0], 1)
""",
        fix="`k.mbarrier.inval` before a second init.",
    ),
    Rule.SMEM_REUSED_BEFORE_STORE_READ: RuleNote(
        example="""\
k.mem.st_shared(mine, r.all)
k.fence.proxy_async("shared")
k.bar.sync()
with k.elect_thread():
    k.tma.store(out_map, (0, 0), ring[0])
    k.bulk.commit_group()
k.bar.sync()
k.mem.st_shared(mine, r.all)
with k.elect_thread():
    k.bulk.wait_group(0)
""",
        fix="`k.bulk.wait_group(0, read=True)` in the thread that stored, then a barrier.",
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
    Rule.OUTSTANDING_AT_EXIT: RuleNote(
        example="""\
with k.elect():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], data_map, (0, 0), full[0])
""",
        fix="Wait for every copy before the CTA ends; its shared memory goes to another CTA.",
    ),
    Rule.GLOBAL_WRITE_OVERLAP: RuleNote(
        example="""\
k.grid(2)
k.mem.st_global(out.box((0, k.lane), (1, 1)), r.all)
""",
        fix="Let the coordinates depend on the block index.",
    ),
    Rule.TENSOR_MAP: RuleNote(
        example="""\
odd = k.global_tensor("odd", (8, 30), "f32")
k.tensor_map("odd_map", odd, box=(8, 4))
""",
        fix="Strides are multiples of 16 bytes: pad the rows.",
    ),
    Rule.ALIGNMENT: RuleNote(
        example='k.smem_tile("a", (64, 64), "bf16", swizzle=128, align=512)\n',
        fix="Leave `align` out: tiles are aligned to the repeat of their swizzle.",
    ),
    Rule.OUT_OF_BOUNDS: RuleNote(
        example="k.mem.ld_global(r.all, data.box((64, k.lane), (1, 1)))\n",
        fix="Guard the access with `k.when`, or copy by tensor map, which fills from outside.",
    ),
    Rule.SMEM_OVER_BUDGET: RuleNote(
        example='k.smem_tile("large", (128, 128), "f32", stages=4)\n',
        fix="Fewer stages or smaller tiles; a CTA may have 232,448 bytes.",
    ),
}
