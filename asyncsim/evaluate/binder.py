"""Binds the ops of one warp to what they do: the stream then executes them as it is advanced."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never, cast

from asyncsim.evaluate.bulk_ops import bulk_step
from asyncsim.evaluate.cluster_ops import cluster_step
from asyncsim.evaluate.copy_ops import copy_step
from asyncsim.evaluate.cta import Blocked, Cta
from asyncsim.evaluate.errors import EvaluateError
from asyncsim.evaluate.matrix_ops import matrix_step
from asyncsim.evaluate.memory_ops import memory_step
from asyncsim.evaluate.operands import Operands
from asyncsim.evaluate.order_ops import order_step
from asyncsim.evaluate.sync_ops import Step, mbarrier_step, sync_step
from asyncsim.evaluate.tcgen05_ops import tcgen05_step
from asyncsim.evaluate.tensor_ops import tensor_step
from asyncsim.evaluate.tile_ops import tile_step
from asyncsim.ir.op import (
    BulkOp,
    ClusterOp,
    CopyOp,
    GridDependencyOp,
    MatrixOp,
    MbarrierOp,
    MemoryOp,
    Op,
    OpBase,
    OrderOp,
    SyncOp,
    Tcgen05Op,
    TensorOp,
    TileOp,
)
from asyncsim.stream.alignment import alignment_check
from asyncsim.stream.operands import Evaluator, Values
from asyncsim.sync import SyncFault


class Binder:
    """Keeps the bound ops of a warp, so that the next CTA finds them."""

    def __init__(self, cta: Cta, warp: int) -> None:
        self._cta, self._warp = cta, warp
        self._steps: dict[int, Step] = {}

    def bind(self, op: OpBase, warp_in_role: int) -> Step:
        """What executing ``op`` does: None, or the reason why the warp does not get past it."""
        step = self._steps.get(op.id)
        if step is None:
            use = Operands(op, warp_in_role)
            step = _located(op, _step(cast(Op, op), use, self._warp, self._cta))
            schedule, first = self._cta.schedule, 32 * warp_in_role
            check = alignment_check(op, schedule, Evaluator(op), first)
            if check is not None:
                step = _checked(check, step)
            self._steps[op.id] = step
        return step


def _step(op: Op, use: Operands, warp: int, cta: Cta) -> Step:
    if isinstance(op, MbarrierOp):
        return mbarrier_step(op, use, warp, cta)
    if isinstance(op, CopyOp):
        return copy_step(op, use, warp, cta)
    if isinstance(op, BulkOp):
        return bulk_step(op, use, warp, cta)
    if isinstance(op, OrderOp | GridDependencyOp):
        return order_step(op, use, cta)
    if isinstance(op, SyncOp):
        return sync_step(op, warp, cta)
    if isinstance(op, TensorOp):
        return tensor_step(op, use, warp, cta)
    if isinstance(op, MatrixOp):
        return matrix_step(op, use, warp, cta)
    if isinstance(op, MemoryOp):
        return memory_step(op, use, warp, cta)
    if isinstance(op, ClusterOp):
        return cluster_step(op, use, warp, cta)
    if isinstance(op, Tcgen05Op):
        return tcgen05_step(op, use, warp, cta)
    if isinstance(op, TileOp):
        return tile_step(op, use, warp, cta)
    assert_never(op)


def _checked(check: Callable[[Values], None], step: Step) -> Step:
    def run(values: Values) -> Blocked | None:
        check(values)
        return step(values)

    return run


def _located(op: OpBase, step: Step) -> Step:
    def run(values: Values) -> Blocked | None:
        try:
            return step(values)
        except SyncFault as fault:
            raise EvaluateError(
                f"{type(op).__name__} at {op.loc}: {fault.message}", fault.rule
            ) from None

    return run
