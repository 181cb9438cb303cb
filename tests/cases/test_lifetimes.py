"""The life of an mbarrier, and of the memory that it lies in: init, publication, inval, exit."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.build.handles import MbarrierArray
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import found
from tests.check.written import written


def one_thread(steps: str, count: int = 1) -> list[str]:
    """What one thread does with a barrier: i init, v inval, a arrive, e expect 0, 0 and 1 waits."""
    k = ScheduleBuilder("one_thread")
    k.block(1)
    bar = k.mbarriers("bar", count=count)
    with k.elect_thread():
        for step in steps:
            _do(k, bar, step)
    return found(k.finish())


def _do(k: ScheduleBuilder, bar: MbarrierArray, step: str) -> None:
    match step:
        case "i":
            k.mbarrier.init_all(bar)
        case "v":
            k.mbarrier.inval(bar[0])
        case "a":
            k.mbarrier.arrive(bar[0])
        case "e":
            k.mbarrier.expect_tx(bar[0], 0)
        case _:
            k.mbarrier.wait(bar[0], int(step))


@pytest.mark.parametrize(
    ("steps", "rules"),
    [
        ("ia0", []),
        ("ia0vi", []),
        ("ia0via0v", []),
        ("ii", ["REINIT_WITHOUT_INVAL"]),
        ("ia0i", ["REINIT_WITHOUT_INVAL"]),
        ("iv0", ["USE_BEFORE_INIT"]),
        ("iva", ["USE_BEFORE_INIT"]),
        ("ive", ["USE_BEFORE_INIT"]),
        ("ivv", ["USE_BEFORE_INIT"]),
        ("ia0a1", []),
    ],
)
def test_the_life_of_a_barrier_of_one_thread(steps: str, rules: list[str]) -> None:
    assert one_thread(steps) == rules


def test_two_arrivals_and_what_is_between_them() -> None:
    """Without a wait nobody has observed the first phase: the rule of PTX, a warning here."""
    assert one_thread("iaa") == ["UNCONSUMED_PHASE warning"]
    assert one_thread("iaa", count=2) == []


def other_warp(*, published: bool, late: bool = False) -> Schedule:
    """Warp 0 initialises, warp 1 arrives; a barrier publishes the init, or stands before it."""
    k = ScheduleBuilder("other_warp")
    k.block(3)
    bar = k.mbarriers("bar", count=1)
    meet = k.named_barrier("meet", id=7, threads=96)
    if late:
        k.bar.sync(meet)
    with k.when(k.warp_in_role == 0), k.elect():
        k.mbarrier.init_all(bar)
    if published and not late:
        k.bar.sync(meet)
    with k.when(k.warp_in_role == 1), k.elect():
        k.mbarrier.arrive(bar[0])
    return k.finish()


def test_an_init_that_is_not_published() -> None:
    assert found(other_warp(published=True)) == []
    assert found(other_warp(published=False)) == ["USE_BEFORE_INIT"]
    assert found(other_warp(published=True, late=True)) == ["USE_BEFORE_INIT"]


def chosen(*, initialised: bool) -> Schedule:
    """A value decides which barrier a thread uses: one that is initialised, or one that is not."""
    k = ScheduleBuilder("chosen")
    k.block(1)
    bars = k.mbarriers("bars", count=1, stages=2)
    which = k.arg("which", 0 if initialised else 1)
    with k.elect_thread():
        k.mbarrier.init(bars[0], 1)
        k.mbarrier.arrive(bars[which])
        k.mbarrier.wait(bars[which], 0)
    return k.finish()


def test_a_barrier_chosen_by_a_value() -> None:
    assert found(chosen(initialised=True)) == []
    assert found(chosen(initialised=False)) == ["USE_BEFORE_INIT"]


def overflow(*, counts: tuple[int, int], slot: int) -> Schedule:
    """Barriers of 1 and 2 arrivals side by side, and one arrival on one of them by each of two."""
    k = ScheduleBuilder("overflow")
    bars = k.mbarriers("bars", count=1, stages=2)
    with k.elect_thread():
        for i, count in enumerate(counts):
            k.mbarrier.init(bars[i], count)
    k.bar.sync()
    with k.specialize():
        for name in ("a", "b"):
            with k.role(name, warps=1), k.elect():
                k.mbarrier.arrive(bars[slot])
    return k.finish()


def test_arrivals_on_the_barrier_beside() -> None:
    """The second one opens a phase of its own, and nobody has observed the first."""
    assert found(overflow(counts=(1, 2), slot=1)) == []
    assert found(overflow(counts=(1, 2), slot=0)) == ["UNCONSUMED_PHASE warning"]


def arrive_count(count: int) -> list[str]:
    k = ScheduleBuilder("count")
    k.block(1)
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.mbarrier.arrive(bar[0], count)
    return found(k.finish())


def test_an_arrival_that_counts_more_than_is_expected() -> None:
    assert arrive_count(1) == []
    assert arrive_count(2) == ["ARRIVAL_OVERFLOW"]


def reset_later(*, ordered: bool) -> Schedule:
    """inval and init by one warp while another may still wait for the first life."""
    k = ScheduleBuilder("reset")
    bar, done = k.mbarriers("bar", count=1), k.mbarriers("done", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar, done)
    k.bar.sync()
    with k.specialize():
        with k.role("waiter", warps=1), k.elect():
            k.mbarrier.wait(bar[0], 0)
            k.mbarrier.arrive(done[0])
        with k.role("owner", warps=1), k.elect():
            k.mbarrier.arrive(bar[0])
            if ordered:
                k.mbarrier.wait(done[0], 0)
            k.mbarrier.inval(bar[0])
            k.mbarrier.init_all(bar)
    return k.finish()


def test_a_new_life_before_the_last_wait_of_the_old_one() -> None:
    assert found(reset_later(ordered=True)) == []
    assert found(reset_later(ordered=False)) == ["USE_BEFORE_INIT"]


def exit_with_a_copy(*, waits: bool) -> Schedule:
    """A TMA load that nobody waits for before the kernel ends."""
    k = ScheduleBuilder("exit")
    k.block(1)
    source = k.global_tensor("source", (1, 32), "f32")
    row = k.tensor_map("row", source, box=(1, 32))
    tile, full = k.smem_tile("tile", (1, 32), "f32"), k.mbarriers("full", count=1)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128)
        k.tma.load(tile[0], row, (0, 0), full[0])
    k.bar.sync()
    if waits:
        k.mbarrier.wait(full[0], 0)
        k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
    return k.finish()


def test_an_exit_with_a_copy_in_flight() -> None:
    assert found(exit_with_a_copy(waits=True)) == []
    assert found(exit_with_a_copy(waits=False)) == ["OUTSTANDING_AT_EXIT"]


def tracked(*, initialised: bool) -> Schedule:
    """cp.async.mbarrier.arrive on a barrier whose init is known, or comes later."""
    k = ScheduleBuilder("tracked")
    k.block(1)
    source = k.global_tensor("source", (32, 4), "f32")
    tile, bar = k.smem_tile("tile", (32, 4), "f32"), k.mbarriers("bar", count=32)
    if initialised:
        with k.elect_thread():
            k.mbarrier.init_all(bar)
        k.bar.sync()
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 4)), source.box((k.lane, 0), (1, 4)))
    k.cp_async.mbarrier_arrive(bar[0], noinc=True)
    if not initialised:
        k.bar.sync()
        with k.elect_thread():
            k.mbarrier.init_all(bar)
    k.mbarrier.wait(bar[0], 0)
    return k.finish()


def test_copies_tracked_by_a_barrier_that_is_not_initialised() -> None:
    assert found(tracked(initialised=True)) == []
    assert found(tracked(initialised=False)) == ["USE_BEFORE_INIT"]
