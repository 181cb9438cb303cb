"""What a tcgen05.mma computes: operands as numbers, scale factors, and where the sums lie.

PTX ISA, tcgen05: data path layouts A, B, D and F; block scaling.
"""

from __future__ import annotations

import numpy as np

from asyncsim.evaluate.arrays import Array, factors, numpy_dtype
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import Tcgen05Mma
from asyncsim.ir.tcgen05 import LANES, WARP_LANES, MmaKind

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_FOUR_BIT: Array = np.concatenate([_E2M1, -_E2M1])


def numbers(operand: Array, kind: MmaKind) -> Array:
    """The elements of an operand (rows, elements) as the tensor core reads them."""
    if kind is MmaKind.I8:
        return operand.astype(np.int32)
    if kind is MmaKind.TF32:
        return factors(operand, DType.TF32)
    if kind in (MmaKind.MXF4, MmaKind.MXF4NVF4):  # two a byte, the lower four bits first
        pairs = np.stack([operand & 15, operand >> 4], axis=-1)
        return _FOUR_BIT[pairs.reshape(operand.shape[0], -1)]
    return operand.astype(np.float32)


def packed(cells: Array, dtype: DType) -> Array:
    """Cells of 32 bits as the elements that are packed into them."""
    elements: Array = np.ascontiguousarray(cells).view(numpy_dtype(dtype))
    return elements


def scale_bytes(op: Tcgen05Mma, cells: Array, rows: int, first: int) -> Array:
    """Scale factors (4 warps' lanes, rows, scale_vec): of row r they stand in lane r % 32 of each
    warp and column r // 32, from byte ``first`` of the cell on."""
    of_warps = np.ascontiguousarray(cells).view(np.uint8).reshape(4, WARP_LANES, -1, 4)
    by_row = of_warps.transpose(0, 2, 1, 3).reshape(4, -1, 4)[:, :rows]
    return _scale_factor(by_row[..., first : first + op.scale_vec], op)


def _scale_factor(raw: Array, op: Tcgen05Mma) -> Array:
    """ue8m0, powers of two; four a row of kind mxf4nvf4 are ue4m3."""
    if op.kind is MmaKind.MXF4NVF4 and op.scale_vec == 4:
        unsigned = np.ascontiguousarray(raw & 127)
        return unsigned.view(numpy_dtype(DType.E4M3)).astype(np.float32)
    exponent = raw.astype(np.int32)
    return np.where(exponent == 255, np.nan, np.ldexp(np.float32(1), exponent - 127))


def products(
    op: Tcgen05Mma, a: Array, b: Array, scales: tuple[Array, Array] | None = None
) -> Array:
    """a times b transposed, for the rows of one CTA; ``scales`` as ``scale_bytes`` gives them.

    Each warp's lanes use the factors of their own."""
    if scales is None:
        result: Array = a @ b.T
        return result
    of_a, of_b = scales
    parts = []
    for warp in range(4):
        own = slice(WARP_LANES * warp, WARP_LANES * (warp + 1))
        scaled_a = _scaled(a[own], of_a[warp, own])
        parts.append(scaled_a @ _scaled(b, of_b[warp]).T)
    return np.concatenate(parts)


def _scaled(operand: Array, factors: Array) -> Array:
    chunks = operand.reshape(*factors.shape, -1) * factors[..., None]
    return chunks.reshape(operand.shape).astype(np.float32)


def lanes_of_rows(op: Tcgen05Mma) -> Array:
    """The lanes that hold the rows of one CTA, for the first columns of B that they hold.

    m = 64: 16 lanes of each warp's 32. m = 128 over two CTAs: the second half of the columns of B
    lies in the 64 lanes after these.
    """
    rows = np.arange(op.m // op.cta_group)
    if op.cta_group == 1 and op.m == 64:
        return rows // 16 * WARP_LANES + rows % 16
    return rows


def is_folded(op: Tcgen05Mma) -> bool:
    """Whether columns of B are folded into the upper lanes: 64 rows in each of two CTAs."""
    return op.cta_group == 2 and op.m == LANES
