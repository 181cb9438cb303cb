"""The same schedule with more rounds in its outermost loops."""

from __future__ import annotations

from dataclasses import replace

from asyncsim.ir.expr import Const
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When


def longer(schedule: Schedule, more: int) -> Schedule:
    """``more`` rounds in every outermost loop that has a constant number of them and any.

    Nothing else grows: conditions on the index, tensors and epilogues stay as they were.
    """
    return replace(schedule, body=tuple(_longer(s, more) for s in schedule.body))


def _longer(s: Stmt, more: int) -> Stmt:
    def all_of(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_longer(inner, more) for inner in body)

    match s:
        case For(trip_count=Const(n)) if n:
            return replace(s, trip_count=Const(n + more))
        case When(body=body, orelse=other):
            return replace(s, body=all_of(body), orelse=all_of(other))
        case Elect(body=body, others=other):
            return replace(s, body=all_of(body), others=all_of(other))
        case Specialize(roles=roles):
            return replace(s, roles=tuple(replace(r, body=all_of(r.body)) for r in roles))
        case _:
            return s
