"""What the advice costs: ``python -m asyncsim.hw.regret FILE``, of a file of measured sweeps.

Rows of one problem (all parameters equal that are not free) are a sweep. Its regret is how much
slower the schedule is that the prediction would choose, than the fastest one measured, in cycles
and in time; ``of 5`` after the five that are predicted to be the fastest were measured. See
docs/advise.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from asyncsim.advise.trial import Subject
from asyncsim.advise.workers import Lost, Processes
from asyncsim.catalog import find_scenario
from asyncsim.hw.store import Measurement, load_file
from asyncsim.machine import load_machine

TOP = 5
LIMIT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A measured schedule, and its predicted time in us."""

    measured: Measurement
    predicted: float


Quantity = Callable[[Measurement], float]


def cycles_of(m: Measurement) -> float:
    return m.cycles


def time_of(m: Measurement) -> float:
    return m.time_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All measured schedules of a problem: ``fixed`` parameters that differ from the defaults."""

    scenario: str
    fixed: tuple[tuple[str, int], ...]
    rows: tuple[Row, ...]

    def picked(self, among: int = 1, by: Quantity = cycles_of) -> Measurement:
        """The fastest measured of those that are predicted to be the fastest."""
        first = sorted(self.rows, key=lambda r: r.predicted)[:among]
        return min((r.measured for r in first), key=by)

    def best(self, by: Quantity = cycles_of) -> Measurement:
        """The fastest measured."""
        return self.picked(len(self.rows), by)

    def regret_pct(self, among: int = 1, by: Quantity = cycles_of) -> float:
        """How much slower the picked one is than the best, in percent."""
        return 100 * (by(self.picked(among, by)) / by(self.best(by)) - 1)


def sweeps(rows: Iterable[Row]) -> list[Sweep]:
    """Rows by problem, those with a choice."""
    problems: dict[tuple[str, tuple[tuple[str, int], ...]], list[Row]] = {}
    for row in rows:
        scenario = find_scenario(row.measured.scenario)
        fixed = tuple(
            (name, value)
            for name, value in row.measured.params.items()
            if name not in scenario.free and value != scenario.params[name]
        )
        problems.setdefault((scenario.name, fixed), []).append(row)
    return [
        Sweep(scenario=name, fixed=fixed, rows=tuple(members))
        for (name, fixed), members in sorted(problems.items())
        if len(members) > 1
    ]


def predicted(measurements: Sequence[Measurement], machine: str, jobs: int) -> list[Row]:
    """Each with its predicted time; those without a prediction are left out."""
    gpu = load_machine(machine)
    workers = Processes(jobs, LIMIT_S)
    found: dict[int, float] = {}
    try:
        for l2, name in sorted({(m.l2, m.scenario) for m in measurements}):
            which = [i for i, m in enumerate(measurements) if (m.l2, m.scenario) == (l2, name)]
            subject = Subject(scenario=find_scenario(name), machine=gpu, l2=l2, limit_s=LIMIT_S)
            places = [dict(measurements[i].params) for i in which]
            for n, trial in workers.outcomes(subject.try_out, places):
                if not isinstance(trial, Lost) and trial.prediction is not None:
                    found[which[n]] = trial.prediction.time_us
    finally:
        workers.close()
    return [Row(measured=measurements[i], predicted=us) for i, us in sorted(found.items())]


def regret_text(found: Sequence[Sweep]) -> str:
    """A row of a Markdown table for each sweep."""
    lines = [
        f"| sweep | schedules | picked | best | spread % | regret % | of {TOP} % | in time % |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for s in found:
        fixed = "".join(f" {n}={v}" for n, v in s.fixed)
        best = s.best()
        regrets = (s.regret_pct(), s.regret_pct(TOP), s.regret_pct(by=time_of))
        cells = [
            f"`{s.scenario}{fixed}`",
            str(len(s.rows)),
            *(f"{m.cycles:,.0f}" for m in (s.picked(), best)),
            *(f"{share:.1f}" for share in (100 * best.spread / best.cycles, *regrets)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.regret", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    print(regret_text(sweeps(predicted(load_file(args.file), args.machine, args.jobs))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
