"""``compare``: the table, the JSON, and the check against stored statistics."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import asyncsim.hw.accuracy
import asyncsim.hw.store
from asyncsim.catalog import find_scenario
from asyncsim.hw.accuracy import document_of, document_text, load_stored, proven
from asyncsim.hw.compare import compare_suite
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
    assert lines[0] == "error in %  measured  boards  apart %  L2    scenario and parameters"
    rows = [line for line in lines[1 : lines.index("")] if line.split()[0][0] in "+-"]
    errors = [abs(float(line.split()[0])) for line in rows]
    assert len(rows) == 3 and errors == sorted(errors, reverse=True)
    assert max(map(len, lines)) <= 80
    assert "\ntau-b " in done.out
    assert cli("compare", "--scenario", "tma_ring").out == done.out


def test_every_row_is_named_whole(cli) -> None:  # type: ignore[no-untyped-def]
    """All parameters that differ from the defaults, wrapped and never cut."""
    out = cli("compare").out
    assert "..." not in out
    table = " ".join(out.partition("\n\n")[0].split())
    defaults = find_scenario("tma_ring").params
    for m in ROWS:
        named = [f"{n}={v}" for n, v in m.params.items() if defaults[n] != v]
        assert f" tma_ring {' '.join(named) or '(defaults)'}" in table


def test_the_worst_alone(cli) -> None:  # type: ignore[no-untyped-def]
    everything = cli("compare").out.splitlines()
    lines = cli("compare", "--worst", "1").out.splitlines()
    assert lines[1] == everything[1] and "2 more rows with smaller errors" in lines
    assert lines[lines.index("") :] == everything[everything.index("") :], "statistics of all"
    report = json.loads(cli("compare", "--worst", "1", "--json").out)
    rows = json.loads(cli("compare", "--json").out)["rows"]
    assert report["rows"] == sorted(rows, key=lambda r: -abs(r["error_pct"]))[:1]
    assert report["n"] == 3


def test_statistics_by_group(cli) -> None:  # type: ignore[no-untyped-def]
    lines = cli("compare").out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.endswith("boards apart"))
    assert lines[head].split()[-2:] == ["boards", "apart"]
    names = [line[:13].strip() for line in lines[head + 1 :]]
    assert names[:3] == ["all", "tma_ring", "one CTA"]
    assert names[3].startswith("L2 ")


def test_all_rows_are_held_against_the_goals(cli) -> None:  # type: ignore[no-untyped-def]
    lines = cli("compare").out.splitlines()
    goals = [" ".join(line.split()) for line in lines[lines.index("") :]]
    assert "rows >= 250 3 missed" in goals
    assert any(g.startswith("mean error <= 3 % ") for g in goals)
    assert "goal" not in cli("compare", "tma_ring").out, "some rows say nothing of the suite"


def test_what_the_boards_differ_by(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    one = ROWS[0]
    other = replace(
        one,
        cycles=one.cycles * 1.02,
        cycles_p90=one.cycles * 1.03,
        provenance={**one.provenance, "board": "another"},
    )
    monkeypatch.setattr(asyncsim.hw.store, "load_all", lambda: (one, other))
    row = cli("compare").out.splitlines()[1].split()
    assert row[2:4] == ["2", "2.0"]
    monkeypatch.setattr(asyncsim.hw.store, "load_all", lambda: (one,))
    assert cli("compare").out.splitlines()[1].split()[2:4] == ["1", "-"]


def test_rows_with_a_parameter(cli) -> None:  # type: ignore[no-untyped-def]
    stages = ROWS[0].params["stages"]
    rows = json.loads(cli("compare", "--stages", stages, "--json").out)["rows"]
    assert rows and {r["params"]["stages"] for r in rows} == {stages}
    assert len(rows) == sum(m.params["stages"] == stages for m in ROWS)
    done = cli("compare", "--stages", 99)
    assert (done.code, done.out) == (0, "no stored measurements with these parameters\n")


def test_usage(cli) -> None:  # type: ignore[no-untyped-def]
    for argv, text in (
        (("--worst", "0"), "argument --worst: '0' is no number of rows; give 1 or more; see "),
        (("a", "--scenario", "b"), "two scenarios, a and b; name one"),
        (
            ("tma_ring", "--stags", "2"),
            "no stored row has a parameter 'stags'; did you mean 'stages'? they have stages, ",
        ),
        (
            ("--check", "--scenario", "b"),
            "--check compares all stored rows; leave SCENARIO and parameters out",
        ),
    ):
        done = cli("compare", *argv)
        assert (done.code, done.out) == (2, "") and done.err.startswith(f"asyncsim: {text}")


def test_unknown_scenario_and_machine(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("compare", "tma_rin")
    assert (done.code, done.err) == (
        2,
        "asyncsim: no stored measurements of 'tma_rin'; did you mean 'tma_ring'? "
        "there are some of tma_ring\n",
    )
    assert cli("compare", "--machine", "h20").code == 2


def test_check_without_stored_statistics(cli, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(asyncsim.hw.accuracy, "ACCURACY", tmp_path / "none.json")
    done = cli("compare", "--check")
    assert (done.code, done.err) == (0, "no stored figures to compare with yet: nothing to check\n")


def test_check_against_stored_statistics(cli, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    stored = tmp_path / "accuracy.json"
    known = load_stored()
    stored.write_text(document_text(document_of(compare_suite(ROWS, proven=proven(known)))))
    monkeypatch.setattr(asyncsim.hw.accuracy, "ACCURACY", stored)
    done = cli("compare", "--check")
    assert (done.code, done.err) == (0, "every row is predicted as is stored\n")
    other = json.loads(stored.read_text())
    row = other["rows"][0]
    row["error_pct"], row["predicted_cycles"] = 0.01, row["measured_cycles"]
    stored.write_text(json.dumps(other))
    done = cli("compare", "--check")
    name = " ".join(f"{n}={v}" for n, v in row["params"].items())
    assert done.code == 1
    assert done.err.startswith(
        f"tma_ring {name} {row['l2']}: predicted {row['measured_cycles']} -> "
    )
    assert done.err.endswith(
        " %, worse\nrun python -m asyncsim.hw.compare --update and look at what moved\n"
    )


def test_no_measurements(cli, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(asyncsim.hw.store, "load_all", tuple)
    assert cli("compare").out == "no stored measurements yet\n"


def test_intervals(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("compare", "tma_reduce", "--intervals")
    lines = done.out.splitlines()
    assert done.code == 0 and lines[0] == "tma_reduce tiles=128 ctas=1, L2 warm"
    assert " ".join(lines[1].split()) == "role measured predicted error in % from .. to"
    assert [" ".join(line.split()[4:]) for line in lines if " step at " in line] == [
        "step at mbarrier wait full",
        "step at mbarrier wait empty",
    ]
    assert max(map(len, lines)) <= 80
    report = json.loads(cli("compare", "tma_reduce", "--intervals", "--json").out)
    assert report["statistics"]["steps"]["n"] == 2
    roles = [line for line in lines if line.startswith(("sender ", "producer "))]
    assert len(report["intervals"]) == len(roles)


def test_intervals_usage(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("compare", "--intervals", "--check")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "asyncsim: --intervals shows all of them; leave --check and --worst out",
    )
    done = cli("compare", "tma_redcue", "--intervals")
    said = "asyncsim: no stored intervals of 'tma_redcue'; did you mean 'tma_reduce'? there are "
    assert done.err.startswith(said)
    done = cli("compare", "tma_reduce", "--intervals", "--tiles", "3")
    assert done.out == "no stored intervals with these parameters\n"
    done = cli("compare", "tma_reduce", "--intervals", "--tils", "3")
    said = "asyncsim: no stored row has a parameter 'tils'; did you mean 'tiles'? they have "
    assert (done.code, done.err[: len(said)]) == (2, said)
