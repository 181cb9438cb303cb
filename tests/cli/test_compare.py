"""``compare``: the table, the JSON, and the check against stored statistics."""

from __future__ import annotations

import json

import pytest

import asyncsim.hw.compare
import asyncsim.hw.store
from asyncsim.hw.store import load_all

ROWS = [m for m in load_all() if m.scenario == "tma_ring" and m.params["ctas"] == 1][:3]


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three stored rows: the others take minutes, and .ci/run compares all."""
    monkeypatch.setattr(asyncsim.hw.store, "load_all", lambda: tuple(ROWS))


def test_json(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("compare", "--json")
    report = json.loads(done.out)
    assert done.code == 0
    keys = ("n", "error_pct", "tau_b", "top1_regret_pct", "by_scenario", "rows")
    assert [key for key in keys if key not in report] == []
    assert list(report["error_pct"]) == ["mean", "median", "p90", "p95", "max"]
    assert len(report["rows"]) == 3
    errors = sorted(abs(r["error_pct"]) for r in report["rows"])
    assert report["error_pct"]["max"] == errors[-1]
    assert report["error_pct"]["median"] == pytest.approx(errors[1], abs=0.01)


def test_table_has_the_worst_rows_first(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("compare", "tma_ring")
    lines = done.out.splitlines()
    assert lines[0].split() == ["scenario", "parameters", "L2", "measured", "error", "%"]
    errors = [abs(float(line.split()[-1])) for line in lines[1:4]]
    assert errors == sorted(errors, reverse=True)
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("tau-b ")


def test_unknown_scenario_and_machine(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("compare", "tma_rin")
    assert (done.code, done.err) == (
        2,
        "asyncsim: no stored measurements of 'tma_rin'; did you mean 'tma_ring'? "
        "there are some of tma_ring\n",
    )
    assert cli("compare", "--machine", "h20").code == 2


def test_check_without_stored_statistics(cli, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(asyncsim.hw.compare, "ACCURACY", tmp_path / "none.json")
    done = cli("compare", "--check")
    assert (done.code, done.err) == (
        0,
        "no stored statistics to compare with yet: nothing to check\n",
    )


def test_check_against_stored_statistics(cli, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    stored = tmp_path / "accuracy.json"
    stored.write_text(cli("compare", "--json").out)
    monkeypatch.setattr(asyncsim.hw.compare, "ACCURACY", stored)
    done = cli("compare", "--check")
    assert (done.code, done.err) == (0, "not worse than the stored statistics\n")
    better = json.loads(stored.read_text())
    better["error_pct"]["median"] -= 1
    stored.write_text(json.dumps(better))
    done = cli("compare", "--check")
    assert done.code == 1 and done.err.startswith("worse: median error ")


def test_no_measurements(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(asyncsim.hw.store, "load_all", tuple)
    assert cli("compare").out == "no stored measurements yet\n"
