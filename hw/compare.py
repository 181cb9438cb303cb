"""Predictions against stored measurements: errors, rank order, regret; and whether they got worse.

``python -m asyncsim.hw.compare`` prints the statistics; ``--check`` fails when they are worse than
the stored ones, ``--update`` stores them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.launch.timing import percentile
from asyncsim.hw.statistics import Problem, tau_b, top1_regrets
from asyncsim.hw.store import Measurement, load_all
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import Machine, load_machine

ACCURACY = Path(__file__).parent / "data" / "accuracy.json"
SHORT_US = 5.0
TOLERANCE_PCT = 0.25  # points by which a statistic may grow before it counts as worse

PredictCycles = Callable[[Schedule, str], float | None]
"""Cycles of a schedule with L2 "cold" or "warm"; None if there is no prediction (a deadlock)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One configuration: the median over its boards, and the prediction.

    ``spread_pct``: p10 to p90, or between boards if that is larger. ``board_spread_pct``: between
    the medians of its boards, None if there is one. ``error_pct`` is signed.
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
    """Of the absolute errors in percent, over ``n`` rows. ``board_spread``: the median of the rows
    that were measured on several boards, None without such rows."""

    n: int
    mean: float
    median: float
    p90: float
    p95: float
    max: float
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
    groups: dict[Any, list[Measurement]] = {}
    for m in rows:
        groups.setdefault(configuration(m), []).append(m)
    return summarise([_joined(group, predict_cycles) for group in groups.values()])


def configuration(m: Measurement) -> Any:
    """The same for rows of one configuration: a parameter newer than a row had its default."""
    params = {**find_scenario(m.scenario).params, **m.params}
    return m.scenario, tuple(sorted(params.items())), m.l2


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


def _joined(group: list[Measurement], predict_cycles: PredictCycles) -> ComparedRow:
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
        predicted=predict_cycles(schedule, first.l2),
        board_spread_pct=100 * apart / measured if boards > 1 else None,
        ctas=schedule.ctas,
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
        board_spread=percentile(apart, 50) if apart else None,
    )


def predictor(machine: Machine) -> PredictCycles:
    """Predictions of this machine file, at the clock-free unit: cycles."""
    from asyncsim.predict import predict

    def cycles(schedule: Schedule, l2: str) -> float | None:
        _, prediction = predict(schedule, machine, l2=l2)
        return None if prediction is None else prediction.cycles

    return cycles


def comparison_json(c: Comparison) -> dict[str, Any]:
    """The object that ``asyncsim compare --json`` prints."""
    return {
        "n": c.overall.n,
        "error_pct": _rounded(c.overall),
        "tau_b": round(c.tau_b, 3),
        "top1_regret_pct": round(c.top1_regret_pct, 2),
        "board_spread_pct": _apart(c.overall.board_spread),
        "by_scenario": {n: _group(s) for n, s in c.by_scenario.items()},
        "groups": {n: _group(s) for n, s in c.groups.items()},
        "under_5_us": _group(c.short),
        "unpredicted": c.unpredicted,
        "rows": [_row_json(r) for r in c.rows],
    }


def _group(s: Statistics) -> dict[str, Any]:
    return {"n": s.n, **_rounded(s), "board_spread_pct": _apart(s.board_spread)}


def _apart(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _rounded(s: Statistics) -> dict[str, float]:
    return {n: round(getattr(s, n), 2) for n in ("mean", "median", "p90", "p95", "max")}


def _row_json(r: ComparedRow) -> dict[str, Any]:
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


def worse_than(stored: dict[str, Any], now: Comparison) -> list[str]:
    """In which statistics the accuracy got worse than the stored ones; empty if in none."""
    have = comparison_json(now)
    faults = []
    for name in ("mean", "median", "p90", "max"):
        before, after = stored["error_pct"][name], have["error_pct"][name]
        if after > before + TOLERANCE_PCT:
            faults.append(f"{name} error {before} % -> {after} %")
    if have["tau_b"] < stored["tau_b"] - 0.005:
        faults.append(f"tau_b {stored['tau_b']} -> {have['tau_b']}")
    if have["top1_regret_pct"] > stored["top1_regret_pct"] + TOLERANCE_PCT:
        faults.append(f"top-1 regret {stored['top1_regret_pct']} % -> {have['top1_regret_pct']} %")
    if have["n"] < stored["n"]:
        faults.append(f"rows {stored['n']} -> {have['n']}")
    return faults


def main(argv: list[str] | None = None) -> int:
    """0: printed, or not worse; 1: worse than stored."""
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.compare", description=__doc__)
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--check", action="store_true", help="fail if worse than stored")
    parser.add_argument("--update", action="store_true", help="store the statistics")
    args = parser.parse_args(argv)
    now = compare(load_all(), predictor(load_machine(args.machine)))
    statistics = comparison_json(now)
    rows = statistics.pop("rows")
    for row in sorted(rows, key=lambda r: abs(r["error_pct"] or 0.0)):
        print(_line(row))
    print(json.dumps(statistics, indent=1))
    if args.update:
        ACCURACY.write_text(json.dumps(statistics, indent=1) + "\n", encoding="utf-8")
    if args.check:
        faults = worse_than(json.loads(ACCURACY.read_text(encoding="utf-8")), now)
        for fault in faults:
            print(f"worse: {fault}", file=sys.stderr)
        return 1 if faults else 0
    return 0


def _line(row: dict[str, Any]) -> str:
    shown = " ".join(f"{n}={v}" for n, v in row["params"].items())
    error = "no prediction" if row["error_pct"] is None else f"{row['error_pct']:+7.1f} %"
    return f"{error} {row['measured_cycles']:>11} {row['scenario']} {shown} {row['l2']}"


if __name__ == "__main__":
    sys.exit(main())
