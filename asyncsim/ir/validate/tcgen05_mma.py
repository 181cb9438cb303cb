"""tcgen05.mma: shapes and types of each kind (PTX ISA, tcgen05: matrix shapes)."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import TmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.tcgen05 import LANES, MmaKind
from asyncsim.rules import Rule

SLICE_COLUMNS = 8  # 32 bytes of a row of A in tensor memory

_FLOAT8 = frozenset({DType.E4M3, DType.E5M2})
_BYTES = frozenset({DType.U8})  # two 4-bit elements, or a scale factor
_OPERANDS = {
    MmaKind.F16: frozenset({DType.F16, DType.BF16}),
    MmaKind.TF32: frozenset({DType.TF32}),
    MmaKind.F8F6F4: _FLOAT8,
    MmaKind.I8: frozenset({DType.I8, DType.U8}),
    MmaKind.MXF8F6F4: _FLOAT8,
    MmaKind.MXF4: _BYTES,
    MmaKind.MXF4NVF4: _BYTES,
}
_MIXED = frozenset({MmaKind.F8F6F4, MmaKind.MXF8F6F4, MmaKind.I8})  # a and b may differ
_SCALE_VEC = {MmaKind.MXF8F6F4: (1,), MmaKind.MXF4: (2,), MmaKind.MXF4NVF4: (2, 4)}


def accumulator_shape(op: ops.Tcgen05Mma) -> tuple[int, int]:
    """Lanes and columns of d in each CTA; m = 128 over two CTAs halves the columns."""
    halves = op.cta_group == 2 and op.m == 128
    return LANES, op.n // 2 if halves else op.n


def scale_columns(rows: int) -> int:
    """Columns of the scale factors of so many rows of one CTA: one per 32."""
    return -(-rows // 32)


def _types(s: Schedule) -> Iterator[ScheduleError]:
    for op in _mmas(s):
        a = s.tmem_tile(op.a.tile).dtype if isinstance(op.a, TmemView) else s.tile(op.a.tile).dtype
        b = s.tile(op.b.tile).dtype
        known = _OPERANDS[op.kind]
        if a not in known or b not in known or (a is not b and op.kind not in _MIXED):
            names = " or ".join(sorted(t.value for t in known))
            yield ScheduleError(
                f"tcgen05.mma of kind {op.kind.value} with {a.value} and {b.value}",
                fix=f"it takes {names}" + ("" if op.kind in _MIXED else ", the same for both"),
                loc=op.loc,
            )
        d = s.tmem_tile(op.d.tile).dtype
        meant = DType.I32 if op.kind is MmaKind.I8 else DType.F32
        if d is not meant:
            yield ScheduleError(
                f"tcgen05.mma of kind {op.kind.value} into {d.value}",
                fix=f"accumulate in {meant.value}",
                loc=op.loc,
            )


def _shapes(s: Schedule) -> Iterator[ScheduleError]:
    for op in _mmas(s):
        if not _has_shape(op):
            yield ScheduleError(
                f"tcgen05.mma m{op.m}n{op.n} of kind {op.kind.value} and cta_group {op.cta_group}",
                fix=_shape_rule(op),
                loc=op.loc,
            )
            continue
        depth = 32 // s.tile(op.b.tile).dtype.bytes
        rows = op.m // op.cta_group
        a = (LANES, SLICE_COLUMNS) if isinstance(op.a, TmemView) else (rows, depth)
        for what, got, shape in (
            ("a", op.a.shape, a),
            ("b", op.b.shape, (op.n // op.cta_group, depth)),
            ("d", op.d.shape, accumulator_shape(op)),
        ):
            if got != shape:
                yield ScheduleError(
                    f"tcgen05.mma m{op.m}n{op.n}k{op.k} with {what} of {got}",
                    fix=f"in each CTA {what} is {shape}",
                    loc=op.loc,
                )


def _has_shape(op: ops.Tcgen05Mma) -> bool:
    m, step, least = _table(op)
    return op.m in m and op.n % step == 0 and least <= op.n <= 256 and _known_i8(op)


def _known_i8(op: ops.Tcgen05Mma) -> bool:
    """Of one CTA, 8-bit integers have n = 8, 24 and multiples of 16."""
    return op.kind is not MmaKind.I8 or op.cta_group == 2 or op.n in (8, 24) or op.n % 16 == 0


def _table(op: ops.Tcgen05Mma) -> tuple[tuple[int, ...], int, int]:
    """The values of m, the step of n, and its least value."""
    if op.cta_group == 2:
        step = 32 if op.kind is MmaKind.I8 else 16
        return (128, 256), step, step
    return ((128,) if op.kind.block_scaled else (64, 128)), 8, 8


def _shape_rule(op: ops.Tcgen05Mma) -> str:
    m, step, least = _table(op)
    rows = " or ".join(map(str, m))
    only = ", of these 8, 24 and multiples of 16" if not _known_i8(op) else ""
    return f"m is {rows}; n is {least} to 256 in steps of {step}{only}"


def _scales(s: Schedule) -> Iterator[ScheduleError]:
    for op in _mmas(s):
        given = [x is not None for x in (op.scale_a, op.scale_b)]
        if not op.kind.block_scaled:
            if any(given) or op.scale_vec:
                yield ScheduleError(
                    f"tcgen05.mma of kind {op.kind.value} has no scale factors",
                    fix="use kind mxf8f6f4, mxf4 or mxf4nvf4",
                    loc=op.loc,
                )
            continue
        if not all(given) or op.scale_vec not in _SCALE_VEC[op.kind]:
            sizes = " or ".join(map(str, _SCALE_VEC[op.kind]))
            yield ScheduleError(
                f"tcgen05.mma of kind {op.kind.value} needs scale factors of a and b",
                fix=f"pass scale_a=, scale_b= and scale_vec={sizes}",
                loc=op.loc,
            )
            continue
        known = range(0, 4, op.scale_vec)
        for name, byte in (("a", op.scale_a_id), ("b", op.scale_b_id)):
            if byte not in known:
                yield ScheduleError(
                    f"tcgen05.mma: scale factors of {name} from byte {byte} of their columns on",
                    fix=f"{op.scale_vec} a row begin at byte {' or '.join(map(str, known))}",
                    loc=op.loc,
                )
        for name, view, rows in (("a", op.scale_a, op.m // op.cta_group), ("b", op.scale_b, op.n)):
            assert view is not None
            shape = (LANES, scale_columns(rows))
            if view.shape != shape or s.tmem_tile(view.tile).dtype is not DType.U8:
                yield ScheduleError(
                    f"tcgen05.mma: scale factors of {name} of {view.shape}",
                    fix=f"they are {shape} of u8",
                    loc=op.loc,
                )


def _descriptors(s: Schedule) -> Iterator[ScheduleError]:
    for op in _mmas(s):
        for view in (op.a, op.b):
            if isinstance(view, TmemView):
                continue
            tile = s.tile(view.tile)
            row = tile.shape[-1] * tile.dtype.bytes
            if tile.swizzle is not Swizzle.NONE and row != tile.swizzle.value:
                yield ScheduleError(
                    f"tcgen05.mma operand {view.tile!r} has rows of {row} bytes and a swizzle of "
                    f"{tile.swizzle.value}",
                    fix="make the rows as wide as the swizzle: a descriptor says no other layout",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )
            if tile.swizzle is Swizzle.NONE:
                yield ScheduleError(
                    f"tcgen05.mma operand {view.tile!r} has no swizzle",
                    fix="declare the tile and its map with swizzle=32, 64 or 128",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )


def _mmas(s: Schedule) -> Iterator[ops.Tcgen05Mma]:
    return (op for op in s.ops() if isinstance(op, ops.Tcgen05Mma))


CHECKS = (_types, _shapes, _scales, _descriptors)
