"""Whom an arrival on an mbarrier speaks to, and a wait listens to: CTA, cluster, or nobody."""

from __future__ import annotations

from asyncsim.check.barrier import Barrier
from asyncsim.check.clock import ClockLayout
from asyncsim.check.model import Chain, Peek, Step
from asyncsim.ir.op import (
    MbarrierArrive,
    MbarrierArriveExpectTx,
    MbarrierTestWait,
    MbarrierWait,
    MbarrierWaitOp,
    MemScope,
)


def released(
    b: Barrier, chain: Chain, step: Step, clock: int, control_mask: int
) -> tuple[int, int]:
    """What an arrival makes known to every wait, and to those that acquire at cluster scope.

    CTA scope speaks to the own CTA, whatever the barrier; relaxed orders phases and no data.
    """
    op = step.dyn.op
    assert isinstance(op, MbarrierArrive | MbarrierArriveExpectTx)
    control = clock & control_mask
    if op.relaxed:
        return control, 0
    if chain.warp.place.rank == b.key.cta:
        return clock, 0
    return control, clock if op.memory is MemScope.CLUSTER else 0


def acquired(layout: ClockLayout, b: Barrier, step: Step) -> int:
    """What a wait learns of the phase that has completed."""
    op = step.dyn.op
    assert isinstance(op, MbarrierWaitOp | MbarrierTestWait)
    if op.relaxed:
        return b.released & layout.carried
    if op.memory is MemScope.CLUSTER:
        return layout.join(b.released, b.released_far)
    return b.released


def peek_of(chain: Chain, step: Step) -> Peek | None:
    """The peek whose token lets an observer skip a wait."""
    op = step.dyn.op
    if not isinstance(op, MbarrierWait) or op.peek is None:
        return None
    return chain.peeks.get(op.peek)
