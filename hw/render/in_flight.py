"""Which fragments a wgmma may still use after each wgmma.wait_group, from the text of a schedule.

The registers of groups that a wait covers are pinned there, so that the compiler reads them after
it; those in flight must not be touched. Loops are followed until nothing changes.
"""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.op import FragmentRef, GroupKind
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When

Names = frozenset[str]
Groups = tuple[Names, ...]
"""Fragments of the open group, of the last committed one, of the one before it, ..."""

DEPTH = 10  # groups; older ones count as the last of these
NOTHING: Groups = (frozenset(),) * DEPTH


def in_flight_after_waits(schedule: Schedule) -> dict[int, Names]:
    """By the id of a wait for wgmma groups: the fragments that may be in flight when it returns."""
    found: dict[int, Names] = {}
    _walk(schedule.body, NOTHING, found)
    return found


def _walk(body: tuple[Stmt, ...], groups: Groups, found: dict[int, Names]) -> Groups:
    for s in body:
        match s:
            case ops.WgmmaMmaAsync(d=d, a=a):
                names = {d.name, a.name} if isinstance(a, FragmentRef) else {d.name}
                groups = (groups[0] | names, *groups[1:])
            case ops.CommitGroup(kind=GroupKind.WGMMA):
                groups = (frozenset(), *groups[:-2], groups[-2] | groups[-1])
            case ops.WaitGroup(kind=GroupKind.WGMMA, n=n, id=op_id):
                if n < DEPTH - 1:
                    groups = groups[: n + 1] + NOTHING[n + 1 :]
                found[op_id] = found.get(op_id, frozenset()).union(*groups)
            case For(body=inner):
                once = _either(groups, _walk(inner, groups, found))
                while once != groups:
                    groups = once
                    once = _either(groups, _walk(inner, groups, found))
            case When(body=inner, orelse=other):
                groups = _either(_walk(inner, groups, found), _walk(other, groups, found))
            case Elect(body=inner, others=other):
                groups = _walk(other, _walk(inner, groups, found), found)
            case Specialize(roles=roles):
                for role in roles:
                    _walk(role.body, groups, found)
            case _:
                pass
    return groups


def _either(a: Groups, b: Groups) -> Groups:
    return tuple(x | y for x, y in zip(a, b, strict=True))
