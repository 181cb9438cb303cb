"""``asyncsim advise``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RING = ("advise", "tma_ring", "--ctas", 1, "--tile-bytes", 1024, "--ffma", 8, "--jobs", 1)
KERNELS = Path(__file__).parents[1] / "advise" / "kernels.py:behaving"


def test_the_report(cli: Any) -> None:
    done = cli("advise", KERNELS, "--how", 0, "--jobs", 1, "--top", 2)
    assert (done.code, done.err) == (0, "")
    head, ranking, why = done.out.split("\n\n")
    assert head == (
        "behaving how=0 ffma=8 on h200, L2 cold\n"
        "swept      stages=1,2,3: 3 combinations, 3 predicted\n"
        "proven     2 clean, 1 slower one not checked"
    )
    lines = ranking.splitlines()
    assert lines[0].split() == [
        "stages",
        "cycles",
        "time",
        "us",
        "sustained",
        "slower",
        "bound",
        "by,",
        "or",
        "lost",
        "to",
    ]
    assert [line.split()[0] for line in lines[1:]] == ["3", "2"]
    assert [line.split()[4] for line in lines[1:]] == ["0.0", "28.5"]
    assert why.splitlines()[0] == "best       stages=3"
    assert "\na step     stages 3 -> 2: 3,685 cycles (+28.5 %)\n           stages 3 -> 4: " in why
    assert max(map(len, done.out.splitlines())) <= 80


def test_what_is_left_out_is_named(cli: Any) -> None:
    done = cli("advise", KERNELS, "--stages", 2, "--jobs", 1)
    assert done.code == 0
    lines = done.out.split("\n\n")[0].splitlines()
    assert lines[1:] == [
        "swept      how=0,1,2,3,4: 5 combinations, 2 predicted",
        "proven     1 clean",
        "left out   1 no schedule; first how=3: how = 3; use another",
        "left out   1 runs that do not end; first how=2: roles wait for each other for",
        *lines[5:-3],
        "left out   1 with findings; first how=1: WRITE_BEFORE_RELEASE",
        "left out   1 failed; first how=4: kernels.py:30: ValueError: first line second",
        "           line",
    ]


def test_json_has_every_row(cli: Any) -> None:
    done = cli(*RING, "--tiles", 6, "--vary", "stages=1:3", "--top", 1, "--json")
    report = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert report["vary"] == {"stages": [1, 2, 3]}
    assert [t["p_stages"] for t in report["trials"]] == [1, 2, 3]
    assert report["best"] == report["ranked"][0] == report["trials"][2]
    assert (report["best"]["verdict"], report["best"]["p_stages"]) == ("clean", 3)
    assert [s["value"] for s in report["steps"]] == [2, 4]
    assert sum(report["counts"].values()) == 3
    assert report["next"][0]["halved"] == "DRAM latency"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--vary", "stages"), 2, "--vary stages: write --vary NAME=FIRST:LAST or NAME=1,2,4"),
        (("--vary", "stages=3:1"), 2, "--vary stages=3:1: '3:1' is empty; FIRST is at most LAST"),
        (("--vary", "tiles=1:2"), 2, "tiles is no free parameter of tma_ring: schedules that"),
        (("--top", "0"), 2, "--top 0: give at least 1"),
        (("--limit", "-1"), 2, "--limit -1: give seconds above 0, as 60"),
        (("--limit", "nan"), 2, "--limit nan: give seconds above 0, as 60"),
        (("--limit", "inf"), 2, "--limit inf: give seconds above 0, as 60"),
        (("--jobs", 2, "--scheduler", "x:1"), 2, "--jobs and --scheduler exclude each other; drop"),
        (("-o", "x.csv"), 2, "-o x.csv: end the name in .parquet"),
        (("-o", "/nowhere/x.parquet"), 2, "-o /nowhere/x.parquet: there is no such folder; make"),
        (("--vary", "stages=500"), 2, "no combination is a schedule; the first one: "),
    ],
)
def test_errors(cli: Any, words: tuple[object, ...], code: int, text: str) -> None:
    done = cli("advise", "tma_ring", *words)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"asyncsim: {text}") and done.err.count("\n") == 1


def test_a_limit_beyond_what_clocks_take(cli: Any) -> None:
    done = cli(*RING, "--tiles", 2, "--vary", "stages=2", "--limit", "1e300")
    assert (done.code, done.err) == (0, "")
    assert "swept      stages=2: 1 combination, 1 predicted\n" in done.out


def test_nothing_clean_is_no_success(cli: Any) -> None:
    done = cli("advise", KERNELS, "--vary", "how=1,2", "--jobs", 1)
    assert done.code == 1
    assert done.out.endswith("best       none: nothing was proven clean\n")
    assert cli("advise", KERNELS, "--vary", "how=3,4", "--jobs", 1).code == 2


def test_the_file_has_all_rows(cli: Any, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "rows.parquet"
    done = cli("advise", KERNELS, "--how", 0, "--jobs", 1, "-o", out)
    assert (done.code, done.err) == (0, f"wrote 3 of 3 combinations to {out}\n")
    assert pq.read_table(out)["p_stages"].to_pylist() == [1, 2, 3]
    assert [p.name for p in tmp_path.iterdir()] == ["rows.parquet"]


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "rows.parquet"
    asleep = ("--vary", "how=0,6", "--stages", "2")
    command = (sys.executable, "-m", "asyncsim", "advise", str(KERNELS), *asleep, "--jobs", "2")
    process = subprocess.Popen((*command, "-o", str(out)), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "asleep\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == f"wrote 1 of 2 combinations to {out}\nasyncsim: interrupted\n"
    assert pq.read_table(out)["verdict"].to_pylist() == ["unchecked"]


def measured_rows(cycles: dict[int, float], broken: int = 0) -> Any:
    def measure(configurations: Any, child: object) -> Any:
        for c in configurations:
            stages = c.params["stages"]
            row = {"scenario": c.scenario, "params": c.params, "l2": c.l2, "verified": True}
            if stages == broken:
                row |= {"verified": False, "verification": "3 of 8 elements of 1 of 1 CTAs differ"}
            yield row | {"cycles": cycles[stages], "time_us": cycles[stages] / 2000}, {}

    return measure


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr("asyncsim.hw.probe.what_is_missing", lambda: "")
    return monkeypatch


MEASURE = ("advise", KERNELS, "--how", 0, "--jobs", 1, "--top", 2, "--measure")


def test_the_fastest_measured_is_the_best(cli: Any, gpu: pytest.MonkeyPatch) -> None:
    gpu.setattr("asyncsim.hw.measure.measure", measured_rows({3: 3000.0, 2: 2500.0}))
    done = cli(*MEASURE)
    assert done.code == 0
    _, ranking, why = done.out.split("\n\n")
    lines = [line.split() for line in ranking.splitlines()]
    assert lines[0][5:7] == ["slower", "measured"]
    assert [(w[0], w[4], w[6]) for w in lines[1:]] == [
        ("2", "0.0", "2,500"),
        ("3", "20.0", "3,000"),
    ]
    assert why.startswith("best       stages=2\n")
    assert "\na step     stages 2 -> 1: " in why
    assert why.endswith("\nmeasured   the fastest; stages=3, predicted to be, takes 20.0 % more\n")
    gpu.setattr("asyncsim.hw.measure.measure", measured_rows({3: 3000.0, 2: 3500.0}))
    done = cli(*MEASURE)
    assert "best       stages=3\n" in done.out
    assert done.out.endswith("\nmeasured   the fastest of those measured, as predicted\n")
    report = json.loads(cli(*MEASURE, "--json").out)
    assert [t["measured_cycles"] for t in report["ranked"]] == [3000.0, 3500.0]


def test_wrong_data_contradicts_the_verdict(cli: Any, gpu: pytest.MonkeyPatch) -> None:
    gpu.setattr("asyncsim.hw.measure.measure", measured_rows({3: 3000.0, 2: 2500.0}, broken=3))
    done = cli(*MEASURE)
    assert done.code == 5
    assert "best       stages=2\n" in done.out
    assert done.out.endswith(
        "\nmeasured   the fastest; stages=3, predicted to be, failed: 3 of 8 elements of 1\n"
        "           of 1 CTAs differ\n"
    )


def test_no_gpu_is_known_before_the_sweep(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asyncsim.hw.probe.what_is_missing", lambda: "no NVIDIA driver; fix: x")
    done = cli(*MEASURE)
    assert (done.code, done.out) == (4, "")
    assert done.err == "asyncsim: --measure: no NVIDIA driver; fix: x\n"
