"""The part of a schedule that tells CTAs apart: what the block index decides, and where it leads.

CTAs whose slices execute the same are alike: all that is left out has operands that the block index
does not reach, or global coordinates that it moves by one step for the copies and for the reads
that mean them. So only the slice is enumerated over the CTAs of a launch (ctas.py).

What is told alike in all rounds of a loop is told once, before it; what is told alike by all warps
of a role, by the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from asyncsim.check.affine import BlockUse, global_views
from asyncsim.check.told import Telling, Told
from asyncsim.ir import op as ops
from asyncsim.ir.expr import ZERO, Binary, Builtin, BuiltinRef, Expr, Var, leaves, walk
from asyncsim.ir.op import OpBase, Scope
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.stream.operands import Evaluator, Values, operand_exprs
from asyncsim.stream.resolve import Resolver

Body = tuple[Stmt, ...]
Dimensions = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Slices:
    """``first``: of the first warp of each role; ``others``: of the others. ``dimensions``: of each
    tensor, those in which data are compared by whether they are equal."""

    first: Schedule
    others: Schedule
    dimensions: Dimensions


Parts = dict[int, list[Callable[[Values], int]]]
"""How the values of what is told come from those of its stream, by the identity of the op."""


class SliceBinder:
    """Resolves the ops of a slice; of what is told, its values, or the ``name`` of data."""

    def __init__(self, resolver: Resolver, parts: Parts, name: Callable[[object], int]) -> None:
        self._resolver, self._parts, self._name = resolver, parts, name

    def bind(self, op: OpBase, warp_in_role: int) -> Callable[[Values], object]:
        if not isinstance(op, Told):
            return self._resolver.bind(op, warp_in_role)
        tensor, name = op.tensor, self._name
        if not tensor:
            return lambda values: values
        parts = self._parts.get(id(op))
        if parts is None:
            evaluator = Evaluator(op)
            parts = self._parts[id(op)] = [evaluator.value(e) for e in op.values]
        return lambda values: name((tensor, tuple([part(values) for part in parts])))


def telling_slices(schedule: Schedule, use: BlockUse) -> Slices:
    """The schedule without what is alike in all CTAs whose slices are."""
    written = {o.dst.tensor for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp)}
    kept = [o for o in schedule.ops() if _tells(o, use, written)]
    telling = Telling(schedule, kept, written)
    told = {o.id: telling.told(o) for o in kept}
    body = _hoisted(_told(schedule.body, use, told))
    return Slices(
        replace(schedule, body=_needed(body)),
        replace(schedule, body=_needed(_untold(body, _by_warp(schedule.body), False))),
        dict(telling.dimensions),
    )


def _tells(op: OpBase, use: BlockUse, written: set[str]) -> bool:
    """Whether other CTAs may do something else by this op, or it has to be compared with them."""
    if op.id in use.private:
        return True
    plain = isinstance(op, ops.LdGlobal | ops.StGlobal | ops.CpAsync | ops.BulkOp)
    return plain or any(
        view.tensor in written or (brings and view.tensor in use.uneven)
        for view, brings in global_views(op)
    )


def _told(body: Body, use: BlockUse, told: dict[int, tuple[OpBase, ...]]) -> Body:
    """With the ops that tell CTAs apart, and what decides before each loop and condition that the
    block index decides."""
    found: list[Stmt] = []
    said: set[object] = set()  # since a variable may have changed
    for s in body:
        if isinstance(s, For | When):
            value = s.trip_count if isinstance(s, For) else s.condition
            if value in use.deciding:
                decided = Told(id=-1, scope=Scope.WARP, loc=s.loc, values=(value,))
                found.append(decided)  # type: ignore[arg-type]
        if isinstance(s, OpBase):
            for one in told.get(s.id, ()):
                what = (one.values, one.tensor) if isinstance(one, Told) else one
                if what not in said:
                    found.append(one)  # type: ignore[arg-type]
                said.add(what)
        else:
            said.clear()
            found.append(_inside(s, lambda inner: _told(inner, use, told)))
    return tuple(found)


def _hoisted(body: Body) -> Body:
    """With what does not change in a loop before it, if the loop has a round."""
    found: list[Stmt] = []
    for s in body:
        if isinstance(s, OpBase):
            found.append(s)
            continue
        s = _inside(s, _hoisted)
        if isinstance(s, For):
            changing = {s.var} | {x.var for x in statements(s.body) if isinstance(x, Set)}
            fixed = tuple(x for x in s.body if _fixed(x, changing))
            if fixed:
                found.append(When(condition=Binary(">", s.trip_count, ZERO), body=fixed))
                s = replace(s, body=tuple(x for x in s.body if not _fixed(x, changing)))
        found.append(s)
    return tuple(found)


def _fixed(s: Stmt, changing: set[str]) -> bool:
    """Whether a statement only tells, and tells the same while some variables change."""
    if isinstance(s, OpBase):
        return isinstance(s, Told) and not _names(*s.values) & changing
    match s:
        case For(trip_count=expr, body=body):
            return not _names(expr) & changing and all(_fixed(x, changing) for x in body)
        case When(condition=expr, body=body, orelse=other):
            return not _names(expr) & changing and all(_fixed(x, changing) for x in body + other)
        case Elect(body=body, others=other):
            return all(_fixed(x, changing) for x in body + other)
        case _:
            return False


def _untold(body: Body, by_warp: set[str], alone: bool) -> Body:
    """Without what the first warp of the role tells for all: what does not depend on the warp, on a
    path that does not. ``alone``: the path does."""
    found: list[Stmt] = []
    for s in body:
        if isinstance(s, OpBase):
            if alone or not isinstance(s, Told) or _by_index(by_warp, *s.values):
                found.append(s)
            continue
        here = alone or _parts_warps(s, by_warp)
        found.append(_inside(s, partial(_untold, by_warp=by_warp, alone=here)))
    return tuple(found)


def _by_warp(body: Body) -> set[str]:
    """The variables whose values depend on which warp of its role executes."""
    found: set[str] = set()
    while True:
        before = len(found)
        found |= _set_by_warp(body, found, False)
        if len(found) == before:
            return found


def _set_by_warp(body: Body, by_warp: set[str], alone: bool) -> set[str]:
    """Those and more, if ``by_warp`` depend on it. ``alone``: the path does."""
    found: set[str] = set()
    for s in body:
        if isinstance(s, OpBase):
            continue
        here = alone or _parts_warps(s, by_warp)
        if here and isinstance(s, Set | For):
            found.add(s.var)
        for inner in _bodies(s):
            found |= _set_by_warp(inner, by_warp, here)
    return found


def _parts_warps(s: Stmt, by_warp: set[str]) -> bool:
    """Whether warps of a role may differ in what they set, or execute inside."""
    match s:
        case For(trip_count=expr) | When(condition=expr) | Set(value=expr):
            return _by_index(by_warp, expr)
        case Elect(of_role=of_role):
            return of_role
        case _:
            return False


def _by_index(by_warp: set[str], *exprs: Expr) -> bool:
    index = (BuiltinRef(Builtin.WARP_IN_ROLE), BuiltinRef(Builtin.THREAD_IN_ROLE))
    return bool(_names(*exprs) & by_warp) or any(n in index for e in exprs for n in walk(e))


def _needed(body: Body) -> Body:
    """Without variables that nothing reads, and without what is empty then."""
    sets = [s for s in statements(body) if isinstance(s, Set)]
    needed: set[str] = set()
    while True:
        found = _pruned(body, needed)
        read = _variables(found)
        read |= {v for s in sets if s.var in read for v in _names(s.value)}
        if read <= needed:
            return found
        needed |= read


def _pruned(body: Body, needed: set[str]) -> Body:
    found: list[Stmt] = []
    for s in body:
        if isinstance(s, OpBase):
            found.append(s)
        elif isinstance(s, Set):
            found += [s] if s.var in needed else []
        else:
            s = _inside(s, lambda inner: _pruned(inner, needed))
            match s:
                case For(body=()) | When(body=(), orelse=()) | Elect(body=(), others=()):
                    pass
                case _:
                    found.append(s)
    return tuple(found)


def _inside(s: Stmt, change: Callable[[Body], Body]) -> Stmt:
    """The statement with each body in it changed."""
    match s:
        case For(body=body):
            return replace(s, body=change(body))
        case When(body=body, orelse=orelse):
            return replace(s, body=change(body), orelse=change(orelse))
        case Elect(body=body, others=others):
            return replace(s, body=change(body), others=change(others))
        case Specialize(roles=roles):
            return replace(s, roles=tuple(replace(r, body=change(r.body)) for r in roles))
        case _:
            return s


def _bodies(s: Stmt) -> list[Body]:
    match s:
        case For(body=body):
            return [body]
        case When(body=body, orelse=others) | Elect(body=body, others=others):
            return [body, others]
        case Specialize(roles=roles):
            return [role.body for role in roles]
        case _:
            return []


def _names(*exprs: Expr) -> set[str]:
    return {n.name for e in exprs for n in leaves(e) if isinstance(n, Var)}


def _variables(body: Body) -> set[str]:
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
