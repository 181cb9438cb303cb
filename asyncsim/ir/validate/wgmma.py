"""wgmma: shapes and types, descriptors of its shared operands; warpgroups."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.alignment import MMA_K_BYTES, MMA_ROWS, mma_extents
from asyncsim.ir.decl import FragmentLayout, Swizzle
from asyncsim.ir.dtype import SUMS, DType
from asyncsim.ir.op import FragmentRef, OpBase, Scope, SmemView
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Specialize, Stmt
from asyncsim.ir.validate.views import parts_of
from asyncsim.rules import Rule

_BYTES = frozenset({DType.E4M3, DType.E5M2, DType.I8, DType.U8})


def _warpgroups(s: Schedule) -> Iterator[ScheduleError]:
    for role in s.roles():
        op = _collective(role.body)
        if op is not None and (role.first_warp % 4 or role.warps % 4):
            yield ScheduleError(
                f"role {role.name!r} uses {_opcode(op)} with {role.warps} warps from warp "
                f"{role.first_warp}",
                loc=role.loc,
                fix="a warpgroup is 4 warps and starts at a multiple of 4: put it first or pad",
            )
    op = _collective(tuple(x for x in s.body if not isinstance(x, Specialize)))
    if op is not None and s.warps % 4:
        yield ScheduleError(
            f"{_opcode(op)} by all {s.warps} warps of the block",
            loc=op.loc,
            fix="a warpgroup is 4 warps: give the block a multiple of 4",
        )


def _collective(body: tuple[Stmt, ...]) -> OpBase | None:
    """The first op of a body that four warps execute as one."""
    collective = (
        o for o in statements(body) if isinstance(o, OpBase) and o.scope is Scope.WARPGROUP
    )
    return next(collective, None)


def _opcode(op: OpBase) -> str:
    return "setmaxnreg" if isinstance(op, ops.SetMaxNReg) else "wgmma"


def _shapes(s: Schedule) -> Iterator[ScheduleError]:
    for op in _mmas(s):
        a, b = s.element_type(op.a), s.element_type(op.b)
        d = s.fragment(op.d.name)
        sums = SUMS.get(a)
        if sums is None or SUMS.get(b) is not sums or (a is not b and not {a, b} <= _BYTES):
            yield ScheduleError(
                f"wgmma of {a.value} and {b.value}",
                fix="it takes f16, bf16 or tf32 pairs, e4m3 and e5m2, or i8 and u8",
                loc=op.loc,
            )
            continue
        integers = sums is DType.I32
        if op.n % 8 or not 8 <= op.n <= 256 or (integers and op.n > 24 and op.n % 16):
            what = "8, 24, or a multiple of 16" if integers else "a multiple of 8 from 8"
            yield ScheduleError(
                f"wgmma of {a.value} with n = {op.n}", fix=f"n is {what} to 256", loc=op.loc
            )
        k = MMA_K_BYTES // a.bytes
        if isinstance(op.a, SmemView):
            a_shape, text = mma_extents(op.a.shape, op.trans_a), str(op.a.shape)
        else:
            a_shape, text = (64, 2 * op.a.count), f"(64, {2 * op.a.count})"
        if (a_shape, mma_extents(op.b.shape, op.trans_b), op.k) != ((64, k), (op.n, k), k):
            yield ScheduleError(
                f"wgmma m64n{op.n}k{op.k} of a {text} and b {op.b.shape}",
                fix=f"a is (64, {k}), b is (n, {k}); the other way round with trans_a, trans_b",
                loc=op.loc,
            )
        yield from _forms(s, op, b)
        if (
            d.layout is not FragmentLayout.ACCUMULATOR
            or d.dtype is not sums
            or (op.d.first, op.d.count, 2 * d.registers) != (0, d.registers, op.n)
        ):
            yield ScheduleError(
                f"wgmma with n = {op.n} into fragment {d.name!r} of {d.registers} {d.dtype.value}",
                fix=f"declare it with k.accumulator(..., {_given(op.n, sums)}) and pass all of it",
                loc=op.loc,
            )


def _forms(s: Schedule, op: ops.WgmmaMmaAsync, element: DType) -> Iterator[ScheduleError]:
    """A in registers, and MN-major operands: of 16 bits only; a row is a whole swizzle span."""
    if isinstance(op.a, FragmentRef):
        if s.fragment(op.a.name).layout is not FragmentLayout.OPERAND:
            yield ScheduleError(
                f"wgmma takes A from fragment {op.a.name!r}, which has another layout",
                fix="declare it with k.operand(name, k=, dtype=)",
                loc=op.loc,
            )
        elif op.a.first % op.a.count or op.trans_a:
            own = op.a.count
            yield ScheduleError(
                f"wgmma takes A from elements {op.a.first}.. of {op.a.name!r}",
                fix=f"pass part({own} * i, {own}), a k-slice of {op.k}; registers cannot be "
                "transposed",
                loc=op.loc,
            )
    for view, trans in ((op.a, op.trans_a), (op.b, op.trans_b)):
        if not (trans and isinstance(view, SmemView)):
            continue
        if element.bytes != 2:
            yield ScheduleError(
                f"wgmma with an MN-major operand of {element.value}",
                fix="only bf16 and f16 can be transposed",
                loc=op.loc,
            )
        tile = s.tile(view.tile)
        if view.shape[-1] != tile.shape[-1] or (len(view.shape) > 2 and tile.shape[-2] % MMA_ROWS):
            yield ScheduleError(
                f"MN-major operand {view.tile!r} takes {view.shape[-1]} of {tile.shape[-1]} "
                f"elements of a row, in panels of {tile.shape[-2]} rows",
                fix=f"take whole rows, of panels of a multiple of {MMA_ROWS} rows",
                loc=op.loc,
            )


def _given(n: int, sums: DType) -> str:
    return f"n={n}" if sums is DType.F32 else f"n={n}, dtype={sums.value!r}"


def _operand_fragments(s: Schedule) -> Iterator[ScheduleError]:
    """Elements share a register: compute writes whole ones, wgmma reads them."""
    for op in s.ops():
        if isinstance(op, ops.WgmmaMmaAsync):
            continue
        for ref in parts_of(op, FragmentRef):
            fragment = s.fragment(ref.name)
            own = fragment.packed
            if fragment.layout is FragmentLayout.OPERAND and not (
                isinstance(op, ops.Compute) and ref.first % own == ref.count % own == 0
            ):
                of = f", {own} elements to a register" if own > 1 else ""
                yield ScheduleError(
                    f"{type(op).__name__} of operand fragment {ref.name!r}",
                    fix=f"fill it with k.mem.compute, whole registers of it{of}",
                    loc=op.loc,
                )


def _descriptors(s: Schedule) -> Iterator[ScheduleError]:
    for op in _mmas(s):
        for view in (op.a, op.b):
            if isinstance(view, FragmentRef):
                continue
            tile = s.tile(view.tile)
            if tile.swizzle is Swizzle.NONE:
                yield ScheduleError(
                    f"wgmma operand {view.tile!r} has no swizzle",
                    fix="declare the tile and its map with swizzle=32, 64 or 128",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )


def _mmas(s: Schedule) -> Iterator[ops.WgmmaMmaAsync]:
    return (op for op in s.ops() if isinstance(op, ops.WgmmaMmaAsync))


CHECKS = (_warpgroups, _shapes, _descriptors, _operand_fragments)
