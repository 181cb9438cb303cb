"""Public times of 8-bit GEMMs on an H200, beside what predict says of `fp8_gemm`.

Which kernel was measured is not published; ours is `fp8_gemm` with its defaults.  So the difference
is one between kernels as well, and no error of the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from asyncsim.catalog import find_scenario
from asyncsim.hw.beside.attention import published
from asyncsim.hw.store import FOLDER
from asyncsim.machine import load_machine

STORED = FOLDER.parent / "beside" / "fp8.json"


def measured() -> list[tuple[int, int, int, float]]:
    """m, n, k and microseconds of each row."""
    return [(m, n, k, us) for m, n, k, us in published()["fp8"]["rows"]]


def predicted() -> list[float]:
    """Microseconds of each row, at the clock that predict takes: checked and simulated anew."""
    from asyncsim.check import check
    from asyncsim.sim import simulate

    machine = load_machine("h200")
    scenario = find_scenario("fp8_gemm")
    found = []
    for m, n, k, _ in measured():
        schedule = scenario.build({**scenario.params, "m": m, "n": n, "k": k})
        certified = check(schedule).certified
        found.append(simulate(schedule, machine, certified=certified, l2="cold").time_us)
    return found


def text_of(times: Iterable[float]) -> str:
    """The stored form."""
    rounded = [round(us, 3) for us in times]
    return json.dumps({"schema": 1, "machine": "h200", "us": rounded}, indent=1) + "\n"


def load_times(path: Path = STORED) -> list[float]:
    """What was stored, in the order of the rows."""
    times: list[float] = json.loads(path.read_text(encoding="utf-8"))["us"]
    return times
