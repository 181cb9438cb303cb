"""Two kernels in one scenario, in every command. The GPU is a stand-in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import asyncsim.hw.launch
import asyncsim.hw.probe
from asyncsim import predict
from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.hw.launch import ProgramResult
from asyncsim.hw.launch.verify import Verification
from tests.cli.test_run import GPU, TIMING

FILE = "docs/examples/overlap.py"


def test_check_and_its_formats(cli: Any) -> None:
    done = cli("check", FILE)
    assert (done.code, done.out) == (0, "overlap ctas=132\nclean: no interleaving breaks a rule\n")
    broken = cli("check", FILE, "--twin", "no_wait", "--json")
    found = json.loads(broken.out)
    assert (broken.code, [f["rule"] for f in found["findings"]]) == (1, ["PDL_ORDER"])
    for form in ("sarif", "github"):
        assert "PDL_ORDER" in cli("check", FILE, "--twin", "no_wait", "--format", form).out


def test_over_gives_cells_and_claims_nothing_beyond(cli: Any) -> None:
    done = cli("check", FILE, "--over", "ctas=1:3")
    assert (done.code, done.out) == (
        0,
        "overlap\n\nctas 1 2 3\n     . . .\n\n.    3  clean: no interleaving breaks a rule\n",
    )


@pytest.mark.parametrize("option", ["--repair", "--lint"])
def test_changes_are_for_one_schedule(cli: Any, option: str) -> None:
    done = cli("check", FILE, option)
    assert (done.code, done.err) == (
        2,
        "asyncsim: --repair and --lint change one schedule; name one of the two\n",
    )


def test_show_and_list(cli: Any) -> None:
    shown = cli("show", FILE, "--ctas", 2).out
    assert shown.index("schedule first for") < shown.index("schedule second for")
    assert "overlap: two kernels by programmatic dependent launch" in cli("list", FILE).out


def test_predict_both_as_one(cli: Any) -> None:
    done = cli("predict", FILE, "--json")
    both = json.loads(done.out)["cycles"]
    alone = find_scenario(FILE).trace().primary  # type: ignore[union-attr]
    _, first = predict(alone, "h200")
    assert first is not None and both > first.cycles
    wrong = cli("predict", FILE, "--machine", "b200")
    assert wrong.err == (
        "asyncsim: first and second is written for sm_90a; machine 'b200' is sm_100a; "
        "use --machine h100 or h200\n"
    )


def test_render_both_in_one_text(cli: Any, tmp_path: Path) -> None:
    text = cli("render", FILE).out
    assert text.count("typedef unsigned int u32;") == 1
    assert [text.count(f" asyncsim_{name}(") for name in ("first", "second")] == [1, 1]
    file = tmp_path / "overlap.cu"
    assert cli("render", FILE, "--standalone", "-o", file).code == 0
    assert "first and second on %s: what 264 of 264 CTAs write" in file.read_text()


def test_kernels_of_one_name_cannot_stand_in_one_text(cli: Any, tmp_path: Path) -> None:
    file = tmp_path / "same.py"
    text = Path(FILE).read_text().replace('step("second"', 'step("first"')
    file.write_text(text)
    done = cli("render", file)
    assert (done.code, done.err) == (
        2,
        "asyncsim: both kernels are called asyncsim_first; give the two schedules two names\n",
    )


@pytest.mark.parametrize("wrong, code", [(0, 0), (3, 5)])
def test_run(cli: Any, monkeypatch: pytest.MonkeyPatch, wrong: int, code: int) -> None:
    seen = []

    def launched(program: Any, **options: Any) -> ProgramResult:
        seen.append((program.name, options))
        checked = Verification(ctas=264, of_ctas=264, elements=8448, wrong=wrong, first="b[0] is 1")
        return ProgramResult(gpu=GPU, verification=checked, timing=TIMING)

    monkeypatch.setattr(asyncsim.hw.probe, "what_is_missing", lambda: "")
    monkeypatch.setattr(asyncsim.hw.launch, "run_program", launched)
    done = cli("run", FILE, "--stamps")
    assert done.code == code
    assert seen == [("first and second", {"arch": "sm_90a", "l2": "cold"})]
    equal = "8448 elements of 264 of 264 CTAs equal"
    assert ("data       " + equal in done.out) is not wrong
    measured = json.loads(cli("run", FILE, "--json").out)["measured"]
    assert (measured["cycles"], measured["verified"]) == (6000.0, not wrong)


def test_readers_of_one_schedule_say_so() -> None:
    with pytest.raises(UsageError) as error:
        find_scenario(FILE).build()
    assert str(error.value) == (
        "scenario 'overlap' is a Program of two schedules; this takes one of them"
    )
