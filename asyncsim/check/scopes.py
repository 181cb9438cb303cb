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

    CTA scope speaks to the own CTA, whatever the barrier; relaxed orders phases, and data that a
    fence of that scope has covered.
    """
    op = step.dyn.op
    assert isinstance(op, MbarrierArrive | MbarrierArriveExpectTx)
    control, own = clock & control_mask, chain.warp.place.rank == b.key.cta
    if op.relaxed:
        far = 0 if own or op.memory is not MemScope.CLUSTER else chain.sent_far
        return control | (chain.sent & ~control_mask if own else 0), far
    if own:
        return clock, 0
    return control, clock if op.memory is MemScope.CLUSTER else 0


def acquired(layout: ClockLayout, b: Barrier, chain: Chain, step: Step) -> int:
    """What a wait learns of the phase that has completed; a relaxed one, for the data, at its
    thread's next fence."""
    op = step.dyn.op
    assert isinstance(op, MbarrierWaitOp | MbarrierTestWait)
    if op.relaxed:
        chain.heard = layout.join(chain.heard, b.released)
        if op.memory is MemScope.CLUSTER:
            chain.heard_far = layout.join(chain.heard_far, b.released_far)
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
