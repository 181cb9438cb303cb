"""Witnesses: the steps of an execution that lead to a failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from asyncsim.check.describe import step_place
from asyncsim.check.model import Step
from asyncsim.ir import op as ops
from asyncsim.rules import WitnessStep

KEPT = 96  # synchronisation steps that an execution remembers
SHOWN = 10
LOCAL = (
    *get_args(ops.MemoryOp),
    *get_args(ops.TensorOp),
    ops.CpAsync,
    ops.CpAsyncMbarrierArrive,
    ops.TmaLoad,
    ops.BarWarpSync,
    ops.Tcgen05Mma,
    ops.Tcgen05Commit,
)
"""Ops that are no synchronisation steps: a witness shows those that it ends with."""


def steps(recent: Iterable[tuple[Step, bool]], last: Sequence[Step]) -> tuple[WitnessStep, ...]:
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
                commit = isinstance(step.dyn.op, ops.Tcgen05Commit)
                then = "its arrival counts" if commit else "the copy lands"
                told.append(WitnessStep(place=step_place(step), then=then))
        elif own:
            told.append(WitnessStep(place=step_place(step)))
    return (*told[-SHOWN:], *(WitnessStep(place=step_place(step)) for step in last))
