"""Inputs: exact for verification, reproducible, as declared."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from asyncsim import Fill, ScheduleBuilder, ScheduleError
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.ir.dtype import DType

NARROW = {
    DType.BF16: {-2, -1, 0, 1, 2},
    DType.F16: {-2, -1, 0, 1, 2},
    DType.TF32: {-2, -1, 0, 1, 2},
    DType.E4M3: {-2, -1, 0, 1, 2},
    DType.E5M2: {-2, -1, 0, 1, 2},
    DType.I8: {-2, -1, 0, 1, 2},
    DType.U8: {0, 1, 2, 3},
}


def schedule_of(dtype, *, fill=Fill.RANDOM, shape=(64, 64)):
    k = ScheduleBuilder("inputs")
    k.global_tensor("x", shape, dtype, fill=fill)
    k.global_tensor("y", shape, dtype, fill=fill)
    k.global_tensor("out", (4,), "f32", output=True)
    return k.finish()


@pytest.mark.parametrize("dtype", list(NARROW))
def test_narrow_types_hold_small_integers(dtype):
    x = make_inputs(schedule_of(dtype))["x"]
    assert x.dtype.itemsize == dtype.bytes
    assert set(np.unique(x.astype(np.float64))) == NARROW[dtype]


@pytest.mark.parametrize("dtype", [DType.F32, DType.I32, DType.U32])
def test_wide_types_tell_their_elements_apart(dtype):
    x = make_inputs(schedule_of(dtype, shape=(1024,)))["x"].astype(np.float64)
    assert x.min() >= 0
    assert x.max() < 65536
    assert np.array_equal(x, np.round(x))
    assert len(np.unique(x)) > 1000


def test_sums_of_8192_products_of_bf16_are_exact_in_fp32():
    x = make_inputs(schedule_of("bf16", shape=(8, 8192)))
    a, b = x["x"].astype(np.float32), x["y"].astype(np.float32)
    assert np.array_equal((a @ b.T).astype(np.float64), a.astype(np.float64) @ b.T)


@pytest.mark.parametrize("purpose", ["verify", "timing"])
def test_scale_factors_are_around_one(purpose):
    found = {
        fill: make_inputs(schedule_of("u8", fill=fill), purpose=purpose)["x"]
        for fill in (Fill.UE8M0, Fill.UE4M3, Fill.E2M1)
    }
    assert set(found[Fill.UE8M0].view(ml_dtypes.float8_e8m0fnu).astype(float).flat) == {0.5, 1, 2}
    unsigned = found[Fill.UE4M3].view(ml_dtypes.float8_e4m3fn).astype(float)
    assert set(unsigned.flat) == {0.5, 1, 1.5, 2}
    assert len(np.unique(found[Fill.E2M1])) == 256


def test_a_fill_of_bytes_is_for_bytes():
    with pytest.raises(ScheduleError, match="tensor 'x' of f32 filled with ue8m0") as caught:
        schedule_of("f32", fill=Fill.UE8M0)
    assert "declare it u8" in str(caught.value)


def test_the_seed_decides_and_tensors_differ():
    s = schedule_of("f32")
    first, again, other = make_inputs(s), make_inputs(s), make_inputs(s, seed=1)
    assert sorted(first) == ["x", "y"]
    assert np.array_equal(first["x"], again["x"])
    assert not np.array_equal(first["x"], other["x"])
    assert not np.array_equal(first["x"], first["y"])


def test_fills_are_honoured():
    iota = make_inputs(schedule_of("u32", fill=Fill.IOTA, shape=(3, 5)))["x"]
    assert np.array_equal(iota, np.arange(15, dtype=np.uint32).reshape(3, 5))
    zero = make_inputs(schedule_of("f32", fill=Fill.ZERO), purpose="timing")["x"]
    assert not zero.any()


def test_timing_inputs_are_standard_normal():
    x = make_inputs(schedule_of("bf16", shape=(512, 512)), purpose="timing")["x"]
    x = x.astype(np.float64)
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1) < 0.02


def test_a_missing_or_wrong_input_is_refused():
    s = schedule_of("f32", shape=(4,))
    with pytest.raises(ScheduleError, match="^no input for tensor 'x'; use make_inputs$"):
        evaluate(s, {})
    wrong = {**make_inputs(s), "y": np.zeros(5, np.float32)}
    with pytest.raises(ScheduleError) as caught:
        evaluate(s, wrong)
    assert str(caught.value) == (
        "input 'y' is (5,) float32, the tensor (4,) float32; use make_inputs"
    )
    with pytest.raises(ScheduleError, match="^CTA 1 of 1; give indices 0..0$"):
        evaluate(s, make_inputs(s), ctas=[1])


def test_an_output_may_start_with_given_values_which_stay_as_they_are():
    s = schedule_of("f32", shape=(4,))
    before = np.arange(4, dtype=np.float32)
    out = evaluate(s, {**make_inputs(s), "out": before})["out"]
    assert np.array_equal(out, before)
    assert out is not before
