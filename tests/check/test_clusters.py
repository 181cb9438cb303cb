"""Clusters: DSMEM, cluster barriers, multicast, remote arrives, reductions of all CTAs.

Schedules of the documents among them: D4 (a pair's sum), D9 (a multicast), D10 (reductions)."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, Severity, check
from asyncsim.build.value import Value
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from tests.check.written import written


def rules(result: CheckResult) -> list[str]:
    return [f.rule.name for f in result.findings]


def assert_clean(schedule: Schedule) -> None:
    result = check(schedule)
    assert (result.verdict, rules(result), result.note) == (Verdict.CLEAN, [], "")


def assert_finds(schedule: Schedule, rule: Rule, message: str = "") -> None:
    result = check(schedule)
    assert (result.verdict, rules(result)) == (Verdict.FINDINGS, [rule.name])
    assert message in result.findings[0].message


def pair_sum(*, first: bool = True, last: bool = True, relaxed: bool = False) -> Schedule:
    """Each CTA of a pair stores its cell; rank 0 reads that of rank 1."""
    k = ScheduleBuilder("pair_sum")
    k.grid(8)
    k.cluster(2)
    k.block(2)
    source = k.global_tensor("source", (8, 64), "f32")
    out = k.global_tensor("out", (4, 64), "f32", output=True)
    cell = k.smem_tile("cell", (1, 64), "f32")
    mine, theirs = written(k, "mine", registers=1), k.fragment("theirs", registers=1)
    at = (0, k.thread_in_role)
    k.mem.ld_global(mine.all, source.box((k.block_idx, k.thread_in_role), (1, 1)))
    k.mem.st_shared(cell[0].box(at, (1, 1)), mine.all)
    if first:
        k.cluster_barrier.arrive(relaxed=relaxed)
        k.cluster_barrier.wait()
    with k.when(k.cta_rank == 0):
        k.mem.ld_shared(theirs.all, cell[0].at(1).box(at, (1, 1)))
        k.mem.st_global(out.box((k.block_idx // 2, k.thread_in_role), (1, 1)), theirs.all)
    if last:
        k.cluster_barrier.sync()
    return k.finish()


def test_pair_sum_over_distributed_shared_memory() -> None:
    """D4, D4a, D4b."""
    assert_clean(pair_sum())
    assert_finds(pair_sum(first=False), Rule.READ_BEFORE_ARRIVAL)
    assert_finds(pair_sum(last=False), Rule.PEER_EXITED, "CTA 1 may have exited when ld.shared")
    assert_finds(pair_sum(relaxed=True), Rule.SCOPE_TOO_NARROW)


def multicast(
    *,
    fence: str = "before",
    half: bool = False,
    armed: bool = True,
    last: bool = True,
    ranks: int = 2,
) -> Schedule:
    """Each CTA of a cluster loads its part of a tile to all of them."""
    k = ScheduleBuilder("multicast")
    k.grid(2 * ranks)
    k.cluster(ranks)
    k.block(1)
    rows = 8 * ranks
    source = k.global_tensor("source", (2 * rows, 32), "f32")
    part = k.tensor_map("part", source, box=(8, 32))
    tile = k.smem_tile("tile", (rows, 32), "f32")[0]
    full = k.mbarriers("full", count=1)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        if fence == "before":
            k.fence.mbarrier_init()
    k.bar.sync()
    k.cluster_barrier.sync()
    with k.elect_thread():
        if fence == "after":
            k.fence.mbarrier_init()
        size = 1024 * ranks
        if armed:
            k.mbarrier.arrive_expect_tx(full[0], size // 2 if half else size)
        else:
            with k.when(k.cta_rank == 0):
                k.mbarrier.arrive_expect_tx(full[0], size)
            with k.when(k.cta_rank > 0):
                k.mbarrier.arrive(full[0])
        row = k.cta_rank * 8
        start = (k.block_idx // ranks * rows + row, 0)
        k.tma.load(tile.box((row, 0), (8, 32)), part, start, full[0], multicast=(1 << ranks) - 1)
    k.mbarrier.wait(full[0], 0)
    meant = source.box((k.block_idx // ranks * rows, k.lane), (1, 1))
    k.mem.ld_shared(x.all, tile.box((0, k.lane), (1, 1)).expecting(meant))
    if last:
        k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("ranks", [2, 4])
def test_multicast_load(ranks: int) -> None:
    """D9: the fence before the cluster meets, D9a to D9c, and the fence after."""
    assert_clean(multicast(ranks=ranks))
    assert_finds(multicast(ranks=ranks, half=True), Rule.TX_BYTES_MISMATCH)
    assert_finds(multicast(ranks=ranks, armed=False), Rule.RECEIVER_NOT_ARMED, "expects 0 bytes")
    assert_finds(multicast(ranks=ranks, last=False), Rule.PEER_EXITED, "in flight to others")
    assert_finds(multicast(ranks=ranks, fence="after"), Rule.MISSING_INIT_FENCE)


def store_all(*, reduce: str = "", plain_too: bool = False, dtype: str = "u32") -> Schedule:
    """Every CTA stores, or reduces, its tile to the same place."""
    k = ScheduleBuilder("store_all")
    k.grid(4)
    k.block(1)
    out = k.global_tensor("out", (8, 32), dtype, output=True)
    out_map = k.tensor_map("out_map", out, box=(8, 32))
    tile = k.smem_tile("tile", (8, 32), dtype)[0]
    x = written(k, "x", registers=8, dtype=dtype)
    k.mem.st_shared(tile.box((0, k.lane), (8, 1)), x.all)
    k.fence.proxy_async("shared")
    k.bar.warp_sync()
    with k.elect_thread():
        if reduce:
            k.tma.reduce(out_map, (0, 0), tile, op=reduce)
        if plain_too or not reduce:
            k.tma.store(out_map, (0, 0), tile)
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=True)
    return k.finish()


@pytest.mark.parametrize("op", ["add", "min", "max", "and", "or", "xor"])
def test_reductions_of_one_operator_commute(op: str) -> None:
    """D10."""
    assert_clean(store_all(reduce=op))


def test_plain_stores_do_not() -> None:
    assert_finds(store_all(), Rule.GLOBAL_WRITE_OVERLAP, "CTAs whose indices differ by (1, 0, 0)")
    found = rules(check(store_all(reduce="add", plain_too=True)))
    assert "GLOBAL_WRITE_OVERLAP" in found or "WRITE_WRITE_RACE" in found


def handed_over(
    *, stage_bytes: int = 2048, scope: str = "cluster", waits: bool = True, stages: int = 2
) -> Schedule:
    """A ring in which rank 0 loads every tile to both CTAs; consumers release to rank 0."""
    k = ScheduleBuilder("handed_over")
    k.grid(4)
    k.cluster(2)
    tiles = 6
    source = k.global_tensor("source", (2 * tiles * 8, 64), "f32")
    part = k.tensor_map("part", source, box=(8, 64))
    ring = k.smem_tile("ring", (8, 64), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=2, stages=stages)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    k.cluster_barrier.sync()
    first = k.block_idx // 2 * tiles
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(tiles) as t:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box(((first + t) * 8, k.lane), (1, 1))
                view = ring[state.stage].box((0, k.lane), (1, 1)).expecting(meant)
                k.mem.ld_shared(x.all, view)
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(k.mbarrier.at(empty[state.stage], 0), scope=scope)
                state.advance()
            k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.elect():
                state = k.pipeline_state(stages, producer=True)
                with k.loop(tiles) as t:
                    if waits:
                        with k.when(k.cta_rank == 0):
                            k.mbarrier.wait(empty[state.stage], state.phase, scope=scope)
                    k.mbarrier.arrive_expect_tx(full[state.stage], stage_bytes)
                    with k.when(k.cta_rank == 0):
                        k.tma.load(
                            ring[state.stage],
                            part,
                            ((first + t) * 8, 0),
                            full[state.stage],
                            multicast=3,
                        )
                    state.advance()
            k.cluster_barrier.sync()
    return k.finish()


def test_a_ring_that_one_cta_fills_for_two() -> None:
    """Rank 1 announces bytes without waiting for its own consumers: it may be a phase ahead."""
    assert rules(check(handed_over())) != []


def two_way(*, scope: str = "cluster", release_to: str = "both", stages: int = 2) -> Schedule:
    """The multicast ring of GEMM kernels: each CTA loads one half to both, all release to both."""
    k = ScheduleBuilder("two_way")
    k.grid(4)
    k.cluster(2)
    tiles = 5
    source = k.global_tensor("source", (2 * tiles * 16, 32), "f32")
    part = k.tensor_map("part", source, box=(8, 32))
    ring = k.smem_tile("ring", (16, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=2 if release_to == "both" else 1, stages=stages)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    k.cluster_barrier.sync()
    first = k.block_idx // 2 * tiles
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(tiles) as t:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box(((first + t) * 16, k.lane), (1, 1))
                k.mem.ld_shared(x.all, ring[state.stage].box((0, k.lane), (1, 1)).expecting(meant))
                k.fence.proxy_async("shared::cluster")
                k.bar.warp_sync()
                with k.elect():
                    stage = empty[state.stage]
                    if release_to == "both":
                        k.mbarrier.arrive(k.mbarrier.at(stage, 0), scope=scope)
                        k.mbarrier.arrive(k.mbarrier.at(stage, 1), scope=scope)
                    else:
                        k.mbarrier.arrive(stage)
                state.advance()
            k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.elect():
                state = k.pipeline_state(stages, producer=True)
                row: Value = k.cta_rank * 8
                with k.loop(tiles) as t:
                    k.mbarrier.wait(empty[state.stage], state.phase, scope=scope)
                    k.mbarrier.arrive_expect_tx(full[state.stage], 2048)
                    k.tma.load(
                        ring[state.stage].box((row, 0), (8, 32)),
                        part,
                        ((first + t) * 16 + row, 0),
                        full[state.stage],
                        multicast=3,
                    )
                    state.advance()
            k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_the_multicast_ring(stages: int) -> None:
    """With releases to both CTAs a producer knows that both have read."""
    assert_clean(two_way(stages=stages))


def test_a_release_to_the_own_cta_only_is_a_race() -> None:
    """The peer's copy overwrites what this CTA may still read."""
    assert "WRITE_BEFORE_RELEASE" in rules(check(two_way(release_to="own")))


