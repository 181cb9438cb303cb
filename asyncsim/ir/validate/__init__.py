"""Well-formedness of a finished schedule: one small rule per function, run by ``finish()``.

Each rule yields ScheduleError values; the first one is raised. Constraints that hardware breaks in
silence (descriptors, alignment) carry a Rule, so that ``check`` reports them as findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate import (
    alignment,
    arch,
    barriers,
    bulk,
    cluster,
    copies,
    im2col,
    launch,
    matrix,
    memory,
    registers,
    structure,
    tcgen05,
    tcgen05_mma,
    tiles,
    tma,
    wgmma,
)
from asyncsim.ir.validate.launch import MAX_SMEM_BYTES

Check = Callable[[Schedule], Iterator[ScheduleError]]

CHECKS: tuple[Check, ...] = (
    *structure.CHECKS,
    *arch.CHECKS,
    *launch.CHECKS,
    *registers.CHECKS,
    *barriers.CHECKS,
    *cluster.CHECKS,
    *memory.CHECKS,
    *matrix.CHECKS,
    *copies.CHECKS,
    *bulk.CHECKS,
    *tma.CHECKS,
    *im2col.CHECKS,
    *wgmma.CHECKS,
    *tcgen05.CHECKS,
    *tcgen05_mma.CHECKS,
    *tiles.CHECKS,
    *alignment.CHECKS,
)


def validate(schedule: Schedule) -> None:
    """Raise the first ScheduleError of a malformed schedule."""
    for check in CHECKS:
        for error in check(schedule):
            raise error


__all__ = ["CHECKS", "MAX_SMEM_BYTES", "Check", "validate"]
