"""The regret of measured sweeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncsim.hw.regret import Row, Sweep, predicted, regret_text, sweeps
from asyncsim.hw.store import Measurement, load_file

UNSCORED = Path(__file__).parents[2] / "hw" / "data"


def row(
    stages: int, cycles: float, predicted: float, sustained: float = 0, *, ctas: int = 132
) -> Row:
    measured = Measurement(
        scenario="tma_ring",
        params={"stages": stages, "ctas": ctas},
        l2="cold",
        cycles=cycles,
        cycles_p10=cycles - 1,
        cycles_p90=cycles + 1,
        time_us=cycles / 2000,
        clock_mhz=2000.0,
        n=21,
        verified=True,
        verification="",
        cubin="",
        provenance={},
    )
    return Row(measured=measured, predicted=predicted, sustained=sustained or predicted)


def test_the_regret_is_what_the_pick_loses() -> None:
    """Of the five that are predicted to be the fastest, it is the fastest in a sustained run."""
    rows = (
        row(1, 400, 30),
        row(2, 220, 10, 18),
        row(3, 200, 20),
        row(4, 210, 15, 17),
        row(5, 300, 21),
    )
    sweep = Sweep(scenario="tma_ring", fixed=(), rows=rows)
    assert sweep.picked().params["stages"] == 4
    assert sweep.best().params["stages"] == 3
    assert sweep.regret_pct() == pytest.approx(5.0)
    assert sweep.measured_regret_pct() == 0.0
    assert regret_text([sweep]).splitlines()[-1] == (
        "| `tma_ring` | 5 | 210 | 200 | 1.0 | 5.0 | 0.0 | 5.0 |"
    )
    more = (*rows[:2], *rows[3:], *(row(n, 500, 12) for n in (6, 7)), row(8, 190, 40))
    left_out = Sweep(scenario="tma_ring", fixed=(), rows=more)
    assert left_out.measured_regret_pct() == pytest.approx(100 * (210 / 190 - 1))


def test_rows_of_one_problem_are_a_sweep() -> None:
    """What is free differs within it; a problem with one schedule leaves no choice."""
    rows = [
        row(1, 2, 2),
        row(2, 1, 1),
        row(1, 3, 3, ctas=4),
        row(2, 4, 4, ctas=4),
        row(1, 1, 1, ctas=9),
    ]
    assert [(s.fixed, len(s.rows)) for s in sweeps(rows)] == [((), 2), ((("ctas", 4),), 2)]


def test_a_stored_sweep_is_predicted_again() -> None:
    files = sorted(UNSCORED.rglob("*-sweeps.json"))
    rows = [m for f in files for m in load_file(f) if m.scenario == "dispatch"]
    assert len(rows) == 7
    found = sweeps(predicted(rows, "h200", 1))
    assert [(s.scenario, len(s.rows)) for s in found] == [("dispatch", 7)]
    assert found[0].best().cycles == min(m.cycles for m in rows)
