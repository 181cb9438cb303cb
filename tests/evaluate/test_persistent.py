"""Persistent GEMMs compute what they should, in every legal order."""

from __future__ import annotations

import numpy as np
import pytest

from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.fp8_gemm import fp8_gemm
from asyncsim.scenarios.grouped_gemm import grouped_gemm
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.scenarios.pingpong_gemm import pingpong_gemm
from asyncsim.scenarios.split_k import split_k

ORDERS = [Order(), Order(landing=Landing.LATE, seed=2), Order(seed=7)]


def product(a, b):
    return a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "params",
    [
        {"m": 256, "n": 512, "k": 192, "ctas": 2},
        {"m": 200, "n": 520, "k": 136, "ctas": 3, "band": 2},
        {"m": 328, "n": 136, "k": 72, "ctas": 2, "block_n": 64, "block_k": 32, "f32": 1},
        {"m": 300, "n": 64, "k": 40, "block_m": 256, "block_n": 64, "buffers": 1, "stages": 2},
        {"m": 384, "n": 384, "k": 8, "block_n": 128, "stages": 1, "lag": 0, "ctas": 4, "band": 0},
    ],
)
def test_cooperative_gemm_is_exact_in_every_order(params, order):
    schedule = cooperative_gemm.build(params)
    inputs = make_inputs(schedule)
    got = evaluate(schedule, inputs, order=order)["c"]
    assert np.array_equal(got, product(inputs["a"], inputs["b"]).astype(got.dtype))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "params",
    [
        {"m": 200, "n": 520, "k": 136, "ctas": 3, "band": 2},
        {"m": 328, "n": 136, "k": 72, "ctas": 2, "block_n": 64, "block_k": 32, "f32": 1},
        {"m": 384, "n": 128, "k": 64, "block_m": 128, "block_n": 128, "stages": 1, "lag": 0},
        {"m": 384, "n": 128, "k": 200, "block_m": 128, "block_n": 128, "ctas": 1},
    ],
)
def test_pingpong_gemm_is_exact_in_every_order(params, order):
    schedule = pingpong_gemm.build(params)
    inputs = make_inputs(schedule)
    got = evaluate(schedule, inputs, order=order)["c"]
    assert np.array_equal(got, product(inputs["a"], inputs["b"]).astype(got.dtype))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "params",
    [
        {"m": 200, "n": 520, "k": 136, "ctas": 4},
        {"m": 328, "n": 136, "k": 72, "cluster_m": 1, "cluster_n": 2, "block_n": 64, "f32": 1},
        {"m": 320, "n": 136, "k": 72, "block_n": 128, "cluster_n": 2, "consumers": 1},
    ],
)
def test_multicast_gemm_is_exact_in_every_order(params, order):
    schedule = multicast_gemm.build(params)
    inputs = make_inputs(schedule)
    got = evaluate(schedule, inputs, order=order)["c"]
    assert np.array_equal(got, product(inputs["a"], inputs["b"]).astype(got.dtype))


def scaled_product(a, b, a_scales, b_scales):
    """Scales of a (k blocks, m), of b (k blocks, n blocks)."""
    total = np.zeros((len(a), len(b)), np.float32)
    for step, of_rows in enumerate(a_scales):
        depth = slice(128 * step, 128 * (step + 1))
        of_columns = np.repeat(b_scales[step], 128)[: len(b)]
        total += product(a[:, depth], b[:, depth]) * of_rows[:, None] * of_columns
    return total


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "params",
    [
        {"m": 256, "n": 256, "k": 512, "ctas": 2},
        {"m": 328, "n": 392, "k": 200, "block_m": 128, "stages": 5, "ctas": 5, "band": 2},
        {"m": 200, "n": 136, "k": 700, "consumers": 1, "block_m": 64, "block_n": 64, "f32": 1},
        {"m": 61, "n": 33, "k": 1, "consumers": 1, "block_m": 128, "stages": 1, "ctas": 1},
    ],
)
def test_fp8_gemm_is_exact_in_every_order(params, order):
    schedule = fp8_gemm.build(params)
    inputs = make_inputs(schedule)
    want = scaled_product(*(inputs[name] for name in ("a", "b", "a_scales", "b_scales")))
    got = evaluate(schedule, inputs, order=order)["c"]
    assert np.array_equal(got, want.astype(got.dtype))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "params",
    [
        {"m": 200, "n": 264, "k": 520, "splits": 3, "ctas": 4},
        {"m": 128, "n": 128, "k": 1000, "splits": 4, "block_n": 128, "stages": 1, "lag": 0},
        {"m": 64, "n": 64, "k": 72, "splits": 1, "consumers": 1, "block_m": 64, "block_n": 64},
    ],
)
def test_split_k_adds_up_in_every_order(params, order):
    schedule = split_k.build(params)
    inputs = make_inputs(schedule)
    want = product(inputs["a"], inputs["b"])
    assert np.array_equal(evaluate(schedule, inputs, order=order)["c"], want)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("rows", "params"),
    [
        ((300, 200, 100), {"m": 300, "ragged": 100, "n": 512, "ctas": 5}),
        ((260, 196, 132, 68, 4), {"m": 260, "ragged": 64, "n": 128, "block_n": 128, "f32": 1}),
        ((130,), {"m": 130, "n": 256, "ctas": 1}),
    ],
)
def test_grouped_gemm_multiplies_each_group_with_its_own(rows, params, order):
    schedule = grouped_gemm.build({"groups": len(rows), "k": 136, **params})
    inputs = make_inputs(schedule)
    got = evaluate(schedule, inputs, order=order)
    assert list(got) == [f"c{g}" for g in range(len(rows))]
    start, n = 0, params["n"]
    for g, height in enumerate(rows):
        want = product(inputs["a"][start : start + height], inputs["b"][g * n : g * n + n])
        assert np.array_equal(got[f"c{g}"], want.astype(got[f"c{g}"].dtype))
        start += height
