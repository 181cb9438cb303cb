"""Raw files of strangers, and what the fit makes of rows."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from asyncsim.errors import UsageError
from asyncsim.hw.calibrate.numbers import calibrated
from asyncsim.hw.calibrate.raw import gpu_of, not_quiet, only, passes, read_raw
from asyncsim.hw.calibrate.rows import MissingRowError, Rows, Used, standard_error

from . import synthetic

GOOD = synthetic.document(synthetic.exact)
AGAIN = "measure again with `asyncsim calibrate`"


def _changed(*path: str | int, value: object) -> dict[str, Any]:
    document = copy.deepcopy(GOOD)
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return document


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    path.write_text(json.dumps(GOOD))
    assert read_raw(path) == GOOD


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([1], "no raw file: `schema` is not 1"),
        (_changed("schema", value=2), "no raw file: `schema` is not 1"),
        (_changed("provenance", value=3), "`provenance` is not an object"),
        (_changed("provenance", "gpu", value=""), "provenance.gpu is missing"),
        (_changed("provenance", "gpcs", value=[[0, "a"]]), "provenance.gpcs is not a list of"),
        (_changed("rows", value=[]), "`rows` is not a list of 1 to 100000 rows"),
        (_changed("rows", 2, value=5), "row 3: no object with a `bench`"),
        (_changed("rows", 0, "params", value={"n": [1]}), "row 1: `params` is not an object of"),
        (_changed("rows", 0, "metric", value=None), "row 1: `metric` is missing"),
        (_changed("rows", 1, "median", value="12"), "row 2: `median` is not a finite number"),
        (_changed("rows", 1, "p90", value=float("nan")), "row 2: `p90` is not a finite number"),
        (_changed("rows", 1, "p90", value=1e308), "row 2: `p90` is not a finite number below 1e15"),
        (_changed("rows", 1, "p90", value=-1.0), "row 2: p10, median and p90 do not rise"),
        (_changed("rows", 1, "n", value=0), "row 2: `n` is not a count"),
        (_changed("rows", 1, "n", value=True), "row 2: `n` is not a count"),
        (_changed("rows", 1, "series", value=[1, "x"]), "row 2: `series` is not a list of finite"),
        (_changed("rows", 1, "pass", value="a"), "row 2: `pass` is not an integer"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(document: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError) as caught:
        read_raw(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: {said}") and text.endswith(AGAIN) and "\n" not in text


@pytest.mark.parametrize("data", [b"\xff\xfe", b"{", b"[" * 100_000, b""])
def test_what_is_no_json_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"is not JSON \(.*\): no raw file; measure again"):
        read_raw(path)
    with pytest.raises(UsageError, match=r"cannot read .*nosuch.json: No such file or directory"):
        read_raw(tmp_path / "nosuch.json")


def test_rows_that_took_no_time_end_in_no_division() -> None:
    """More bytes that took no longer: the rate would divide by zero."""
    document = copy.deepcopy(GOOD)
    for row in document["rows"]:
        row.update(median=0.0, p10=0.0, p90=0.0)
    lost = set(calibrated([GOOD]).numbers) - set(calibrated([document]).numbers)
    assert lost == {
        "alu.ffma_latency",
        "dram.round_trip_by_inflight",
        "wgmma.rs_floor",
        "wgmma.ss_base",
    }


def test_gpus_are_not_mixed_and_unknown_ones_named() -> None:
    other = _changed("provenance", "gpu", value="NVIDIA A100")
    assert gpu_of([GOOD, GOOD]) == "h200"
    with pytest.raises(UsageError, match=r"^raw files of NVIDIA A100 and NVIDIA H200; fit those"):
        gpu_of([GOOD, other])
    with pytest.raises(UsageError, match=r"^unknown GPU 'NVIDIA A100': the microbenchmarks are of"):
        gpu_of([other])


def test_only_keeps_the_rows_that_begin_so() -> None:
    kept = only([GOOD], "tma_")
    assert {row["bench"] for row in kept[0]["rows"]} == {"tma_store"}
    with pytest.raises(UsageError, match=r"no benchmark begins with 'nosuch'; there are cp_rate, "):
        only([GOOD], "nosuch")


def test_passes_are_told_apart() -> None:
    rows = [{**GOOD["rows"][0], "pass": n} for n in (0, 1, 0)]
    assert [len(one["rows"]) for one in passes({**GOOD, "rows": rows})] == [2, 1]


def test_a_gpu_that_is_not_alone_is_noticed() -> None:
    assert not_quiet(GOOD) == ""
    loud = copy.deepcopy(GOOD)
    for row in loud["rows"]:
        if row["bench"] == "tma_store" and row["params"]["stores"] == 8:
            row["p90"] = row["median"] * 1.4
    said = not_quiet(loud)
    assert said.startswith("the GPU was not quiet: 3 of 39 benchmarks that repeat to the cycle")
    assert said.endswith("stop what else runs on it and measure again")


def test_rows_that_are_used_can_be_moved() -> None:
    rows = Used(GOOD["rows"])
    before = rows.median("loop", body=8)
    (identity,) = rows.used
    row = rows.used[identity]
    rows.moved = identity, {"median": 1.0}
    assert rows.median("loop", body=8) == pytest.approx(before + standard_error(row))
    assert rows.median("loop", body=32) == Rows(GOOD["rows"]).median("loop", body=32)
    with pytest.raises(MissingRowError, match="loop cycles {'body': 7}"):
        rows.median("loop", body=7)


def test_standard_error_of_a_median() -> None:
    row = {"median": 100.0, "p10": 99.0, "p90": 101.563, "n": 25}
    assert standard_error(row) == pytest.approx(1.2533 / 5, rel=1e-3)
    assert standard_error(row | {"p90": 99.0}) == pytest.approx(0.05)  # what the clock leaves open
