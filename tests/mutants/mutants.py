"""All mutants of a schedule, and what each of its warps executes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asyncsim.ir.op import Op
from asyncsim.ir.rewrite import by_other_lanes, by_other_warps, moved, replaced
from asyncsim.ir.schedule import Schedule
from asyncsim.stream.program import Program
from tests.mutants.operators import is_dropped, is_moved, perturbed


@dataclass(frozen=True, slots=True)
class Mutant:
    """``change``: drop, up, down, lanes, warps, or a perturbation of an operand."""

    op: Op
    change: str
    schedule: Schedule

    def __str__(self) -> str:
        return f"{type(self.op).__name__} {self.change} ({self.op.loc})"


def mutants(schedule: Schedule) -> Iterator[Mutant]:
    """Every mutant of every op that synchronises, not validated."""
    for op in schedule.ops():
        for change, made in _changed(schedule, op):
            if made is not None and made != schedule:
                yield Mutant(op, change, made)


def _changed(schedule: Schedule, op: Op) -> Iterator[tuple[str, Schedule | None]]:
    if is_dropped(op):
        yield "drop", replaced(schedule, op, None)
    if is_moved(op):
        yield "up", moved(schedule, op, up=True)
        yield "down", moved(schedule, op, up=False)
        other = by_other_lanes(op)
        yield "lanes", other and replaced(schedule, op, other)
        yield "warps", by_other_warps(schedule, op)
    for change, new in perturbed(op, schedule):
        yield change, replaced(schedule, op, new)


Streams = tuple[tuple[object, ...], ...]


STATIC = (
    *("kind", "n", "read", "space", "barrier", "state", "memory", "relaxed"),
    *("multicast", "reduce", "direction", "count"),
)
"""Operands of ops that are no part of the dynamic op."""


def streams(schedule: Schedule) -> Streams:
    """What each warp of each CTA executes: ops with the values of their operands, no names.

    Schedules with equal streams have equal executions. Raises ScheduleError like the streams.
    """
    program = Program(schedule)
    x, y, z = schedule.grid
    blocks = [(i, j, k) for i in range(x) for j in range(y) for k in range(z)]
    found = []
    for block in blocks:
        for warp in range(schedule.warps):
            found.append(tuple(_executed(dyn) for dyn, _ in program.stream(block, warp)))
    return tuple(found)


def _executed(dyn) -> object:  # type: ignore[no-untyped-def]
    op = dyn.op
    static = tuple(getattr(op, name) for name in STATIC if hasattr(op, name))
    return type(op), op.scope, static, dyn.barrier, dyn.value, dyn.ints, dyn.accesses
