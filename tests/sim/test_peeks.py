"""What a peek costs, and what the wait costs whose token has passed."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.sim import simulate
from tests.sim.schedules import H200


def waiting(*, peeks: bool, done: bool) -> Schedule:
    """A lane waits for a copy that has landed long ago, or that has just been issued."""
    k = ScheduleBuilder("waiting")
    k.block(1)
    source = k.global_tensor("source", (16, 32), "i32")
    source_map = k.tensor_map("source_map", source, box=(16, 32))
    tile = k.smem_tile("tile", (16, 32), "i32", stages=2)
    full, token = k.mbarriers("full", count=1, stages=2), k.mbarrier_token("token")
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        for stage in range(2):
            k.mbarrier.arrive_expect_tx(full[stage], 2048)
            k.tma.load(tile[stage], source_map, (0, 0), full[stage])
            if done:
                k.mbarrier.wait(full[stage], 0)
        for stage in range(2):
            if peeks:
                k.mbarrier.peek(full[stage], 0, token)
            k.mbarrier.wait(full[stage], 0, peek=token if peeks else None)
    return k.finish()


@pytest.mark.parametrize("certified", [False, True])
@pytest.mark.parametrize("done", [False, True])
def test_a_peek_costs_a_look_and_saves_one_if_it_passes(done: bool, certified: bool) -> None:
    plain, peeking = (
        simulate(waiting(peeks=peeks, done=done), H200, certified=certified).cycles
        for peeks in (False, True)
    )
    look = H200.mbarrier.try_wait_cycles
    if done:
        assert peeking == plain  # two looks as before: the peeks pass, the waits are free
    else:
        assert plain <= peeking <= plain + 2 * look
