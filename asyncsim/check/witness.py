"""Witnesses: the steps of an execution that lead to a failure, as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asyncsim.check.describe import step_line
from asyncsim.check.model import Step

KEPT = 96  # synchronisation steps that an execution remembers
SHOWN = 10


def lines(recent: Iterable[tuple[Step, bool]], last: Sequence[Step]) -> tuple[str, ...]:
    """The latest steps of the warps in ``last``, then ``last`` itself, in order.

    ``recent``: steps in order of execution; True: a copy of that step lands.
    """
    recent = list(recent)
    warps = {s.warp.index for s in last}
    barriers = {s.dyn.barrier for s, _ in recent if s.warp.index in warps and s.dyn.barrier}
    ends = {(s.warp.index, s.pos) for s in last}
    told = []
    for step, lands in recent:
        own = step.warp.index in warps and (step.warp.index, step.pos) not in ends
        if lands:
            if step.dyn.barrier in barriers:
                told.append(f"{step_line(step)}: the copy lands")
        elif own:
            told.append(step_line(step))
    return (*told[-SHOWN:], *map(step_line, last))
