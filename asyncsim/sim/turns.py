"""Cost of generated code around the ops: loop turns and elections.

A loop turn costs what its kind costs in the machine file (counters, addresses, branches, beside
the modelled ops); the kind is read off the ops that stand in the loop. The cost is charged at the
first op that every turn executes, before it. See docs/model-notes.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.ir import op as ops
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When

Keys = dict[int, tuple[str, ...]]
"""Per op id: dotted keys of the costs charged before it."""


def turn_costs(schedule: Schedule) -> Keys:
    """The machine numbers to charge before each op, by op id."""
    found: dict[int, list[str]] = {}
    _walk(schedule.body, elected=False, found=found)
    return {op: tuple(keys) for op, keys in found.items()}


def left_alone(schedule: Schedule) -> frozenset[int]:
    """Ops of an elected lane whose warp has nothing else to do: its other lanes have exited.

    Compilers end them before the branch, so the warp is not diverged and its waits sleep.
    """
    last = schedule.body[-1] if schedule.body else None
    roles = [r.body for r in last.roles] if isinstance(last, Specialize) else [schedule.body]
    return frozenset(
        op.id
        for end in roles
        if end and isinstance(end[-1], Elect) and not end[-1].others
        for op in statements(end[-1].body)
        if isinstance(op, OpBase)
    )


def _walk(body: tuple[Stmt, ...], *, elected: bool, found: dict[int, list[str]]) -> None:
    for s in body:
        match s:
            case For(body=inner):
                first = _first_op(inner)
                if first is not None:
                    found.setdefault(first.id, []).append(_kind(inner, elected))
                _walk(inner, elected=elected, found=found)
            case Elect(body=inner, others=others):
                first = _leading_op(inner)
                if first is not None:
                    found.setdefault(first.id, []).append("barrier.elect")
                _walk(inner, elected=True, found=found)
                _walk(others, elected=False, found=found)
            case When(body=inner, orelse=other):
                _walk(inner, elected=elected, found=found)
                _walk(other, elected=elected, found=found)
            case Specialize(roles=roles):
                for role in roles:
                    _walk(role.body, elected=False, found=found)
            case _:
                pass


def _kind(body: tuple[Stmt, ...], elected: bool) -> str:
    """The key of a loop's turn cost, from the ops directly in the loop."""
    direct = {type(op) for op in _direct(body)}
    if ops.WgmmaMmaAsync in direct:
        return "code.wgmma_consumer"
    if direct & {ops.TmaLoad, ops.BulkLoad}:
        return "code.producer_elected" if elected else "code.producer_all_lanes"
    if ops.CpAsync in direct:
        return "code.cp_async"
    if direct & {ops.MbarrierWait, ops.MbarrierWaitState}:
        return "code.consumer"
    return "code.loop"


def _direct(body: tuple[Stmt, ...]) -> Iterator[OpBase]:
    """Ops of a loop body that are in no loop inside it."""
    for s in body:
        match s:
            case Elect(body=inner, others=others):
                yield from _direct(inner)
                yield from _direct(others)
            case When(body=inner, orelse=other):
                yield from _direct(inner)
                yield from _direct(other)
            case OpBase():
                yield s
            case _:
                pass


def _first_op(body: tuple[Stmt, ...]) -> OpBase | None:
    """The first op that every turn executes; failing that, the first op of the body."""
    for s in body:
        if isinstance(s, OpBase):
            return s
        if isinstance(s, Elect) and not s.of_role:
            first = _first_op(s.body)
            if first is not None:
                return first
    return next(_direct(body), None)


def _leading_op(body: tuple[Stmt, ...]) -> OpBase | None:
    """The op right after an election; None when a loop comes first."""
    for s in body:
        if isinstance(s, OpBase):
            return s
        if isinstance(s, For):
            return None
    return None
