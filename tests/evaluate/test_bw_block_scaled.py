"""bw_block_scaled computes the scaled product, in every legal order, for every format."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from asyncsim.evaluate import Landing, Order, evaluate, make_inputs
from asyncsim.scenarios.bw_block_scaled import BLOCK, FORMATS, bw_block_scaled

ORDERS = [Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=3)]


def values(raw: np.ndarray, per_byte: int) -> np.ndarray:
    if per_byte == 1:
        return raw.astype(np.float32)
    pairs = np.stack([raw & 15, raw >> 4], axis=-1).reshape(raw.shape[0], -1)
    return pairs.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)


def factors(raw: np.ndarray, rows: int, dtype: type) -> np.ndarray:
    """(rows, factors along k) from lines of (row // 32, factor) of 128 rows and four factors."""
    blocks = raw.reshape(rows // BLOCK, -1, 32, 4, 4)  # rows, cell, line, 32 rows, factor
    by_row = blocks.transpose(0, 3, 2, 1, 4).reshape(rows, -1)
    return np.ascontiguousarray(by_row).view(dtype).astype(np.float32)


@pytest.mark.parametrize("format", range(3))
@pytest.mark.parametrize(
    "params",
    [
        {"m": 128, "n": 128, "k": 256, "ctas": 0, "stages": 1},
        {"m": 256, "n": 384, "k": 768, "ctas": 2, "stages": 2, "slots": 1},
        {"m": 384, "n": 256, "k": 1280, "ctas": 1, "stages": 3, "slots": 2},
    ],
)
def test_the_scaled_product(format: int, params: dict[str, int]) -> None:
    how = FORMATS[format]
    s = bw_block_scaled.build({**params, "kind": format, "f32": 1})
    inputs = make_inputs(s, seed=format)
    ue4m3 = how.scale_vec == 4
    dtype = ml_dtypes.float8_e4m3fn if ue4m3 else ml_dtypes.float8_e8m0fnu

    def scaled(name: str, rows: int) -> np.ndarray:
        plain = values(inputs[name], how.per_byte)
        scale = factors(inputs[f"scale_{name}"], rows, dtype)
        return plain * scale.repeat(plain.shape[1] // scale.shape[1], axis=1)

    want = scaled("a", params["m"]) @ scaled("b", params["n"]).T
    assert np.abs(want).max() > 8
    for order in ORDERS:
        assert np.array_equal(evaluate(s, inputs, order=order)["c"], want)  # sums are exact
