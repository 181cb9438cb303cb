"""What ldmatrix, stmatrix and mma.sync do in an evaluation, by the exact place of each element.

In a matrix of 8 rows of 16 bytes lane i holds the 4 bytes at 4 * (i % 4) of row i / 4 (PTX ISA,
ldmatrix; mma: matrix fragments).
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.copy_ops import tile_stage
from asyncsim.evaluate.cta import Cta
from asyncsim.evaluate.operands import Operands
from asyncsim.evaluate.sync_ops import Step
from asyncsim.ir import op as ops
from asyncsim.ir.matrix import LANES, MMA_M, MMA_N, ROWS, MatrixMove, MatrixOp
from asyncsim.stream.operands import Values

_ALL = slice(0, LANES)
_QUARTERS = 4  # lanes that share a row


def matrix_step(op: MatrixOp, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.LdMatrix():
            return _load(op, use, warp, cta)
        case ops.StMatrix():
            return _store(op, use, warp, cta)
        case ops.MmaSync():
            return _mma(op, warp, cta)
        case _ as unreachable:
            assert_never(unreachable)


def _load(op: ops.LdMatrix, use: Operands, warp: int, cta: Cta) -> Step:
    stage = tile_stage(op.src, use, cta)
    index = use.elements(op.src, cta.schedule.tile(op.src.tile).shape)

    def step(values: Values) -> None:
        rows = stage(values)[index(values)]
        rows = np.broadcast_to(rows, (ROWS * op.num, rows.shape[-1]))
        cta.write_registers(op.dst, warp, _ALL, to_lanes(_turned(rows, op)))

    return step


def _store(op: ops.StMatrix, use: Operands, warp: int, cta: Cta) -> Step:
    stage = tile_stage(op.dst, use, cta)
    index = use.elements(op.dst, cta.schedule.tile(op.dst.tile).shape)

    def step(values: Values) -> None:
        rows = from_lanes(cta.registers(op.src, warp), op.num)
        stage(values)[index(values)] = _turned(rows, op)

    return step


def _turned(rows: Array, op: MatrixMove) -> Array:
    """Rows of several matrices, each matrix transposed if the op says so."""
    if not op.trans:
        return rows
    turned = rows.reshape(op.num, ROWS, ROWS).transpose(0, 2, 1)
    return turned.reshape(rows.shape)


def to_lanes(rows: Array) -> Array:
    """Rows of matrices (8 * matrices, elements) as (32 lanes, elements of a lane)."""
    matrices = rows.reshape(-1, ROWS, _QUARTERS, rows.shape[-1] // _QUARTERS)
    return matrices.transpose(1, 2, 0, 3).reshape(LANES, -1)


def from_lanes(held: Array, num: int) -> Array:
    """The other way round: what 32 lanes hold of ``num`` matrices, as rows of them."""
    lanes = held.reshape(ROWS, _QUARTERS, num, -1)
    return lanes.transpose(2, 0, 1, 3).reshape(ROWS * num, -1)


def _mma(op: ops.MmaSync, warp: int, cta: Cta) -> Step:
    total = np.dtype(np.int32 if cta.schedule.element_type(op.d).value == "i32" else np.float32)

    def step(values: Values) -> None:
        low, high = from_lanes(cta.registers(op.a, warp), 4).reshape(2, MMA_M, -1)
        a = np.concatenate([low, high], axis=1).astype(total)
        b = np.concatenate([*from_lanes(cta.registers(op.b, warp), 2).reshape(2, MMA_N, -1)], 1)
        sums = from_lanes(cta.registers(op.c, warp), 2).astype(total)
        made = sums + a @ b.astype(total).T
        cta.write_registers(op.d, warp, _ALL, to_lanes(made))

    return step
