"""From a safe map to all larger values of a swept kernel argument.

A clean cell may speak for larger values, one every few (``CheckResult.trips``). Where neighbours
speak for all of them, the row is clean for ever. A few cells after the swept ones are checked for
that. The scenario has to build the same schedule for all of these but for the argument and the
extents of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict

MAX_MORE = 64  # cells of a row that are checked beyond the swept ones

Look = Callable[[int], tuple[Schedule | None, CheckResult | None]]
"""The schedule at a value of the argument, and its verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Clean for all ``name >= first``. ``at``: the other swept parameters; from ``recurs`` rounds
    on the state recurs every ``step`` rounds; ``checked``: the greatest value that was checked."""

    at: Mapping[str, int]
    name: str
    first: int
    recurs: int
    step: int
    checked: int


def beyond(at: Mapping[str, int], name: str, values: list[int], look: Look) -> Beyond | None:
    """What the cells of one row say of all larger values. ``values``: those swept, in order."""
    first = _first_claim(name, values, look)
    if first is None:
        return None
    start, step, family = first
    for value in range(start, start + step):
        if value > values[-1] + MAX_MORE or not _speaks(name, value, step, family, look):
            return None
    lowest = start
    while lowest - 1 in values and _is_clean(look(lowest - 1)[1]):
        lowest -= 1
    last = max(values[-1], start + step - 1)
    return Beyond(at=at, name=name, first=lowest, recurs=start, step=step, checked=last)


def _first_claim(name: str, values: list[int], look: Look) -> tuple[int, int, Schedule] | None:
    """The least value that speaks for others and has clean ones behind it alone."""
    found: tuple[int, int, Schedule] | None = None
    for value in reversed(values):
        schedule, result = look(value)
        if result is None or schedule is None or not _is_clean(result):
            break
        if result.trips is None or result.trips.arg != name or result.trips.value != value:
            if found is not None:
                break
            continue
        if found is None or result.trips.step == found[1]:
            found = value, result.trips.step, schedule
    return found


def _speaks(name: str, value: int, step: int, family: Schedule, look: Look) -> bool:
    schedule, result = look(value)
    if schedule is None or result is None or not _is_clean(result) or result.trips is None:
        return False
    claim = result.trips
    speaks = (claim.arg, claim.value, claim.step) == (name, value, step)
    return speaks and _core(schedule, name) == _core(family, name)


def _core(schedule: Schedule, name: str) -> Schedule:
    """The schedule without the argument's value and its tensors' extents."""
    decls = tuple(
        replace(d, shape=(1,) * len(d.shape)) if isinstance(d, GlobalTensor) else d
        for d in schedule.decls
    )
    args = tuple((n, 0 if n == name else v) for n, v in schedule.args)
    return replace(schedule, args=args, decls=decls, _by_name={})


def _is_clean(result: CheckResult | None) -> bool:
    return result is not None and result.verdict is Verdict.CLEAN
