"""A wait by state costs what a wait by parity costs."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.sim import simulate
from tests.sim.schedules import H200


def meeting(*, by_state: bool, warps: int, meets: bool) -> Schedule:
    k = ScheduleBuilder("meeting")
    k.block(warps)
    source = k.global_tensor("source", (16, 32), "i32")
    source_map = k.tensor_map("source_map", source, box=(16, 32))
    tile = k.smem_tile("tile", (16, 32), "i32")
    full, state = k.mbarriers("full", count=32 * warps), k.mbarrier_state("state")
    kept = state if by_state else None
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.loop(9) as i:
        with k.elect_thread():
            k.tma.load(tile[0], source_map, (0, 0), full[0])
            k.mbarrier.arrive_expect_tx(full[0], 2048, state=kept)
        with k.others():
            k.mbarrier.arrive(full[0], state=kept)
        if by_state:
            k.mbarrier.wait_state(full[0], state)
        else:
            k.mbarrier.wait(full[0], i % 2)
        if meets:
            k.bar.sync()
    return k.finish()


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("meets", [False, True])
@pytest.mark.parametrize("certified", [False, True])
def test_as_a_wait_by_parity(warps: int, meets: bool, certified: bool) -> None:
    times = [
        simulate(
            meeting(by_state=by_state, warps=warps, meets=meets), H200, certified=certified
        ).cycles
        for by_state in (False, True)
    ]
    assert times[0] == times[1] > 9 * 300
