"""Bulk copies without a tensor map, between CTAs too; red.async; prefetches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written


def errors(schedule: Schedule) -> list[tuple[Rule, str]]:
    result = check(schedule)
    assert result.verdict is Verdict.FINDINGS, result.note
    return [(f.rule, f.message) for f in result.findings if f.severity.value == "error"]


def assert_certified(schedule: Schedule) -> None:
    result = check(schedule)
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A ring of bulk loads, each tile scaled in place and stored; what may be left out."""

    bytes: int = 512
    wait: bool = True
    release: bool = True
    fence: bool = True
    read: bool = True  # the store has read the tile before the stage is released
    last: bool = True
    prefetch: bool = False


def copying(form: Copy) -> Schedule:
    k = ScheduleBuilder("copying")
    rows, stages, trips = 4, 2, 5
    source = k.global_tensor("source", (rows * trips, 32), "f32")
    out = k.global_tensor("out", (rows * trips, 32), "f32", output=True)
    tile = k.smem_tile("tile", (rows, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    x = k.fragment("x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("load", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(trips) as i:
                if form.release:
                    k.mbarrier.wait(empty[state.stage], state.phase)
                box = source.box((rows * i, 0), (rows, 32))
                if form.prefetch:
                    k.bulk.prefetch(box)
                k.mbarrier.arrive_expect_tx(full[state.stage], form.bytes)
                k.bulk.load(tile[state.stage], box, full[state.stage])
                state.advance()
        with k.role("store", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(trips) as i:
                if form.wait:
                    k.mbarrier.wait(full[state.stage], state.phase)
                box = source.box((rows * i, 0), (rows, 32))
                view = tile[state.stage].expecting(box).box((k.lane // 8, 4 * (k.lane % 8)), (1, 4))
                k.mem.ld_shared(x.all, view)
                k.mem.st_shared(
                    tile[state.stage].box((k.lane // 8, 4 * (k.lane % 8)), (1, 4)), x.all
                )
                if form.fence:
                    k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect():
                    k.bulk.store(out.box((rows * i, 0), (rows, 32)), tile[state.stage])
                    k.bulk.commit_group()
                    if form.read:
                        k.bulk.wait_group(0, read=True)
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
            if form.last:
                with k.elect():
                    k.bulk.wait_group(0)
    return k.finish()


@pytest.mark.parametrize("prefetch", [False, True])
def test_a_ring_of_bulk_copies(prefetch: bool) -> None:
    assert_certified(copying(Copy(prefetch=prefetch)))


@pytest.mark.parametrize(
    ("form", "rules"),
    [
        (Copy(bytes=528), {Rule.TX_BYTES_MISMATCH}),
        (Copy(bytes=496), {Rule.TX_BYTES_MISMATCH}),
        (Copy(wait=False), {Rule.READ_BEFORE_ARRIVAL}),
        (Copy(fence=False), {Rule.MISSING_PROXY_FENCE}),
        (Copy(read=False), {Rule.SMEM_REUSED_BEFORE_STORE_READ}),
    ],
    ids=str,
)
def test_faulty_rings(form: Copy, rules: set[Rule]) -> None:
    assert rules <= {rule for rule, _ in errors(copying(form))}


def test_a_producer_that_does_not_wait_for_the_stage() -> None:
    rules = {rule for rule, _ in errors(copying(Copy(release=False)))}
    assert Rule.EARLY_COMPLETION in rules


# -- between CTAs ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Send:
    """Each CTA of a pair sends a row to the other one, which reads it."""

    start: bool = True
    expect: bool = True
    wait: bool = True
    fence: bool = True
    leave: bool = True
    reuse: str = ""  # when the sender overwrites its row: "at once", "after"


def sending(form: Send) -> Schedule:
    k = ScheduleBuilder("sending")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    mine = k.smem_tile("mine", (1, 32), "f32")
    theirs = k.smem_tile("theirs", (1, 32), "f32")
    full = k.mbarriers("full", count=1)
    x = written(k, "x", registers=1)
    peer = 1 - k.cta_rank
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        if form.expect:
            k.mbarrier.arrive_expect_tx(full[0], 128)
        else:
            k.mbarrier.arrive(full[0])
    k.mem.st_shared(mine[0].box((0, k.lane), (1, 1)), x.all)
    if form.fence:
        k.fence.proxy_async("shared")
    k.bar.warp_sync()
    if form.start:
        k.cluster_barrier.sync()
    with k.elect():
        k.bulk.send(theirs[0].at(peer), mine[0], k.mbarrier.at(full[0], peer))
    if form.reuse == "at once":
        k.mem.st_shared(mine[0].box((0, k.lane), (1, 1)), x.all)
    if form.wait:
        k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, theirs[0].box((0, k.lane), (1, 1)))
    if form.leave:
        k.cluster_barrier.sync()
    if form.reuse == "after":
        k.mem.st_shared(mine[0].box((0, k.lane), (1, 1)), x.all)
    return k.finish()


@pytest.mark.parametrize("reuse", ["", "after"])
def test_rows_between_ctas(reuse: str) -> None:
    assert_certified(sending(Send(reuse=reuse)))


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        (Send(start=False), Rule.PEER_NOT_STARTED),
        (Send(expect=False), Rule.TX_BYTES_MISMATCH),
        (Send(wait=False), Rule.READ_BEFORE_ARRIVAL),
        (Send(fence=False), Rule.MISSING_PROXY_FENCE),
        (Send(leave=False), Rule.PEER_EXITED),
        (Send(reuse="at once"), Rule.WRITE_BEFORE_RELEASE),
    ],
    ids=str,
)
def test_faulty_rows_between_ctas(form: Send, rule: Rule) -> None:
    assert rule in {found for found, _ in errors(sending(form))}


def summing(*, lanes: str = "one place", other: str = "add", zeroed: str = "before") -> Schedule:
    """All other CTAs add to a word, or a row, of CTA 0."""
    k = ScheduleBuilder("summing")
    k.grid(4)
    k.cluster(4)
    k.block(1)
    total = k.smem_tile("total", (1, 32), "u32")
    mine = k.smem_tile("mine", (1, 32), "u32")
    full = k.mbarriers("full", count=1)
    x = written(k, "x", registers=1, dtype="u32")
    there = k.mbarrier.at(full[0], 0)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        with k.when(k.cta_rank == 0):
            k.mbarrier.arrive_expect_tx(full[0], 3 * 128)
    own = (1, 1)
    if zeroed == "before":
        k.mem.st_shared(total[0].box((0, k.lane), own), x.all)
    k.mem.st_shared(mine[0].box((0, k.lane), own), x.all)
    k.fence.proxy_async("shared")
    k.cluster_barrier.sync()
    if zeroed == "beside":
        k.mem.st_shared(total[0].box((0, k.lane), own), x.all)
    with k.when(k.cta_rank > 0):
        if lanes == "rows":
            for rank, how in ((1, "add"), (2, other), (3, "add")):
                with k.when(k.cta_rank == rank), k.elect():
                    k.bulk.send(total[0].at(0), mine[0], there, op=how)
        else:
            column = 0 if lanes == "one place" else k.lane
            for rank, how in ((1, "add"), (2, other), (3, "add")):
                with k.when(k.cta_rank == rank):
                    k.mem.red_async(total[0].at(0).box((0, column), own), x.all, there, op=how)
    with k.when(k.cta_rank == 0):
        k.mbarrier.wait(full[0], 0)
        k.mem.ld_shared(x.all, total[0].box((0, k.lane), own))
    k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("lanes", ["one place", "columns", "rows"])
def test_reductions_commute(lanes: str) -> None:
    assert_certified(summing(lanes=lanes))


@pytest.mark.parametrize("lanes", ["one place", "rows"])
def test_reductions_by_two_operators_do_not(lanes: str) -> None:
    assert {rule for rule, _ in errors(summing(lanes=lanes, other="max"))} == {
        Rule.WRITE_WRITE_RACE
    }


@pytest.mark.parametrize("lanes", ["columns", "rows"])
def test_what_is_reduced_into_is_written_before(lanes: str) -> None:
    assert {rule for rule, _ in errors(summing(lanes=lanes, zeroed="beside"))} == {
        Rule.WRITE_WRITE_RACE
    }
    assert errors(summing(lanes=lanes, zeroed="never")) == [
        (Rule.READ_BEFORE_ARRIVAL, "total is reduced into where nothing has been written")
    ]


def test_a_send_to_the_own_cta() -> None:
    k = ScheduleBuilder("own")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    tile = k.smem_tile("tile", (1, 32), "f32", stages=2)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.elect():
        k.bulk.send(tile[0].at(0), tile[1], k.mbarrier.at(full[0], 0))
    assert errors(k.finish())[0] == (
        Rule.OUT_OF_BOUNDS,
        "BulkSend to the CTA that executes it",
    )


# -- what is no bulk copy ----------------------------------------------------------------------


def refused(build: Callable[[Any], object]) -> tuple[Rule | None, str]:
    k = ScheduleBuilder("refused")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    with pytest.raises(ScheduleError) as error:
        build(k)
        k.finish()
    return error.value.rule, error.value.message


def load(k: ScheduleBuilder, *, shape: tuple[int, int], start: tuple[int, int] = (0, 0)) -> None:
    tensor = k.global_tensor("tensor", (64, 34), "f32")
    tile = k.smem_tile("tile", (8, 34), "f32")
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.bulk.load(tile[0].box((0, 0), shape), tensor.box(start, shape), full[0])


def test_sizes_and_places_that_no_bulk_copy_has() -> None:
    assert refused(lambda k: load(k, shape=(1, 6))) == (Rule.ALIGNMENT, "BulkLoad of 24 bytes")
    run = "BulkLoad: the part of 'tensor' is not one run of bytes"
    assert refused(lambda k: load(k, shape=(2, 32))) == (Rule.ALIGNMENT, run)
    start = "BulkLoad: the start in 'tensor' is never a multiple of 16 bytes"
    assert refused(lambda k: load(k, shape=(1, 4), start=(0, 1))) == (Rule.ALIGNMENT, start)


def test_a_swizzled_tile_is_no_run() -> None:
    def build(k: ScheduleBuilder) -> None:
        tensor = k.global_tensor("tensor", (8, 32), "f32")
        tile = k.smem_tile("tile", (8, 32), "f32", swizzle=128)
        with k.elect_thread():
            k.bulk.store(tensor.box((0, 0), (8, 32)), tile[0])

    assert refused(build) == (
        Rule.ALIGNMENT,
        "BulkStore: the part of 'tile' is not one run of bytes",
    )


def test_shapes_types_and_operators() -> None:
    def shapes(k: ScheduleBuilder) -> None:
        tensor = k.global_tensor("tensor", (2, 32), "f32")
        with k.elect_thread():
            k.bulk.store(tensor.box((0, 0), (1, 32)), k.smem_tile("tile", (2, 32), "f32")[0])

    assert refused(shapes) == (None, "BulkStore from (2, 32) of f32 to (1, 32) of f32")

    def added(k: ScheduleBuilder) -> None:
        tile, x = k.smem_tile("tile", (1, 32), "f32"), k.fragment("x", registers=1)
        full = k.mbarriers("full", count=1)
        with k.elect_thread():
            k.mbarrier.init_all(full)
        there = k.mbarrier.at(full[0], 1)
        k.mem.red_async(tile[0].at(1).box((0, k.lane), (1, 1)), x.all, there, op="add")

    def apart(k: ScheduleBuilder) -> None:
        tile = k.smem_tile("tile", (1, 32), "f32", stages=2)
        full = k.mbarriers("full", count=1)
        with k.elect_thread():
            k.mbarrier.init_all(full)
            k.bulk.send(tile[0].at(1), tile[1], full[0])

    assert refused(added) == (None, "RedAsync: add of f32")
    assert refused(apart)[1] == "BulkSend: its data and its mbarrier are not named in the same CTA"
