"""``advise --measure``: the fastest combinations on the GPU at hand."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsim.advise.trial import Measured, Trial
from asyncsim.cli.progress import Tell

OUR_OWN = ("CompileError", "EnvironmentError_", "ScheduleError")
"""Errors of a row that say nothing of the schedule."""


def measure_on_gpu(spec: str, l2: str, tell: Tell, trials: Sequence[Trial]) -> list[Measured]:
    """Each verified and timed. ``spec``: how the command line names the scenario.

    Raises EnvironmentError_.
    """
    from asyncsim.hw.configuration import Configuration
    from asyncsim.hw.launch.child_process import Child
    from asyncsim.hw.measure import measure

    sets = [Configuration(scenario=spec, params=dict(t.params), l2=l2) for t in trials]
    found = []
    with Child() as child:
        for row, _ in measure(sets, child):
            found.append(_of(row))
            tell(f"measuring {len(found)} of {len(sets)}")
    return found


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
