"""ldmatrix, stmatrix and mma.sync: rows, registers, types; what may use their registers."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import FragmentLayout
from asyncsim.ir.dtype import DType
from asyncsim.ir.matrix import LANE_BYTES, MMA_K_BYTES, MMA_SUMS, ROW_BYTES
from asyncsim.ir.op import FragmentRef, OpBase, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import parts_of

_FLOAT8, _BYTE = {DType.E4M3, DType.E5M2}, {DType.I8, DType.U8}
_NO_FLOAT8 = ("sm_80", "sm_86", "sm_87")  # mma.sync of 8-bit floats is from sm_89 on


def _rows(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if not isinstance(op, ops.MatrixMove):
            continue
        view, ref = (op.src, op.dst) if isinstance(op, ops.LdMatrix) else (op.dst, op.src)
        name, tile, element = type(op).__name__, s.tile(view.tile), s.element_type(ref)
        row = ROW_BYTES // tile.dtype.bytes
        if view.shape != (*(1 for _ in view.shape[1:]), row):
            yield ScheduleError(
                f"{name} of rows {view.shape} of {view.tile!r}",
                fix=f"a lane names one row of 16 bytes, {row} elements of {tile.dtype.value}",
                loc=op.loc,
            )
        if element is not tile.dtype:
            yield ScheduleError(
                f"{name} of {tile.dtype.value} elements and {element.value} registers",
                fix="it moves bits: give both the same type",
                loc=op.loc,
            )
        if op.trans and element.bytes != 2:
            yield ScheduleError(
                f"{name} of {element.value} with trans",
                fix="it transposes elements of 16 bits; lay the others out as they are used",
                loc=op.loc,
            )
        yield from _matrices(s, op, ref, op.num)


def _matrices(s: Schedule, op: OpBase, ref: FragmentRef, num: int) -> Iterator[ScheduleError]:
    """Registers of ``num`` matrices."""
    fragment = s.fragment(ref.name)
    each = LANE_BYTES // fragment.dtype.bytes
    wrong_count = ref.first % each or ref.count != num * each
    if fragment.layout is not FragmentLayout.MATRICES or wrong_count:
        yield ScheduleError(
            f"{type(op).__name__} of registers {ref.first}..{ref.first + ref.count - 1} of "
            f"{ref.name!r} in the place of {num} {'matrix' if num == 1 else 'matrices'}",
            fix=f"declare it with k.matrices and pass matrices(first, {num})",
            loc=op.loc,
        )


def _products(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if not isinstance(op, ops.MmaSync):
            continue
        a, b = s.element_type(op.a), s.element_type(op.b)
        sums = _sums(a, b)
        if sums is None:
            yield ScheduleError(
                f"mma.sync of {a.value} and {b.value}",
                fix="it takes f16, bf16 or tf32 pairs, e4m3 and e5m2, or i8 and u8",
                loc=op.loc,
            )
            continue
        if {a, b} & _FLOAT8 and (old := [x for x in s.archs if x in _NO_FLOAT8]):
            yield ScheduleError(
                f"mma.sync of {a.value} does not exist on {', '.join(old)}, which the schedule "
                "declares",
                fix="declare archs from sm_89 on",
                loc=op.loc,
            )
        if op.k != MMA_K_BYTES // a.bytes:
            yield ScheduleError(
                f"mma.sync of {a.value} with k = {op.k}",
                fix=f"k is {MMA_K_BYTES // a.bytes}",
                loc=op.loc,
            )
        yield from _matrices(s, op, op.a, 4)
        yield from _matrices(s, op, op.b, 2)
        for ref in (op.d, op.c):
            f = s.fragment(ref.name)
            plain = f.layout is FragmentLayout.PER_THREAD
            if not plain or f.dtype is not sums or ref.count != MMA_SUMS:
                yield ScheduleError(
                    f"mma.sync of {a.value} with {ref.count} registers of {f.dtype.value} "
                    f"fragment {ref.name!r} as its sum",
                    fix=f"pass 4 registers of a k.fragment of {sums.value}",
                    loc=op.loc,
                )


def _sums(a: DType, b: DType) -> DType | None:
    """The type of the sums; None: no product of these types."""
    if {a, b} <= _BYTE:
        return DType.I32
    pair = a is b and a in (DType.F16, DType.BF16, DType.TF32)
    return DType.F32 if pair or {a, b} <= _FLOAT8 else None


def _together(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, ops.MatrixOp) and op.scope is not Scope.WARP:
            yield ScheduleError(
                f"{type(op).__name__} is executed by whole warps, not by some lanes",
                fix="move it out of elect",
                loc=op.loc,
            )


def _other_uses(s: Schedule) -> Iterator[ScheduleError]:
    """Several elements share a register: what else uses them computes on whole registers."""
    for op in s.ops():
        if isinstance(op, ops.MatrixOp):
            continue
        for ref in parts_of(op, FragmentRef):
            fragment = s.fragment(ref.name)
            if fragment.layout is not FragmentLayout.MATRICES:
                continue
            each = LANE_BYTES // fragment.dtype.bytes
            whole = ref.first % each == ref.count % each == 0
            if not (isinstance(op, ops.Compute) and whole):
                yield ScheduleError(
                    f"{type(op).__name__} of matrices {ref.name!r}",
                    fix="move them with ldmatrix and stmatrix; k.mem.compute may use whole "
                    f"registers, {each} elements each",
                    loc=op.loc,
                )


CHECKS = (_together, _rows, _products, _other_uses)
