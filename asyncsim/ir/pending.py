"""What the language and ``check`` know, and simulate, evaluate and render do not yet.

One list: the readers refuse these in one line, and the test of completeness reads it.
"""

from __future__ import annotations

from typing import NoReturn

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule

PendingOp = ops.ClcOp | ops.AtomAdd


def refuse_pending(schedule: Schedule, reader: str) -> None:
    """Raise ScheduleError if ``reader`` ("simulate", "evaluate", "render") lacks something."""
    for op in schedule.ops():
        if isinstance(op, PendingOp):
            raise ScheduleError(
                f"{reader} does not know {type(op).__name__} yet",
                fix="`asyncsim check` does",
                loc=op.loc,
            )
    for loop in schedule.assigned:
        raise ScheduleError(
            f"{reader} does not know tiles that are handed out while the kernel runs yet",
            fix="`asyncsim check` does",
            loc=loop.loc,
        )


def refused(op: PendingOp) -> NoReturn:
    """Where a reader would handle an op that it has refused already."""
    raise AssertionError(f"{type(op).__name__} is refused before anything runs")
