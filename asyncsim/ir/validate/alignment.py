"""Addresses that are misaligned whatever the variables are; op streams check the others."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir.alignment import aligned_addresses
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule


def _addresses(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        for address in aligned_addresses(op, s):
            if address.base is not None and address.base % address.align:
                yield ScheduleError(
                    f"{type(op).__name__}: the stages of {address.name!r} are aligned to "
                    f"{address.base} bytes, the instruction needs {address.align}",
                    fix=f"leave align out, or give a multiple of {address.align}",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )
            if address.known.never_multiple_of(address.align):
                yield ScheduleError(
                    f"{type(op).__name__}: the start in {address.name!r} is never a multiple of "
                    f"{address.align} {address.unit}",
                    fix="the instruction needs it: move the start, or lay the data out so",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )


CHECKS = (_addresses,)
