"""What bulk copies without a tensor map, red.async and prefetches do in an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import assert_never

import numpy as np

from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.copy_ops import COMBINE, receivers_of, tile_stage
from asyncsim.evaluate.cta import Cta, Flight
from asyncsim.evaluate.operands import Index, Operands
from asyncsim.evaluate.sync_ops import Step, stage_of
from asyncsim.ir import op as ops
from asyncsim.ir.op import BulkOp, GroupKind, ReduceOp, SmemView
from asyncsim.stream.operands import Values
from asyncsim.sync import MbarrierState


def bulk_step(op: BulkOp, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.BulkLoad():
            return _load(op, use, cta)
        case ops.BulkStore():
            return _store(op, use, warp, cta)
        case ops.BulkSend():
            return _send(op, use, cta)
        case ops.RedAsync():
            return _red_async(op, use, warp, cta)
        case ops.BulkPrefetch() | ops.TmaPrefetch() | ops.PrefetchTensorMap():
            return lambda v: None  # hints
        case _ as unreachable:
            assert_never(unreachable)


def _part(view: SmemView, use: Operands, cta: Cta) -> Callable[[Values], tuple[Array, Index]]:
    """The stage that a view lies in, and per lane the elements that it names."""
    stage = tile_stage(view, use, cta)
    index = use.elements(view, cta.schedule.tile(view.tile).shape)
    return lambda values: (stage(values), index(values))


def _load(op: ops.BulkLoad, use: Operands, cta: Cta) -> Step:
    """A run a lane; multicast, it lands in every CTA of the mask, and counts on its barrier."""
    tensor = cta.tensors[op.src.tensor]
    size = prod(op.src.shape) * tensor.itemsize
    source_of = use.elements(op.src, tensor.shape)
    to = use.elements(op.dst, cta.schedule.tile(op.dst.tile).shape)
    receivers = receivers_of(op, use, cta)

    def step(values: Values) -> None:
        at, source = to(values), source_of(values)
        for into, state in receivers(values):

            def effect(into: Array = into, state: MbarrierState = state) -> None:
                into[at] = tensor[source]
                _count(state, size, use)

            cta.launch(Flight(op, effect))

    return step


def _store(op: ops.BulkStore, use: Operands, warp: int, cta: Cta) -> Step:
    tensor = cta.tensors[op.dst.tensor]
    to, part = use.elements(op.dst, tensor.shape), _part(op.src, use, cta)

    def step(values: Values) -> None:
        at, (out_of, source) = to(values), part(values)
        flight = Flight(op, lambda: _combine(op.reduce, use, tensor, at, out_of[source]))
        for queue in cta.queues(warp, GroupKind.BULK, use.observers):
            queue.issue(flight)
        cta.launch(flight)

    return step


def _send(op: ops.BulkSend, use: Operands, cta: Cta) -> Step:
    target, part = _part(op.dst, use, cta), _part(op.src, use, cta)
    barrier = stage_of(op.mbarrier, use, cta)
    size = prod(op.src.shape) * cta.schedule.tile(op.src.tile).dtype.bytes

    def step(values: Values) -> None:
        (into, at), (out_of, source), state = target(values), part(values), barrier(values)

        def effect() -> None:
            _combine(op.reduce, use, into, at, out_of[source])
            _count(state, size, use)

        cta.launch(Flight(op, effect))

    return step


def _red_async(op: ops.RedAsync, use: Operands, warp: int, cta: Cta) -> Step:
    target, barrier = _part(op.dst, use, cta), stage_of(op.mbarrier, use, cta)
    size = cta.schedule.fragment(op.src.name).dtype.bytes

    def step(values: Values) -> None:
        (into, at), state = target(values), barrier(values)
        data = cta.registers(op.src, warp)[use.span].copy()

        def effect() -> None:
            _combine(op.reduce, use, into, at, data)
            _count(state, size, use)

        cta.launch(Flight(op, effect))

    return step


def _combine(how: ReduceOp | None, use: Operands, into: Array, at: Index, data: Array) -> None:
    """Lane by lane: lanes may reduce into the same elements."""
    *rows, values = np.broadcast_arrays(*at, data)
    combine = COMBINE[how]
    for lane in range(use.lanes):
        here = tuple([row[min(lane, len(row) - 1)] for row in rows])
        into[here] = combine(into[here], values[min(lane, len(values) - 1)])


def _count(state: MbarrierState, size: int, use: Operands) -> None:
    """The bytes of each lane's copy."""
    for _ in range(use.lanes):
        state.complete_tx(size)
