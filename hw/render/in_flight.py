"""Which fragments a wgmma may still use at each wgmma.wait_group, from the text of a schedule.

The registers of groups that a wait covers are pinned after it, so that the compiler reads them only
then. Those that were computed on since the last group was committed are pinned before it: what is
meant to run under that group must not slide behind the wait. Those in flight must not be touched.
Loops are followed until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir import op as ops
from asyncsim.ir.op import FragmentRef, GroupKind
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When
from asyncsim.ir.validate.views import parts_of

Names = frozenset[str]
DEPTH = 10  # groups; older ones count as the last of these


@dataclass(frozen=True, slots=True)
class AtWait:
    """At a wait: fragments that have been ``computed`` on under the groups in flight and are not
    in flight themselves; those that may be ``in_flight`` when it returns."""

    computed: Names = frozenset()
    in_flight: Names = frozenset()


@dataclass(frozen=True, slots=True)
class _State:
    """Fragments of the open group, of the last committed one, of the one before it, ...; and those
    that others than wgmma have touched since that one was committed."""

    groups: tuple[Names, ...] = (frozenset(),) * DEPTH
    computed: Names = frozenset()

    @property
    def in_flight(self) -> Names:
        return frozenset().union(*self.groups)

    def __or__(self, other: _State) -> _State:
        groups = tuple(a | b for a, b in zip(self.groups, other.groups, strict=True))
        return _State(groups, self.computed | other.computed)


def at_waits(schedule: Schedule) -> dict[int, AtWait]:
    """By the id of a wait for wgmma groups."""
    found: dict[int, AtWait] = {}
    _walk(schedule.body, _State(), found)
    return found


def _walk(body: tuple[Stmt, ...], state: _State, found: dict[int, AtWait]) -> _State:
    for s in body:
        match s:
            case For(body=inner):
                once = state | _walk(inner, state, found)
                while once != state:
                    state, once = once, once | _walk(inner, once, found)
            case When(body=inner, orelse=other):
                state = _walk(inner, state, found) | _walk(other, state, found)
            case Elect(body=inner, others=other):
                state = _walk(other, _walk(inner, state, found), found)
            case Specialize(roles=roles):
                for role in roles:
                    _walk(role.body, state, found)
            case ops.OpBase():
                state = _after(s, state, found)
            case _:
                pass
    return state


def _after(op: ops.OpBase, state: _State, found: dict[int, AtWait]) -> _State:
    groups = state.groups
    used = frozenset(ref.name for ref in parts_of(op, FragmentRef))
    match op:
        case ops.WgmmaMmaAsync():
            return _State((groups[0] | used, *groups[1:]), state.computed)
        case ops.CommitGroup(kind=GroupKind.WGMMA):
            return _State((frozenset(), *groups[:-2], groups[-2] | groups[-1]))
        case ops.WaitGroup(kind=GroupKind.WGMMA, n=n, id=op_id):
            known = found.get(op_id, AtWait())
            computed = known.computed | (state.computed - state.in_flight)
            if n < DEPTH - 1:
                groups = groups[: n + 1] + _State().groups[n + 1 :]
            left = _State(groups)
            found[op_id] = AtWait(computed, known.in_flight | left.in_flight)
            return left
        case _:
            return _State(groups, state.computed | used)
