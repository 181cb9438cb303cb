"""wgmma: shapes and types, descriptors of its shared operands; warpgroups."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.alignment import MMA_K_BYTES
from asyncsim.ir.decl import FragmentLayout, Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import OpBase, Scope
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Specialize, Stmt
from asyncsim.rules import Rule

_FLOAT8 = frozenset({DType.E4M3, DType.E5M2})
_OPERANDS = frozenset({DType.F16, DType.BF16, DType.TF32}) | _FLOAT8


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
        a, b = s.tile(op.a.tile).dtype, s.tile(op.b.tile).dtype
        d = s.fragment(op.d.name)
        if a not in _OPERANDS or b not in _OPERANDS or (a is not b and not {a, b} <= _FLOAT8):
            yield ScheduleError(
                f"wgmma of {a.value} and {b.value}",
                fix="fp32 accumulators take f16, bf16 or tf32 pairs, or e4m3 and e5m2",
                loc=op.loc,
            )
            continue
        if op.n % 8 or not 8 <= op.n <= 256:
            yield ScheduleError(
                f"wgmma with n = {op.n}", fix="n is a multiple of 8 from 8 to 256", loc=op.loc
            )
        k = MMA_K_BYTES // a.bytes
        if (op.a.shape, op.b.shape, op.k) != ((64, k), (op.n, k), k):
            yield ScheduleError(
                f"wgmma m64n{op.n}k{op.k} of a {op.a.shape} and b {op.b.shape}",
                fix=f"a is (64, {k}), b is (n, {k})",
                loc=op.loc,
            )
        if (
            d.layout is not FragmentLayout.ACCUMULATOR
            or d.dtype is not DType.F32
            or (op.d.first, op.d.count, 2 * d.registers) != (0, d.registers, op.n)
        ):
            yield ScheduleError(
                f"wgmma with n = {op.n} into fragment {d.name!r} of {d.registers} {d.dtype.value}",
                fix=f"declare it with k.accumulator(..., n={op.n}) and pass all of it",
                loc=op.loc,
            )


def _descriptors(s: Schedule) -> Iterator[ScheduleError]:
    for op in _mmas(s):
        for view in (op.a, op.b):
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


CHECKS = (_warpgroups, _shapes, _descriptors)
