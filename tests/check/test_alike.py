"""Two warps stand for all that do the same: results are those of all warps, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.check.alike import Crowd, Kin, crowds
from asyncsim.check.executions import Executions
from asyncsim.check.grid import Bounds
from asyncsim.check.report import Unproven
from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Rule
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.stream.period import Periods
from asyncsim.stream.program import Program
from tests.check.written import written
from tests.oracle.crowds import crowd
from tests.oracle.longer import longer
from tests.oracle.strategies import mutated


def found(schedule: Schedule) -> list[Crowd]:
    program = Program(schedule)
    return crowds(program, Periods(schedule))


def left_out(schedule: Schedule) -> int:
    """Warps that the reference execution does without."""
    cta = Executions(Program(schedule), (0, 0, 0), Bounds(schedule, {}))
    return schedule.warps - len(cta.reference(jump=True)[0].warps)


def compared(schedule: Schedule) -> CheckResult:
    """The result, which is that of a walk of all warps."""
    short = check(schedule, max_states=5_000)
    full = check(schedule, max_states=5_000, jump=False)
    assert short.stats["ops"] == full.stats["ops"]
    assert replace(short, stats={}) == replace(full, stats={})
    return short


def test_the_consumers_of_a_ring() -> None:
    """But the first one, which initialises the barriers."""
    schedule = tma_ring.build({"consumers": 8, "tiles": 40, "ctas": 1})
    assert found(schedule) == [Crowd(1, 2, (3, 4, 5, 6, 7))]
    assert left_out(schedule) == 5
    assert compared(schedule).certified
    assert check(schedule).stats["ops"] > 40 * 8 * 5  # of all warps


def test_a_warp_more_costs_no_walk() -> None:
    """What is executed does not grow with the warps."""
    walked = set()
    for consumers in (8, 31):
        schedule = tma_ring.build({"consumers": consumers, "tiles": 12, "ctas": 1})
        cta = Executions(Program(schedule), (0, 0, 0), Bounds(schedule, {}))
        execution = cta.reference(jump=True)[0]
        walked.add(sum(a.pos for a in execution.agents))
    assert len(walked) == 1


def test_of_few_warps_all_are_executed() -> None:
    assert found(tma_ring.build({"consumers": 4})) == []


def test_warpgroups_are_not_thinned_out() -> None:
    assert found(ws_gemm.build({})) == []


@pytest.mark.parametrize(
    "act",
    [
        lambda k, x, tile, bar: k.mem.st_shared(tile[0].box((0, k.thread_in_role), (1, 1)), x.all),
        lambda k, x, tile, bar: k.mbarrier.arrive_drop(bar),
        lambda k, x, tile, bar: k.mbarrier.arrive_expect_tx(bar, 0),
        lambda k, x, tile, bar: k.cp_async.commit_group(),
        lambda k, x, tile, bar: k.mem.st_shared(tile[0].box((0, k.warp_in_role), (1, 1)), x.all),
    ],
    ids=["bytes of its own", "dropped", "announced", "grouped", "named by its index"],
)
def test_what_warps_may_not_do_for_others(act: Callable[..., object]) -> None:
    def build(*, odd: bool) -> Schedule:
        k = ScheduleBuilder("odd")
        tile = k.smem_tile("tile", (1, 256), "f32")
        bars = k.mbarriers("bars", count=1)
        x = written(k, "x", registers=1)
        with k.elect_thread():
            k.mbarrier.init_all(bars)
        with k.specialize(), k.role("all", warps=8):
            k.bar.warp_sync()
            if odd:
                act(k, x, tile, bars[0])
        return k.finish()

    assert found(build(odd=False)) == [Crowd(1, 2, (3, 4, 5, 6, 7))]
    assert found(build(odd=True)) == []


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(more=st.integers(0, 20), rng=st.randoms(use_true_random=False))
def test_random_schedules(more: int, rng: Random) -> None:
    """Whole and broken ones: the findings are those of all warps, with their witnesses."""
    try:
        schedule = crowd(rng)
        if rng.random() < 0.5:
            schedule = mutated(rng, schedule)
        compared(longer(schedule, more))
    except ScheduleError:
        return


# -- what shows in warps that are left out -----------------------------------------------------


def stored(at: Callable[[ScheduleBuilder], object], columns: int) -> Schedule:
    """Eight warps that store a result."""
    k = ScheduleBuilder("stored")
    out = k.global_tensor("out", (1, columns), "f32", output=True)
    x = written(k, "x", registers=1)
    with k.specialize(), k.role("all", warps=8):
        k.mem.st_global(out.box((0, at(k)), (1, 1)), x.all)  # type: ignore[arg-type]
    return k.finish()


def test_each_stores_at_its_place() -> None:
    schedule = stored(lambda k: k.thread_in_role, 256)
    assert left_out(schedule) == 5
    assert compared(schedule).certified


@pytest.mark.parametrize(
    ("at", "columns", "rule"),
    [
        (lambda k: k.thread_in_role, 255, Rule.OUT_OF_BOUNDS),
        (lambda k: k.thread_in_role % 192, 256, Rule.WRITE_WRITE_RACE),
        (lambda k: k.thread_in_role - k.thread_in_role // 200 * 40, 256, Rule.WRITE_WRITE_RACE),
    ],
    ids=["outside", "over the first ones", "over each other"],
)
def test_what_only_they_do(
    at: Callable[[ScheduleBuilder], object], columns: int, rule: Rule
) -> None:
    schedule = stored(at, columns)
    assert found(schedule)
    assert rule in {f.rule for f in compared(schedule).findings}


@pytest.mark.parametrize("count", [1, 2, 6, 7, 9, 14, 16])
def test_each_arrival_counts(count: int) -> None:
    """Seven warps of eight, or two rounds in one, are another number of phases."""
    k = ScheduleBuilder("counted")
    bars = k.mbarriers("bars", count=count)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize(), k.role("all", warps=8), k.loop(3) as i:
        with k.elect():
            k.mbarrier.arrive(bars[0])
        k.mbarrier.wait(bars[0], i % 2)
    schedule = k.finish()
    assert found(schedule)
    assert compared(schedule).verdict is not Verdict.CLEAN


def test_two_that_meet_other_phases_stand_for_nobody() -> None:
    kin = Kin()
    kin.met(3, 1, 5)
    kin.met(4, 1, 5)
    kin.met(3, 1, 5)
    assert kin.ahead == {(4, 1): 5}
    with pytest.raises(Unproven):
        kin.met(4, 1, 6)
