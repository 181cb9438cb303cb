"""Tensor memory and tcgen05 in evaluations: kinds, layouts, copies, block scaling, broken order."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from asyncsim import ScheduleError
from asyncsim.evaluate import EvaluateError, Landing, Order, evaluate, make_inputs
from asyncsim.rules import Rule
from tests.check.tcgen05_schedules import gemm, pair
from tests.evaluate.tcgen05_schedules import (
    DTYPES,
    block_scaled,
    moves,
    product,
    through_registers,
)

ORDERS = [Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=2)]


def results(schedule):
    inputs = make_inputs(schedule)
    found = [evaluate(schedule, inputs, order=order)["out"] for order in ORDERS]
    assert all(np.array_equal(f, found[0]) for f in found)
    wide = np.int32 if inputs["a"].dtype.kind in "iu" else np.float32
    whole = inputs["a"].astype(wide) @ inputs["b"].astype(wide).T
    assert np.abs(whole).max() > 4
    return found[0], whole


MIXED = [("e4m3", "e5m2"), ("e5m2", "e4m3"), ("i8", "u8"), ("u8", "i8")]


@pytest.mark.parametrize(("a", "b"), [*((x, x) for x in DTYPES), *MIXED])
def test_each_kind(a: str, b: str) -> None:
    got, want = results(product(a=a, b=b))
    assert np.array_equal(got, want)


def test_64_rows_lie_in_16_lanes_of_each_warp() -> None:
    got, want = results(product(m=64))
    assert np.array_equal(got.reshape(4, 32, 32)[:, :16], want.reshape(4, 16, 32))
    assert not got.reshape(4, 32, 32)[:, 16:].any()


def test_256_rows_over_two_ctas() -> None:
    got, want = results(product(m=256, n=64, group=2))
    assert np.array_equal(got, want)


def test_128_rows_over_two_ctas_fold_the_columns() -> None:
    got, want = results(product(m=128, n=64, group=2))
    halves = got.reshape(2, 2, 64, 32)  # CTA, lanes above 64, row, column
    assert np.array_equal(halves.transpose(0, 2, 1, 3).reshape(128, 64), want)


@pytest.mark.parametrize("a", ["bf16", "e4m3", "tf32"])
@pytest.mark.parametrize("group", [1, 2])
def test_a_from_tensor_memory(group: int, a: str) -> None:
    got, want = results(product(m=128 * group, group=group, a=a, from_tensor_memory=True))
    assert np.array_equal(got, want)


def test_tf32_ignores_the_lower_bits() -> None:
    s = product(a="tf32")
    inputs = make_inputs(s)
    exact = evaluate(s, inputs)["out"]
    noisy = {"a": (inputs["a"].view(np.uint32) | 0x1FFF).view(np.float32), "b": inputs["b"]}
    assert np.array_equal(evaluate(s, noisy)["out"], exact)
    coarse = {"a": (inputs["a"].view(np.uint32) | 0x2000).view(np.float32), "b": inputs["b"]}
    assert not np.array_equal(evaluate(s, coarse)["out"], exact)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("build", [gemm, pair])
def test_pipelines_compute_the_product(build, order: Order) -> None:
    s = build(tiles=2, steps=2)
    inputs = make_inputs(s)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T
    assert np.array_equal(evaluate(s, inputs, order=order)["out"], want)


LATE = [Order(landing=Landing.LATE, seed=seed) for seed in (None, *range(8))]


@pytest.mark.parametrize("bug", ["early_release", "no_commit", "one_slot", "no_wait_ld"])
def test_a_broken_pipeline_differs_in_some_order(bug: str) -> None:
    s = gemm(bug=bug)
    inputs = make_inputs(s)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32).T

    def is_right(order: Order) -> bool:
        try:
            return np.array_equal(evaluate(s, inputs, order=order)["out"], want)
        except EvaluateError:
            return False

    assert not all(is_right(order) for order in LATE)


def test_memory_that_stays_allocated_is_a_leak() -> None:
    s = gemm(bug="leak")
    with pytest.raises(EvaluateError, match="ends with 128 columns of tensor memory") as caught:
        evaluate(s, make_inputs(s))
    assert caught.value.rule is Rule.TMEM_LEAK


def test_one_of_a_pair_does_not_free_alone() -> None:
    s = pair(bug="one_frees")
    with pytest.raises(EvaluateError, match="CTA 1 of the pair has not come to it"):
        evaluate(s, make_inputs(s))


def copied(shape: str, rows: int, row_bytes: int, *, shift: bool = False):
    s = moves(shape, rows, row_bytes, shift=shift)
    inputs = make_inputs(s)
    found = [evaluate(s, inputs, order=order)["out"] for order in ORDERS]
    assert all(np.array_equal(f, found[0]) for f in found)
    return found[0], inputs["source"]


@pytest.mark.parametrize(
    ("shape", "rows", "row_bytes", "warps"),
    [
        ("128x256b", 128, 32, (0, 1, 2, 3)),
        ("128x128b", 128, 16, (0, 1, 2, 3)),
        ("64x128b.warpx2::02_13", 64, 16, (0, 1, 0, 1)),
        ("64x128b.warpx2::01_23", 64, 16, (0, 0, 1, 1)),
        ("32x128b.warpx4", 32, 16, (0, 0, 0, 0)),
    ],
)
def test_copies(shape: str, rows: int, row_bytes: int, warps: tuple[int, ...]) -> None:
    got, source = copied(shape, rows, row_bytes)
    for warp, part in enumerate(warps):
        want = source[32 * part : 32 * part + 32]
        assert np.array_equal(got[32 * warp : 32 * warp + 32], want)


def test_a_copy_of_four_rows() -> None:
    got, source = copied("4x256b", 4, 32)
    assert np.array_equal(got[:4], source)
    assert not got[4:].any()


def test_shift_moves_the_rows_of_32_lanes_down_by_one() -> None:
    got, source = copied("128x256b", 128, 32, shift=True)
    want = source.copy()
    want[33:64] = source[32:63]
    assert np.array_equal(got, want)


def test_registers_go_to_tensor_memory_and_back() -> None:
    s = through_registers()
    inputs = make_inputs(s)
    for order in ORDERS:
        assert np.array_equal(evaluate(s, inputs, order=order)["out"], inputs["source"])


def test_lanes_of_another_warp() -> None:
    s = gemm(bug="wrong_lanes")
    with pytest.raises(ScheduleError, match=r"accesses lanes 96\.\.127 of 'acc'") as caught:
        evaluate(s, make_inputs(s))
    assert caught.value.rule is Rule.TMEM_LANES


def four_bit(raw: np.ndarray) -> np.ndarray:
    pairs = np.stack([raw & 15, raw >> 4], axis=-1).reshape(raw.shape[0], -1)
    return pairs.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "vec", "first"),
    [
        ("mxf8f6f4", 1, 0),
        ("mxf8f6f4", 1, 3),
        ("mxf4", 2, 0),
        ("mxf4", 2, 2),
        ("mxf4nvf4", 2, 2),
        ("mxf4nvf4", 4, 0),
    ],
)
def test_block_scaling(kind: str, vec: int, first: int) -> None:
    s = block_scaled(kind, vec, elements="e4m3" if kind == "mxf8f6f4" else "u8", first=first)
    rng = np.random.default_rng(5)
    inputs = make_inputs(s)
    if kind != "mxf8f6f4":
        inputs |= {x: rng.integers(0, 256, inputs[x].shape, np.uint8) for x in "ab"}
    unsigned = kind == "mxf4nvf4" and vec == 4
    low, high = (0x30, 0x50) if unsigned else (125, 130)
    inputs |= {x: rng.integers(low, high, inputs[x].shape, np.uint8) for x in ("sa", "sb")}
    read = four_bit if kind != "mxf8f6f4" else lambda x: x.astype(np.float32)

    def scaled(name: str) -> np.ndarray:
        raw = inputs[f"s{name}"][:, first : first + vec]
        factors = raw.view(ml_dtypes.float8_e4m3fn if unsigned else ml_dtypes.float8_e8m0fnu)
        values = read(inputs[name])
        return values * factors.astype(np.float32).repeat(values.shape[1] // vec, axis=1)

    want = scaled("a") @ scaled("b").T
    for order in ORDERS:
        got = evaluate(s, inputs, order=order)["out"]
        assert np.allclose(got, want, rtol=1e-6, atol=0)
        if not unsigned:  # powers of two: every sum is exact
            assert np.array_equal(got, want)


def test_factors_begin_where_their_number_allows() -> None:
    with pytest.raises(ScheduleError, match="scale factors of a from byte 1") as caught:
        block_scaled("mxf4", 2, first=1)
    assert "2 a row begin at byte 0 or 2" in str(caught.value)
