"""im2col::w and im2col::w::128: pixels along rows, evaluated against a walk, assembled; never run.

Of the halo of im2col::w::128 the PTX ISA says that it follows every 32 pixels; that it lies behind
all 128 is what a public emulator of the instruction does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncsim import ScheduleError, predict
from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.render import render
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.hw.test_tcgen05 import hw, needs_tools, opcodes

FILE = str(Path(__file__).parent / "map_scenarios.py")
SIZES: list[dict[str, int]] = [
    {},
    {"many": 1},
    {"many": 1, "halo": 3, "stride": 2},
    {"halo": 0, "stride": 3},
    {"lower": 0, "upper": -2, "offset": 2},
    {"lower": -2, "upper": 1, "offset": 1, "nan": 1},
    {"left": 2, "halo": 1},
    {"left": 1, "stride": 2, "many": 1},
    {"space": 1, "swizzle": 64},
    {"space": 3, "swizzle": 64, "many": 1},
]


def rows(**params: int) -> Schedule:
    return find_scenario(f"{FILE}:rows").build(params)


def walk(image: int, first: int, lower: int, end: int, stride: int) -> Iterator[tuple[int, int]]:
    """Images and places along W, one pixel after the other."""
    w = first
    while True:
        yield image, w
        w += stride
        if w >= end:
            image, w = image + 1, lower


def expected(source: Any, p: dict[str, int]) -> Any:
    many, halo, stride = p.get("many", 0), p.get("halo", 2), p.get("stride", 1)
    lower, end = p.get("lower", -1), 10 + p.get("upper", 0)
    outside = np.nan if p.get("nan") else 0
    found = []
    for i in range(3):
        steps = walk(i, lower - stride * p.get("left", 0), lower, end, stride)
        places = list(islice(steps, 200))
        if many:
            halos = [places[32 * run + h] for h in range(halo) for run in (1, 2, 3, 4)]
            places = places[:128] + halos
        else:
            places = places[: 24 + halo]
        for image, w in places:
            at = (image, *(i for _ in range(source.ndim - 3)), w + p.get("offset", 0))
            inside = all(0 <= a < n for a, n in zip(at, source.shape, strict=False))
            found.append(source[at] if inside else np.full(source.shape[-1], outside, np.float32))
    return np.array(found, np.float32)


@pytest.mark.parametrize("params", SIZES, ids=str)
def test_rows_of_pixels(params: dict[str, int]) -> None:
    schedule = rows(**params)
    assert check(schedule).verdict is Verdict.CLEAN
    inputs = make_inputs(schedule, seed=4)
    wanted = expected(inputs["source"], params)
    for order in (Order(), Order(landing=Landing.LATE, seed=5)):
        found = evaluate(schedule, inputs, order=order)["out"]
        assert np.array_equal(found, wanted, equal_nan=True)


def test_a_load_begins_left_of_the_box_or_inside_it() -> None:
    message = r"im2col load from pixel \(0, 0, 4, 0\), outside the box from \(0,\) to \(4,\)"
    schedule = rows(lower=0, upper=-6, left=-4)
    with pytest.raises(ScheduleError, match=message):
        evaluate(schedule, make_inputs(schedule))


def test_instructions() -> None:
    text = render(rows(halo=5, offset=3), "sm_100a").source
    name = "cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w"
    operands = "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"  # halo, then offset
    assert f"{name}.mbarrier::complete_tx::bytes {operands}" in text
    assert "tma_load_im2col_w_4d(smem_base" in text
    assert ", 0, -1, block_x, block_x, 5, 3);" in text  # channel, W, H, batch; halo, offset
    text = render(rows(many=1, space=1), "sm_100a").source
    assert "cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w::128.mbarrier" in text


def test_the_halo_takes_its_time() -> None:
    few, many = (predict(rows(halo=halo), "b200")[1] for halo in (0, 200))
    assert few is not None and many is not None
    assert many.engines["TMA engine"] > few.engines["TMA engine"]


@hw
@needs_tools
@pytest.mark.parametrize("many", [0, 1])
def test_assembled(many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    compiled = compile_schedule(rows(many=many), "sm_100a")
    assert compiled.resources.spill_store_bytes == 0
    assert "UTMALDG" in opcodes(compiled)
