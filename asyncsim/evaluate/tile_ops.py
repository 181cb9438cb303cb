"""What ops that ask for tiles do in an evaluation: they get those of a chosen assignment."""

from __future__ import annotations

from functools import partial
from typing import assert_never

import numpy as np

from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.copy_ops import tile_stage
from asyncsim.evaluate.cta import Cta, Flight
from asyncsim.evaluate.operands import Operands
from asyncsim.evaluate.sync_ops import Step, stage_of
from asyncsim.ir import op as ops
from asyncsim.stream.operands import Values
from asyncsim.sync import MbarrierState

RESPONSE_BYTES = 16


def tile_step(op: ops.TileOp, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.AtomAdd(dst=ticket, counter=box):
            counter = cta.tensors[box.tensor]
            place = use.elements(box, counter.shape)

            def count(values: Values) -> None:
                counter[place(values)] += 1
                tile = np.full((1, 1), cta.cluster.handed_out.counted(), counter.dtype)
                cta.write_registers(ticket, warp, use.span, tile)

            return count
        case ops.ClcTryCancel():
            return _try_cancel(op, use, cta)
        case ops.ClcQueryCancel(dst=ticket, src=view):
            stage = tile_stage(view, use, cta)
            index = use.elements(view, cta.schedule.tile(view.tile).shape)

            def query(values: Values) -> None:
                tile = stage(values)[index(values)][:, :1]
                cta.write_registers(ticket, warp, use.span, tile)

            return query
        case _ as unreachable:
            assert_never(unreachable)


def _try_cancel(op: ops.ClcTryCancel, use: Operands, cta: Cta) -> Step:
    """The tile is decided now; the response comes later. Its words are the tile and three zeros:
    what the hardware writes is nobody's business but query_cancel's."""
    index = use.elements(op.dst, cta.schedule.tile(op.dst.tile).shape)
    peers = cta.cluster.ctas if op.multicast else [cta]
    places = [(tile_stage(op.dst, use, p), stage_of(op.mbarrier, use, p)) for p in peers]

    def step(values: Values) -> None:
        response = np.array([[cta.cluster.handed_out.cancelled(), 0, 0, 0]], np.uint32)
        at = index(values)

        def land(into: Array, state: MbarrierState) -> None:
            into[at] = response
            state.complete_tx(RESPONSE_BYTES)

        for stage, barrier in places:
            cta.launch(Flight(op, partial(land, stage(values), barrier(values))))

    return step
