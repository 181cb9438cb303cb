"""What ops between the CTAs of a cluster do in an evaluation."""

from __future__ import annotations

from typing import assert_never

from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.copy_ops import tile_stage
from asyncsim.evaluate.cta import Blocked, Cta, Flight
from asyncsim.evaluate.operands import Operands
from asyncsim.evaluate.sync_ops import Step, stage_of
from asyncsim.ir import op as ops
from asyncsim.ir.op import ClusterOp
from asyncsim.stream.operands import Values
from asyncsim.sync import MbarrierState


def cluster_step(op: ClusterOp, use: Operands, warp: int, cta: Cta) -> Step:
    cluster = cta.cluster
    own = cta.schedule.warps * cluster.ctas.index(cta) + warp
    match op:
        case ops.BarrierClusterArrive():
            return lambda v: _arrive(cta, own)
        case ops.BarrierClusterWait():
            return lambda v: _wait(op, cta, own)
        case ops.StAsync():
            return _st_async(op, use, warp, cta)
        case _ as unreachable:
            assert_never(unreachable)


def _arrive(cta: Cta, warp: int) -> None:
    cta.cluster.barrier.arrive(warp)


def _wait(op: ops.BarrierClusterWait, cta: Cta, warp: int) -> Blocked | None:
    barrier = cta.cluster.barrier
    if barrier.passes(warp):
        return None
    return Blocked(
        op,
        lambda: barrier.passes(warp),
        lambda: f"{barrier.missing} warps of the cluster have not arrived",
    )


def _st_async(op: ops.StAsync, use: Operands, warp: int, cta: Cta) -> Step:
    """Each lane's registers, as one flight: its bytes count lane by lane."""
    stage = tile_stage(op.dst, use, cta)
    index = use.elements(op.dst, cta.schedule.tile(op.dst.tile).shape)
    barrier = stage_of(op.mbarrier, use, cta)
    size = op.src.count * cta.schedule.fragment(op.src.name).dtype.bytes

    def step(values: Values) -> None:
        into, at, state = stage(values), index(values), barrier(values)
        data = cta.registers(op.src, warp)[use.span].copy()

        def effect(into: Array = into, state: MbarrierState = state) -> None:
            into[at] = data
            for _ in range(use.lanes):
                state.complete_tx(size)

        cta.launch(Flight(op, effect))

    return step
