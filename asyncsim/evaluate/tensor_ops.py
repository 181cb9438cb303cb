"""What wgmma does in an evaluation: one fp32 product a warpgroup, when its last warp has issued."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from asyncsim.evaluate.copy_ops import tile_stage
from asyncsim.evaluate.cta import Cta, Flight, Warpgroup
from asyncsim.evaluate.operands import Operands, box_slices
from asyncsim.evaluate.order import Landing
from asyncsim.evaluate.sync_ops import Step
from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, TensorOp
from asyncsim.stream.operands import Values


def tensor_step(op: TensorOp, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.WgmmaFence():
            return lambda v: None  # orders register accesses; an evaluation has them in order
        case ops.WgmmaMmaAsync():
            return _mma(op, use, warp, cta)
        case _ as unreachable:
            assert_never(unreachable)


def _mma(op: ops.WgmmaMmaAsync, use: Operands, warp: int, cta: Cta) -> Step:
    a_stage, b_stage = tile_stage(op.a, use, cta), tile_stage(op.b, use, cta)
    a_start = use.window(op.a, cta.schedule.tile(op.a.tile).shape)
    b_start = use.window(op.b, cta.schedule.tile(op.b.tile).shape)
    keep = use.value(op.accumulate)
    d = cta.accumulator(cta.schedule.fragment(op.d.name), warp)

    def step(values: Values) -> None:
        group = cta.warpgroup(warp)
        index = group.collective.execute(warp)
        if index == len(group.flights):
            a = a_stage(values)[box_slices(a_start(values), op.a.shape)]
            b = b_stage(values)[box_slices(b_start(values), op.b.shape)]
            accumulate = keep(values)

            def effect() -> None:
                product = a.astype(np.float32) @ b.astype(np.float32).T
                d[...] = d + product if accumulate else product

            group.flights.append(Flight(op, effect))
        flight = group.flights[index]
        for queue in cta.queues(warp, GroupKind.WGMMA, (True,)):
            queue.issue(flight)
        if group.collective.issued(index):
            _launch(group, index, cta)

    return step


def _launch(group: Warpgroup, index: int, cta: Cta) -> None:
    """Start a matrix op; landing it lands those before it, in order."""
    flight = group.flights[index]
    flight.launched = True
    if cta.order.landing is Landing.ISSUE:
        group.land_through(index)
        return
    in_order = Flight(flight.op, lambda: group.land_through(index), launched=True)
    cta.cluster.in_flight.append(in_order)
