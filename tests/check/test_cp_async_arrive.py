"""cp.async that mbarriers track: cp.async.mbarrier.arrive, with and without noinc."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from asyncsim import Rule, ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict


@dataclass(frozen=True, kw_only=True)
class Ring:
    """CUTLASS's PipelineAsync with cp.async producers, and what may be wrong with it."""

    warps: int = 2
    stages: int = 2
    trips: int = 5
    noinc: bool = True
    release: bool = False  # besides, each producer thread arrives
    count: int | None = None
    early: bool = False  # the arrive stands before the copies
    wait: bool = True
    acquire: bool = True
    groups: bool = False  # the same copies are in groups, too
    spectator: int | None = None  # a warp that waits for this parity of the first stage, and leaves


def ring(form: Ring) -> Schedule:
    k = ScheduleBuilder("cp_async_ring")
    threads = 32 * form.warps
    source = k.global_tensor("source", (max(1, form.trips) * threads, 4), "f32")
    tile = k.smem_tile("tile", (threads, 4), "f32", stages=form.stages)
    full = k.mbarriers("full", count=form.count or threads, stages=form.stages)
    empty = k.mbarriers("empty", count=threads, stages=form.stages)
    x = k.fragment("x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()
    with k.specialize():
        with k.role("producer", warps=form.warps):
            state = k.pipeline_state(form.stages, producer=True)
            mine = k.thread_in_role
            with k.loop(form.trips) as i:
                if form.acquire:
                    k.mbarrier.wait(empty[state.stage], state.phase)
                if form.early:
                    k.cp_async.mbarrier_arrive(full[state.stage], noinc=form.noinc)
                k.cp_async.copy(
                    tile[state.stage].box((mine, 0), (1, 4)),
                    source.box((i * threads + mine, 0), (1, 4)),
                )
                if not form.early:
                    k.cp_async.mbarrier_arrive(full[state.stage], noinc=form.noinc)
                if form.release:
                    k.mbarrier.arrive(full[state.stage])
                if form.groups:
                    k.cp_async.commit_group()
                state.advance()
            if form.groups:
                k.cp_async.wait_group(0)
        with k.role("consumer", warps=form.warps):
            state = k.pipeline_state(form.stages)
            other = threads - 1 - k.thread_in_role
            with k.loop(form.trips) as i:
                if form.wait:
                    k.mbarrier.wait(full[state.stage], state.phase)
                mine = tile[state.stage].box((other, 0), (1, 4))
                k.mem.ld_shared(x.all, mine.expecting(source.box((i * threads + other, 0), (1, 4))))
                k.mbarrier.arrive(empty[state.stage])
                state.advance()
        if form.spectator is not None:
            with k.role("spectator", warps=1):
                k.mbarrier.wait(full[0], form.spectator)
    return k.finish()


def errors(schedule: Schedule) -> list[tuple[Rule, str]]:
    result = check(schedule)
    assert result.verdict is Verdict.FINDINGS
    return [(f.rule, f.message) for f in result.findings if f.severity.value == "error"]


@pytest.mark.parametrize(
    "form",
    [
        Ring(),
        Ring(warps=1, stages=1),
        Ring(stages=3, trips=8),
        Ring(noinc=False, release=True),
        Ring(noinc=False, release=True, warps=1, stages=1),
        Ring(groups=True),
        Ring(noinc=False, release=True, groups=True),
        Ring(trips=0),
    ],
    ids=str,
)
def test_clean_rings(form: Ring) -> None:
    result = check(ring(form))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


def test_without_noinc_the_arrivals_count_for_nothing() -> None:
    assert errors(ring(Ring(noinc=False))) == [
        (
            Rule.ARRIVAL_SHORTFALL,
            "phase 0 of full[0] gets 0 of 64 arrivals: cp.async.mbarrier.arrive without noinc adds "
            "the arrival that it makes, and consumer warp 0 waits for ever",
        )
    ]


def test_noinc_that_the_init_does_not_count() -> None:
    assert {rule for rule, _ in errors(ring(Ring(count=32)))} == {
        Rule.READ_BEFORE_ARRIVAL,  # the phase ends with the copies of one warp
        Rule.EARLY_COMPLETION,
    }


def test_noinc_that_the_init_counts_twice() -> None:
    assert errors(ring(Ring(count=128))) == [
        (
            Rule.ARRIVAL_SHORTFALL,
            "phase 0 of full[0] gets 64 of 128 arrivals: consumer warp 0 waits for ever",
        )
    ]


def test_noinc_and_an_arrival_more() -> None:
    """Arrivals that the copies should have made up for let the phase end before them."""
    ((rule, _),) = errors(ring(Ring(release=True)))
    assert rule is Rule.READ_BEFORE_ARRIVAL


def test_an_arrive_tracks_what_is_before_it() -> None:
    late = "ld.shared tile -> x reads tile without being ordered after cp.async source -> tile"
    assert errors(ring(Ring(early=True))) == [(Rule.READ_BEFORE_ARRIVAL, late)]
    last = "cp.async source -> tile is in no committed group when ld.shared tile -> x touches tile"
    assert errors(ring(Ring(early=True, trips=1))) == [
        (Rule.UNCOMMITTED_COPY, last + ": no wait covers it")
    ]


def test_a_reader_that_does_not_wait() -> None:
    assert errors(ring(Ring(wait=False)))[0] == (
        Rule.READ_BEFORE_ARRIVAL,
        "ld.shared tile -> x reads tile without being ordered after cp.async source -> tile",
    )


def test_a_producer_that_does_not_acquire() -> None:
    ((rule, message),) = errors(ring(Ring(acquire=False, trips=3)))
    assert rule is Rule.LAPPED_WAITER
    assert message.startswith("consumer warp 1 waits for phase 0 of full[0]; it completed")


@pytest.mark.parametrize("noinc", [False, True])
def test_a_spectator_is_left_to_the_search(noinc: bool) -> None:
    form = Ring(warps=1, stages=1, trips=3, noinc=noinc, release=not noinc, spectator=0)
    result = check(ring(form))  # it sees phase 0 or phase 2, and nothing depends on which
    assert (result.verdict, result.certified) == (Verdict.CLEAN, False)
    form = Ring(warps=1, stages=1, trips=2, noinc=noinc, release=not noinc, spectator=0)
    assert {rule for rule, _ in errors(ring(form))} == {Rule.LAPPED_WAITER}


@dataclass(frozen=True, kw_only=True)
class Two:
    """Two copies by one warp, each followed by its arrive; somebody reads the first tile."""

    awaited: int = 1  # the barrier that the reader waits for
    order: str = "copy arrive"
    fence: bool = True


def two(form: Two) -> Schedule:
    k = ScheduleBuilder("two")
    source = k.global_tensor("source", (64, 32), "bf16")
    tile = k.smem_tile("tile", (64, 16), "bf16", stages=2, swizzle=32)
    full = k.mbarriers("full", count=32, stages=2)
    acc = k.accumulator("acc", n=8)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    k.bar.sync()
    with k.specialize():
        with k.role("math", warps=4):
            k.mbarrier.wait(full[form.awaited], 0)
            if form.fence:
                k.fence.proxy_async("shared")
            k.wgmma.fence()
            k.wgmma.mma(acc, tile[0], tile[0].box((0, 0), (8, 16)), accumulate=0)
            k.wgmma.commit_group()
            k.wgmma.wait_group(0)
        with k.role("copy", warps=1):
            for stage in range(2):
                if form.order == "arrive first":
                    k.mbarrier.arrive(full[stage])
                for chunk in range(4):
                    row, half = k.lane + 32 * (chunk // 2), 8 * (chunk % 2)
                    k.cp_async.copy(
                        tile[stage].box((row, half), (1, 8)),
                        source.box((row, 16 * stage + half), (1, 8)),
                    )
                k.cp_async.mbarrier_arrive(full[stage], noinc=form.order == "copy arrive")
                if form.order == "raise":
                    k.mbarrier.arrive(full[stage])
    return k.finish()


@pytest.mark.parametrize("awaited", [0, 1])
@pytest.mark.parametrize("order", ["copy arrive", "raise"])
def test_a_later_arrive_tells_of_earlier_copies_too(awaited: int, order: str) -> None:
    result = check(two(Two(awaited=awaited, order=order)))
    assert (result.verdict, result.certified) == (Verdict.CLEAN, True)
    (left,) = result.findings  # the barrier that nobody waits for
    assert (left.rule, left.severity.value) == (Rule.OUTSTANDING_AT_EXIT, "warning")


def test_an_arrival_before_the_pending_count_is_raised() -> None:
    """The phase ends with the arrival: the reader runs while the copies are in flight."""
    ((rule, message),) = errors(two(Two(awaited=0, order="arrive first")))
    assert rule is Rule.OPERAND_IN_FLIGHT
    assert message.startswith("cp.async source -> tile overwrites tile while wgmma")


def test_cp_async_is_generic_and_wgmma_reads_through_the_async_proxy() -> None:
    ((rule, message),) = errors(two(Two(fence=False)))
    assert rule is Rule.MISSING_PROXY_FENCE
    assert message.startswith("tile is written by cp.async source -> tile and then read")


def test_lanes_do_not_know_of_their_own_copies_when_an_mbarrier_does() -> None:
    k = ScheduleBuilder("own")
    k.block(1)
    source = k.global_tensor("source", (32, 4), "f32")
    tile = k.smem_tile("tile", (32, 4), "f32")
    full = k.mbarriers("full", count=32)
    x = k.fragment("x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    k.bar.sync()
    mine = tile[0].box((k.lane, 0), (1, 4))
    k.cp_async.copy(mine, source.box((k.lane, 0), (1, 4)))
    k.cp_async.mbarrier_arrive(full[0], noinc=True)
    k.mem.ld_shared(x.all, mine)
    k.mbarrier.wait(full[0], 0)
    assert {rule for rule, _ in errors(k.finish())} == {Rule.READ_BEFORE_ARRIVAL}


def test_copies_that_an_mbarrier_tracks_and_nobody_waits_for() -> None:
    k = ScheduleBuilder("left")
    k.block(1)
    source = k.global_tensor("source", (32, 4), "f32")
    tile = k.smem_tile("tile", (32, 4), "f32")
    full = k.mbarriers("full", count=32)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    k.bar.sync()
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 4)), source.box((k.lane, 0), (1, 4)))
    k.cp_async.mbarrier_arrive(full[0], noinc=True)
    result = check(k.finish())
    assert result.verdict is Verdict.CLEAN
    assert [(f.rule, f.message) for f in result.findings] == [
        (
            Rule.OUTSTANDING_AT_EXIT,
            "nobody waits for the copies that cp.async.mbarrier.arrive.noinc full[0] tracks",
        )
    ]
