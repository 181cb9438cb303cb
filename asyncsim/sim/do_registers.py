"""setmaxnreg: requests to the register pool of a CTA, in the order of their times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.ir.op import MaxNRegDirection
from asyncsim.sim.path import SYNC, after
from asyncsim.sim.steps import Bound, Maker, Step
from asyncsim.sync import RegisterPool

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent


class TimedPool(RegisterPool):
    """``waiting``: agents some of whose warps still lack registers, and those warps."""

    __slots__ = ("waiting",)

    def __init__(self, warps: int, maxnreg: int) -> None:
        super().__init__(warps, maxnreg)
        self.waiting: list[tuple[Agent, list[int]]] = []

    def take(self, warps: list[int], count: int) -> list[int]:
        """Serve the warps in turn; those that the pool has nothing for."""
        return [w for w in warps if not self.inc(w, count)]


def setmaxnreg_maker(b: Bound, op: ops.SetMaxNReg) -> Maker:
    """work = (ticks from a dec to the pass of a waiting inc,)"""
    numbers = b.model.numbers
    if op.direction is MaxNRegDirection.DEC:
        step = b.step(dec, numbers.ticks("setmaxnreg.dec"))
        step.work = (numbers.ticks("setmaxnreg.handoff"),)
    else:
        step = b.step(inc, numbers.ticks("setmaxnreg.inc"))
    step.value, step.name = op.count, op.direction.value
    return b.constant(step)


def dec(a: Agent, s: Step) -> bool:
    """The registers are free when the instruction is done."""
    clock = a.model.clock
    clock.post(max(a.t + s.cost, clock.now), a.key, _given, a)
    return False


def _given(a: Agent) -> None:
    s, pool, model = a.blocked, a.cta.registers, a.model
    assert s is not None
    passes = a.t + s.work[0]
    why = after(a.cause(), passes, SYNC)
    a.t += s.cost
    a.sync += s.cost
    for w in a.warps.warps:
        pool.dec(w, s.value)
    waiting, pool.waiting = pool.waiting, []
    for other, warps in waiting:
        step = other.blocked
        assert step is not None
        left = pool.take(warps, step.value)
        if left:
            pool.waiting.append((other, left))
            continue
        other.enabled(step, max(passes, other.t + step.cost), why)
        other.resume()
    a.advance()
    model.drain()


def inc(a: Agent, s: Step) -> bool:
    clock = a.model.clock
    clock.post(max(a.t, clock.now), a.key, _asked, a)
    return False


def _asked(a: Agent) -> None:
    s, pool = a.blocked, a.cta.registers
    assert s is not None
    left = pool.take(list(a.warps.warps), s.value)
    if left:
        pool.waiting.append((a, left))
        return
    a.t += s.cost
    a.sync += s.cost
    a.advance()
    a.model.drain()
