"""The stored figures: whole, exact, held against the goals, and every miss with its reason."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.hw import accuracy, predictions
from asyncsim.hw.accuracy import (
    ACCURACY,
    differences,
    document_of,
    document_text,
    load_stored,
    proven,
    shown,
    stored_rows,
)
from asyncsim.hw.beside.rows import stored_comparison_rows
from asyncsim.hw.compare import ComparedRow, Comparison, as_measured, grouped, summarise
from asyncsim.hw.goals import goals, misses
from asyncsim.hw.misses import UNKNOWN, Reason, by_reason, load_reasons, unneeded
from asyncsim.hw.predictions import OPEN, Asked, fingerprint, predict_all, predict_row
from asyncsim.hw.store import load_all
from asyncsim.machine import load_machine
from asyncsim.predict import Verdict


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing that an earlier run has kept."""
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path / "cache"))


def row(measured: float, predicted: float | None, **changed: Any) -> ComparedRow:
    fields: dict[str, Any] = {
        "scenario": "tma_ring",
        "params": {**find_scenario("tma_ring").params, "tiles": int(measured)},
        "l2": "cold",
        "boards": 1,
        "measured": measured,
        "time_us": 50.0,
        "spread_pct": 1.0,
        "predicted": predicted,
        "proven": "abc",
    }
    return ComparedRow(**{**fields, **changed})


def stored_comparison() -> Comparison:
    """The stored figures as a comparison, without predicting anything."""
    return summarise(stored_comparison_rows())


def test_every_measured_row_has_its_figure() -> None:
    rows = load_all()
    assert all(m.verified for m in rows)
    stored = stored_rows(load_stored())
    assert set(stored) == set(grouped(rows))
    undecided = {key[0] for key, r in stored.items() if r["proven"].startswith(OPEN)}
    assert all(r["proven"] for r in stored.values()), "every row was checked"
    assert undecided <= {"flash_attention", "mma_gemm"}, "too large to be looked at whole"


def test_figures_and_statistics_agree() -> None:
    """The statistics of the file are those of its rows."""
    stored, now = load_stored(), stored_comparison()
    assert stored["n"] == now.overall.n
    assert stored["error_pct"]["max"] == pytest.approx(now.overall.max, abs=0.02)
    assert stored["error_pct"]["mean"] == pytest.approx(now.overall.mean, abs=0.02)
    assert stored["tau_b"] == pytest.approx(now.tau_b, abs=0.002)
    assert set(stored["by_scenario"]) == set(now.by_scenario)


def test_every_row_that_misses_has_a_reason() -> None:
    by = by_reason(misses(stored_comparison()), load_reasons())
    assert [f"{r.scenario} {r.params} {r.l2}" for r in by.get(UNKNOWN, ())] == []


def test_some_rows_are_predicted_as_is_stored() -> None:
    """One short row of each of several scenarios; .ci/run compares all."""
    stored = stored_rows(load_stored())
    quick: dict[str, Any] = {}
    for key in sorted(stored, key=lambda k: stored[k]["measured_cycles"]):
        quick.setdefault(key[0], key)
    chosen = list(quick.values())[:6]
    groups = grouped(load_all())
    found = predict_all(
        [as_measured(key, groups[key], stored[key]["proven"]) for key in chosen], workers=1
    )
    moved = [
        (key, stored[key]["predicted_cycles"], p.cycles)
        for key, p in zip(chosen, found, strict=True)
        if p.cycles is None or round(p.cycles, 1) != stored[key]["predicted_cycles"]
    ]
    assert moved == [], accuracy.REPAIR


def test_differences_are_said_row_by_row() -> None:
    before = summarise([row(100, 101), row(200, 210), row(300, 330)])
    stored = json.loads(document_text(document_of(before)))
    assert differences(stored, before) == []
    after = summarise([row(100, 104), row(200, 208), row(400, 400)])
    assert differences(stored, after) == [
        "tma_ring tiles=100 cold: predicted 101 -> 104 of 100 cycles, error 1.0 -> 4.0 %, worse",
        "tma_ring tiles=400 cold: not stored yet",
        "tma_ring tiles=200 cold: predicted 210 -> 208 of 200 cycles, error 5.0 -> 4.0 %, better",
        "tma_ring tiles=300 cold: stored, and measured no more",
    ]
    stopped = summarise([replace(r, predicted=None) for r in before.rows[:1]])
    assert differences(stored, stopped)[0].endswith(
        "predicted 101 -> None of 100 cycles, error 1.0 -> None %, worse"
    )
    assert list(shown([f"{i}" for i in range(22)]))[-1] == "and 2 more rows"


def test_the_document_has_a_line_for_each_row(tmp_path: Path) -> None:
    text = document_text(document_of(summarise([row(100, 101), row(200, 210)])))
    assert [line.count("predicted_cycles") for line in text.splitlines()].count(1) == 2
    path = tmp_path / "accuracy.json"
    path.write_text(text)
    assert list(proven(load_stored(path)).values()) == ["abc", "abc"]
    assert load_stored(tmp_path / "none.json") == {}
    assert ACCURACY.read_text() == document_text(load_stored()), "as --update writes it"


