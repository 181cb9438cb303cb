"""Tiles that are handed out while the kernel runs: loops over them, and the counter."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import AccessMode, GlobalTensor
from asyncsim.ir.dtype import DType
from asyncsim.ir.expr import Arg, Binary, Builtin, BuiltinRef, Const, walk
from asyncsim.ir.given import loops_with_tickets, number_of_tiles
from asyncsim.ir.op import FragmentRef, GlobalView, OpBase, Scope
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Stmt
from asyncsim.ir.validate.structure import expressions
from asyncsim.ir.validate.views import parts_of

_BLOCK = (Builtin.BLOCK_IDX_X, Builtin.BLOCK_IDX_Y, Builtin.BLOCK_IDX_Z)
_SAME_EVERYWHERE = Const | Arg | Binary


def _loops(s: Schedule) -> Iterator[ScheduleError]:
    """All name the same tiles, and nothing else tells clusters apart."""
    loops = s.assigned
    for loop in loops:
        if loop.trip_count != loops[0].trip_count:
            yield ScheduleError(
                "loops over different numbers of tiles that are handed out",
                fix="give all loops with assigned=True the same trip count",
                loc=loop.loc,
            )
        if not all(isinstance(n, _SAME_EVERYWHERE) for n in walk(loop.trip_count)):
            yield ScheduleError(
                "the number of tiles that are handed out differs from thread to thread",
                fix="make it of numbers and arguments",
                loc=loop.loc,
            )
    for outer in statements(s.body) if loops else ():
        for inner in statements(outer.body) if isinstance(outer, For) else ():
            if isinstance(inner, For) and inner.assigned:
                yield ScheduleError(
                    "a loop over tiles that are handed out inside another loop",
                    fix="each warp goes through them once",
                    loc=inner.loc,
                )
    for statement in statements(s.body) if loops else ():
        for expr in expressions(statement):
            if any(isinstance(n, BuiltinRef) and n.builtin in _BLOCK for n in walk(expr)):
                yield ScheduleError(
                    "the block index beside tiles that are handed out",
                    fix="use the tile, or k.cta_rank in a cluster",
                    loc=getattr(statement, "loc", None),
                )


def _counters(s: Schedule) -> Iterator[ScheduleError]:
    counters = {o.counter.tensor for o in s.ops() if isinstance(o, ops.AtomAdd)}
    for op in s.ops():
        if isinstance(op, ops.AtomAdd):
            if fault := _fault(op, s.tensor(op.counter.tensor), s):
                yield ScheduleError(f"atom.global.add {fault[0]}", fix=fault[1], loc=op.loc)
            continue
        for view in parts_of(op, GlobalView):
            if view.tensor in counters:
                yield ScheduleError(
                    f"{type(op).__name__} of {view.tensor!r}, to which atom.global.add adds",
                    fix="leave a counter to atom.global.add",
                    loc=op.loc,
                )


def _tickets(s: Schedule) -> Iterator[ScheduleError]:
    """In every round one op tells all lanes of the loop what the next tile is."""
    for loop, lanes in loops_with_tickets(s):
        assert loop.ticket is not None
        fragment = s.fragment(loop.ticket.name)
        if loop.ticket.count != 1 or fragment.dtype is not DType.U32:
            yield ScheduleError(
                f"the ticket of a loop over tiles is {loop.ticket.count} registers of "
                f"{fragment.dtype.value}",
                fix="name one register of u32",
                loc=loop.loc,
            )
        tells = [o for o in _always(loop.body) if _tells(o, loop.ticket) and o.scope is lanes]
        if len(tells) != 1 or sum(_writes(o, loop.ticket) for o in statements(loop.body)) != 1:
            yield ScheduleError(
                f"{len(tells)} ops of each round tell the ticket {loop.ticket.name!r}",
                fix="let the lanes that go through the loop get it by one atom_add, query_cancel "
                "or ld_shared, outside when and inner loops",
                loc=loop.loc,
            )
    if any(loop.ticket is not None for loop in s.assigned):
        yield from _source(s)


def _source(s: Schedule) -> Iterator[ScheduleError]:
    """Tiles come from one counter, or by cluster launch control."""
    counters = {o.counter for o in s.ops() if isinstance(o, ops.AtomAdd)}
    cancel = next((o for o in s.ops() if isinstance(o, ops.ClcTryCancel)), None)
    ways = len(counters) + (cancel is not None)
    if ways != 1:
        yield ScheduleError(
            f"{ways} ways to hand out tiles",
            fix="use one counter, with atom_add, or cluster launch control",
            loc=s.assigned[0].loc,
        )
    x, y, z = s.cluster
    tiles = number_of_tiles(s)
    if cancel is not None and s.grid != (tiles * x, y, z):
        yield ScheduleError(
            f"cluster launch control hands out {tiles} tiles to a grid of {s.grid}",
            fix=f"launch a cluster for each: k.grid({tiles * x}, {y}, {z})",
            loc=cancel.loc,
        )


def _always(body: tuple[Stmt, ...]) -> Iterator[OpBase]:
    """The ops that every round executes once."""
    for s in body:
        if isinstance(s, OpBase):
            yield s
        elif isinstance(s, Elect):
            yield from _always(s.body)
            yield from _always(s.others)


def _tells(op: Stmt | OpBase, ticket: FragmentRef) -> bool:
    return isinstance(op, ops.AtomAdd | ops.ClcQueryCancel | ops.LdShared) and op.dst == ticket


def _writes(op: Stmt, ticket: FragmentRef) -> bool:
    """Whether a statement may change the register."""
    if isinstance(op, ops.Compute):
        pairs = zip(op.defn.operands, op.operands, strict=True)
        written: list[object] = [a for f, a in pairs if f.mode is not AccessMode.READ]
    else:
        written = [getattr(op, "dst", None), getattr(op, "d", None)]
    return any(
        isinstance(r, FragmentRef)
        and r.name == ticket.name
        and r.first < ticket.first + ticket.count
        and ticket.first < r.first + r.count
        for r in written
    )


def _fault(op: ops.AtomAdd, counter: GlobalTensor, s: Schedule) -> tuple[str, str] | None:
    words = (DType.U32, DType.I32)
    if op.scope is not Scope.ELECTED:
        return "by several lanes", "put it into k.elect() or k.elect_thread()"
    if op.dst.count != 1 or prod(op.counter.shape) != 1:
        return "of several elements", "name one element and one register"
    if counter.dtype not in words or s.fragment(op.dst.name).dtype is not counter.dtype:
        return f"of {counter.dtype.value}", "counter and register are both u32, or both i32"
    if not counter.output:
        return f"to {counter.name!r}, an input", "declare it with output=True"
    return None


CHECKS = (_loops, _counters, _tickets)
