"""Whom an arrival on an mbarrier speaks to: its own CTA, the cluster, or nobody."""

from __future__ import annotations

from asyncsim.check.barrier import Barrier
from asyncsim.check.model import Chain, Step
from asyncsim.ir.op import MbarrierArrive, MbarrierArriveExpectTx, MemScope


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