def test_update_stores_and_check_compares(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "accuracy.json"
    figures = [summarise([row(100, 101)])]
    monkeypatch.setattr(accuracy, "ACCURACY", path)
    monkeypatch.setattr(accuracy, "compare_suite", lambda *_, **__: figures[-1])
    assert accuracy.main(["--update"]) == 0
    assert capsys.readouterr().err == "tma_ring tiles=100 cold: not stored yet\n"
    assert accuracy.main(["--check"]) == 0 and capsys.readouterr().err == ""
    figures.append(summarise([row(100, 120)]))
    assert accuracy.main(["--check"]) == 1
    done = capsys.readouterr()
    assert done.err == (
        "tma_ring tiles=100 cold: predicted 101 -> 120 of 100 cycles, error 1.0 -> 20.0 %, worse\n"
        f"{accuracy.REPAIR}\n"
    )
    assert "largest error <= 15 %: 20.00 %, missed" in done.out.splitlines()
    assert accuracy.main([]) == 0


def test_goals_say_what_is_over() -> None:
    c = summarise([row(100, 102), row(200, 240), row(100, 107, scenario="ws_gemm")])
    said = {g.name: str(g) for g in goals(c)}
    assert said["rows"] == "rows >= 250: 3, missed"
    assert said["mean error"] == "mean error <= 3 %: 9.67 %, missed"
    assert said["largest error"] == "largest error <= 15 %: 20.00 %, missed"
    assert said["mean of each scenario"] == (
        "mean of each scenario <= 5 %: 11.00 %, missed: tma_ring 11.0, ws_gemm 7.0"
    )
    assert said["tau-b"] == "tau-b >= 0.95: 1.000, met"
    assert said["top-1 regret"] == "top-1 regret <= 1 %: 0.00 %, met"


def test_what_misses() -> None:
    """Over the maximum; over the mean's limit where the scenario's mean is; not what is short."""
    fine = [row(100 + i, 101 + i) for i in range(20)]
    over, within = row(50, 58), row(60, 68)
    short = row(70, 140, time_us=4.0)
    ring = [row(100, 108, scenario="sync_copy", params={}), row(101, 104, scenario="sync_copy")]
    stopped = row(90, None)
    c = summarise([*fine, over, within, short, *ring, stopped])
    assert misses(c) == (stopped, over, ring[0])
    reasons = [
        Reason(scenario="tma_ring", params={"tiles": 50}, l2="cold", why="a"),
        Reason(scenario="tma_ring", params={"tiles": 50}, l2="warm", why="b"),
        Reason(scenario="sync_copy", why="c"),
    ]
    assert by_reason(misses(c), reasons) == {UNKNOWN: [stopped], "a": [over], "c": [ring[0]]}
    assert unneeded(misses(c), reasons) == [reasons[1]]


def test_a_stored_proof_is_that_of_the_same_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked again is what differs from what was proven, and nothing else."""
    from asyncsim.check import check

    checked: list[str] = []

    def counting(schedule: Any) -> Any:
        checked.append(schedule.name)
        return check(schedule)

    monkeypatch.setattr(sys.modules["asyncsim.check"], "check", counting)
    machine = load_machine("h200")
    params = (("ctas", 1), ("tiles", 8))
    first = predict_row(Asked(scenario="tma_ring", params=params, l2="warm"), machine)
    mark = fingerprint(find_scenario("tma_ring").build(dict(params)))
    assert checked == ["tma_ring"] and first.proven == mark
    asked = Asked(scenario="tma_ring", params=params, l2="warm", proven=first.proven)
    assert predict_row(asked, machine) == first and checked == ["tma_ring"]
    assert predict_row(replace(asked, params=(*params, ("stages", 2))), machine).proven != mark
    assert checked == ["tma_ring"] * 2


def test_kept_is_what_the_same_sources_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prediction is not run again until the schedule, L2, the machine or the sources differ."""
    import asyncsim.sim as sim

    runs: list[str] = []
    simulate = sim.simulate

    def counting(schedule: Any, *args: Any, **options: Any) -> Any:
        runs.append(schedule.name)
        return simulate(schedule, *args, **options)

    monkeypatch.setattr(sim, "simulate", counting)
    machine = load_machine("h200")
    asked = Asked(scenario="tma_ring", params=(("ctas", 1), ("tiles", 8)), l2="warm")
    first = predict_row(asked, machine)
    assert predict_row(asked, machine) == first and len(runs) == 1
    predict_row(replace(asked, l2="cold"), machine)
    predict_row(asked, load_machine("h100"))
    monkeypatch.setattr(predictions, "_sources", lambda: "others")
    predict_row(asked, machine)
    assert len(runs) == 4


def test_an_open_verdict_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in strict time order, now and later."""
    from asyncsim.check import check

    checked: list[str] = []

    def undecided(schedule: Any) -> Any:
        checked.append(schedule.name)
        return replace(check(schedule), verdict=Verdict.INCOMPLETE, certified=False)

    monkeypatch.setattr(sys.modules["asyncsim.check"], "check", undecided)
    machine = load_machine("h200")
    asked = Asked(scenario="tma_ring", params=(("ctas", 1), ("tiles", 8)), l2="warm")
    first = predict_row(asked, machine)
    assert first.proven.startswith(OPEN)
    again = predict_row(replace(asked, proven=first.proven), machine)
    assert again == first and checked == ["tma_ring"]


def test_processes_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    asked = [
        Asked(scenario="tma_ring", params=(("ctas", 1), ("tiles", 8), ("stages", s)), l2="warm")
        for s in (1, 2) * 8
    ]
    there = predict_all(asked, workers=2, tell=told.append)
    assert there == predict_all(asked[:2], workers=1) * 8
    assert told[-1] == "predicted 16 rows of 16"
