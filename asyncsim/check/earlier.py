"""What a cluster does to global memory for one tile because of the tiles that came before it.

A variable that rounds of a loop over such tiles leave to later ones knows how many there were, and
perhaps which. Where an access lies, or whether there is one, may then differ between a tile that is
the first of its cluster and the same tile later: one tile in each cluster does not show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.ir.expr import Expr, Var, walk
from asyncsim.ir.op import GlobalView, OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.ir.validate.views import parts_of

Body = tuple[Stmt, ...]


def after_earlier_tiles(schedule: Schedule) -> Iterator[tuple[OpBase, str]]:
    """The ops whose accesses to a tensor may depend on tiles that came before, and the tensor."""
    left = _left(schedule)
    for op, moved in _ops(schedule.body, left, False):
        for view in parts_of(op, GlobalView):
            places = (*view.start, getattr(op, "src_bytes", None))
            if moved or any(_names(e, left) for e in places):
                yield op, view.tensor


def _left(schedule: Schedule) -> set[str]:
    """The variables that may tell what tiles came before."""
    found: set[str] = set()
    for loop in schedule.assigned:
        sets = [s for s in statements(loop.body) if isinstance(s, Set)]
        found |= {s.var for s in sets} - {s.var for s in sets if s.declare}
    while more := {s.var for s in _sets(schedule.body, found, False)} - found:
        found |= more
    return found


def _sets(body: Body, left: set[str], moved: bool) -> Iterator[Set]:
    """What is set to, or because of, what is left."""
    for s in body:
        if isinstance(s, Set) and (moved or _names(s.value, left)):
            yield s
        for inner, decided in _inside(s, left):
            yield from _sets(inner, left, moved or decided)


def _ops(body: Body, left: set[str], moved: bool) -> Iterator[tuple[OpBase, bool]]:
    """All ops, and whether what is left decides if they are executed."""
    for s in body:
        if isinstance(s, OpBase):
            yield s, moved
        for inner, decided in _inside(s, left):
            yield from _ops(inner, left, moved or decided)


def _inside(s: Stmt, left: set[str]) -> list[tuple[Body, bool]]:
    match s:
        case For(trip_count=expr, body=body):
            return [(body, _names(expr, left))]
        case When(condition=expr, body=body, orelse=other):
            return [(body + other, _names(expr, left))]
        case Elect(body=body, others=others):
            return [(body + others, False)]
        case Specialize(roles=roles):
            return [(r.body, False) for r in roles]
        case _:
            return []


def _names(expr: Expr | None, left: set[str]) -> bool:
    return expr is not None and any(isinstance(n, Var) and n.name in left for n in walk(expr))
