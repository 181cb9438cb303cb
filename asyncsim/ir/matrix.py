"""Matrices of a warp: between shared memory and registers, and products on the tensor core
(PTX ISA, ldmatrix, stmatrix, mma).

A matrix is 8 rows of 16 bytes; each lane holds 4 bytes of it, lane i those at 4 * (i % 4) of row
i / 4. All lanes of the warp execute these ops together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asyncsim.ir.operand import FragmentRef, OpBase, SmemView

LANES = 32
ROWS = 8  # of one matrix
ROW_BYTES = 16
LANE_BYTES = 4  # of one matrix
MMA_M, MMA_N, MMA_K_BYTES = 16, 8, 32
MMA_SUMS = 4  # elements of the accumulator in each lane


@dataclass(frozen=True, slots=True, kw_only=True)
class LdMatrix(OpBase):
    """ldmatrix.m8n8.x``num``.b16: lane i names row i % 8 of matrix i / 8, a view of 16 bytes.

    ``trans``: each matrix is read as its transpose, by elements of 16 bits.
    """

    dst: FragmentRef
    src: SmemView
    num: int
    trans: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StMatrix(OpBase):
    """stmatrix.m8n8.x``num``.b16, the other way round."""

    dst: SmemView
    src: FragmentRef
    num: int
    trans: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaSync(OpBase):
    """mma.sync.m16n8k``k``.row.col: d (16, 8) = a (16, K) * b (8, K)^T + c; K is 32 bytes.

    ``a`` is four matrices, row blocks first, ``b`` two along K. Register r of ``c`` and ``d`` is
    row lane / 4 + 8 * (r / 2), column 2 * (lane % 4) + r % 2.
    """

    d: FragmentRef
    a: FragmentRef
    b: FragmentRef
    c: FragmentRef
    k: int


MatrixMove = LdMatrix | StMatrix
MatrixOp = MatrixMove | MmaSync


def written_later(ops: Iterable[object]) -> frozenset[str]:
    """The fragments that ops write some time after they have been issued."""
    found: set[str] = set()
    for op in ops:
        match op:
            case LdMatrix(dst=ref) | MmaSync(d=ref):
                found.add(ref.name)
            case _:
                pass
    return frozenset(found)


def addressing_lanes(op: OpBase) -> int:
    """How many lanes of a warp name an address, if all of them execute the op."""
    return ROWS * op.num if isinstance(op, MatrixMove) else LANES
