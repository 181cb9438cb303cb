"""Witnesses: the steps of an execution that lead to a failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from asyncsim.check.describe import step_place
from asyncsim.check.model import Step, Touch, Who
from asyncsim.ir import op as ops
from asyncsim.ir.op import Scope
from asyncsim.rules import WitnessStep

KEPT = 96  # synchronisation steps that an execution remembers
SHOWN = 10
LOCAL = (
    *get_args(ops.MemoryOp),
    *get_args(ops.TensorOp),
    *get_args(ops.MatrixOp),
    ops.CpAsync,
    ops.CpAsyncMbarrierArrive,
    ops.TmaLoad,
    *get_args(ops.BulkOp),
    ops.BarWarpSync,
    ops.Tcgen05Mma,
    ops.Tcgen05Commit,
)
"""Ops that are no synchronisation steps: a witness shows those that it ends with."""

Recent = Iterable[tuple[Step, bool]]
"""Steps in order of execution; True: a copy of that step lands."""


def steps(recent: Recent, last: Sequence[Step]) -> tuple[WitnessStep, ...]:
    """The latest steps of the warps in ``last``, then ``last`` itself, in order."""
    return (*_told(_of_warps(recent, last)[-SHOWN:]), *map(_step, last))


def racing(recent: Recent, x: Touch, y: Touch) -> tuple[WitnessStep, ...]:
    """Two accesses that nothing orders, at the end. What ``y`` came after is not after ``x``, so
    that without what the lanes of ``x`` did after it this is an execution, too."""
    mine, others, landed = [], [], False
    for i, (step, lands) in enumerate(_of_warps(recent, (x.step, y.step))):
        if lands and step is x.step:
            landed = True
        elif step.warp is not x.step.warp:
            others.append((i, _step(step, _then(step) if lands else "")))
        elif not (landed or _after(step, x)):
            mine.append((i, _step(step, _then(step) if lands else "")))
        elif step.warp is y.step.warp and _lanes(step) & y.who:  # its own lanes have passed it
            mine.append((i, WitnessStep(place=step_place(step, y.who))))
    mine = mine[-SHOWN // 2 :] if others else mine[-SHOWN:]
    told = sorted((*mine, *others[len(mine) - SHOWN :]), key=lambda at: at[0])
    return (*(step for _, step in told), _step(x.step), _step(y.step))


def in_order(recent: Recent, first: Step, last: Step) -> tuple[WitnessStep, ...]:
    """The latest steps before ``last``, with ``first`` at its place or before them all."""
    told = _of_warps(recent, (first, last))
    at = next((i for i, (step, lands) in enumerate(told) if _behind(step, lands, first)), len(told))
    cut = max(0, len(told) - SHOWN)
    before, after = told[cut : max(at, cut)], told[max(at, cut) :]
    return (*_told(before), _step(first), *_told(after), _step(last))


def whole(
    log: Recent, ends: Sequence[Step], *, race: tuple[Touch, Touch] | None
) -> tuple[WitnessStep, ...]:
    """All of a log, and ``ends``: after it, or if they do not race, the first at its place."""
    if race is not None:
        return _raced(log, *race)
    at = {(s.warp.index, s.pos) for s in ends}
    told = [(s, lands) for s, lands in log if lands or (s.warp.index, s.pos) not in at]
    ended = list(ends)
    if len(ended) == 2:
        first = ended.pop(0)
        behind = (i for i, (step, lands) in enumerate(told) if _behind(step, lands, first))
        told.insert(next(behind, len(told)), (first, False))
    return (*_told(told), *map(_step, ended))


def _raced(log: Recent, x: Touch, y: Touch) -> tuple[WitnessStep, ...]:
    """What the lanes of ``x`` did after it is left out, for ``y`` is not after it. They are told
    apart where others of their warp have gone further."""
    at = {(t.step.warp.index, t.step.pos) for t in (x, y)}
    told: list[WitnessStep] = []
    flies = isinstance(x.step.dyn.op, _IN_FLIGHT)
    parted = same = x.step.warp is y.step.warp
    for step, lands in log:
        if lands:
            told.append(_step(step, _then(step)))
        elif (step.warp.index, step.pos) not in at:
            mine = step.warp is x.step.warp
            parted |= mine and step.pos > x.step.pos and not flies
            if not (mine and _after(step, x)):
                told.append(_step(step))
            elif others := _lanes(step) & ~x.who:
                told.append(WitnessStep(place=step_place(step, Who(others))))
    first, last = x.who if parted else None, y.who if same else None
    ends = (step_place(x.step, first), step_place(y.step, last))
    return (*told, *(WitnessStep(place=place) for place in ends))


def _of_warps(recent: Recent, ends: Sequence[Step]) -> list[tuple[Step, bool]]:
    """The steps of the warps of ``ends``, without those, and what lands on their barriers."""
    recent = list(recent)
    warps = {s.warp.index for s in ends}
    barriers = {s.dyn.barrier for s, _ in recent if s.warp.index in warps and s.dyn.barrier}
    at = {(s.warp.index, s.pos) for s in ends}
    return [
        (step, lands)
        for step, lands in recent
        if (step.dyn.barrier in barriers if lands else step.warp.index in warps)
        and (lands or (step.warp.index, step.pos) not in at)
    ]


def _after(step: Step, x: Touch) -> bool:
    """Whether a step of the same warp comes after ``x`` is over."""
    if x.flight is not None:
        over = x.flight.retired
        if not x.access.write and x.flight.source_read is not None:
            over = x.flight.source_read
        return over is not None and step.pos >= over.pos
    if isinstance(x.step.dyn.op, _IN_FLIGHT):
        return False
    return step.pos > x.step.pos and bool(_lanes(step) & x.who)


def _behind(step: Step, lands: bool, first: Step) -> bool:
    return step.warp is first.warp and (step.pos > first.pos or (lands and step is first))


def _lanes(step: Step) -> Who:
    scope = step.dyn.op.scope
    if scope is Scope.ELECTED:
        return Who.ELECTED
    return Who.OTHERS if scope is Scope.OTHERS else step.who


def _told(found: Iterable[tuple[Step, bool]]) -> list[WitnessStep]:
    return [_step(step, _then(step) if lands else "") for step, lands in found]


def _then(step: Step) -> str:
    commit = isinstance(step.dyn.op, ops.Tcgen05Commit)
    return "its arrival counts" if commit else "the copy lands"


def _step(step: Step, then: str = "") -> WitnessStep:
    return WitnessStep(place=step_place(step), then=then)


_IN_FLIGHT = (*get_args(ops.LoadOp), ops.BulkSend, ops.StAsync, ops.RedAsync, ops.CpAsync)
_IN_FLIGHT += get_args(ops.Tcgen05Op)
"""What is over when a barrier says so, if no group does."""
