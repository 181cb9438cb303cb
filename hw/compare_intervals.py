"""Intervals of the simulated timeline against measured ones: per role, per step, at waits.

Stamps slow a kernel down, so the timeline is that of the stamped build: simulate adds to each
stamped op what a stamp takes, as kernels that are no scenario say (stamp_cost.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.hw.configuration import Configuration
from asyncsim.hw.intervals import Interval, by_key, intervals, is_wait
from asyncsim.hw.launch.timing import percentile
from asyncsim.hw.stamp_cost import stamp_cost
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import StampCost
from asyncsim.machine import Machine

FOLDER = Path(__file__).parent / "data" / "intervals"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredIntervals:
    """A stamped launch. ``cycles``: of the plain build, ``stamped``: of the stamped one;
    ``stamps``: what a stamp takes, on that board."""

    configuration: Configuration
    board: str
    cycles: float
    stamped: float
    stamps: StampCost
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedInterval:
    """Cycles of one interval; ``what``: the ops that it lies between. ``of_step``: the measured
    step of its role, None where it repeats none."""

    configuration: Configuration
    role: str
    what: str
    step: bool
    wait: bool
    measured: Interval
    predicted: Interval
    of_step: float | None

    @property
    def cycles(self) -> float:
        """By how much the prediction is too long."""
        return self.predicted.mean - self.measured.mean

    @property
    def error_pct(self) -> float:
        """Of the mean; for a part of a step, in percent of the step."""
        whole = self.measured.mean if self.step or not self.of_step else self.of_step
        return 100 * self.cycles / whole

    @property
    def median_error_pct(self) -> float:
        """The same of the medians."""
        whole = self.measured.median if self.step or not self.of_step else self.of_step
        return 100 * (self.predicted.median - self.measured.median) / whole


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalErrors:
    """Of absolute errors in percent, over ``n`` intervals."""

    n: int
    mean: float
    median: float
    max: float


def load_intervals(folder: Path = FOLDER) -> tuple[MeasuredIntervals, ...]:
    """Every stored launch. Raises UsageError, naming the file."""
    return tuple(m for path in sorted(folder.glob("*.json")) for m in _load(path))


def compare_intervals(
    measured: Iterable[MeasuredIntervals], machine: Machine
) -> tuple[ComparedInterval, ...]:
    """Simulate each launch with its stamps, and join interval by interval."""
    from asyncsim.sim import simulate

    found: list[ComparedInterval] = []
    for m in measured:
        c = m.configuration
        schedule = find_scenario(c.scenario).build(c.params)
        run = simulate(
            schedule,
            machine,
            certified=True,  # by the tests of each scenario; these are small
            l2=c.l2,
            keep_trace=True,
            ties=False,
            stamps=m.stamps,
        )
        assert run.trace is not None
        found += _joined(m, schedule, intervals(run.trace, schedule))
    return tuple(found)


def errors(compared: Sequence[ComparedInterval], *, median: bool = False) -> IntervalErrors:
    """Over some of the intervals."""
    sizes = [abs(c.median_error_pct if median else c.error_pct) for c in compared]
    if not sizes:
        return IntervalErrors(n=0, mean=0.0, median=0.0, max=0.0)
    mean = sum(sizes) / len(sizes)
    return IntervalErrors(n=len(sizes), mean=mean, median=percentile(sizes, 50), max=max(sizes))


def _joined(
    m: MeasuredIntervals, schedule: Schedule, predicted: Iterable[Interval]
) -> Iterator[ComparedInterval]:
    other = by_key(predicted)
    steps = {i.role: i.mean for i in m.intervals if i.step}
    for i in m.intervals:
        if i.key not in other:
            continue  # fewer than a handful of executions in the part of the timeline that is kept
        yield ComparedInterval(
            configuration=m.configuration,
            role=i.role,
            what=_what(schedule, i),
            step=i.step,
            wait=is_wait(schedule, i),
            measured=i,
            predicted=other[i.key],
            of_step=steps.get(i.role),
        )


def _what(schedule: Schedule, i: Interval) -> str:
    from asyncsim.sim.report import describe

    names = {op.id: describe(op) for op in schedule.ops()}
    return f"step at {names[i.last]}" if i.step else f"{names[i.first]} .. {names[i.last]}"


def _load(path: Path) -> Iterator[MeasuredIntervals]:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        costs = {c["benchmark"]: c["stamped_cycles"] - c["cycles"] for c in document["costs"]}
        for row in document["rows"]:
            if "error" in row or not row["verified"]:
                continue
            yield MeasuredIntervals(
                configuration=Configuration(
                    scenario=row["scenario"], params=row["params"], l2=row["l2"]
                ),
                board=document["provenance"]["board"],
                cycles=row["cycles"],
                stamped=row["stamped_cycles"],
                stamps=stamp_cost(costs),
                intervals=tuple(Interval(**i) for i in row["intervals"]),
            )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path.name}: {error!r}; measure the intervals again") from None
