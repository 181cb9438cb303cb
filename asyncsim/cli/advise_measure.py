"""``advise --measure``: the fastest combinations on the GPU at hand."""

from __future__ import annotations

from dataclasses import replace

from asyncsim.advise.result import Advice
from asyncsim.advise.trial import Measured, Trial
from asyncsim.cli.progress import working

OUR_OWN = ("CompileError", "EnvironmentError_", "ScheduleError")
"""Errors of a row that say nothing of the schedule."""


def measured(advice: Advice, spec: str, top: int, *, quiet: bool) -> Advice:
    """The same with ``measured`` of its ``top`` fastest, each verified and timed.

    ``spec``: how the command line names the scenario. Raises EnvironmentError_.
    """
    from asyncsim.hw.configuration import Configuration
    from asyncsim.hw.launch.child_process import Child
    from asyncsim.hw.measure import Row, measure

    chosen = advice.ranked[:top]
    sets = [Configuration(scenario=spec, params=dict(t.params), l2=advice.l2) for t in chosen]
    found: dict[int, Row] = {}
    with Child() as child, working("measuring", quiet=quiet) as tell:
        for i, (row, _) in enumerate(measure(sets, child)):
            found[id(chosen[i])] = row
            tell(f"measuring {advice.scenario}: {i + 1} of {len(chosen)}")

    def with_row(trial: Trial) -> Trial:
        row = found.get(id(trial))
        return trial if row is None else replace(trial, measured=_of(row))

    return replace(advice, trials=tuple(with_row(t) for t in advice.trials))


def _of(row: dict[str, object]) -> Measured:
    if "error" in row:
        text = str(row["error"])
        return Measured(trouble=text, contradicts=not text.startswith(OUR_OWN))
    trouble = "" if row["verified"] else str(row["verification"])
    return Measured(
        cycles=_number(row["cycles"]),
        time_us=_number(row["time_us"]),
        trouble=trouble,
        contradicts=bool(trouble),
    )


def _number(value: object) -> float:
    assert isinstance(value, float | int)
    return float(value)
