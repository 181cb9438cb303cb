"""cp.async that an mbarrier tracks: as fast as by groups, and a reader waits for the data."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.sim import simulate
from tests.sim.schedules import H200


def ring(*, how: str, stages: int = 2, trips: int = 6) -> Schedule:
    """Two warps fill a ring by cp.async; they tell two others by an mbarrier, or wait first."""
    k = ScheduleBuilder("ring")
    source = k.global_tensor("source", (64 * trips, 4), "f32")
    tile = k.smem_tile("tile", (64, 4), "f32", stages=stages)
    full = k.mbarriers("full", count=64, stages=stages)
    empty = k.mbarriers("empty", count=64, stages=stages)
    x = k.fragment("x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()
    with k.specialize():
        with k.role("producer", warps=2):
            state, row = k.pipeline_state(stages, producer=True), k.thread_in_role
            with k.loop(trips) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.cp_async.copy(
                    tile[state.stage].box((row, 0), (1, 4)), source.box((64 * i + row, 0), (1, 4))
                )
                if how == "noinc":
                    k.cp_async.mbarrier_arrive(full[state.stage], noinc=True)
                elif how == "raise":
                    k.cp_async.mbarrier_arrive(full[state.stage])
                    k.mbarrier.arrive(full[state.stage])
                else:
                    k.cp_async.commit_group()
                    k.cp_async.wait_group(0)
                    k.mbarrier.arrive(full[state.stage])
                state.advance()
        with k.role("consumer", warps=2):
            state = k.pipeline_state(stages)
            with k.loop(trips) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                k.mem.ld_shared(x.all, tile[state.stage].box((63 - k.thread_in_role, 0), (1, 4)))
                k.mbarrier.arrive(empty[state.stage])
                state.advance()
    return k.finish()


@pytest.mark.parametrize("certified", [False, True])
@pytest.mark.parametrize("how", ["noinc", "raise"])
def test_the_ring_overlaps_what_group_waits_serialise(how: str, certified: bool) -> None:
    waits, tracked, deep = (
        simulate(ring(how=h, stages=s), H200, certified=certified).cycles
        for h, s in (("wait", 2), (how, 2), (how, 6))
    )
    assert deep < 0.75 * tracked and tracked < 0.75 * waits


@pytest.mark.parametrize("how", ["noinc", "raise"])
def test_one_stage_takes_the_latency_of_a_copy_each_time(how: str) -> None:
    short, long = (
        simulate(ring(how=how, stages=1, trips=n), H200, certified=True).cycles for n in (2, 6)
    )
    waits = [
        simulate(ring(how="wait", stages=1, trips=n), H200, certified=True).cycles for n in (2, 6)
    ]
    assert long - short == pytest.approx(waits[1] - waits[0], rel=0.1)
