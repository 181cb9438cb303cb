"""wgmma with A from registers, and operands stored either way: proven, evaluated, compiled, run."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from asyncsim import Rule
from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.evaluate.order import Landing, Order
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import render
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import TICKS_PER_CYCLE, load_machine
from asyncsim.predict.result import Verdict
from asyncsim.sim.do_tensor import interval
from asyncsim.sim.numbers import Numbers

FILE = str(Path(__file__).parent / "operand_scenarios.py")
FORMS = [
    {},
    {"f16": 1, "panels": 1},
    {"trans_a": 1},
    {"trans_w": 1, "panels": 4},
    {"trans_a": 1, "trans_w": 1, "swizzle": 64},
    {"trans_a": 1, "trans_w": 1, "swizzle": 32, "panels": 5, "f16": 1},
]


def build(**params: int) -> Schedule:
    return find_scenario(f"{FILE}:operands").build(params)


def side_by_side(panels: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """(panels, K, span) as (K, MN)."""
    return np.concatenate(list(panels.astype(np.float32)), axis=1)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_evaluate_computes_both_products(form: dict[str, int]) -> None:
    schedule = build(**form)
    assert check(schedule).verdict is Verdict.CLEAN
    inputs = make_inputs(schedule, seed=3)
    a, w, v = (side_by_side(inputs[name]) for name in ("a", "w", "v"))
    a, w = a.T if form.get("trans_a") else a, w.T if form.get("trans_w") else w
    wanted = a @ w.T @ v
    assert np.abs(a @ w.T).max() <= 256  # exact in bf16
    for order in (Order(), Order(landing=Landing.LATE), Order(landing=Landing.LATE, seed=5)):
        assert np.array_equal(evaluate(schedule, inputs, order=order)["out"], wanted)


def test_registers_of_a_in_flight_are_not_rewritten() -> None:
    (finding,) = check(build(rewrite=1)).findings
    assert finding.rule is Rule.FRAGMENT_IN_FLIGHT
    assert finding.message == "p is touched while a wgmma on it is in flight"
    schedule = build(rewrite=1)
    inputs = make_inputs(schedule, seed=3)
    late = evaluate(schedule, inputs, order=Order(landing=Landing.LATE))["out"]
    assert np.array_equal(late, evaluate(build(), inputs)["out"])  # the same values once more


def test_registers_of_a_are_fenced_before_wgmma_reads_them() -> None:
    (finding,) = check(build(unfenced=1)).findings
    assert finding.rule is Rule.MISSING_WGMMA_FENCE
    assert finding.message == "p is touched and then used by wgmma without a fence"


def test_a_from_registers_does_not_wait_for_its_reads() -> None:
    numbers = Numbers(load_machine("h200"))
    ss = [interval(numbers, n) / TICKS_PER_CYCLE for n in (16, 64, 128)]
    rs = [interval(numbers, n, rs=True) / TICKS_PER_CYCLE for n in (16, 64, 128)]
    assert ss == [20, 32, 64] and [round(cycles, 2) for cycles in rs] == [13.05, 32, 64]


def test_instructions() -> None:
    text = render(build(trans_a=1, panels=4, swizzle=64)).source
    assert "wgmma_m64n64k16_f32_bf16_bf16_tn(float (&d)[32], u64 a, u64 b, int" in text
    assert "wgmma_m64n128k16_f32_bf16_bf16_rt(float (&d)[64], u32 a0, u32 a1, u32 a2, u32" in text
    assert "u32 f_p[16] = {};" in text and "pin(f_p);" in text
    # a panel of V is 64 rows of 64 bytes: 256 units of 16 bytes from one to the next
    assert f"f_p[3], wgmma_desc(smem_desc + {256 << 16} + at_v_tile / 16, 0x80000020), 0);" in text


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
@pytest.mark.parametrize("form", FORMS[3:], ids=str)
def test_compiles(form: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    resources = compile_schedule(build(**form)).resources
    assert resources.advisories == () and resources.spill_store_bytes == 0


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as owner:
        yield owner


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_data_are_right(child: Child, form: dict[str, int]) -> None:
    schedule = build(**form)
    r = run_schedule(schedule, child=child, launches=20, verify_ctas=1)
    assert r.verification is not None and r.verification.ok, str(r.verification)
