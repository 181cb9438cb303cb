"""A scenario file outside the package, with a compute definition and twins of its own, goes through
every reader: the gate of the architecture that needs no GPU."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from asyncsim.catalog import find_scenario
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "column_sum.py"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The example under another name, in a folder that has nothing else."""
    return str(shutil.copy(EXAMPLE, tmp_path / "elsewhere.py"))


def test_listed(cli, path: str) -> None:  # type: ignore[no-untyped-def]
    (row,) = json.loads(cli("list", path, "--json").out)
    assert row["name"] == "column_sum" and row["arch"] == ["sm_90a"]
    assert row["params"] == {"stages": 3, "tiles": 16, "rows": 64, "ctas": 132}
    assert row["twins"] == [
        {"name": "late_wait", "rule": "READ_BEFORE_ARRIVAL"},
        {"name": "early_release", "rule": "WRITE_BEFORE_RELEASE"},
    ]


def test_shown_with_its_own_lines(cli, path: str) -> None:  # type: ignore[no-untyped-def]
    out = cli("show", path).out
    assert "compute add_rows(" in out and "elsewhere.py:" in out


@pytest.mark.parametrize("stages", [1, 2, 3, 8])
@pytest.mark.parametrize("tiles", [0, 1, 2, 17])
def test_clean(cli, path: str, stages: int, tiles: int) -> None:  # type: ignore[no-untyped-def]
    done = cli("check", path, "--stages", stages, "--tiles", tiles, "--strict", "--json")
    assert (done.code, json.loads(done.out)["findings"]) == (0, [])


@pytest.mark.parametrize("twin", ["late_wait", "early_release"])
def test_twins(cli, path: str, twin: str) -> None:  # type: ignore[no-untyped-def]
    done = cli("check", path, "--twin", twin, "--json")
    rules = [f["rule"] for f in json.loads(done.out)["findings"]]
    assert done.code == 1
    assert find_scenario(path).twin(twin).rule.name in rules


def test_predicted(cli, path: str) -> None:  # type: ignore[no-untyped-def]
    report = json.loads(cli("predict", path, "--json").out)
    longer = json.loads(cli("predict", path, "--tiles", 32, "--json").out)
    assert report["verdict"] == "clean" and 0 < report["cycles"] < longer["cycles"]


def test_rendered_and_compiled(cli, path: str) -> None:  # type: ignore[no-untyped-def]
    done = cli("render", path)
    assert done.code == 0 and "sums[0] += tile(r, lane);" in done.out


@pytest.mark.hw
def test_compiled(path: str) -> None:
    compiled = compile_schedule(find_scenario(path).build(), "sm_90a")
    assert compiled.resources.registers > 0


def test_written_to_a_file(cli, path: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = cli("render", path, "--out", tmp_path / "kernel.cu")
    assert (done.out, done.err) == ("", f"wrote {tmp_path}/kernel.cu\n")
    assert (tmp_path / "kernel.cu").read_text() == cli("render", path).out


def test_a_file_that_checks_itself(cli, path: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "sum.cu"
    done = cli("render", path, "--ctas", 3, "--standalone", "-o", file)
    assert (done.out, done.err) == (
        "",
        f"wrote {file}; build it: nvcc -arch=sm_90a {file} -lcuda\n",
    )
    text = file.read_text()
    assert 'std::printf("column_sum on %s: what 3 of 3 CTAs write\\n", gpu.name);' in text


def test_a_hang_cannot_check_itself(cli) -> None:  # type: ignore[no-untyped-def]
    twin = ("--ctas", 1, "--stages", 2, "--twin", "tail_not_released")
    sizes = ("--m", 256, "--n", 512, "--k", 128)
    done = cli("render", "cooperative_gemm", *sizes, *twin, "--standalone")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        "asyncsim: cooperative_gemm cannot check itself: deadlock in CTA (0, 0, 0): consumer/"
    )


def test_evaluated(path: str) -> None:
    schedule = find_scenario(path).build({"ctas": 3, "tiles": 5, "rows": 8})
    inputs = make_inputs(schedule, purpose="verify")
    sums = evaluate(schedule, inputs)["result"]
    tiles = inputs["matrix"].reshape(3, 5 * 8, 32)
    assert np.array_equal(sums, np.add.accumulate(tiles, axis=1)[:, -1])
