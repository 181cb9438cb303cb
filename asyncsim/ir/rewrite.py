"""Rewriting a frozen schedule: one op replaced, dropped, moved, or run by others.

``elect`` is only a scope here: moving an op past it moves it past one statement inside, and an op
that leaves an ``elect`` keeps one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from asyncsim.ir.op import Op, OpBase, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When

Body = tuple[Stmt, ...]


def replaced(schedule: Schedule, op: Op, new: Op | None) -> Schedule:
    """``new`` in the place of ``op``; None drops it, and what then is empty."""
    return replace(schedule, body=_replaced(schedule.body, op, () if new is None else (new,)))


def inserted(schedule: Schedule, op: Op, new: Op, *, after: bool) -> Schedule:
    """``new`` beside ``op``, in the same block."""
    both = (op, new) if after else (new, op)
    return replace(schedule, body=_replaced(schedule.body, op, both))


def moved(schedule: Schedule, op: Op, *, up: bool) -> Schedule | None:
    """``op`` moved past its neighbour, out of its loop or condition at the edge; None at the edge
    of a role or of the kernel."""
    body, escaped = _moved(schedule.body if up else _reversed(schedule.body), op)
    if escaped is not None:
        return None
    return replace(schedule, body=body if up else _reversed(body))


def with_statement(schedule: Schedule, old: Stmt, new: Stmt) -> Schedule:
    """``new`` in the place of a statement that is no op."""
    return replace(schedule, body=_replaced(schedule.body, old, (new,)))


def by_other_lanes(op: Op) -> Op | None:
    """The op run by all lanes instead of some, or by the elected one instead of all."""
    match op.scope:
        case Scope.ELECTED | Scope.OTHERS:
            return replace(op, scope=Scope.ALL_LANES)
        case Scope.ALL_LANES:
            return replace(op, scope=Scope.ELECTED)
        case _:
            return None


def by_other_warps(schedule: Schedule, op: Op) -> Schedule | None:
    """An op of one thread of the role run by one lane of each warp, or the other way round."""
    body = _re_elected(schedule.body, op)
    return None if body is None else replace(schedule, body=body)


# -- replacing ---------------------------------------------------------------------------------


def _replaced(body: Body, op: Stmt, new: Body) -> Body:
    out: list[Stmt] = []
    for s in body:
        if s is op:
            out += new
        else:
            out += _kept(with_inner(s, lambda inner: _replaced(inner, op, new)))
    return tuple(out)


def with_inner(s: Stmt, change: Callable[[Body], Body]) -> Stmt:
    """A statement with the blocks inside it changed."""
    match s:
        case For(body=body):
            return replace(s, body=change(body))
        case Elect(body=body, others=others):
            return replace(s, body=change(body), others=change(others))
        case When(body=body, orelse=orelse):
            return replace(s, body=change(body), orelse=change(orelse))
        case Specialize(roles=roles):
            return replace(s, roles=tuple(replace(r, body=change(r.body)) for r in roles))
        case _:
            return s


def _kept(s: Stmt) -> Body:
    """Nothing for a block that has become empty."""
    match s:
        case For(body=()) | Elect(body=(), others=()) | When(body=(), orelse=()):
            return ()
        case _:
            return (s,)


# -- moving up; down is up in the reversed text ------------------------------------------------


def _reversed(body: Body) -> Body:
    return tuple(with_inner(s, _reversed) for s in reversed(body))


def _moved(body: Body, op: Op) -> tuple[Body, Stmt | None]:
    """The body with ``op`` one place earlier, and the op if it leaves the body at its start."""
    for i, s in enumerate(body):
        if s is op:
            return _put_before(body[:i], s, body[i + 1 :])
        inner, escaped = _moved_inside(s, op)
        if inner is s:
            continue
        rest = (*_kept(inner), *body[i + 1 :])
        match s, escaped:
            case _, None:
                return (*body[:i], *rest), None
            case Elect(), _:  # still at the same place: now past what stands before
                return _put_before(body[:i], _alone(s, escaped), rest)
            case Specialize(), _:
                return body, escaped
            case _:
                return (*body[:i], escaped, *rest), None
    return body, None


def _moved_inside(s: Stmt, op: Op) -> tuple[Stmt, Stmt | None]:
    match s:
        case For(body=body):
            inner, escaped = _moved(body, op)
            return (s if inner is body else replace(s, body=inner)), escaped
        case Elect(body=body, others=other) | When(body=body, orelse=other):
            inner, escaped = _moved(body, op)
            if inner is not body:
                return replace(s, body=inner), escaped
            inner, escaped = _moved(other, op)
            if inner is other:
                return s, escaped
            if isinstance(s, Elect):
                return replace(s, others=inner), escaped
            return replace(s, orelse=inner), escaped
        case Specialize(roles=roles):
            for n, role in enumerate(roles):
                inner, escaped = _moved(role.body, op)
                if inner is not role.body:
                    changed = replace(role, body=inner)
                    return replace(s, roles=(*roles[:n], changed, *roles[n + 1 :])), escaped
            return s, None
        case _:
            return s, None


def _alone(s: Elect, op: Stmt) -> Elect:
    """An election of its own for an op of either part."""
    if isinstance(op, OpBase) and op.scope is Scope.OTHERS:
        return replace(s, body=(), others=(op,))
    return replace(s, body=(op,), others=())


def _put_before(before: Body, s: Stmt, after: Body) -> tuple[Body, Stmt | None]:
    if not before:
        return after, s
    last = before[-1]
    if isinstance(last, Elect) and _parts(last):
        kept, passed = replace(last, body=last.body[:-1]), replace(last, body=last.body[-1:])
        return (*before[:-1], kept, s, passed, *after), None
    return (*before[:-1], s, last, *after), None


def _parts(s: Elect) -> bool:
    """Whether the last statement of an election may stand in one of its own."""
    declares = any(isinstance(x, Set) and x.declare for x in s.body)
    return len(s.body) > 1 and not s.others and not declares


# -- who executes ------------------------------------------------------------------------------


def _re_elected(body: Body, op: Op) -> Body | None:
    for i, s in enumerate(body):
        if isinstance(s, Elect) and not s.others and any(x is op for x in s.body):
            n = next(n for n, x in enumerate(s.body) if x is op)
            parts = (
                replace(s, body=s.body[:n]),
                replace(s, body=(op,), of_role=not s.of_role),
                replace(s, body=s.body[n + 1 :]),
            )
            return (*body[:i], *(p for p in parts if p.body), *body[i + 1 :])
        if isinstance(s, OpBase):
            continue
        found: list[Body] = []

        def inside(inner: Body, found: list[Body] = found) -> Body:
            changed = None if found else _re_elected(inner, op)
            if changed is None:
                return inner
            found.append(changed)
            return changed

        changed = with_inner(s, inside)
        if found:
            return (*body[:i], changed, *body[i + 1 :])
    return None
