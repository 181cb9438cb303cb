"""Verdicts of check that the explorer has shown to be wrong: the smallest schedule of each."""

from __future__ import annotations

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule


def rules(schedule: Schedule) -> list[str]:
    return [f.rule.name for f in check(schedule).findings if f.severity.value == "error"]


def test_init_by_all_lanes() -> None:
    k = ScheduleBuilder("init")
    barrier = k.mbarriers("barrier", count=1)
    k.mbarrier.init(barrier[0], 1)
    assert rules(k.finish()) == ["REINIT_WITHOUT_INVAL"]


def test_lanes_that_wait_for_what_the_elected_lane_may_complete_twice() -> None:
    k = ScheduleBuilder("lapped_lanes")
    stages, steps, consumers = 2, 5, 4
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=consumers, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=consumers), k.elect():
            state = k.pipeline_state(stages)
            with k.loop(steps):
                k.mbarrier.wait(full[state.stage], state.phase)
                k.mbarrier.arrive(empty[state.stage])
                state.advance()
        with k.role("producer", warps=1):
            state = k.pipeline_state(stages, producer=True, name="p")
            with k.loop(steps, name="j"):
                k.mbarrier.wait(empty[state.stage], state.phase)  # by all lanes
                with k.elect():
                    k.mbarrier.arrive(full[state.stage])
                state.advance()
    found = check(k.finish(), max_states=5_000).findings
    assert [f.rule.name for f in found] == ["LAPPED_WAITER"]
