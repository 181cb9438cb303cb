"""Waits by the state that an arrive returned, and the two parts of an election."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from asyncsim import Rule, ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict


def schedule(build: Callable[[Any, Any, Any], object], *, count: int, warps: int = 1) -> Schedule:
    """``build`` on two initialised mbarriers and a state register."""
    k = ScheduleBuilder("states")
    k.block(warps)
    bars, state = k.mbarriers("bar", count=count, stages=2), k.mbarrier_state("state")
    with k.elect_thread():
        k.mbarrier.init_all(bars)
        k.fence.mbarrier_init()
    k.bar.sync()
    build(k, bars, state)
    return k.finish()


def only_error(s: Schedule) -> tuple[Rule, str]:
    result = check(s)
    assert result.verdict is Verdict.FINDINGS
    (error,) = [f for f in result.findings if f.severity.value == "error"]
    return error.rule, error.message


def assert_certified(s: Schedule) -> None:
    result = check(s)
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


@pytest.mark.parametrize("warps", [1, 3])
def test_threads_that_meet_by_states_in_a_loop(warps: int) -> None:
    def meet(k, bars, state):  # type: ignore[no-untyped-def]
        with k.loop(7) as i:
            k.mbarrier.arrive(bars[i % 2], state=state)
            k.mbarrier.wait_state(bars[i % 2], state)

    assert_certified(schedule(meet, count=32 * warps, warps=warps))


@pytest.mark.parametrize("of_role", [False, True])
def test_an_elected_lane_and_the_others_each_wait_by_their_own_state(of_role: bool) -> None:
    def meet(k, bars, state):  # type: ignore[no-untyped-def]
        with k.loop(5) as i:
            with k.elect_thread() if of_role else k.elect():
                k.mbarrier.arrive(bars[i % 2], 2, state=state)
            with k.others():
                k.mbarrier.arrive(bars[i % 2], state=state)
            k.mbarrier.wait_state(bars[i % 2], state)

    assert_certified(schedule(meet, count=65 if of_role else 66, warps=2))


def test_a_state_that_is_kept_over_two_completions() -> None:
    def late(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.arrive(bars[0], state=state)
            k.mbarrier.arrive(bars[0])
            k.mbarrier.wait_state(bars[0], state)

    assert only_error(schedule(late, count=1)) == (
        Rule.LAPPED_WAITER,
        "the state is of phase 0, and 2 phases have completed since: it may be tested until the "
        "next one does",
    )


def test_a_state_that_others_can_make_too_old() -> None:
    """Only if the slow lane tests late: the search, or a directed execution, has to find it."""

    def overtaken(k, bars, state):  # type: ignore[no-untyped-def]
        with k.specialize():
            with k.role("slow", warps=1), k.elect():
                k.mbarrier.arrive(bars[0], state=state)
                k.mbarrier.wait_state(bars[0], state)
            with k.role("fast", warps=1), k.elect():
                k.mbarrier.wait(bars[0], 0)
                k.mbarrier.arrive(bars[0])

    rule, message = only_error(schedule(overtaken, count=1, warps=2))
    assert rule is Rule.LAPPED_WAITER
    assert message.startswith("the state is of phase 0, and 2 phases have completed since")


def test_a_state_of_another_stage() -> None:
    def foreign(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.arrive(bars[0], state=state)
            k.mbarrier.wait_state(bars[1], state)

    assert only_error(schedule(foreign, count=1)) == (
        Rule.FOREIGN_STATE,
        "the state that is tested comes from another mbarrier",
    )


def test_a_state_that_only_other_lanes_have_written() -> None:
    def unwritten(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.arrive(bars[0])
        with k.others():
            k.mbarrier.arrive(bars[0], state=state)
        k.mbarrier.wait_state(bars[0], state)

    assert only_error(schedule(unwritten, count=32)) == (
        Rule.FOREIGN_STATE,
        "no arrive has written the state that is tested",
    )


def test_a_state_from_before_inval() -> None:
    def older(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.arrive(bars[0], state=state)
            k.mbarrier.wait_state(bars[0], state)
            k.mbarrier.inval(bars[0])
            k.mbarrier.init(bars[0], 1)
            k.mbarrier.arrive(bars[0])
            k.mbarrier.wait_state(bars[0], state)

    assert only_error(schedule(older, count=1)) == (
        Rule.FOREIGN_STATE,
        "the state that is tested is older than the last inval",
    )


def test_lanes_of_a_warp_whose_states_are_of_different_phases() -> None:
    """The elected lane completes a phase alone, the others the next one: its state is too old then,
    theirs is not."""

    def apart(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.arrive(bars[0], 31, state=state)
            k.mbarrier.wait_state(bars[0], state)
        k.bar.warp_sync()
        with k.elect():
            k.bulk.commit_group()
        with k.others():
            k.mbarrier.arrive(bars[0], state=state)
        k.mbarrier.wait_state(bars[0], state)

    rule, message = only_error(schedule(apart, count=31))
    assert rule is Rule.LAPPED_WAITER
    assert message.startswith("the state is of phase 0, and 2 phases have completed since")


# -- what the lanes of a warp may do while one of them waits -----------------------------------


def test_the_parts_of_an_election_do_not_wait_for_each_other() -> None:
    def elected_waits(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.wait(bars[0], 0)
        with k.others():
            k.mbarrier.arrive(bars[0])

    def others_wait(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.arrive(bars[1], 31)
        with k.others():
            k.mbarrier.wait(bars[1], 0)
            k.mbarrier.arrive(bars[0])
        with k.elect():
            k.mbarrier.wait(bars[0], 0)

    assert_certified(schedule(elected_waits, count=31))
    assert_certified(schedule(others_wait, count=31))


@pytest.mark.parametrize("again", [False, True])
def test_whether_lanes_pass_an_election_that_one_is_in_is_left_open(again: bool) -> None:
    """With ``again`` an H200 hangs at the second elect.sync; without it the lanes get through."""

    def after(k, bars, state):  # type: ignore[no-untyped-def]
        with k.elect():
            k.mbarrier.wait(bars[0], 0)
        if again:
            with k.elect():
                k.mbarrier.expect_tx(bars[1], 0)
            with k.others():
                k.mbarrier.arrive(bars[0])
        else:
            k.mbarrier.arrive(bars[0])

    result = check(schedule(after, count=31))
    assert (result.verdict, result.certified, result.findings) == (Verdict.INCOMPLETE, False, ())
    assert result.note.startswith(
        "block warp 0, elected lane waits inside an election, at mbarrier wait bar[0] parity 0 ("
    )
    assert result.note.endswith(
        "), for what its warp's other lanes do after it, and they may be held until it is through; "
        "write what they do under `with k.others():`"
    )
