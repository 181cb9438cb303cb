"""From a safe map to all larger values of a swept parameter.

A clean cell may speak for larger values, one every few (``CheckResult.trips``). Where neighbours
speak for all of them, the row is clean for ever. A few cells after the swept ones are checked for
that. The scenario has to build the same schedule for all of these but for one kernel argument and
extents of tensors, which grow evenly: it is asked at a few values, the last far away, and trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from asyncsim.check.trips import fits
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Trips, Verdict

MAX_MORE = 64  # cells of a row that are checked beyond the swept ones
ASKED = (2, 3, 64, 4096)  # after so many periods the scenario is asked for its schedule
ALIGNED = 16  # bytes, the most that an instruction asks of an address in global memory

Look = Callable[[int], tuple[Schedule | None, CheckResult | None]]
"""The schedule at a value of the parameter, and its verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Clean for all ``name = first, first + stride, ..., last``. ``at``: of the other parameters;
    from ``recurs`` on the state recurs every ``rounds`` rounds, ``step`` of the parameter further;
    ``checked``: the greatest value that was checked; ``ends``: why it ends at ``last``."""

    at: Mapping[str, int]
    name: str
    first: int
    last: int
    ends: str
    stride: int
    recurs: int
    step: int
    rounds: int
    checked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """A row that ends clean and says nothing of larger values: ``checked`` is all there is.
    ``counts``: whether a kernel argument changes with the parameter."""

    at: Mapping[str, int]
    name: str
    why: str
    counts: bool
    checked: tuple[int, ...]


class _None(Exception):
    """There is no claim, for the reason given."""


def beyond(
    at: Mapping[str, int],
    name: str,
    values: Sequence[int],
    look: Look,
    build: Callable[[int], Schedule | None],
) -> Beyond | Within | None:
    """What the cells of one row say of all larger values; None if the row does not end clean.
    ``values``: those swept, in order."""
    if not _is_clean(look(values[-1])[1]):
        return None
    row = _Row(name, values, look, build)
    try:
        start, step, rounds = row.claim()
        last, ends = row.last(start, step, rounds)
    except _None as cause:
        seen = tuple(v for v in values if look(v)[1] is not None)
        return Within(at=at, name=name, why=str(cause), counts=row.counts, checked=seen)
    lowest = start
    while lowest - row.stride in values and _is_clean(look(lowest - row.stride)[1]):
        lowest -= row.stride
    return Beyond(
        at=at,
        name=name,
        first=lowest,
        last=last,
        ends=ends,
        stride=row.stride,
        recurs=start,
        step=step,
        rounds=rounds,
        checked=max(values[-1], start + step - row.stride),
    )


class _Row:
    """A row along one parameter. ``stride``: from one of its values to the next."""

    def __init__(
        self,
        name: str,
        values: Sequence[int],
        look: Look,
        build: Callable[[int], Schedule | None],
    ) -> None:
        self._name, self._values, self._look, self._build = name, values, look, build
        steps = {b - a for a, b in pairwise(values)}
        self.stride = steps.pop() if len(steps) == 1 else 1
        last, longer = build(values[-1]), self._longer(values[-1])
        self.counts = bool(last and longer and last.args != longer.args)

    def _longer(self, value: int) -> Schedule | None:
        """The next larger schedule."""
        found = (self._build(value + m * self.stride) for m in range(1, MAX_MORE + 1))
        return next((s for s in found if s is not None), None)

    def claim(self) -> tuple[int, int, int]:
        """From which value on all are spoken for, the step of the parameter after which the state
        recurs, and the rounds of it. Raises _None."""
        if not self.counts:
            raise _None(f"{self._name} counts no rounds of a loop")
        start, step, rounds = self._first()
        family = self._trips(start)[0]
        for value in range(start, start + step, self.stride):
            if value > self._values[-1] + MAX_MORE * self.stride:
                raise _None(f"the state recurs after more than {MAX_MORE} values only")
            self._speaks(value, step, rounds, family)
        return start, step, rounds

    def last(self, start: int, step: int, rounds: int) -> tuple[int, str]:
        """The greatest value that all are clean up to, and why."""
        found: list[tuple[int, str]] = []
        for value in range(start, start + step, self.stride):
            trips = self._trips(value)[1]
            times = (trips.last - trips.value) // rounds
            found.append((value + (times + 1) * step - self.stride, trips.ends))
        return min(found)

    def _first(self) -> tuple[int, int, int]:
        """The least value that speaks for others and has clean ones behind it alone."""
        found: tuple[int, int, int] | None = None
        why: _None | None = None
        for value in reversed(self._values):
            if not _is_clean(self._look(value)[1]):
                break
            try:
                step, rounds = self._recurs(value)
                if found is None or step == found[1]:
                    found = value, step, rounds
            except _None as cause:
                if found is not None:
                    break
                why = why or cause
        if found is None:
            raise why or _None("no cell is clean")
        return found

    def _recurs(self, value: int) -> tuple[int, int]:
        """How much further the parameter is when the claim at a value is for it, and how many
        rounds that is. Raises _None."""
        _, trips = self._trips(value)
        for step in range(self.stride, (MAX_MORE + 1) * self.stride, self.stride):
            longer = self._build(value + step)
            if longer is None:
                continue
            rounds = dict(longer.args).get(trips.arg, 0) - trips.value
            if rounds > 0 and rounds % trips.step == 0:
                return step, rounds
        raise _None(f"{self._name} does not count the rounds of the loop that repeats")

    def _trips(self, value: int) -> tuple[Schedule, Trips]:
        schedule, result = self._look(value)
        if schedule is None or result is None or not _is_clean(result):
            raise _None(f"{self._name}={value} is not clean")
        if result.trips is None:
            raise _None(result.unclaimed)
        return schedule, result.trips

    def _speaks(self, value: int, step: int, expected: int, family: Schedule) -> None:
        """Raises _None unless a value speaks for all that are multiples of ``step`` further."""
        here, trips = self._trips(value)
        then = self._build(value + step)
        if then is None:
            raise _None(f"there is no schedule at {self._name}={value + step}")
        rounds = dict(then.args).get(trips.arg, 0) - trips.value
        if rounds != expected or rounds % trips.step:
            raise _None(f"{trips.arg} does not grow evenly with {self._name}")
        core = _core(family, trips.arg)
        far = [(m, self._build(value + m * step)) for m in ASKED]
        for schedule in (here, then, *(s for _, s in far if s is not None)):
            if _core(schedule, trips.arg) != core:
                raise _None(f"more than {trips.arg} and extents changes with {self._name}")
        if uneven := next((n for m, s in far if s for n in _uneven(here, then, s, m)), ""):
            raise _None(f"{uneven} does not grow evenly with {self._name}")
        for a, b in zip(here.of_kind(GlobalTensor), then.of_kind(GlobalTensor), strict=True):
            strides = zip(a.strides, b.strides, strict=True)
            if any((y - x) * a.dtype.bytes % ALIGNED for x, y in strides):
                raise _None(f"rows of {a.name} are not aligned alike at every {self._name}")
        if tensor := fits(trips, here, then, rounds // trips.step):
            raise _None(f"{tensor} does not grow as its accesses ask for")


def _uneven(here: Schedule, then: Schedule, far: Schedule, times: int) -> Iterator[str]:
    """What is not ``times`` as far at ``far`` as at ``then``: arguments, extents, strides."""
    for (name, a), (_, b), (_, c) in zip(here.args, then.args, far.args, strict=True):
        if c - a != times * (b - a):
            yield name
    tensors = (s.of_kind(GlobalTensor) for s in (here, then, far))
    for three in zip(*tensors, strict=True):
        sizes = zip(*((*t.shape, *t.strides) for t in three), strict=True)
        if any(c - a != times * (b - a) for a, b, c in sizes):
            yield three[0].name


def _core(schedule: Schedule, name: str) -> Schedule:
    """The schedule without the argument's value and its tensors' extents and strides."""
    decls = tuple(
        replace(d, shape=(1,) * len(d.shape), strides=(1,) * len(d.shape))
        if isinstance(d, GlobalTensor)
        else d
        for d in schedule.decls
    )
    args = tuple((n, 0 if n == name else v) for n, v in schedule.args)
    return replace(schedule, args=args, decls=decls, _by_name={})


def _is_clean(result: CheckResult | None) -> bool:
    return result is not None and result.verdict is Verdict.CLEAN
