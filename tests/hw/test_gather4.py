"""gather4 and scatter4: rows of a matrix in any order, computed, predicted, and assembled."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from asyncsim import Fill, ScheduleBuilder
from asyncsim.check import check
from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.render import render
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import load_machine
from asyncsim.predict.result import Verdict
from asyncsim.sim import simulate

FROM, TO = (9, 0, 5, 14), (2, 7, 15, 4)


def moved(first: int = 0, *, outside: int = 0) -> Schedule:
    """Four rows of 32 words, from ``first`` on of each, to four other rows."""
    k = ScheduleBuilder("moved", archs=("sm_100a",))
    source = k.global_tensor("source", (16, 64), "u32", fill=Fill.IOTA)
    out = k.global_tensor("out", (16, 32), "u32", output=True)
    load = k.tensor_map("load", source, box=(1, 32))
    store = k.tensor_map("store", out, box=(1, 32))
    tile, full = k.smem_tile("tile", (4, 32), "u32"), k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 4 * 32 * 4)
        k.tma.gather4(tile[0], load, (FROM[0] + outside, *FROM[1:]), first, full[0])
        k.mbarrier.wait(full[0], 0)
        k.tma.scatter4(store, TO, 0, tile[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    return k.finish()


@pytest.mark.parametrize("first", [0, 16, 40, 64, -8])
@pytest.mark.parametrize("outside", [0, 16])
def test_rows_go_where_they_should(first: int, outside: int) -> None:
    s = moved(first, outside=outside)
    inputs = make_inputs(s)
    padded = np.zeros((48, 192), np.uint32)
    padded[:16, 64:128] = inputs["source"]
    want = np.zeros((16, 32), np.uint32)
    rows = (FROM[0] + outside, *FROM[1:])
    for row, to in zip(rows, TO, strict=True):
        want[to] = padded[row, 64 + first : 96 + first]
    for order in (Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=1)):
        assert np.array_equal(evaluate(s, inputs, order=order)["out"], want)


def test_it_is_clean_and_takes_the_time_of_four_rows() -> None:
    assert check(moved()).verdict is Verdict.CLEAN
    assert simulate(moved(), load_machine("b200"), certified=True).cycles > 1000


def test_text() -> None:
    source = render(moved(), "sm_100a").source
    assert "tile::gather4.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}]" in source
    assert ", 0, 9, 0, 5, 14);" in source
    assert "tma_scatter4(m_store, smem_base + at_tile, 0, 2, 7, 15, 4);" in source


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
def test_it_assembles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    assert compile_schedule(moved(), "sm_100a").resources.spill_store_bytes == 0
