"""Operands of ldmatrix, stmatrix and mma.sync.

What a lane moves lies in rows that other lanes name: each of them touches all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.matrix import ROW_BYTES, MatrixOp, addressing_lanes
from asyncsim.memory.region import SmemRegion
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, Dyn, Proxy
from asyncsim.stream.operands import Evaluator, Values

if TYPE_CHECKING:
    from asyncsim.stream.resolve import Resolver


def matrix_maker(r: Resolver, op: MatrixOp, ev: Evaluator) -> Callable[[Values], Dyn]:
    """How to resolve an op of a warp's matrices."""
    match op:
        case ops.LdMatrix(dst=frag, src=view):
            read = r.tile(op, view, False, Proxy.GENERIC, ev)
            d = r.registers(frag, write=True)
            return lambda v: Dyn(op, accesses=lambda: (_whole(read(v)), d))
        case ops.StMatrix(dst=view, src=frag):
            write = r.tile(op, view, True, Proxy.GENERIC, ev)
            d = r.registers(frag, write=False)
            return lambda v: Dyn(op, accesses=lambda: (d, _whole(_apart(op, write(v)))))
        case ops.MmaSync(d=d_ref, a=a, b=b, c=c):
            reads = [r.registers(ref, write=False) for ref in (a, b, c)]
            accesses = (*reads, r.registers(d_ref, write=True))
            return lambda v: Dyn(op, accesses=lambda: accesses)
        case _ as unreachable:
            assert_never(unreachable)


def _whole(access: Access) -> Access:
    return replace(access, lanes=())


def _apart(op: ops.StMatrix, access: Access) -> Access:
    """Rows that are stored do not overlap; ScheduleError (WRITE_WRITE_RACE) where they do."""
    assert isinstance(access.region, SmemRegion)
    rows = addressing_lanes(op)
    if access.region.bytes < rows * ROW_BYTES:
        raise ScheduleError(
            f"StMatrix: {rows} rows of {ROW_BYTES} bytes go to {access.region.bytes} bytes of "
            f"{op.dst.tile!r}: which stays is open",
            fix="give each of the lanes a row of its own: start at k.lane % 8, or at k.lane",
            loc=op.loc,
            rule=Rule.WRITE_WRITE_RACE,
        )
    return access
