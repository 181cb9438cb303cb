"""What an op tells of its CTA, as expressions in place of the op.

Of an op whose accesses the survey need not see, only what the block index reaches is told: its
operands, and what its data mean. All else it does is the same wherever the path to it is, and the
path is told too (slices.py, ``Decided``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asyncsim.check.affine import coefficients, private_operands, tainted
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Binary, Const, Expr, is_lane_varying
from asyncsim.ir.op import GlobalView, OpBase, Scope, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.im2col import moved_maps

_TELLING = (
    *(ops.WgmmaMmaAsync, ops.LdShared, ops.StShared, ops.Compute),
    *(ops.LdMatrix, ops.StMatrix, ops.MmaSync),
    *(ops.MbarrierInit, ops.MbarrierArrive, ops.MbarrierWait, ops.MbarrierTestWait),
    *(ops.MbarrierExpectTx, ops.MbarrierArriveExpectTx),
)
"""Ops without a global box, that fail by what is told alone, the same in all CTAs otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(OpBase):
    """``values``: what differs between CTAs. With a ``tensor``, those coordinates of data in it
    that do: they are compared by whether they are equal, not by what they are."""

    values: tuple[Expr, ...]
    tensor: str = ""


class Telling:
    """How the ops of a schedule are told. ``kept``: those that tell CTAs apart."""

    def __init__(self, schedule: Schedule, kept: Sequence[OpBase], written: set[str]) -> None:
        args, step = dict(schedule.args), schedule.cluster
        place = tainted(schedule, args)
        self._schedule, self._written = schedule, written
        self._moved = moved_maps(schedule)
        self._depends: Callable[[Expr], bool] = lambda expr: (
            coefficients(expr, args, place, step) != (0, 0, 0)
        )
        self.dimensions = self._differing(kept)

    def told(self, op: OpBase) -> tuple[OpBase, ...]:
        """What stands for the op: itself if its accesses have to be seen, or if lanes differ."""
        if not self._may_tell(op):
            return (op,)
        operands = [e for e in _operands(op) if self._depends(e)]
        found = [_told(op, tuple(operands))] if operands else []
        for tensor, tag in _tags(op):
            if dims := self.dimensions.get(tensor):
                found.append(_told(op, tuple(tag[d] for d in dims), tensor))
        if any(is_lane_varying(e) for one in found for e in one.values):
            return (op,)
        return tuple(found)

    def _may_tell(self, op: OpBase) -> bool:
        if not isinstance(op, ops.TmaLoad):
            return isinstance(op, _TELLING)
        plain = not (op.rows or op.offsets or op.tensor_map in self._moved)
        strided = self._schedule.tensor_map(op.tensor_map).strided
        return plain and not strided and op.src.tensor not in self._written

    def _differing(self, kept: Sequence[OpBase]) -> Mapping[str, tuple[int, ...]]:
        """Of each tensor, the dimensions in which what data mean may differ between CTAs."""
        found: dict[str, set[int]] = {}
        for op in kept:
            for view in _meant(op):
                dims = found.setdefault(view.tensor, set())
                dims |= {d for d, e in enumerate(view.start) if self._depends(e)}
        return {tensor: tuple(sorted(dims)) for tensor, dims in found.items()}


def _told(op: OpBase, values: tuple[Expr, ...], tensor: str = "") -> Told:
    return Told(id=op.id, scope=Scope.WARP, loc=op.loc, values=values, tensor=tensor)


def _operands(op: OpBase) -> list[Expr]:
    """All but global coordinates."""
    return [*private_operands(op), *(part for part in op.parts() if isinstance(part, Expr))]


def _meant(op: OpBase) -> Iterator[GlobalView]:
    """All global boxes of an op."""
    for part in op.parts():
        if isinstance(part, GlobalView):
            yield part
        elif isinstance(part, SmemView) and part.expects is not None:
            yield part.expects


def _tags(op: OpBase) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """What data mean, as ``Resolver`` has it: tensor, and its index less the tile's."""
    if isinstance(op, ops.TmaLoad):
        yield op.src.tensor, tuple(map(difference, op.src.start, op.dst.start))
        return
    for part in op.parts():
        if isinstance(part, SmemView) and part.expects is not None:
            yield part.expects.tensor, tuple(map(difference, part.expects.start, part.start))


def difference(a: Expr, b: Expr) -> Expr:
    """``a - b``, without the terms that both have."""
    constant = 0
    terms: dict[Expr, int] = {}
    for term, sign in (*_terms(a, 1), *_terms(b, -1)):
        if isinstance(term, Const):
            constant += sign * term.value
        else:
            terms[term] = terms.get(term, 0) + sign
    found: Expr = Const(constant)
    for term, times in terms.items():
        if times:
            found = Binary("+", found, Binary("*", Const(times), term))
    return found


def _terms(expr: Expr, sign: int) -> Iterator[tuple[Expr, int]]:
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        yield from _terms(expr.lhs, sign)
        yield from _terms(expr.rhs, sign if expr.op == "+" else -sign)
    else:
        yield expr, sign
