"""``asyncsim calibrate``: stored rows in, machine file and report out; one line when it cannot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("scipy")

from asyncsim.cli.main import main
from asyncsim.hw.calibrate.fit import to_toml
from asyncsim.hw.probe import what_is_missing
from asyncsim.machine import load_machine

DATA = Path(__file__).parents[2] / "hw/calibrate/data"
ONE, TWO = (DATA / f"2026-11-30-{board}.json" for board in ("068c14ab", "d197f87b"))


def _calibrate(*args: str | Path) -> int:
    return main(["calibrate", *map(str, args)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrate")
    code = _calibrate(
        "--from", ONE, "--from", TWO, "--out", folder / "m.toml", "--report", folder / "report"
    )
    assert code == 0
    return folder


def test_the_machine_file_says_how_each_number_is_known(made: Path) -> None:
    machine = load_machine(made / "m.toml")
    counts = machine.count_by_how()
    assert counts["measured"] > 75 and counts["inferred"] >= 8
    assert counts["published"] == load_machine("h200").count_by_how()["published"]
    assert sum(counts.values()) == len(load_machine("h200").provenance)
    assert machine.boards == ("068c14ab", "d197f87b") and machine.title == "NVIDIA H200"
    fill = machine.provenance["tma.fill"]
    assert fill.how == "measured" and fill.source == "tma_train, tma_train_narrow, boxes"
    assert fill.uncertainty is not None and 0 < fill.uncertainty < 1
    assert fill.residual is not None and 0 < fill.residual < 1
    assert machine.provenance["tma.latency_l2"].how == "inferred"  # the elect is taken off
    kept = machine.provenance["l2.capacity"]
    assert (kept.how, kept.source) == ("assumed", "h200.toml: prior H200 study, 2026-11-30")


def test_the_report_names_law_number_and_difference(made: Path) -> None:
    page = (made / "report/README.md").read_text()
    assert page.startswith("# Calibration of NVIDIA H200\n")
    assert "![dram_in_flight](dram_in_flight.svg)" in page
    assert "| `code.loop` | 8.203 | 8.023 | 0.0" in page
    assert "| 2026-11-30 | d197f87b | 580.159.04 | 13.0 | 13.0.88 |" in page
    for name in ("dram_in_flight", "wgmma_interval"):
        picture = (made / f"report/{name}.svg").read_text()
        assert picture.startswith("<svg") and picture.count("<circle") > 20


def test_a_report_takes_the_place_of_a_report_alone(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, other = tmp_path / "report", tmp_path / "other"
    shutil.copytree(made / "report", report)
    assert _calibrate("--from", ONE, "--only", "loop", "--report", report) == 0
    assert sorted(p.name for p in report.iterdir()) == ["README.md", "loop.svg"]
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    assert _calibrate("--from", ONE, "--report", other) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"asyncsim: --report {other} exists and is no report; choose another folder"
    assert [p.name for p in other.iterdir()] == ["mine.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "report"]


def test_only_leaves_the_other_numbers_assumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _calibrate("--from", ONE, "--only", "loop", "--out", tmp_path / "m.toml") == 0
    out = capsys.readouterr().out
    shipped = load_machine("h200").count_by_how()
    assumed = shipped["measured"] - 3 + shipped["assumed"]
    assert f"numbers  3 measured, {shipped['published']} published, {assumed} assumed\n" in out
    assert "code.loop  8.203 -> 8.023" in out
    assert load_machine(tmp_path / "m.toml").name == "h200-068c14ab"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--from", "nosuch.json"], "cannot read nosuch.json: No such file or directory"),
        (
            ["--from", str(ONE), "--only", "nosuch"],
            "no benchmark begins with 'nosuch'; there are block_order, clock_idle,",
        ),
        (
            ["--only", "nosuch"],
            "no benchmark begins with 'nosuch'; there are beside, block_order, both, both_slow,",
        ),
        (
            ["--from", str(ONE), "--only", "block_order"],
            "no number of a machine file follows from these rows; leave --only out, or give",
        ),
        (
            ["--from", str(ONE), "--raw", "x.json"],
            "--raw stores what was measured, --from measures nothing; name one",
        ),
        (
            ["--from", str(ONE), "--out", "no/such/m.toml"],
            "--out no/such/m.toml: there is no such folder; make it first",
        ),
    ],
)
def test_usage_errors_are_one_line(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _calibrate(*args) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"asyncsim: {said}") and captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_loud_gpu_gives_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(ONE.read_text())
    for row in document["rows"]:
        if row["bench"] == "pipe":
            row["p90"] *= 2
    raw, out = tmp_path / "raw.json", tmp_path / "m.toml"
    raw.write_text(json.dumps(document))
    assert _calibrate("--from", raw, "--out", out) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"asyncsim: {raw}: the GPU was not quiet: ") and said.count("\n") == 1
    assert not out.exists()


def test_without_a_gpu_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "asyncsim.hw.probe.what_is_missing", lambda: "no usable NVIDIA GPU (X); fix: get one"
    )
    assert _calibrate() == 4
    assert capsys.readouterr().err == (
        "asyncsim: calibrate measures on a GPU: no usable NVIDIA GPU (X); fix: get one, or fit "
        "with --from RAW.json\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_another_gpu_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from asyncsim.hw.inventory import Device

    monkeypatch.chdir(tmp_path)
    a100 = Device(name="NVIDIA A100", capability=(8, 0), sms=108, memory_bytes=1 << 36)
    monkeypatch.setattr("asyncsim.hw.probe.what_is_missing", lambda: "")
    monkeypatch.setattr("asyncsim.hw.inventory.devices", lambda: (a100,))
    assert _calibrate() == 4
    assert capsys.readouterr().err == (
        "asyncsim: the microbenchmarks are of sm_90a with 132 SMs (NVIDIA H200, NVIDIA H100 80GB "
        "HBM3), this GPU is NVIDIA A100 (sm_80, 108 SMs); fix: measure on one of these\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_of_the_same_chip_keeps_its_own_limits(tmp_path: Path) -> None:
    document = json.loads(ONE.read_text())
    document["provenance"] |= {"gpu": "NVIDIA H100 80GB HBM3", "board": "0123abcd"}
    raw, out = tmp_path / "raw.json", tmp_path / "m.toml"
    raw.write_text(json.dumps(document))
    assert _calibrate("--from", raw, "--out", out) == 0
    machine, h100 = load_machine(out), load_machine("h100")
    assert machine.name == "h100-0123abcd" and machine.l2.capacity_bytes == h100.l2.capacity_bytes
    assert machine.provenance["l2.capacity"] == h100.provenance["l2.capacity"]
    assert machine.provenance["tma.fill"].how == "measured"


def test_a_busy_gpu_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = json.loads(ONE.read_text())
    for row in document["rows"]:
        row["p90"] = row["median"] * 1.5
    monkeypatch.setattr("asyncsim.hw.calibrate.at_hand.measure_here", lambda only, tell: document)
    assert _calibrate("--out", "m.toml", "--report", "report") == 4
    said = capsys.readouterr().err
    assert said.startswith("asyncsim: the GPU was not quiet: ") and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_was_measured_is_stored_under_its_board_and_date(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = json.loads(ONE.read_text())
    monkeypatch.setattr("asyncsim.hw.calibrate.at_hand.measure_here", lambda only, tell: document)
    assert _calibrate() == 0
    (stored,) = tmp_path.iterdir()
    assert stored.name == "calibration-068c14ab-2026-11-30.json"
    assert json.loads(stored.read_text()) == document
    fresh = capsys.readouterr().out
    assert _calibrate("--from", stored) == 0
    assert capsys.readouterr().out == fresh


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
def test_on_the_gpu_at_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "raw.json"
    assert _calibrate("--only", "loop,syncthreads", "--raw", raw, "--out", tmp_path / "m.toml") == 0
    assert "barrier.sync" not in capsys.readouterr().out  # named barriers were not measured
    assert load_machine(tmp_path / "m.toml").provenance["code.loop"].how == "measured"


def test_the_writer_survives_its_own_file(made: Path) -> None:
    import tomllib

    text = (made / "m.toml").read_text()
    assert to_toml(tomllib.loads(text)) == text
