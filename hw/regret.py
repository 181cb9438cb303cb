"""What the advice costs: ``python -m asyncsim.hw.regret FILE``, of a file of measured sweeps.

Rows of one problem (all parameters equal that are not free) are a sweep. Its regret is how much
slower the schedule is that ``advise`` would take than the fastest one measured, in cycles and in
time; ``of 5`` after the five that it proves were measured. See docs/advise.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from asyncsim.advise.result import foreseen_us, sustained_rank
from asyncsim.advise.trial import Subject
from asyncsim.advise.workers import Lost, Processes
from asyncsim.catalog import find_scenario
from asyncsim.hw.store import Measurement, load_file
from asyncsim.machine import load_machine

TOP = 5
LIMIT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A measured schedule, and its predicted times in us: of one run, and of a sustained one."""

    measured: Measurement
    predicted: float
    sustained: float


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

    def first(self) -> list[Row]:
        """Those that ``advise`` proves: predicted to be the fastest."""
        return sorted(self.rows, key=lambda r: r.predicted)[:TOP]

    def picked(self) -> Measurement:
        """What ``advise`` takes of them: the fastest in a sustained run."""
        fastest = min(r.sustained for r in self.first())
        return min(
            self.first(), key=lambda r: (sustained_rank(r.sustained, fastest), r.predicted)
        ).measured

    def regret_pct(self, by: Quantity = cycles_of) -> float:
        """How much slower the picked one is than the fastest of all, in percent."""
        return 100 * (by(self.picked()) / by(self.best(by)) - 1)

    def measured_regret_pct(self) -> float:
        """The same of the one that ``advise --measure`` takes, in cycles."""
        taken = min(r.measured.cycles for r in self.first())
        return 100 * (taken / self.best().cycles - 1)

    def best(self, by: Quantity = cycles_of) -> Measurement:
        """The fastest measured."""
        return min((r.measured for r in self.rows), key=by)


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
    found: dict[int, Row] = {}
    try:
        for l2, name in sorted({(m.l2, m.scenario) for m in measurements}):
            which = [i for i, m in enumerate(measurements) if (m.l2, m.scenario) == (l2, name)]
            subject = Subject(scenario=find_scenario(name), machine=gpu, l2=l2, limit_s=LIMIT_S)
            places = [dict(measurements[i].params) for i in which]
            tried = {
                which[n]: trial
                for n, trial in workers.outcomes(subject.try_out, places)
                if not isinstance(trial, Lost) and trial.prediction is not None
            }
            numbers = list(tried)
            for n, trial in workers.outcomes(subject.sustain, list(tried.values())):
                if not isinstance(trial, Lost) and trial.prediction is not None:
                    found[numbers[n]] = Row(
                        measured=measurements[numbers[n]],
                        predicted=trial.prediction.time_us,
                        sustained=foreseen_us(trial),
                    )
    finally:
        workers.close()
    return [row for _, row in sorted(found.items())]


def regret_text(found: Sequence[Sweep]) -> str:
    """A row of a Markdown table for each sweep."""
    lines = [
        f"| sweep | schedules | picked | best | spread % | regret % | of {TOP} % | in time % |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for s in found:
        fixed = "".join(f" {n}={v}" for n, v in s.fixed)
        best = s.best()
        regrets = (s.regret_pct(), s.measured_regret_pct(), s.regret_pct(time_of))
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
