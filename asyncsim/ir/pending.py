"""What the language and ``check`` know, and simulate, evaluate and render do not yet.

One list: the readers refuse these in one line, and the test of completeness reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn, get_args

from asyncsim.errors import ScheduleError, SourceLoc
from asyncsim.ir import op as ops
from asyncsim.ir.op import FenceSpace, MbarrierRef, MemScope, OpBase, SmemView
from asyncsim.ir.schedule import Schedule

PendingInEvaluate = ops.Tcgen05Op
PendingInRender = ops.Tcgen05Op
PendingInSimulate = ops.ClusterOp | ops.Tcgen05Op
PendingOp = PendingInSimulate

PENDING: dict[str, tuple[type, ...]] = {
    "evaluate": get_args(PendingInEvaluate),
    "render": get_args(PendingInRender),
    "simulate": get_args(PendingInSimulate),
}
NO_CLUSTERS = ("simulate",)


def pending(schedule: Schedule, reader: str) -> Iterator[tuple[str, SourceLoc | None]]:
    """Each feature of a schedule that a reader lacks, and where it is used."""
    clusters = reader not in NO_CLUSTERS
    if schedule.cluster_ctas > 1 and not clusters:
        yield f"a cluster of {schedule.cluster_ctas} CTAs", None
    for op in schedule.ops():
        if isinstance(op, PENDING[reader]):
            yield type(op).__name__, op.loc
        if not clusters:
            for feature in _fields(op):
                yield f"{type(op).__name__} {feature}", op.loc


def _fields(op: OpBase) -> Iterator[str]:
    """What an op has that speaks to other CTAs."""
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
    for feature, loc in pending(schedule, reader):
        raise ScheduleError(
            f"{reader} does not know {feature} yet", fix="`asyncsim check` does", loc=loc
        )


def refused(op: PendingOp) -> NoReturn:
    """Where a reader would handle an op that it has refused already."""
    raise AssertionError(f"{type(op).__name__} is refused before anything runs")
