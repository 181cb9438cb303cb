"""Alignment of addresses that only the values of a stream decide."""

from __future__ import annotations

from collections.abc import Callable

from asyncsim.errors import ScheduleError
from asyncsim.ir.alignment import aligned_addresses
from asyncsim.ir.expr import is_lane_varying
from asyncsim.ir.matrix import addressing_lanes
from asyncsim.ir.op import OpBase, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule
from asyncsim.stream.operands import Evaluator, Values


def alignment_check(
    op: OpBase, schedule: Schedule, evaluator: Evaluator, first_thread: int
) -> Callable[[Values], None] | None:
    """A check of the op's addresses in a warp whose first lane is ``first_thread``.

    None where the text of the schedule proves them aligned. Raises ScheduleError (ALIGNMENT).
    """
    undecided = [
        (
            address,
            evaluator.lanes(
                address.start,
                one=op.scope is Scope.ELECTED or not any(map(is_lane_varying, address.start)),
            ),
        )
        for address in aligned_addresses(op, schedule)
        if not address.known.always_multiple_of(address.align)
    ]
    if not undecided:
        return None
    lanes = addressing_lanes(op)

    def check(values: Values) -> None:
        for address, starts in undecided:
            for start in starts(values, first_thread)[:lanes]:
                at = sum(i * stride for i, stride in zip(start, address.strides, strict=True))
                if at % address.align:
                    raise ScheduleError(
                        f"{type(op).__name__}: the start in {address.name!r} is {at} "
                        f"{address.unit}, no multiple of {address.align}",
                        fix="the instruction needs it: move the start, or lay the data out so",
                        loc=op.loc,
                        rule=Rule.ALIGNMENT,
                    )

    return check
