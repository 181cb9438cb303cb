"""arrive_drop, arrive.noComplete and complete_tx."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict


def errors(schedule: Schedule) -> list[tuple[Rule, str]]:
    result = check(schedule)
    assert result.verdict is Verdict.FINDINGS, result.note
    return [(f.rule, f.message) for f in result.findings if f.severity.value == "error"]


def assert_certified(schedule: Schedule) -> None:
    result = check(schedule)
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


def leaving(*, drops: bool = True, after: int = 0) -> Schedule:
    """Two warps meet by phases; one of them leaves after two."""
    k = ScheduleBuilder("leaving")
    k.block(2)
    bars = k.mbarriers("bar", count=64)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.bar.sync()
    with k.specialize():
        with k.role("leaves", warps=1):
            k.mbarrier.arrive(bars[0])
            k.mbarrier.wait(bars[0], 0)
            if drops:
                k.mbarrier.arrive_drop(bars[0])
            else:
                k.mbarrier.arrive(bars[0])
            for _ in range(after):
                k.mbarrier.arrive(bars[0])
        with k.role("stays", warps=1), k.loop(5) as i:
            k.mbarrier.arrive(bars[0])
            k.mbarrier.wait(bars[0], i % 2)
    return k.finish()


def test_who_drops_out_is_not_waited_for() -> None:
    assert_certified(leaving())


def test_who_leaves_without_dropping_out_is() -> None:
    assert errors(leaving(drops=False)) == [
        (
            Rule.ARRIVAL_SHORTFALL,
            "phase 2 of bar[0] gets 32 of 64 arrivals: stays warp 0 waits for ever",
        )
    ]


def test_who_has_dropped_out_is_one_too_many() -> None:
    assert [rule for rule, _ in errors(leaving(after=1))] == [Rule.LAPPED_WAITER]


def test_dropping_below_nothing() -> None:
    k = ScheduleBuilder("below")
    k.block(1)
    bars = k.mbarriers("bar", count=2)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
        k.mbarrier.arrive_drop(bars[0])
        k.mbarrier.arrive_drop(bars[0], 2)
    assert errors(k.finish()) == [
        (Rule.ARRIVAL_OVERFLOW, "arrive_drop below an expected count of 0")
    ]


def test_a_drop_that_a_later_phase_does_not_need_may_be_searched() -> None:
    """A spectator leaves the phases open; the search knows of the count that shrinks."""
    k = ScheduleBuilder("spectator")
    k.block(2)
    bars = k.mbarriers("bar", count=2)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.bar.sync()
    with k.specialize():
        with k.role("ahead", warps=1), k.elect():
            k.mbarrier.arrive(bars[0])
            k.mbarrier.arrive_drop(bars[0])
            k.mbarrier.arrive(bars[0])
            k.mbarrier.arrive(bars[0])
        with k.role("looks", warps=1), k.elect():
            k.mbarrier.wait(bars[0], 0)
    result = check(k.finish())
    assert (result.verdict, result.certified) == (Verdict.CLEAN, False)


def no_complete(*, last: str) -> Schedule:
    k = ScheduleBuilder("open")
    k.block(2)
    bars = k.mbarriers("bar", count=34)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.bar.sync()
    with k.specialize():
        with k.role("a", warps=1):
            k.mbarrier.arrive(bars[0], no_complete=True)
            if last == "after":
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(bars[0], 2)
            k.mbarrier.wait(bars[0], 0)
        with k.role("b", warps=1):
            if last == "anywhere":
                with k.elect():
                    k.mbarrier.arrive(bars[0], 2)
            k.mbarrier.wait(bars[0], 0)
    return k.finish()


def test_no_complete_with_an_arrival_behind_it() -> None:
    assert_certified(no_complete(last="after"))


def test_no_complete_that_may_be_the_last() -> None:
    assert errors(no_complete(last="anywhere")) == [
        (
            Rule.EARLY_COMPLETION,
            "arrive.noComplete may be what completes the phase, which is undefined",
        )
    ]


def test_no_complete_of_another_cta() -> None:
    k = ScheduleBuilder("remote")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    bars = k.mbarriers("bar", count=32)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.mbarrier.arrive(k.mbarrier.at(bars[0], 0), no_complete=True)
    with pytest.raises(ScheduleError) as error:
        k.finish()
    assert error.value.message == ("arrive.noComplete on 'bar' of another CTA, or in another order")


def by_hand(*, completes: int = 64, order: str = "expect first") -> Schedule:
    """Half of the bytes come by TMA, the other half by hand."""
    k = ScheduleBuilder("by_hand")
    k.block(1)
    source = k.global_tensor("source", (1, 16), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 16))
    tile = k.smem_tile("tile", (1, 16), "f32")
    bars, x = k.mbarriers("bar", count=1), k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.elect():
        if order == "complete first":
            k.mbarrier.complete_tx(bars[0], completes)
        k.mbarrier.arrive_expect_tx(bars[0], 128)
        k.tma.load(tile[0], source_map, (0, 0), bars[0])
        if order == "expect first":
            k.mbarrier.complete_tx(bars[0], completes)
    k.mbarrier.wait(bars[0], 0)
    k.mem.ld_shared(x.all, tile[0].box((0, k.lane % 16), (1, 1)))
    return k.finish()


@pytest.mark.parametrize("order", ["expect first", "complete first"])
def test_bytes_by_hand_make_up_for_the_rest(order: str) -> None:
    assert_certified(by_hand(order=order))


def test_too_few_and_too_many_bytes_by_hand() -> None:
    assert errors(by_hand(completes=48)) == [
        (
            Rule.TX_BYTES_MISMATCH,
            "bar[0] expects 128 bytes and gets 112: phase 0 never completes, and block warp 0 "
            "waits for ever",
        )
    ]
    assert {rule for rule, _ in errors(by_hand(completes=128))} & {
        Rule.TX_BYTES_MISMATCH,
        Rule.READ_BEFORE_ARRIVAL,
    }


@pytest.mark.parametrize("announced", [0, 16])
def test_who_waits_for_a_phase_that_everybody_has_left(announced: int) -> None:
    """Unless bytes are announced, and do not come: then it lacks those."""
    k = ScheduleBuilder("deserted")
    bars = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.bar.sync()
    with k.specialize():
        with k.role("leaves", warps=1), k.elect():
            k.mbarrier.arrive_drop(bars[0])
        with k.role("stays", warps=1), k.elect():
            k.mbarrier.wait(bars[0], 0)
            if announced:
                k.mbarrier.expect_tx(bars[0], announced)
            k.mbarrier.wait(bars[0], 1)
    ((rule, message),) = errors(k.finish())
    if announced:
        assert rule is Rule.TX_BYTES_MISMATCH
        assert message.startswith("bar[0] expects 16 bytes and gets 0 in 2 phases")
    else:
        assert (rule, message) == (
            Rule.ARRIVAL_SHORTFALL,
            "phase 1 of bar[0] expects no arrivals any more, all dropped out: stays warp 0, "
            "elected lane waits for ever",
        )
