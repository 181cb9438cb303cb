"""Sustained runs: the stored rows, the table of the page, and what may be launched repeatedly."""

from __future__ import annotations

from typing import Any

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.hw.sustain import LOADS
from asyncsim.hw.sustained_table import BEGIN, END, PAGE, Compared, load_rows, table
from asyncsim.ir.op import AtomAdd, StoreOp
from asyncsim.predict.result import Sustained


def _told(row: dict[str, Any]) -> tuple[object, ...]:
    return row["scenario"], row["operands"], tuple(sorted(row["params"].items()))


def test_boards_have_the_same_loads() -> None:
    boards = load_rows()
    assert sorted(boards) == ["243194c8", "62960942"]
    first, *others = ([_told(row) for row in rows] for rows in boards.values())
    assert len(first) == len(LOADS) and all(other == first for other in others)
    assert not [row for rows in boards.values() for row in rows if "error" in row]


def test_the_page_has_a_line_for_every_load() -> None:
    text = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in lines] == [load.scenario for load in LOADS]
    assert text.count("mean error of the time") == 2


def test_no_load_needs_its_tensors_set_back() -> None:
    for load in LOADS:
        schedule = find_scenario(load.scenario).build(load.params)
        for op in schedule.ops():
            assert not isinstance(op, AtomAdd)
            assert not (isinstance(op, StoreOp) and op.reduce)


def test_errors_are_of_the_interval_of_launches() -> None:
    found = Sustained(
        cycles=1.5e6,
        time_us=98.0,
        clock_mhz=1500.0,
        watts=689.0,
        limit_w=700.0,
        operands="random",
        because="power",
        tflops=700.0,
    )
    row = {"scenario": "ws_gemm", "params": {"m": 4096}, "operands": "random"}
    row |= {"time_us": 80.0, "clock_mhz": 1600.0}
    load = Compared({"0123abcd": row}, found, gap_us=2.0)
    assert load.errors("0123abcd") == pytest.approx((25.0, -6.25))
    assert table([load]).splitlines()[2:] == [
        "| `ws_gemm` m=4096 | random | 100.0 | 1,500 | 80.0 | 1,600 | +25.0 % | -6.2 % |",
        "",
        "Board 0123abcd: mean error of the time 25.0 %, of the clock 6.2 %.",
    ]
