"""Places in global memory that do not move alike from tile to tile, replaced by others that do.

Where only the places depend on the tile, what a cluster does is the same whatever they are, as long
as equal ones stay equal: so the tile's row and column, say, are two numbers that grow with the tile
by steps of their own, from starts of their own. What is found equal then, or apart within one tile,
is so in the real places; that two tiles are apart there has to be shown with the real ones.
"""

from __future__ import annotations

from dataclasses import replace

from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.expr import Arg, Binary, Const, Expr, Var, binary, leaves, walk
from asyncsim.ir.given import changed, substituted
from asyncsim.ir.op import GlobalView
from asyncsim.ir.schedule import Schedule

STEPS = (3, 5, 7, 11, 13, 17, 19, 23)
APART = 10_007
ROOM = 1 << 20

TILE = Var("tile that is given")


def with_stand_ins(schedule: Schedule) -> Schedule:
    """The schedule with such places, and tensors that have room for them."""
    tiles = {loop.var for loop in schedule.assigned}
    known: dict[Expr, tuple[int, int]] = {}

    def stand_in(e: Expr) -> Expr:
        names = {n.name for n in leaves(e) if isinstance(n, Var)}
        if not names & tiles or isinstance(e, Var):
            return e
        if isinstance(e, Binary) and (e.op in ("+", "-") or _by_number(e, tiles)):
            return binary(e.op, stand_in(e.lhs), stand_in(e.rhs))
        if len(names) > 1 or not all(isinstance(n, Var | Arg | Const | Binary) for n in walk(e)):
            return e  # other values decide, too
        (name,) = names
        meaning = substituted(e, Var(name), TILE)
        if meaning not in known and len(known) == len(STEPS):
            return e
        step, start = known.setdefault(
            meaning, (STEPS[len(known) % len(STEPS)], APART * (len(known) + 1))
        )
        return binary("+", binary("*", Var(name), Const(step)), Const(start))

    def place(part: object) -> object:
        if not isinstance(part, GlobalView):
            return part
        start = tuple(map(stand_in, part.start))
        return part if start == part.start else replace(part, start=start)

    body = changed(schedule.body, place)
    if not known:
        return schedule
    decls = tuple(
        replace(d, shape=tuple(ROOM * n for n in d.shape)) if isinstance(d, GlobalTensor) else d
        for d in schedule.decls
    )
    return replace(schedule, body=body, decls=decls, _by_name={})


def _by_number(e: Binary, tiles: set[str]) -> bool:
    """A product with what no tile reaches."""
    return e.op == "*" and not (_reached(e.lhs, tiles) and _reached(e.rhs, tiles))


def _reached(e: Expr, tiles: set[str]) -> bool:
    return any(isinstance(n, Var) and n.name in tiles for n in walk(e))
