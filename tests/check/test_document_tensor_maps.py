"""Rows D12 and D13 of the documents: descriptors hardware takes wrong in silence, edge tiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.ir.op import TmaLoad
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.ws_gemm import ws_gemm


def one_load(
    *,
    shape: tuple[int, ...] = (64, 32),
    strides: tuple[int, ...] | None = None,
    box: tuple[int, ...] = (8, 32),
    tile: tuple[int, ...] | None = None,
    swizzle: int = 0,
    align: int | None = None,
    stages: int = 1,
    stage: int = 0,
    before: int = 0,
    ctas: int = 1,
    row: Callable[[ScheduleBuilder], object] | None = None,
) -> Schedule:
    """A box into a stage of a tile, waited for. ``before``: floats of shared memory below it."""
    k = ScheduleBuilder("d12")
    k.block(1)
    k.grid(ctas)
    source = k.global_tensor("source", shape, "f32", strides=strides)
    source_map = k.tensor_map("source_map", source, box=box, swizzle=swizzle)
    if before:
        k.smem_tile("below", (before,), "f32", align=16)
    place = k.smem_tile("place", tile or box, "f32", stages=stages, swizzle=swizzle, align=align)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 4 * int(np.prod(box)))
        view = place[stage]
        if row is not None:
            view = view.box((row(k), *(0,) * (len(box) - 1)), box)  # type: ignore[arg-type]
        k.tma.load(view, source_map, (0,) * len(box), full[0])
        k.mbarrier.wait(full[0], 0)
    return k.finish()


def test_d12_the_box_that_the_others_vary_is_clean() -> None:
    assert check(one_load()).verdict is Verdict.CLEAN


@pytest.mark.parametrize(
    ("change", "rule", "message", "fix"),
    [
        (
            {"shape": (64, 32), "strides": (1, 64)},
            Rule.TENSOR_MAP,
            "tensor map 'source_map': inner stride 64",
            "the innermost dimension must be contiguous",
        ),
        (
            {"shape": (64, 30), "box": (8, 4)},
            Rule.TENSOR_MAP,
            "tensor map 'source_map': stride of 120 bytes",
            "strides are multiples of 16 bytes",
        ),
        (
            {"shape": (64, 64), "box": (8, 64), "tile": (8, 32), "swizzle": 128},
            Rule.TENSOR_MAP,
            "tensor map 'source_map': inner extent of 256 bytes over the 128-byte swizzle",
            "split the box or widen the swizzle",
        ),
        (
            {"shape": (2, 2, 2, 2, 2, 4), "box": (1, 1, 1, 1, 1, 4)},
            Rule.TENSOR_MAP,
            "tensor map 'source_map': rank 6",
            "a map has 1 to 5 dimensions",
        ),
        (
            {"align": 64, "before": 16},
            Rule.ALIGNMENT,
            "TmaLoad: the stages of 'place' are aligned to 64 bytes, the instruction needs 128",
            "leave align out, or give a multiple of 128",
        ),
        (
            {"box": (1, 4), "align": 16, "stages": 4, "stage": 1},
            Rule.ALIGNMENT,
            "TmaLoad: the stages of 'place' are aligned to 16 bytes, the instruction needs 128",
            "leave align out, or give a multiple of 128",
        ),
        (
            {"box": (1, 4), "tile": (4, 4), "row": lambda k: 1},
            Rule.ALIGNMENT,
            "TmaLoad: the start in 'place' is never a multiple of 128 bytes",
            "the instruction needs it: move the start, or lay the data out so",
        ),
    ],
    ids=["inner-stride", "outer-stride", "swizzle", "rank", "tile", "stage", "box-in-tile"],
)
def test_d12_refused_before_anything_runs(
    change: dict[str, object], rule: Rule, message: str, fix: str
) -> None:
    with pytest.raises(ScheduleError) as caught:
        one_load(**change)  # type: ignore[arg-type]
    assert (caught.value.rule, caught.value.message, caught.value.fix) == (rule, message, fix)


def test_d12_a_start_that_depends_on_the_block_is_a_finding() -> None:
    schedule = one_load(box=(1, 4), tile=(4, 4), ctas=2, row=lambda k: k.block_idx)
    (finding,) = check(schedule).findings
    assert finding.rule is Rule.ALIGNMENT
    assert finding.message == "TmaLoad: the start in 'place' is 16 bytes, no multiple of 128"
    assert finding.repair == "the instruction needs it: move the start, or lay the data out so"
    (load,) = [op for op in schedule.ops() if isinstance(op, TmaLoad)]
    assert [p.loc for p in finding.where] == [load.loc]


@pytest.mark.parametrize("k", [72, 100, 4096 + 4])
def test_d12_a_gemm_whose_rows_are_no_multiple_of_16_bytes(k: int) -> None:
    if k % 8 == 0:
        assert check(ws_gemm.build({"m": 128, "n": 128, "k": k})).verdict is Verdict.CLEAN
        return
    with pytest.raises(ScheduleError) as caught:
        ws_gemm.build({"m": 128, "n": 128, "k": k})
    assert caught.value.rule is Rule.TENSOR_MAP
    assert caught.value.message == f"tensor map 'a_map': stride of {2 * k} bytes"


ORDERS = [Order(), Order(landing=Landing.LATE, seed=3)]


@pytest.mark.parametrize("consumers", [1, 2])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 8), (127, 129, 56), (129, 8, 72), (200, 130, 200)]
)
def test_d13_remainder_tiles_of_a_gemm(m: int, n: int, k: int, consumers: int) -> None:
    """Clean, and right: what a box has outside its matrix is zero and counts with all its bytes."""
    sizes = {"m": m, "n": n, "k": k, "consumers": consumers, "block_m": 128 * consumers}
    schedule = ws_gemm.build(sizes)
    result = check(schedule)
    assert (result.verdict, result.findings, result.certified) == (Verdict.CLEAN, (), True)
    inputs = make_inputs(schedule)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T
    for order in ORDERS:
        assert np.array_equal(evaluate(schedule, inputs, order=order)["c"], want)


@pytest.mark.parametrize(("m", "n", "inside"), [(127, 128, 255), (128, 100, 228), (1, 1, 2)])
def test_d13_the_barrier_gets_the_bytes_of_the_whole_box(m: int, n: int, inside: int) -> None:
    twin = ws_gemm.build({"m": m, "n": n, "k": 56}, "expect_inside")
    (finding,) = check(twin).findings
    assert finding.rule is Rule.TX_BYTES_MISMATCH
    assert finding.message.startswith(f"full[0] expects {128 * inside} bytes and gets 32768: ")


@pytest.mark.parametrize(("m", "n"), [(1, 4), (15, 36), (17, 32), (50, 100)])
def test_d13_remainder_tiles_of_a_copy(m: int, n: int) -> None:
    schedule = tma_copy.build({"m": m, "n": n})
    assert check(schedule).verdict is Verdict.CLEAN
    inputs = make_inputs(schedule)
    for order in ORDERS:
        got = evaluate(schedule, inputs, order=order)["result"]
        assert np.array_equal(got, inputs["source"] + 1)
