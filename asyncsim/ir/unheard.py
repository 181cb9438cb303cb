"""Schedules that do not say how a kernel hears of its tiles: ``check`` needs no more than them.

The other readers refuse them in one line.
"""

from __future__ import annotations

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule


def refuse_unheard(schedule: Schedule, reader: str) -> None:
    """Raise ScheduleError if ``reader`` ("simulate", "evaluate", "render") would have to guess."""
    for loop in schedule.assigned:
        if loop.ticket is None:
            raise ScheduleError(
                f"{reader} does not know how the kernel hears of its tiles",
                fix="name the register with the next one: k.loop(tiles, ticket=...)",
                loc=loop.loc,
            )
    for op in schedule.ops():
        if isinstance(op, ops.ClcOp) and not schedule.assigned:
            raise ScheduleError(
                f"{reader} does not know what {type(op).__name__} is for without a loop over tiles",
                fix="go through the tiles with k.loop(tiles, ticket=...)",
                loc=op.loc,
            )
