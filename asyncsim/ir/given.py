"""A schedule whose tiles are handed out while it runs, for one way to hand them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from math import prod
from typing import Any, TypeVar

from asyncsim.ir.decl import ComputeDef, GlobalTensor
from asyncsim.ir.expr import ZERO, Arg, Binary, Builtin, BuiltinRef, Const, Expr, Var, binary
from asyncsim.ir.op import GlobalView
from asyncsim.ir.rewrite import Body, with_inner
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import For, Stmt

T = TypeVar("T")


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
            return replace(s, trip_count=count, body=body, assigned=False)
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

    return replace(schedule, decls=decls, body=_changed(schedule.body, place))


def substituted(part: T, name: Var | Arg, value: Expr) -> T:
    """Statements, ops and operands with ``value`` in the place of a variable or an argument."""

    def leaf(e: object) -> object:
        if isinstance(e, Binary):
            return binary(e.op, substituted(e.lhs, name, value), substituted(e.rhs, name, value))
        return value if e == name else e

    changed: T = _changed(part, leaf)
    return changed


def _changed(part: Any, change: Callable[[object], object]) -> Any:
    """With what ``change`` makes of the largest parts that it changes."""
    new = change(part)
    if new is not part or isinstance(part, ComputeDef):
        return new
    if isinstance(part, tuple):
        items = tuple(_changed(item, change) for item in part)
        return part if all(a is b for a, b in zip(items, part, strict=True)) else items
    if not is_dataclass(part) or isinstance(part, type):
        return part
    old = {f.name: getattr(part, f.name) for f in fields(part)}
    parts = {k: _changed(v, change) for k, v in old.items()}
    return part if all(parts[k] is v for k, v in old.items()) else replace(part, **parts)
