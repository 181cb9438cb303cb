"""Tensor maps of every form: evaluated against NumPy, compiled, and on a GPU against evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncsim import ScheduleBuilder, ScheduleError, predict
from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import kernel_text, render
from asyncsim.ir.decl import TensorMap
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import load_machine
from asyncsim.predict.result import Verdict
from tests.hw.map_scenarios import STARTS, TYPES

FILE = str(Path(__file__).parent / "map_scenarios.py")
BF16, E4M3 = TYPES.index("bf16"), TYPES.index("e4m3")
SIZES = [
    *(("boxes", {"rank": rank}) for rank in (1, 2, 3, 4, 5)),
    *(
        ("boxes", {"type": type, "swizzle": swizzle})
        for type, swizzle in product(range(len(TYPES)), (32, 64, 128))
    ),
    *(("boxes", {"rank": rank, "swizzle": 64}) for rank in (3, 5)),
    *(("boxes", {"promotion": promotion}) for promotion in (0, 64, 256)),
    *(("boxes", {"nan": 1, "type": type}) for type in range(3)),
    *(("boxes", {"rank": rank, "stride": 2}) for rank in (2, 3)),
    ("boxes", {"rank": 4, "stride": 3, "swizzle": 128, "type": BF16}),
    *(("slices", {"rank": rank}) for rank in (3, 4, 5)),
    *(("slices", {"type": BF16, "rank": rank}) for rank in (3, 4)),
    *(("slices", {"swizzle": swizzle, "rank": 4}) for swizzle in (32, 64, 128)),
    *(("slices", {"swizzle": swizzle, "width": 4}) for swizzle in (64, 128)),
    *(("slices", {"interleave": 32, "swizzle": 32, "width": width}) for width in (4, 8)),
    ("slices", {"interleave": 32, "swizzle": 32, "type": BF16, "rank": 5}),
    ("slices", {"stride": 2}),
    ("slices", {"stride": 3, "interleave": 32, "swizzle": 32, "rank": 4}),
    ("slices", {"nan": 1, "type": BF16}),
    *(("shifted", {"adds": adds}) for adds in (0, 1)),
    *(("shifted", {"interleave": 32, "swizzle": 32, "adds": adds}) for adds in (0, 1)),
    ("shifted", {"swizzle": 128}),
    *(("pixels", {"space": space}) for space in (1, 2)),
    ("pixels", {"space": 3, "size": 3, "filter": 2}),
    ("pixels", {"swizzle": 128, "brought": 24, "batch": 3}),
    ("pixels", {"type": BF16, "swizzle": 64, "filter": 1}),
    ("pixels", {"stride": 2, "size": 6}),
    ("pixels", {"nan": 1}),
    ("moving", {}),
    ("moving", {"short": 1, "ctas": 7}),
    ("moving", {"groups": 1, "rows": 8, "ctas": 1}),
]
ORDERS = [Order(), Order(landing=Landing.LATE, seed=5)]


def build(name: str, params: dict[str, int]) -> Schedule:
    return find_scenario(f"{FILE}:{name}").build(params)


def expected(schedule: Schedule, params: dict[str, int], source: Any) -> Any:
    """What the kernels are meant to write down, element by element."""
    m = schedule.of_kind(TensorMap)[0]
    outside = np.array(np.nan if params.get("nan") else 0).astype(source.dtype)

    def at(place: tuple[int, ...]) -> Any:
        inside = all(0 <= i < n for i, n in zip(place, source.shape, strict=True))
        return source[place] if inside else outside

    rows = []
    if schedule.name == "boxes":
        for first in STARTS:
            corner = (*(first,) * (source.ndim - 1), first * 8 if source.ndim == 1 else 0)
            ranges = [
                range(c, c + n, s) for c, n, s in zip(corner, m.box, m.element_strides, strict=True)
            ]
            for outer in product(*ranges[:-1]):
                rows.append([at((*outer, column)) for column in ranges[-1]])
        return np.array(rows, source.dtype)
    if schedule.name == "slices":
        for first in STARTS:
            ranges = [
                range(first, first + n, s) for n, s in zip(m.box, m.element_strides, strict=True)
            ]
            for place in product(*ranges[:-1]):
                rows.append([at((*place, i)) for i in range(m.box[-1])])
        return np.array(rows, source.dtype)
    if schedule.name == "shifted":
        wanted = np.zeros_like(source)
        wanted[:, :, :, 1:] = source[:, :, :, :-1]
        return wanted
    if schedule.name == "moving":
        height, groups = params.get("rows", 6), params.get("groups", 4)
        wanted = np.zeros((schedule.ctas * groups, 8, 32), source.dtype)
        for group, rows_of in enumerate(source.reshape(-1, height, 32)):
            kept = height - params.get("short", 0) * (group % groups)
            wanted[group, :kept] = rows_of[:kept]
        return wanted.reshape(-1, 32)
    size, stride = params.get("filter", 3), params.get("stride", 1)
    pad, brought = size // 2, params.get("brought", 16)
    spans = [range(-pad, n + pad - size + 1, stride) for n in source.shape[1:-1]]
    batches = range(source.shape[0] + brought)  # the last load goes on behind the last image
    all_pixels = [(n, *place) for n in batches for place in product(*spans)]
    for cta in range(schedule.ctas):
        for tap in product(range(size), repeat=source.ndim - 2):
            for n, *place in all_pixels[cta * brought : (cta + 1) * brought]:
                there = (n, *(p + t for p, t in zip(place, tap, strict=True)))
                rows.append([at((*there, c)) for c in range(source.shape[-1])])
    return np.array(rows, source.dtype)


def bits(array: Any) -> Any:
    return array.view(f"u{array.itemsize}")


@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_evaluate_brings_what_is_meant(name: str, params: dict[str, int]) -> None:
    schedule = build(name, params)
    assert check(schedule).verdict is Verdict.CLEAN
    inputs = make_inputs(schedule, seed=3)
    wanted = expected(schedule, params, inputs["source"])
    for order in ORDERS:
        found = evaluate(schedule, inputs, order=order)["out"]
        assert np.array_equal(bits(found), bits(wanted))


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
@pytest.mark.parametrize(("name", "params"), SIZES[::4], ids=str)
def test_compiles(
    name: str, params: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    resources = compile_schedule(build(name, params)).resources
    assert resources.registers > 0 and resources.spill_store_bytes == 0


@pytest.mark.parametrize("space", [1, 2, 3])
def test_instructions_of_pixels(space: int) -> None:
    source = render(build("pixels", {"space": space, "size": 3})).source
    rank = space + 2
    places = ", ".join(f"%{3 + d}" for d in range(rank))
    offsets = ", ".join(f"%{3 + rank + d}" for d in range(space))
    name = (
        f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
    )
    assert f"{name} [%0], [%1, {{{places}}}], [%2], {{{offsets}}};" in source
    # innermost first: channels, then space from the last dimension, then the batch
    start = {1: "0, ", 2: "0, "}.get(space, "0, ")
    assert f"tma_load_im2col_{rank}d(smem_base" in source and f", {start}" in source


def test_pixels_take_the_time_of_their_bytes() -> None:
    """An im2col load is a load of as many bytes of rows."""
    _, few = predict(build("pixels", {"brought": 8, "batch": 1, "filter": 1}))
    _, many = predict(build("pixels", {"brought": 128, "batch": 16, "filter": 1}))
    assert few is not None and many is not None
    assert many.engines["TMA engine"] > few.engines["TMA engine"]


def test_instructions_that_change_a_map() -> None:
    text = kernel_text(render(build("moving", {})))
    assert "TensorMap* maps_source_map" in text and "m_out_map" in text
    assert "TensorMap& m_source_map = maps_source_map[block_x + gridDim.x * (" in text
    assert "tensormap_replace_address(m_source_map, t_source + " in text
    assert "tensormap_replace_dim<1>(m_source_map, 6);" in text  # rows are dimension 1 to TMA
    assert 'asm volatile("fence.proxy.tensormap::generic.release.gpu;"' in text
    assert "tensormap_acquire(m_source_map);" in text


def test_a_field_that_cannot_be_written() -> None:
    k = ScheduleBuilder("fields")
    k.block(1)
    t = k.global_tensor("t", (4, 32), "i32")
    m = k.tensor_map("m", t, box=(1, 32), in_global=True)
    with k.elect_thread():
        k.tma.replace(m, field="swizzle_mode")
    with pytest.raises(ScheduleError, match="TensormapReplace: field 'swizzle_mode'"):
        render(k.finish())


def test_a_map_stays_within_its_tensor() -> None:
    schedule = build("moving", {"rows": 8, "short": -1})
    message = "tensor map 'source_map' begins at row 88 with extents .11, 32., .source. is .96, 32."
    with pytest.raises(ScheduleError, match=message):
        evaluate(schedule, make_inputs(schedule))


def test_a_changed_map_is_fetched_again() -> None:
    """Each group of ``moving`` waits for the descriptor anew."""
    four, five = (predict(build("moving", {"ctas": 1, "groups": n}))[1] for n in (4, 5))
    assert four is not None and five is not None
    fetch = load_machine("h200").tma.descriptor_fetch_cycles  # type: ignore[union-attr]
    assert five.cycles - four.cycles > float(fetch)
    assert five.path["descriptor fetch"] > 0.15


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as owner:
        yield owner


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
@pytest.mark.parametrize(("name", "params"), SIZES, ids=str)
def test_data_are_right(child: Child, name: str, params: dict[str, int]) -> None:
    schedule = build(name, params)
    r = run_schedule(schedule, child=child, launches=0, verify_ctas=schedule.ctas)
    assert r.verification is not None and r.verification.ok, str(r.verification)
