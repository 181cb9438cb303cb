"""What the language and ``check`` know, and simulate, evaluate and render do not yet.

One list: the readers refuse these in one line, and the test of completeness reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from asyncsim.errors import ScheduleError, SourceLoc
from asyncsim.ir import op as ops
from asyncsim.ir.op import FenceSpace, MbarrierRef, MemScope, OpBase, SmemView
from asyncsim.ir.schedule import Schedule

PendingOp = ops.BarrierClusterArrive | ops.BarrierClusterWait | ops.StAsync | ops.Tcgen05Op


def pending(schedule: Schedule) -> Iterator[tuple[str, SourceLoc | None]]:
    """Each feature of a schedule that is checked only, and where it is used."""
    if schedule.cluster_ctas > 1:
        yield f"a cluster of {schedule.cluster_ctas} CTAs", None
    for op in schedule.ops():
        if isinstance(op, PendingOp):
            yield type(op).__name__, op.loc
        for feature in _fields(op):
            yield f"{type(op).__name__} {feature}", op.loc


def _fields(op: OpBase) -> Iterator[str]:
    match op:
        case ops.TmaLoad(multicast=mask) if mask is not None:
            yield "with multicast"
        case ops.TmaStore(reduce=reduce) if reduce is not None:
            yield f"with reduction ({reduce.value})"
        case ops.FenceProxyAsync(space=FenceSpace.CLUSTER):
            yield "over shared::cluster"
        case (
            ops.MbarrierArrive(memory=memory, relaxed=relaxed)
            | ops.MbarrierArriveExpectTx(memory=memory, relaxed=relaxed)
            | ops.MbarrierWait(memory=memory, relaxed=relaxed)
            | ops.MbarrierWaitState(memory=memory, relaxed=relaxed)
            | ops.MbarrierTestWait(memory=memory, relaxed=relaxed)
        ) if relaxed or memory is not MemScope.CTA:
            yield f"{'relaxed' if relaxed else 'at scope'} {memory.value}"
        case _:
            pass
    for name in type(op).__dataclass_fields__:
        value = getattr(op, name)
        if isinstance(value, MbarrierRef | SmemView) and value.rank is not None:
            yield "of another CTA"


def refuse_pending(schedule: Schedule, reader: str) -> None:
    """Raise ScheduleError if ``reader`` ("simulate", "evaluate", "render") lacks a feature."""
    for feature, loc in pending(schedule):
        raise ScheduleError(
            f"{reader} does not know {feature} yet", fix="`asyncsim check` does", loc=loc
        )


def refused(op: PendingOp) -> NoReturn:
    """Where a reader would handle an op that it has refused already."""
    raise AssertionError(f"{type(op).__name__} is refused before anything runs")
