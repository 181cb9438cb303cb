"""The part of a schedule that tells CTAs apart: what the block index decides, and where it leads.

CTAs whose slices execute the same are alike: all that is left out has operands that the block index
does not reach, or global coordinates that it moves by one step for the copies and for the reads
that mean them. So only the slice is enumerated over the CTAs of a launch (ctas.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from asyncsim.check.affine import BlockUse, global_views
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Expr, Var, walk
from asyncsim.ir.op import OpBase, Scope
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.stream.operands import operand_exprs
from asyncsim.stream.resolve import Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(OpBase):
    """Stands before a loop or condition that the block index decides; ``value`` is what it does."""

    value: Expr


class SliceBinder:
    """Resolves the ops of a slice; of a decision, its value."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def bind(self, op: OpBase, warp_in_role: int) -> Callable[[tuple[int, ...]], object]:
        if isinstance(op, Decided):
            return lambda values: values
        return self._resolver.bind(op, warp_in_role)


def telling_slice(schedule: Schedule, use: BlockUse) -> Schedule:
    """The schedule without what is alike in all CTAs whose slices are."""
    written = {o.dst.tensor for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp)}
    kept = {o.id for o in schedule.ops() if _tells(o, use, written)}
    sets = [s for s in statements(schedule.body) if isinstance(s, Set)]
    needed: set[str] = set()
    while True:
        body = _Slicer(use, kept, needed).block(schedule.body)
        read = _variables(body)
        read |= {v for s in sets if s.var in read for v in _names(s.value)}
        if read <= needed:
            return replace(schedule, body=body)
        needed |= read


def _tells(op: OpBase, use: BlockUse, written: set[str]) -> bool:
    """Whether other CTAs may do something else by this op, or it has to be compared with them."""
    if op.id in use.private:
        return True
    plain = isinstance(op, ops.LdGlobal | ops.StGlobal | ops.CpAsync | ops.BulkOp)
    return plain or any(
        view.tensor in written or (brings and view.tensor in use.uneven)
        for view, brings in global_views(op)
    )


class _Slicer:
    def __init__(self, use: BlockUse, kept: set[int], needed: set[str]) -> None:
        self._use, self._kept, self._needed = use, kept, needed

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(part for s in body for part in self._statement(s))

    def _statement(self, s: Stmt) -> tuple[Stmt, ...]:
        match s:
            case For(trip_count=count, body=body):
                inner = self.block(body)
                return (*self._decided(count, s), *((replace(s, body=inner),) if inner else ()))
            case When(condition=test, body=body, orelse=orelse):
                inner, other = self.block(body), self.block(orelse)
                rest = (replace(s, body=inner, orelse=other),) if inner or other else ()
                return (*self._decided(test, s), *rest)
            case Elect(body=body):
                inner = self.block(body)
                return (replace(s, body=inner),) if inner else ()
            case Specialize(roles=roles):
                return (
                    replace(s, roles=tuple(replace(r, body=self.block(r.body)) for r in roles)),
                )
            case Set(var=var):
                return (s,) if var in self._needed else ()
            case _:
                return (s,) if s.id in self._kept else ()

    def _decided(self, value: Expr, s: For | When) -> tuple[Stmt, ...]:
        if value not in self._use.deciding:
            return ()
        return (Decided(id=-1, scope=Scope.WARP, loc=s.loc, value=value),)  # type: ignore[return-value]


def _names(expr: Expr) -> set[str]:
    return {n.name for n in walk(expr) if isinstance(n, Var)}


def _variables(body: tuple[Stmt, ...]) -> set[str]:
    """The variables that statements read."""
    found: set[str] = set()
    for s in statements(body):
        match s:
            case For(trip_count=expr) | When(condition=expr) | Set(value=expr):
                found |= _names(expr)
            case OpBase():
                for expr in operand_exprs(s):
                    found |= _names(expr)
            case _:
                pass
    return found
