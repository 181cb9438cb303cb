"""setmaxnreg in the simulator: what it costs, who waits, and how many CTAs fit."""

from __future__ import annotations

import pytest

from asyncsim import ComputeDef, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.sim import simulate
from asyncsim.sim.simulate import Deadlock, Options, run
from tests.sim.schedules import H200

assert H200.setmaxnreg is not None
DEC, INC, HANDOFF = (
    float(H200.setmaxnreg.dec_cycles),
    float(H200.setmaxnreg.inc_cycles),
    float(H200.setmaxnreg.handoff_cycles),
)
REST = 171.4 + 30  # launch and exit of a CTA


def busy(cycles: int) -> ComputeDef:
    return ComputeDef(
        name="busy",
        operands=(),
        work=lambda: Work(chain_ffma=cycles // 4),
        cuda="",
        numpy=lambda: None,
    )


def trade(*, give: int = 40, take: int = 216, giver: int = 0, taker: int = 0) -> Schedule:
    """A warpgroup gives registers after ``giver`` cycles, one takes some after ``taker``."""
    k = ScheduleBuilder("trade")
    k.launch_bounds(1, maxnreg=128)
    with k.specialize():
        with k.role("taker", warps=4):
            if taker:
                k.mem.compute(busy(taker))
            k.setmaxnreg.inc(take)
        with k.role("giver", warps=4):
            if giver:
                k.mem.compute(busy(giver))
            k.setmaxnreg.dec(give)
    return k.finish()


def cycles(schedule: Schedule) -> float:
    """The total, the same in every way to run it."""
    ends = {
        run(schedule, H200, Options(certified=certified, merge=merge)).end
        for certified in (True, False)
        for merge in (True, False)
    }
    assert len(ends) == 1
    return ends.pop() / 64


def test_a_request_for_what_is_free() -> None:
    assert cycles(trade(taker=4000)) == pytest.approx(4000 + INC + REST, abs=1)


def test_a_request_that_waits_passes_a_hand_over_after_the_dec() -> None:
    schedule = trade(giver=4000)
    assert cycles(schedule) == pytest.approx(4000 + HANDOFF + REST, abs=1)
    (stall,) = simulate(schedule, H200, certified=True).stalls
    assert (stall.role, stall.what, stall.count) == ("taker", "setmaxnreg.inc 216", 1)
    assert stall.cycles == pytest.approx(4000 + HANDOFF, abs=1)


def test_a_dec_takes_its_time() -> None:
    k = ScheduleBuilder("alone")
    k.launch_bounds(1, maxnreg=128)
    k.block(4)
    k.setmaxnreg.dec(64)
    k.mem.compute(busy(4000))
    assert cycles(k.finish()) == pytest.approx(4000 + DEC + REST, abs=1)


def test_a_request_that_is_never_served() -> None:
    with pytest.raises(Deadlock) as caught:
        simulate(trade(take=224), H200, certified=False)
    assert caught.value.blocked[0].startswith("taker of CTA 0 at SetMaxNReg (test_registers.py:")


def test_warps_are_served_one_by_one() -> None:
    """Four givers of a quarter each: a merged warpgroup waits for the last of them."""
    k = ScheduleBuilder("one_by_one")
    k.launch_bounds(1, maxnreg=64)
    with k.specialize():
        with k.role("taker", warps=4):
            k.setmaxnreg.inc(88)
        for i in range(3):
            with k.role(f"giver{i}", warps=4):
                k.mem.compute(busy(1000 * (i + 1)))
                k.setmaxnreg.dec(56)
    assert cycles(k.finish()) == pytest.approx(3000 + HANDOFF + REST, abs=1)


@pytest.mark.parametrize(
    ("maxnreg", "per_sm"), [(168, 1), (80, 2), (56, 3), (40, 4), (32, 5), (24, 5)]
)
def test_ctas_of_an_sm_follow_the_count_at_launch(maxnreg: int, per_sm: int) -> None:
    """Threads end it at five CTAs of 384."""
    k = ScheduleBuilder("occupancy")
    k.launch_bounds(1, maxnreg=maxnreg)
    k.grid(132 * 8)
    with k.specialize():
        with k.role("taker", warps=8):
            k.setmaxnreg.inc(maxnreg)
        with k.role("giver", warps=4):
            k.setmaxnreg.dec(24)
    occupancy = simulate(k.finish(), H200, certified=True).occupancy
    assert occupancy.ctas_per_sm == per_sm
    limit = "threads" if per_sm == 5 else f"registers, about {maxnreg} a thread"
    assert occupancy.limited_by == limit
