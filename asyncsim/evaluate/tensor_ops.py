"""What wgmma does in an evaluation: one product a warpgroup, when its last warp has issued.

Sums are those of fp32. Tensor cores keep fewer bits of the sums of 8-bit floats: an output that is
not exact says how far it may be off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from asyncsim.evaluate.arrays import Array, factors
from asyncsim.evaluate.copy_ops import tile_stage
from asyncsim.evaluate.cta import Cta, Flight, Warpgroup
from asyncsim.evaluate.operands import Operands, box_slices
from asyncsim.evaluate.order import Landing
from asyncsim.evaluate.sync_ops import Step
from asyncsim.ir import op as ops
from asyncsim.ir.op import FragmentRef, GroupKind, SmemView, TensorOp
from asyncsim.stream.operands import Values

Matrix = Callable[[Values], Callable[[], Array]]
"""From the operands' values to a matrix operand (M or N, K), read when the product is made."""


def tensor_step(op: TensorOp, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.WgmmaFence():
            return lambda v: None  # orders register accesses; an evaluation has them in order
        case ops.WgmmaMmaAsync():
            return _mma(op, use, warp, cta)
        case _ as unreachable:
            assert_never(unreachable)


def _mma(op: ops.WgmmaMmaAsync, use: Operands, warp: int, cta: Cta) -> Step:
    a_of, b_of = _a_operand(op, use, warp, cta), _shared_operand(op.b, op.trans_b, use, cta)
    of_a, of_b = cta.schedule.element_type(op.a), cta.schedule.element_type(op.b)
    keep = use.value(op.accumulate)
    d = cta.accumulator(cta.schedule.fragment(op.d.name), warp)

    def step(values: Values) -> None:
        group = cta.warpgroup(warp)
        index = group.collective.execute(warp)
        if index == len(group.flights):
            a, b = a_of(values), b_of(values)
            accumulate = keep(values)

            def effect() -> None:
                product = (factors(a(), of_a) @ factors(b(), of_b).T).astype(d.dtype)
                d[...] = d + product if accumulate else product

            group.flights.append(Flight(op, effect))
        flight = group.flights[index]
        for queue in cta.queues(warp, GroupKind.WGMMA, (True,)):
            queue.issue(flight)
        if group.collective.issued(index):
            _launch(group, index, cta)

    return step


def _a_operand(op: ops.WgmmaMmaAsync, use: Operands, warp: int, cta: Cta) -> Matrix:
    if not isinstance(op.a, FragmentRef):
        return _shared_operand(op.a, op.trans_a, use, cta)
    matrix = cta.accumulator(cta.schedule.fragment(op.a.name), warp)
    part = matrix[:, 2 * op.a.first : 2 * (op.a.first + op.a.count)]
    return lambda values: lambda: part


def _shared_operand(view: SmemView, trans: bool, use: Operands, cta: Cta) -> Matrix:
    stage_of = tile_stage(view, use, cta)
    start = use.window(view, cta.schedule.tile(view.tile).shape)

    def operand(values: Values) -> Callable[[], Array]:
        box = stage_of(values)[box_slices(start(values), view.shape)]
        if not trans:
            return lambda: box.reshape(view.shape[-2:])
        panels = (-1, *view.shape[-2:])  # of (K, MN) each, side by side
        return lambda: np.concatenate([p.T for p in box.reshape(panels)])

    return operand


def _launch(group: Warpgroup, index: int, cta: Cta) -> None:
    """Start a matrix op; landing it lands those before it, in order."""
    flight = group.flights[index]
    flight.launched = True
    if cta.order.landing is Landing.ISSUE:
        group.land_through(index)
        return
    in_order = Flight(flight.op, lambda: group.land_through(index), launched=True)
    cta.cluster.in_flight.append(in_order)
