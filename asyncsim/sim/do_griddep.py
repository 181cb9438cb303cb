"""Handlers of griddepcontrol: what lets a dependent kernel start, and its wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from asyncsim.ir import op as ops
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent


def griddep_maker(b: Bound, op: ops.GridDependencyOp) -> Maker:
    match op:
        case ops.GriddepcontrolLaunchDependents():
            return b.constant(b.step(launch_dependents, 0))
        case ops.GriddepcontrolWait():
            return b.constant(b.step(wait, b.model.numbers.ticks("launch.wait")))
        case _ as unreachable:
            assert_never(unreachable)


def launch_dependents(a: Agent, s: Step) -> bool:
    """The first thread of a CTA speaks for it."""
    triggers, number = a.model.triggers, a.cta.number
    if number not in triggers or a.t < triggers[number][0]:
        triggers[number] = a.t, a.cause()
    return True


def wait(a: Agent, s: Step) -> bool:
    """Until the kernel before has ended; of a kernel that depends on none, what it costs."""
    a.t += s.cost
    a.sync += s.cost
    before = a.model.begin.passes
    if before is not None and before[0] > a.t:
        a.enabled(s, *before)
    return True
