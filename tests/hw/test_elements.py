"""wgmma of every element type, SS and RS: proven, evaluated, timed, compiled, run."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.evaluate.order import Landing, Order
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import render
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.text import schedule_text
from asyncsim.predict import predict
from asyncsim.predict.result import Verdict
from tests.hw.element_scenarios import TYPES

FILE = str(Path(__file__).parent / "element_scenarios.py")
PAIRS = [(t, t) for t in TYPES] + [
    ("e4m3", "e5m2"),
    ("e5m2", "e4m3"),
    ("i8", "u8"),
    ("u8", "i8"),
]
FORMS = [(a, b, rs) for a, b in PAIRS for rs in (0, 1)]


def build(a: str, b: str, **params: int) -> Schedule:
    chosen = {"a": TYPES.index(a), "b": TYPES.index(b)} | params
    return find_scenario(f"{FILE}:elements").build(chosen)


@pytest.mark.parametrize(("a", "b", "rs"), FORMS)
def test_evaluate_is_exact(a: str, b: str, rs: int) -> None:
    schedule = build(a, b, rs=rs, n=48)
    assert check(schedule).verdict is Verdict.CLEAN
    inputs = make_inputs(schedule, seed=3)
    wanted = inputs["a"].astype(np.int64) @ inputs["b"].astype(np.int64).T
    assert wanted.any()
    for order in (Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=5)):
        out = evaluate(schedule, inputs, order=order)["out"]
        assert out.dtype == (np.int32 if a in ("i8", "u8") else np.float32)
        assert np.array_equal(out, wanted)


@pytest.mark.parametrize(("a", "b"), PAIRS[-4:])
def test_all_values_of_8_bits(a: str, b: str) -> None:
    schedule = build(a, b)
    inputs = make_inputs(schedule, seed=1, purpose="timing")
    exact = inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64).T
    assert np.allclose(evaluate(schedule, inputs)["out"], exact, rtol=1e-5, atol=1e-4)


def test_bits_of_small_floats() -> None:
    schedule = build("e4m3", "e5m2")
    a = np.zeros((64, 128), ml_dtypes.float8_e4m3fn)
    b = np.zeros((64, 128), ml_dtypes.float8_e5m2)
    a[0, 0], b[0, 0] = (
        1.125,
        57344,
    )  # a third mantissa bit; the largest number of five exponent bits
    assert evaluate(schedule, {"a": a, "b": b})["out"][0, 0] == 1.125 * 57344


def test_tf32_ignores_the_lower_bits() -> None:
    schedule = build("tf32", "tf32", rs=1)
    a, b = np.zeros((64, 32), np.float32), np.zeros((64, 32), np.float32)
    a[0, 0], b[0, 0] = 1 + 2**-10 + 2**-11, 1
    assert evaluate(schedule, {"a": a, "b": b})["out"][0, 0] == 1 + 2**-10


def test_integer_sums_wrap() -> None:
    schedule = build("u8", "u8")
    inputs = make_inputs(schedule)
    inputs["a"][...] = inputs["b"][...] = 255
    assert (evaluate(schedule, inputs)["out"] == 128 * 255 * 255).all()


def test_time_depends_on_bytes_not_on_types() -> None:
    cycles = set()
    for t in TYPES:
        result, prediction = predict(build(t, t, n=128), "h200")
        assert result.verdict is Verdict.CLEAN and prediction is not None
        cycles.add(prediction.cycles)
    assert len(cycles) == 1


def test_text_names_the_types_of_ptx() -> None:
    text = schedule_text(build("i8", "u8", rs=1))
    assert "m64n64k32.s32.s8.u8 acc, left[16:+16], " in text
    assert "left: 64 i8, operand of m64k128" in text
    assert "acc: 32 i32, accumulator of m64n64" in text


def test_instructions() -> None:
    text = render(build("e4m3", "e5m2", rs=1)).source
    assert "wgmma_m64n64k32_f32_e4m3_e5m2_rn(float (&d)[32], u32 a0, u32 a1, u32 a2, u32" in text
    assert "u32 f_left[16] = {};" in text and '"p, 1, 1; }"' in text
    text = render(build("i8", "u8")).source
    assert "wgmma_m64n64k32_s32_s8_u8(int (&d)[32], u64 a, u64 b, int accumulate)" in text
    assert '"p; }"' in text and '"+r"(d[31])' in text
    text = render(build("tf32", "tf32", rs=1)).source
    assert "wgmma_m64n64k8_f32_tf32_tf32_rn" in text and "u32 f_left[16] = {};" in text
    assert "f_left[12], f_left[13], f_left[14], f_left[15]" in text


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
@pytest.mark.parametrize(("a", "b", "rs"), FORMS)
def test_compiles(a: str, b: str, rs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    resources = compile_schedule(build(a, b, rs=rs)).resources
    assert resources.advisories == () and resources.spill_store_bytes == 0


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as owner:
        yield owner


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
@pytest.mark.parametrize(("a", "b", "rs"), FORMS)
@pytest.mark.parametrize(("n", "swizzle"), [(64, 128), (24, 64), (256, 32)])
def test_data_are_right(child: Child, a: str, b: str, rs: int, n: int, swizzle: int) -> None:
    schedule = build(a, b, n=n, rs=rs * (swizzle == 128), swizzle=swizzle)
    r = run_schedule(schedule, child=child, launches=20, verify_ctas=1)
    assert r.verification is not None and r.verification.ok, str(r.verification)
