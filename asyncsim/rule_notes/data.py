"""Notes on data: races, groups of copies, proxies, what is left in flight."""

from __future__ import annotations

from asyncsim.rule_notes.note import RuleNote
from asyncsim.rules import Rule, Severity

DATA: dict[Rule, RuleNote] = {
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
for row in range(8):
    k.mem.st_shared(ring[0].box((row, k.lane), (1, 1)), r.all)
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
    Rule.DESCRIPTOR_LIFETIME: RuleNote(
        example="""\
own_map = k.tensor_map("own_map", data, box=(8, 32), in_global=True)
with k.elect_thread():
    k.mbarrier.arrive_expect_tx(full[0], 1024)
    k.tma.load(ring[0], own_map, (0, 0), full[0])
    k.tma.replace(own_map)  # the copy may still read it
    k.mbarrier.wait(full[0], 0)
""",
        fix="Wait for all copies by a map before it changes; then fence, tell the thread that "
        "copies, and let it fence: `k.fence.tensormap_release()`, `tensormap_acquire(map)`.",
    ),
}
