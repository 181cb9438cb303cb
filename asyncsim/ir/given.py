"""A schedule whose tiles are handed out while it runs, for one way to hand them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from math import prod
from typing import Any, TypeVar

from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import ComputeDef, GlobalTensor
from asyncsim.ir.expr import ZERO, Arg, Binary, Builtin, BuiltinRef, Const, Expr, Var, binary
from asyncsim.ir.op import GlobalView, Scope
from asyncsim.ir.rewrite import Body, with_inner
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When

T = TypeVar("T")


def number_of_tiles(schedule: Schedule) -> int:
    """How many tiles are handed out; 0 without loops over such tiles. Raises ScheduleError."""
    if not schedule.assigned:
        return 0
    expr = schedule.assigned[0].trip_count
    for name, value in schedule.args:
        expr = substituted(expr, Arg(name), Const(value))
    if not isinstance(expr, Const):
        raise ScheduleError("the number of tiles that are handed out is no number", fix="mend it")
    return max(0, expr.value)


def loops_with_tickets(schedule: Schedule) -> Iterator[tuple[For, Scope]]:
    """The loops over tiles whose next one a register has, and the lanes that go through them."""

    def inside(body: Body, lanes: Scope) -> Iterator[tuple[For, Scope]]:
        for s in body:
            match s:
                case For(body=inner):
                    if s.ticket is not None:
                        yield s, lanes
                    yield from inside(inner, lanes)
                case Elect(body=inner, others=others):
                    yield from inside(inner, Scope.ELECTED)
                    yield from inside(others, Scope.OTHERS)
                case When(body=inner, orelse=orelse):
                    yield from inside(inner + orelse, lanes)
                case Specialize(roles=roles):
                    for role in roles:
                        yield from inside(role.body, lanes)
                case _:
                    pass

    yield from inside(schedule.body, Scope.ALL_LANES)


def one_tile_each(schedule: Schedule, tiles: int) -> Schedule:
    """As many clusters as tiles, and each is given the one that has its index. Of less than two
    tiles as many clusters as the grid has, but two at most: some are given none."""
    x, y, z = schedule.cluster
    index = binary("//", BuiltinRef(Builtin.BLOCK_IDX_X), Const(x))
    clusters = max(tiles, min(2, prod(schedule.clusters)))
    count = binary("<", index, Const(tiles)) if tiles < clusters else Const(1)
    return replace(_given(schedule, count, lambda i: index), grid=(clusters * x, y, z))


def given(schedule: Schedule, count: Expr, tile: Callable[[Expr], Expr]) -> Schedule:
    """One cluster that is given ``count`` tiles; ``tile`` is the one of a round."""
    return replace(_given(schedule, count, tile), grid=schedule.cluster)


def _given(schedule: Schedule, count: Expr, tile: Callable[[Expr], Expr]) -> Schedule:
    def block(body: Body) -> Body:
        return tuple(map(statement, body))

    def statement(s: Stmt) -> Stmt:
        if isinstance(s, For) and s.assigned:
            body = substituted(s.body, Var(s.var), tile(Var(s.var)))
            return replace(s, trip_count=count, body=body, assigned=False, ticket=None)
        return with_inner(s, block)

    return replace(schedule, body=block(schedule.body))


def in_one_place(schedule: Schedule, tensors: frozenset[str]) -> Schedule:
    """What tiles do to some tensors, in which no two accesses meet: all at the place of tile 0."""
    decls = tuple(
        replace(d, apart=True) if isinstance(d, GlobalTensor) and d.name in tensors else d
        for d in schedule.decls
    )
    tiles = [Var(loop.var) for loop in schedule.assigned]

    def place(part: object) -> object:
        if isinstance(part, GlobalView) and part.tensor in tensors:
            for tile in tiles:
                part = substituted(part, tile, ZERO)
        return part

    return replace(schedule, decls=decls, body=changed(schedule.body, place))


def substituted(part: T, name: Var | Arg, value: Expr) -> T:
    """Statements, ops and operands with ``value`` in the place of a variable or an argument."""

    def leaf(e: object) -> object:
        if isinstance(e, Binary):
            return binary(e.op, substituted(e.lhs, name, value), substituted(e.rhs, name, value))
        return value if e == name else e

    new: T = changed(part, leaf)
    return new


def changed(part: Any, change: Callable[[object], object]) -> Any:
    """With what ``change`` makes of the largest parts that it changes."""
    new = change(part)
    if new is not part or isinstance(part, ComputeDef):
        return new
    if isinstance(part, tuple):
        items = tuple(changed(item, change) for item in part)
        return part if all(a is b for a, b in zip(items, part, strict=True)) else items
    if not is_dataclass(part) or isinstance(part, type):
        return part
    old = {f.name: getattr(part, f.name) for f in fields(part)}
    parts = {k: changed(v, change) for k, v in old.items()}
    return part if all(parts[k] is v for k, v in old.items()) else replace(part, **parts)
