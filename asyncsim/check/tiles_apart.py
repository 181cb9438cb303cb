"""Tiles of persistent CTAs, taken to have no data and no place in common.

A CTA that goes from tile to tile finds their rows and columns by quotients and remainders, so that
CTAs differ in which of their tiles share data, and no tile moves to the next by a fixed step. Where
only places in global memory depend on that, a verdict asks two things of them: that a read finds
the data that it means, and that accesses to what is written do not meet. So the place f(b + r), of
a part b that the block index decides and a number r that it does not, is replaced by r large steps
from a start that only f and b have. What is one then is one in every CTA; what a kernel writes is
left as it is unless it has been found that no two accesses meet there. A CTA that is clean so is
clean, and so are all that differ from it in data alone; one that is not has to be looked at as it
is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from asyncsim.check.affine import global_views, tainted
from asyncsim.check.snapshot import can_jump
from asyncsim.check.width import Ranges, statements_with_ranges
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.expr import (
    ZERO,
    Arg,
    Binary,
    Builtin,
    BuiltinRef,
    Const,
    Expr,
    Var,
    binary,
    is_lane_varying,
    leaves,
)
from asyncsim.ir.given import changed
from asyncsim.ir.op import GlobalView, OpBase
from asyncsim.ir.schedule import Schedule

STEP = 1 << 40  # from number to number: what is added to a place has 32 bits
START = 1 << 80  # from one way to find a place to the next: more than all numbers take

_X = BuiltinRef(Builtin.BLOCK_IDX_X)
_BLOCK = {_X, BuiltinRef(Builtin.BLOCK_IDX_Y), BuiltinRef(Builtin.BLOCK_IDX_Z)}
_NUMBER = Var("the tile's number")


class _Unknown(Exception):
    """A place that the block index decides in another way."""


def with_tiles_apart(schedule: Schedule, once: frozenset[str]) -> Schedule | None:
    """The schedule with such places; None where data are found in another way, or not at all.

    ``once``: written tensors in which no two accesses of the launch meet.
    """
    if schedule.assigned or not can_jump(schedule):
        return None
    try:
        return _Places(schedule, once).schedule()
    except _Unknown:
        return None


class _Places:
    """The places of one schedule. ``ways``: how they are found: a function of a number, and what
    the block index adds to that."""

    def __init__(self, schedule: Schedule, once: frozenset[str]) -> None:
        self._schedule, self._once = schedule, once
        self._differ = tainted(schedule, dict(schedule.args))
        self._ways: dict[tuple[Expr, Expr], int] = {}
        stores = (o for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp))
        self._written = {o.dst.tensor for o in stores}

    def schedule(self) -> Schedule | None:
        """With its places replaced. Raises _Unknown."""
        found: dict[int, GlobalView] = {}
        brought: set[object] = set()
        meant: set[object] = set()
        for op, ranges in statements_with_ranges(self._schedule):
            if not isinstance(op, OpBase):
                continue
            for view, brings in global_views(op):
                if brings:
                    start, way = self._apart(op, view, ranges)
                    (brought if isinstance(op, ops.LoadOp) else meant).add(way)
                    found[id(view)] = replace(view, start=start)
                elif view.tensor in self._once and _copies_a_box(self._schedule, op):
                    with suppress(_Unknown):  # or it stays where it is
                        found[id(view)] = replace(view, start=self._apart(op, view, ranges)[0])
        if not meant <= brought:
            return None  # a read would not find its data
        if all(way == _NUMBER for way, _ in self._ways):
            return None  # all move alike as it is
        decls = tuple(
            replace(d, apart=True) if isinstance(d, GlobalTensor) and d.name in self._once else d
            for d in self._schedule.decls
        )
        body = changed(self._schedule.body, lambda part: found.get(id(part), part))
        return replace(self._schedule, body=body, decls=decls, _by_name={})

    def _apart(
        self, op: OpBase, view: GlobalView, ranges: Ranges
    ) -> tuple[tuple[Expr, ...], tuple[str, tuple[int, ...]]]:
        """Where a box starts instead, and in which ways that is found."""
        data = view.tensor not in self._once
        if data and view.tensor in self._written:
            raise _Unknown
        if isinstance(op, ops.LoadOp | ops.CpAsync) and not _copies_a_box(self._schedule, op):
            raise _Unknown
        places = [self._place(e, ranges) for e in view.start]
        return tuple(e for e, _ in places), (view.tensor, tuple(way for _, way in places))

    def _place(self, e: Expr, ranges: Ranges) -> tuple[Expr, int]:
        """A coordinate, replaced, and the number of its way; 0 of one without a block index."""
        terms = list(_terms(e))
        block = _sum(t for t in terms if _BLOCK & set(leaves(t)))
        rest = _sum(t for t in terms if not _BLOCK & set(leaves(t)))
        if any(isinstance(n, Var) and n.name in self._differ for n in leaves(rest)):
            raise _Unknown
        if block == ZERO:
            _known(ranges, e)
            return e, 0
        numbers: list[Expr] = []
        way = self._way(block, numbers)
        if any(n != numbers[0] for n in numbers):
            raise _Unknown
        parts = list(_terms(numbers[0]))
        given = _sum(t for t in parts if _BLOCK & set(leaves(t)))
        number = _sum(t for t in parts if not _BLOCK & set(leaves(t)))
        self._of_cluster(given)
        _known(ranges, e, block, number)
        found = self._ways.setdefault((way, given), len(self._ways) + 1)
        moved = binary("+", binary("*", number, Const(STEP)), Const(found * START))
        return binary("+", moved, rest), found

    def _way(self, e: Expr, numbers: list[Expr]) -> Expr:
        """A place as a function of the numbers in it, which the block index reaches."""
        if not _BLOCK & set(leaves(e)):
            if all(isinstance(n, Arg) for n in leaves(e)):
                return e
            raise _Unknown
        if _is_sum(e):
            numbers.append(e)
            return _NUMBER
        if not isinstance(e, Binary):
            raise _Unknown
        return Binary(e.op, self._way(e.lhs, numbers), self._way(e.rhs, numbers))

    def _of_cluster(self, given: Expr) -> None:
        """What the block index decides has to be the same for all CTAs of a cluster, and known."""
        if any(n not in _BLOCK and not isinstance(n, Arg) for n in leaves(given)):
            raise _Unknown
        x, *others = self._schedule.cluster
        if self._schedule.cluster_ctas > 1 and (
            given != Binary("//", _X, Const(x)) or others != [1, 1]
        ):
            raise _Unknown


def _copies_a_box(schedule: Schedule, op: OpBase) -> bool:
    """Whether the op copies one box by a tensor map, element by element."""
    match op:
        case ops.TmaLoad(tensor_map=name, offsets=()) | ops.TmaStore(tensor_map=name, reduce=None):
            return not schedule.tensor_map(name).strided
        case _:
            return False


def _known(ranges: Ranges, *exprs: Expr) -> None:
    """Raises _Unknown unless all are known to be ints, the same for all lanes or those of a sum."""
    if any(ranges.of(e) is None for e in exprs) or ranges.wide is not None:
        raise _Unknown
    if any(is_lane_varying(e) for e in exprs[1:]):
        raise _Unknown


def _terms(e: Expr) -> Iterator[Expr]:
    """The terms that an expression is the sum of, numbers taken into them."""
    match e:
        case Binary("+", lhs, rhs):
            yield from _terms(lhs)
            yield from _terms(rhs)
        case Binary("*", inner, Const() as by) | Binary("*", Const() as by, inner):
            yield from (binary("*", term, by) for term in _terms(inner))
        case _:
            yield e


def _sum(terms: Iterator[Expr]) -> Expr:
    total: Expr = ZERO
    for term in terms:
        total = binary("+", total, term)
    return total


def _is_sum(e: Expr) -> bool:
    """Whether it is a sum of terms, of which those with a block index have nothing else."""
    for term in _terms(e):
        inside = set(leaves(term))
        if _BLOCK & inside and not all(n in _BLOCK or isinstance(n, Arg) for n in inside):
            return False
    return True
