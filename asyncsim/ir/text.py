"""The text form of a schedule: what ``asyncsim show`` prints.

Declarations with their addresses first, then the statements, one line each, with ops named by
their PTX opcode, their id and the user's line. A box is ``start:+extent`` per dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from asyncsim.errors import SourceLoc
from asyncsim.ir.decl import (
    Fragment,
    FragmentLayout,
    GlobalTensor,
    Interleave,
    Mbarrier,
    NamedBarrier,
    SmemTile,
    StateRegister,
    TensorMap,
    TmemTile,
    TokenRegister,
)
from asyncsim.ir.expr import text
from asyncsim.ir.op import OpBase
from asyncsim.ir.op_text import op_text
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Role, Set, Specialize, Stmt, When

_PLACE_COLUMN = 76


def schedule_text(schedule: Schedule) -> str:
    """The whole schedule as text, without a final newline."""
    lines = [*_header(schedule), *_memory(schedule), *_program(schedule)]
    return "\n".join(line.rstrip() for line in lines)


def _header(s: Schedule) -> Iterator[str]:
    x, y, z = s.grid
    yield f"schedule {s.name} for {', '.join(s.archs)}"
    yield (
        f"  grid {x} x {y} x {z}, block of {s.threads} threads, launch bound of "
        f"{_count(s.ctas_per_sm, 'CTA')} per SM"
        + (f", {s.maxnreg} registers a thread" if s.maxnreg else "")
    )
    if s.cluster_ctas > 1:
        yield f"  clusters of {' x '.join(map(str, s.cluster))} CTAs"
    for name, value in s.args:
        yield f"  argument {name} = {value}"


def _memory(s: Schedule) -> Iterator[str]:
    yield "global memory"
    for t in s.of_kind(GlobalTensor):
        strides = "" if t.strides == _row_major(t.shape) else f", strides {_sizes(t.strides)}"
        use = "output" if t.output else f"input, {t.fill.value}"
        yield _placed(f"  {t.name}: {t.dtype.value} {_sizes(t.shape)}{strides}, {use}", t.loc)
    for m in s.of_kind(TensorMap):
        yield _placed(
            f"  {m.name}: tensor map of {m.tensor}, {_box(m)}, "
            f"{_interleave(m.interleave)}{_swizzle(m.swizzle.value)}, outside {m.oob_fill.value}"
            f"{', one for each CTA in global memory' if m.in_global else ''}",
            m.loc,
        )
    yield f"shared memory, {s.smem_bytes} bytes"
    for tile in s.of_kind(SmemTile):
        yield _placed(
            f"  {tile.offset:>6} {tile.name}: {_count(tile.stages, 'stage')} of {tile.dtype.value} "
            f"{_sizes(tile.shape)}, {tile.stage_stride} bytes each, {_swizzle(tile.swizzle.value)}",
            tile.loc,
        )
    for b in s.of_kind(Mbarrier):
        yield _placed(
            f"  {b.offset:>6} {b.name}: {_count(b.stages, 'mbarrier')} of "
            f"{_count(b.count, 'arrival')}",
            b.loc,
        )
    for named in s.of_kind(NamedBarrier):
        yield _placed(
            f"  {named.name}: hardware barrier {named.id} of {named.threads} threads", named.loc
        )
    tensor_memory = s.of_kind(TmemTile)
    if tensor_memory:
        yield "tensor memory"
    for part in tensor_memory:
        yield _placed(
            f"  {part.name}: {_count(part.stages, 'stage')} of {part.dtype.value}, {part.lanes} "
            f"lanes x {_count(part.columns, 'column')}, from column {part.column} of "
            f"{part.address}",
            part.loc,
        )
    fragments, states = s.of_kind(Fragment), s.of_kind(StateRegister)
    tokens = s.of_kind(TokenRegister)
    if fragments or states or tokens:
        yield "registers of a thread"
    for f in fragments:
        layout = {
            FragmentLayout.PER_THREAD: "",
            FragmentLayout.ACCUMULATOR: f", accumulator of m64n{2 * f.registers}",
            FragmentLayout.OPERAND: f", operand of m64k{2 * f.registers}",
            FragmentLayout.MATRICES: f", matrices of a warp: {f.words}",
        }[f.layout]
        yield _placed(f"  {f.name}: {f.registers} {f.dtype.value}{layout}", f.loc)
    for state in states:
        yield _placed(f"  {state.name}: state of an arrive", state.loc)
    for token in tokens:
        yield _placed(f"  {token.name}: token of a peek", token.loc)


def _program(s: Schedule) -> Iterator[str]:
    """The common part, then each role at the left margin."""
    yield f"all warps, 0..{s.warps - 1}"
    yield from _block(s, s.body, 1)


def _block(s: Schedule, body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    for statement in body:
        yield from _statement(s, statement, depth)


def _statement(s: Schedule, statement: Stmt, depth: int) -> Iterator[str]:
    indent = "  " * depth
    match statement:
        case For(var=var, trip_count=count, body=body, unroll=unroll, loc=loc):
            hint = f", unroll {unroll}" if unroll > 1 else ""
            hint += ", those that it is given" if statement.assigned else ""
            if statement.ticket is not None:
                hint += f", the next one in {statement.ticket.name}[{statement.ticket.first}]"
            yield _placed(f"{indent}for {var} in range({text(count)}){hint}:", loc)
            yield from _block(s, body, depth + 1)
        case When(condition=condition, body=body, orelse=orelse, loc=loc):
            yield _placed(f"{indent}when {text(condition)}:", loc)
            yield from _block(s, body, depth + 1)
            if orelse:
                yield f"{indent}otherwise:"
                yield from _block(s, orelse, depth + 1)
        case Set(var=var, value=value, declare=declare, loc=loc):
            yield _placed(f"{indent}{'var ' if declare else ''}{var} = {text(value)}", loc)
        case Elect(body=body, of_role=of_role, others=others, loc=loc):
            who = "one thread" if of_role else "one lane of each warp"
            yield _placed(f"{indent}{who}:", loc)
            yield from _block(s, body, depth + 1)
            if others:
                yield f"{indent}the other {'threads' if of_role else 'lanes'}:"
                yield from _block(s, others, depth + 1)
        case Specialize(roles=roles):
            for role in roles:
                yield from _role(s, role)
        case OpBase():
            yield _placed(indent + op_text(statement, s), statement.loc, statement.id)
        case _ as unreachable:
            assert_never(unreachable)


def _role(s: Schedule, role: Role) -> Iterator[str]:
    last = role.first_warp + role.warps - 1
    warps = f"warp {last}" if role.warps == 1 else f"warps {role.first_warp}..{last}"
    yield _placed(f"role {role.name}, {warps}", role.loc)
    yield from _block(s, role.body, 1)


def _placed(line: str, loc: SourceLoc | None, op_id: int | None = None) -> str:
    """The line with the op's id and the source place at its right."""
    place = "" if loc is None else str(loc)
    mark = place if op_id is None else f"#{op_id} {place}"
    return f"{line:<{_PLACE_COLUMN}}  {mark}"


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))


def _sizes(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _box(m: TensorMap) -> str:
    every = f", every {_sizes(m.element_strides)}" if m.strided else ""
    if m.im2col is None:
        return f"box {_sizes(m.box)}{every}"
    corners = f"corners {m.im2col.lower} to {m.im2col.upper}"
    return f"{m.im2col.mode.value} {_sizes(m.box)}, {corners}{every}"


def _interleave(mode: Interleave) -> str:
    return "" if mode is Interleave.NONE else f"slices of {mode.value} bytes, "


def _swizzle(span: int) -> str:
    return f"{span}-byte swizzle" if span else "no swizzle"
