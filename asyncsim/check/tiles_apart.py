"""Tiles of a persistent CTA, taken to have no data and no place in common.

A CTA that goes from tile to tile finds their rows and columns by quotients and remainders, so that
CTAs differ in which of their tiles share data, and no tile moves to the next by a fixed step. Where
only places in global memory depend on that, a verdict asks two things of them: that a read finds
the data that it means, and that accesses to what is written do not meet. So the place of tile t is
replaced by a number of its own, far from all others, that grows with t by one step. What is one
then is one in every CTA; what a kernel writes is left as it is unless each CTA has been found to
touch it once. A CTA that is clean so is clean; one that is not has to be looked at as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from asyncsim.check.affine import global_views
from asyncsim.check.snapshot import can_jump
from asyncsim.check.width import Ranges, statements_with_ranges
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.expr import (
    Arg,
    Binary,
    Builtin,
    BuiltinRef,
    Const,
    Expr,
    Var,
    binary,
    leaves,
    walk,
)
from asyncsim.ir.given import changed, substituted
from asyncsim.ir.op import GlobalView, OpBase, SmemView
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import For, Set

STEP = 1 << 40  # from tile to tile: what is added within one has 32 bits
START = 1 << 80  # from one way to find a place to the next: more than all tiles take

_BLOCK = {BuiltinRef(b) for b in (Builtin.BLOCK_IDX_X, Builtin.BLOCK_IDX_Y, Builtin.BLOCK_IDX_Z)}
_TILE = Var("the tile's number")


def with_tiles_apart(schedule: Schedule, once: frozenset[str]) -> Schedule | None:
    """The schedule with such places; None where no place asks for it, or a cluster shares data.

    ``once``: written tensors in which no two accesses of the launch meet.
    """
    if schedule.cluster_ctas > 1 or schedule.assigned or not can_jump(schedule):
        return None
    kept = _kept(schedule, once)
    counters = _counters(schedule)
    known: dict[Expr, int] = {}

    def number(e: Expr) -> int:
        """Of the way to find a place; 0 where it is left as it is."""
        place, _ = _parted(e)
        name = _counter(place, counters)
        if not name:
            return 0
        return known.setdefault(substituted(place, Var(name), _TILE), len(known) + 1)

    def apart(e: Expr) -> Expr:
        place, rest = _parted(e)
        if not (n := number(e)):
            return e
        moved = binary("*", Var(_counter(place, counters)), Const(STEP))
        return binary("+", binary("+", moved, Const(n * START)), rest)

    def view(part: object) -> object:
        if not isinstance(part, GlobalView) or part.tensor in kept:
            return part
        start = tuple(map(apart, part.start))
        return part if start == part.start else replace(part, start=start)

    brought: set[object] = set()
    meant: set[object] = set()
    for op in schedule.ops():
        for box, _ in global_views(op):
            if box.tensor not in kept | once:
                ways = box.tensor, tuple(map(number, box.start))
                (brought if isinstance(op, ops.LoadOp) else meant).add(ways)
    body = changed(schedule.body, view)
    if body is schedule.body or not meant <= brought:
        return None  # or a read would not find its data
    decls = tuple(
        replace(d, apart=True) if isinstance(d, GlobalTensor) and d.name in once - kept else d
        for d in schedule.decls
    )
    return replace(schedule, body=body, decls=decls, _by_name={})


def _kept(schedule: Schedule, once: frozenset[str]) -> set[str]:
    """Tensors whose places are left as they are: touched in other ways, or by unknown numbers."""
    kept: set[str] = set()
    written = {o.dst.tensor for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp)}
    for op, ranges in statements_with_ranges(schedule):
        if not isinstance(op, OpBase):
            continue
        copies = _copies_a_box(schedule, op)
        for part in op.parts():
            view = part.expects if isinstance(part, SmemView) else part
            if not isinstance(view, GlobalView):
                continue
            may_move = isinstance(part, SmemView) or copies
            if view.tensor in written:
                may_move = copies and isinstance(op, ops.TmaStore) and view.tensor in once
            if not may_move or not all(_is_small(e, ranges) for e in view.start):
                kept.add(view.tensor)
    return kept


def _copies_a_box(schedule: Schedule, op: OpBase) -> bool:
    """Whether the op copies one box by a tensor map, element by element."""
    match op:
        case ops.TmaLoad(tensor_map=name, offsets=()) | ops.TmaStore(tensor_map=name, reduce=None):
            return not schedule.tensor_map(name).strided
        case _:
            return False


def _is_small(e: Expr, ranges: Ranges) -> bool:
    """Whether a coordinate, and its part that is the tile's place, are known to be ints."""
    return all(ranges.of(part) is not None for part in (e, *_parted(e))) and ranges.wide is None


def _parted(e: Expr) -> tuple[Expr, Expr]:
    """The terms of a sum that the block index reaches, and the others."""
    place: Expr = Const(0)
    rest: Expr = Const(0)
    for op, term in _terms(e, "+"):
        if _BLOCK & set(leaves(term)):
            place = binary(op, place, term)
        else:
            rest = binary(op, rest, term)
    return place, rest


def _terms(e: Expr, op: str) -> Iterator[tuple[str, Expr]]:
    if isinstance(e, Binary) and e.op in ("+", "-"):
        yield from _terms(e.lhs, op)
        yield from _terms(e.rhs, op if e.op == "+" else "-" if op == "+" else "+")
    else:
        yield op, e


def _counters(schedule: Schedule) -> set[str]:
    """Variables that are the index of a loop and nothing else."""
    loops = {s.var for s in statements(schedule.body) if isinstance(s, For)}
    return loops - {s.var for s in statements(schedule.body) if isinstance(s, Set)}


def _counter(place: Expr, counters: set[str]) -> str:
    """The loop index that a place depends on, beside the block and arguments, if it does not move
    with it by a fixed step; else nothing."""
    variables = {n.name for n in leaves(place) if isinstance(n, Var)}
    alone = all(n in _BLOCK or isinstance(n, Arg | Var) for n in leaves(place))
    bent = any(isinstance(n, Binary) and n.op not in ("+", "-", "*") for n in walk(place))
    if not alone or not bent or len(variables) != 1:
        return ""
    (name,) = variables
    return name if name in counters else ""
