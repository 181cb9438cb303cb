"""Predictions against stored measurements: errors, rank order, regret.

``python -m asyncsim.hw.compare`` prints every row and the statistics; ``--check`` fails when they
are not the stored ones, ``--update`` stores them (accuracy.py) and makes docs/accuracy.md anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.launch.timing import percentile
from asyncsim.hw.predictions import Asked, Predicted, predict_all
from asyncsim.hw.statistics import Problem, tau_b, top1_regrets
from asyncsim.hw.store import Measurement
from asyncsim.ir.schedule import Schedule

SHORT_US = 5.0

PredictCycles = Callable[[Schedule, str], float | None]
"""Cycles of a schedule with L2 "cold" or "warm"; None if there is no prediction (a deadlock)."""

Key = tuple[str, tuple[tuple[str, int], ...], str]
"""A configuration: scenario, all of its parameters by name, state of L2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One configuration: the median over its boards, and the prediction.

    ``spread_pct``: p10 to p90, or between boards if that is larger. ``board_spread_pct``: between
    the medians of its boards, None if there is one. ``error_pct`` is signed. ``proven``: the
    fingerprint of the schedule if it is proven clean.
    """

    scenario: str
    params: dict[str, int]
    l2: str
    boards: int
    measured: float
    time_us: float
    spread_pct: float
    predicted: float | None
    board_spread_pct: float | None = None
    ctas: int = 0
    proven: str = ""

    @property
    def key(self) -> Key:
        return self.scenario, tuple(sorted(self.params.items())), self.l2

    @property
    def error_pct(self) -> float | None:
        if self.predicted is None:
            return None
        return 100 * (self.predicted - self.measured) / self.measured

    @property
    def short(self) -> bool:
        return self.time_us < SHORT_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Of the absolute errors in percent, over ``n`` rows. ``spread``: the median of what the rows
    vary by in measurement; ``board_spread``: of what the boards differ by, over the rows that were
    measured on several, None without such rows."""

    n: int
    mean: float
    median: float
    p90: float
    p95: float
    max: float
    spread: float = 0.0
    board_spread: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``overall``, ``tau_b`` and ``top1_regret_pct`` leave out rows under 5 us (``short``), which
    have their own statistics. ``groups``: one CTA, several, and the states of L2. ``regrets``: by
    problem (scenario, what is fixed, L2). ``unpredicted``: rows without a prediction."""

    rows: tuple[ComparedRow, ...]
    overall: Statistics
    short: Statistics
    by_scenario: dict[str, Statistics]
    groups: dict[str, Statistics]
    regrets: dict[Problem, float]
    tau_b: float
    top1_regret_pct: float
    unpredicted: int


def compare(rows: Iterable[Measurement], predict_cycles: PredictCycles) -> Comparison:
    """Join measurements with predictions, configuration by configuration."""
    groups = grouped(rows)
    predicted = {
        key: Predicted(predict_cycles(find_scenario(key[0]).build(dict(key[1])), key[2]), "")
        for key in groups
    }
    return _summary(groups, predicted)


def compare_suite(
    rows: Iterable[Measurement],
    machine: str = "h200",
    *,
    proven: Mapping[Key, str] | None = None,
    tell: Callable[[str], None] = lambda now: None,
) -> Comparison:
    """The same by simulation, in several processes. ``proven``: fingerprints of the schedules that
    need no new proof."""
    groups = grouped(rows)
    longest_first = sorted(groups, key=lambda key: -groups[key][0].time_us)
    known = proven or {}
    asked = [as_measured(key, groups[key], known.get(key, "")) for key in longest_first]
    predicted = predict_all(asked, machine, tell=tell)
    return _summary(groups, dict(zip(longest_first, predicted, strict=True)))


def as_measured(key: Key, group: Sequence[Measurement], proven: str) -> Asked:
    """What to predict of a configuration. The clock is that of its launches: DRAM and L2 have
    clocks of their own, so that cycles depend on it."""
    scenario, params, l2 = key
    mhz = round(percentile([m.clock_mhz for m in group], 50))
    return Asked(scenario=scenario, params=params, l2=l2, proven=proven, clock_mhz=mhz)


def configuration(m: Measurement) -> Key:
    """The same for rows of one configuration: a parameter newer than a row had its default."""
    params = {**find_scenario(m.scenario).params, **m.params}
    return m.scenario, tuple(sorted(params.items())), m.l2


def grouped(rows: Iterable[Measurement]) -> dict[Key, list[Measurement]]:
    """The rows of each configuration, on whatever boards."""
    groups: dict[Key, list[Measurement]] = {}
    for m in rows:
        groups.setdefault(configuration(m), []).append(m)
    return groups


def _summary(
    groups: Mapping[Key, Sequence[Measurement]], predicted: Mapping[Key, Predicted]
) -> Comparison:
    return summarise([_joined(group, predicted[key]) for key, group in groups.items()])


def summarise(rows: Sequence[ComparedRow]) -> Comparison:
    predicted = [r for r in rows if r.predicted is not None]
    long = [r for r in predicted if not r.short]
    names = sorted({r.scenario for r in long})
    groups = {
        "one CTA": [r for r in long if r.ctas == 1],
        "several CTAs": [r for r in long if r.ctas > 1],
        "L2 cold": [r for r in long if r.l2 == "cold"],
        "L2 warm": [r for r in long if r.l2 == "warm"],
    }
    regrets = top1_regrets(long)
    return Comparison(
        rows=tuple(rows),
        overall=_statistics(long),
        short=_statistics([r for r in predicted if r.short]),
        by_scenario={n: _statistics([r for r in long if r.scenario == n]) for n in names},
        groups={n: _statistics(members) for n, members in groups.items() if members},
        regrets=regrets,
        tau_b=tau_b(long),
        top1_regret_pct=max(regrets.values(), default=0.0),
        unpredicted=len(rows) - len(predicted),
    )


def _joined(group: Sequence[Measurement], predicted: Predicted) -> ComparedRow:
    first = group[0]
    scenario = find_scenario(first.scenario)
    params = {**scenario.params, **first.params}
    schedule = scenario.build(params)
    medians = [m.cycles for m in group]
    measured = percentile(medians, 50)
    apart = max(medians) - min(medians)
    boards = len({m.provenance["board"] for m in group})
    spread = max([apart, *(m.spread for m in group)])
    return ComparedRow(
        scenario=first.scenario,
        params=params,
        l2=first.l2,
        boards=boards,
        measured=measured,
        time_us=percentile([m.time_us for m in group], 50),
        spread_pct=100 * spread / measured,
        predicted=predicted.cycles,
        board_spread_pct=100 * apart / measured if boards > 1 else None,
        ctas=schedule.ctas,
        proven=predicted.proven,
    )


def _statistics(rows: Sequence[ComparedRow]) -> Statistics:
    errors = [abs(r.error_pct) for r in rows if r.error_pct is not None]
    apart = [r.board_spread_pct for r in rows if r.board_spread_pct is not None]
    if not errors:
        return Statistics(n=0, mean=0.0, median=0.0, p90=0.0, p95=0.0, max=0.0)
    return Statistics(
        n=len(errors),
        mean=sum(errors) / len(errors),
        median=percentile(errors, 50),
        p90=percentile(errors, 90),
        p95=percentile(errors, 95),
        max=max(errors),
        spread=percentile([r.spread_pct for r in rows], 50),
        board_spread=percentile(apart, 50) if apart else None,
    )


def comparison_json(c: Comparison) -> dict[str, Any]:
    """The object that ``asyncsim compare --json`` prints."""
    return {
        "n": c.overall.n,
        "error_pct": _rounded(c.overall),
        "tau_b": round(c.tau_b, 3),
        "top1_regret_pct": round(c.top1_regret_pct, 2),
        "spread_pct": round(c.overall.spread, 2),
        "board_spread_pct": _apart(c.overall.board_spread),
        "by_scenario": {n: _group(s) for n, s in c.by_scenario.items()},
        "groups": {n: _group(s) for n, s in c.groups.items()},
        "under_5_us": _group(c.short),
        "unpredicted": c.unpredicted,
        "rows": [row_json(r) for r in c.rows],
    }


def _group(s: Statistics) -> dict[str, Any]:
    spreads = {"spread_pct": round(s.spread, 2), "board_spread_pct": _apart(s.board_spread)}
    return {"n": s.n, **_rounded(s), **spreads}


def _apart(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _rounded(s: Statistics) -> dict[str, float]:
    return {n: round(getattr(s, n), 2) for n in ("mean", "median", "p90", "p95", "max")}


def row_json(r: ComparedRow) -> dict[str, Any]:
    """A row of the report and of the stored figures."""
    return {
        "scenario": r.scenario,
        "params": r.params,
        "l2": r.l2,
        "boards": r.boards,
        "measured_cycles": round(r.measured, 1),
        "predicted_cycles": None if r.predicted is None else round(r.predicted, 1),
        "time_us": round(r.time_us, 3),
        "error_pct": None if r.error_pct is None else round(r.error_pct, 2),
        "spread_pct": round(r.spread_pct, 2),
        "board_spread_pct": _apart(r.board_spread_pct),
    }


if __name__ == "__main__":
    from asyncsim.hw.accuracy import main
    from asyncsim.hw.beside.page import write_page

    sys.exit(main(then=write_page))