def test_the_default_scope_is_a_warning_for_releases() -> None:
    """Production kernels release reads to their peers with the default, CTA-scoped arrive."""
    result = check(two_way(scope="cta"))
    assert result.verdict is Verdict.CLEAN
    assert [(f.rule, f.severity) for f in result.findings] == [
        (Rule.SCOPE_TOO_NARROW, Severity.WARNING)
    ]


def test_an_arrive_before_the_peer_runs() -> None:
    k = ScheduleBuilder("early")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    ready = k.mbarriers("ready", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(ready)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive(k.mbarrier.at(ready[0], 1 - k.cta_rank), scope="cluster")
    k.mbarrier.wait(ready[0], 0, scope="cluster")
    k.cluster_barrier.sync()
    found = rules(check(k.finish()))
    assert "PEER_NOT_STARTED" in found


def cluster_rounds(*, twice: bool = False, no_arrive: bool = False, some: bool = False) -> Schedule:
    k = ScheduleBuilder("rounds")
    k.grid(2)
    k.cluster(2)
    k.block(2)
    mine = k.mbarriers("mine", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(mine)
    k.bar.sync()
    with k.when(k.warp_in_role == 1), k.elect():
        if some:
            k.mbarrier.wait(mine[0], 0)
    with k.loop(3):
        if not no_arrive:
            k.cluster_barrier.arrive()
        if twice:
            k.cluster_barrier.arrive()
        k.cluster_barrier.wait()
    return k.finish()


def test_rounds_of_the_cluster_barrier() -> None:
    assert_clean(cluster_rounds())
    assert_finds(cluster_rounds(twice=True), Rule.NAMED_BARRIER_OVERRUN, "arrives on the cluster")
    assert_finds(cluster_rounds(no_arrive=True), Rule.ROLES_DISAGREE, "without an arrive")
    assert check(cluster_rounds(some=True)).findings[0].rule in (
        Rule.DEADLOCK,
        Rule.ARRIVAL_SHORTFALL,
    )


def test_a_warp_that_has_ended_is_not_waited_for() -> None:
    k = ScheduleBuilder("ended")
    k.grid(2)
    k.cluster(2)
    with k.specialize():
        with k.role("short", warps=1):
            k.bar.warp_sync()
        with k.role("long", warps=1):
            k.cluster_barrier.sync()
    assert_clean(k.finish())


def test_clusters_that_write_the_same_are_named_as_clusters() -> None:
    k = ScheduleBuilder("same")
    k.grid(8)
    k.cluster(2)
    k.block(1)
    out = k.global_tensor("out", (2, 32), "f32", output=True)
    x = written(k, "x", registers=1)
    k.mem.st_global(out.box((k.block_idx % 2, k.lane), (1, 1)), x.all)
    assert_finds(
        k.finish(), Rule.GLOBAL_WRITE_OVERLAP, "clusters whose indices differ by (1, 0, 0)"
    )
