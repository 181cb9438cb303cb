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
