"""Programs of two kernels: data in NumPy, text, time, and both on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from asyncsim import Rule, check, predict
from asyncsim.evaluate import evaluate, make_inputs
from asyncsim.hw.compile import compile_schedule
from asyncsim.hw.launch import Child, run_program
from asyncsim.hw.launch.protocol import RunSpec, decode_spec, encode
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.render import kernel_text, render
from asyncsim.machine import load_machine
from asyncsim.predict.result import Verdict
from asyncsim.sim import simulate
from tests.hw.program_scenarios import pair, second

H200 = load_machine("h200")
SIZES: list[dict[str, int]] = [
    {},
    {"early": 0},
    {"ctas": 1, "after": 20000},
    {"ctas": 301, "turns": 10, "after": 0},
    {"ctas": 2000, "turns": 100, "after": 100},
]


@pytest.mark.parametrize("params", SIZES, ids=str)
def test_evaluate_runs_one_after_the_other(params: dict[str, int]) -> None:
    program = pair(**params)
    assert check(program).verdict is Verdict.CLEAN
    inputs = make_inputs(program, seed=3)
    assert set(inputs) == {"a", "weights"}
    outputs = evaluate(program, inputs)
    turns, after = params.get("turns", 2000), params.get("after", 2000)
    b = inputs["a"] + np.uint32(turns + after)
    assert np.array_equal(outputs["b"], b)
    assert np.array_equal(outputs["c"], b[::-1] + inputs["weights"] + np.uint32(1500))


def test_text() -> None:
    program = pair()
    one, two = (kernel_text(render(kernel)) for kernel in program.kernels)
    assert 'asm volatile("griddepcontrol.launch_dependents;" ::: "memory");' in one
    assert 'asm volatile("griddepcontrol.wait;" ::: "memory");' in two
    assert "const u32* __restrict__ t_a" in one
    assert "u32* t_weights" in two and "__restrict__" not in two  # loads stay behind the wait


@pytest.mark.hw
@pytest.mark.skipif(find_spec("cuda") is None, reason="needs the hw extra")
def test_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCSIM_CACHE", str(tmp_path))
    for kernel in pair().kernels:
        assert compile_schedule(kernel).resources.registers > 0


# -- time --------------------------------------------------------------------------------------


def cycles(**params: int) -> float:
    _, prediction = predict(pair(**params))
    assert prediction is not None
    return prediction.cycles


def alone(name: str, **params: int) -> float:
    program = pair(**params)
    kernel = program.primary if name == "first" else program.dependent
    return simulate(kernel, H200, certified=True).cycles


def test_an_early_start_hides_the_prologue() -> None:
    """The second kernel starts 1,040 cycles after the word, and passes 1,190 after the end."""
    n = H200.launch
    assert n.pass_cycles is not None and n.dependent_cycles is not None
    late, early = cycles(ctas=1, after=20000, early=0), cycles(ctas=1, after=20000)
    hidden = 1500 * float(H200.alu.alu_latency_cycles)  # the spin of its prologue
    assert late - early == pytest.approx(hidden, rel=0.3)
    tail = cycles(ctas=1, after=20000, prologue=0) - alone("first", ctas=1, after=20000)
    behind = alone("second", ctas=1, prologue=0)
    # with no prologue to speak of, what is left is the wait and what comes behind it
    assert float(n.pass_cycles) < tail < float(n.pass_cycles) + behind


def test_a_longer_prologue_shows_when_the_tail_is_short() -> None:
    spin = float(H200.alu.alu_latency_cycles)
    longer = cycles(ctas=1, after=0, prologue=4000) - cycles(ctas=1, after=0, prologue=3000)
    assert longer == pytest.approx(1000 * spin, rel=0.02)
    assert cycles(ctas=1, after=20000, prologue=500) == cycles(ctas=1, after=20000, prologue=1000)


def test_without_room_it_starts_behind() -> None:
    """16 CTAs of four warps fill the threads of an SM: the second kernel waits for their end."""
    full = 16 * H200.gpu.sms
    early, late = (cycles(ctas=full, early=e, turns=10) for e in (1, 0))
    assert early == late
    assert cycles(ctas=132, turns=10) < cycles(ctas=132, turns=10, early=0)


def test_stalls_say_whose_they_are() -> None:
    _, prediction = predict(pair(after=20000))
    assert prediction is not None
    assert ("second, block", "GriddepcontrolWait") in {(s.role, s.what) for s in prediction.stalls}
    assert prediction.time_us == pytest.approx(prediction.cycles / prediction.clock_mhz)


def test_a_kernel_alone_waits_for_nothing() -> None:
    prediction = simulate(second(1, 0), H200, certified=True)
    assert prediction.cycles < 3000
    (found,) = [f for f in check(pair()).findings if f.rule is Rule.PDL_ORDER] or [None]
    assert found is None


# -- runs --------------------------------------------------------------------------------------


def test_specs_survive_the_line() -> None:
    def spec(**more: object) -> RunSpec:
        return RunSpec(
            cubin="a",
            kernel="k",
            arch="sm_90a",
            grid=(1, 1, 1),
            threads=32,
            smem_bytes=0,
            parameters=(("arg", "n", 1, 4),),
            tensors={},
            maps={},
            launches=1,
            warmups=0,
            l2="warm",
            **more,  # type: ignore[arg-type]
        )

    whole = spec(dependent=spec())
    assert decode_spec(encode(whole)) == whole


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as owner:
        yield owner


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
@pytest.mark.parametrize("params", SIZES, ids=str)
def test_data_are_right(child: Child, params: dict[str, int]) -> None:
    for _ in range(3):
        r = run_program(pair(**params), child=child, launches=10, l2="warm")
        assert r.diagnosis is None, str(r.diagnosis)
        assert r.verification is not None and r.verification.ok, str(r.verification)


@pytest.mark.gpu
@pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU")
def test_an_early_start_is_faster(child: Child) -> None:
    spans = []
    for early in (0, 1):
        r = run_program(pair(early=early, after=20000, prologue=8000), child=child, l2="warm")
        assert r.timing is not None
        spans.append(r.timing.time_us)
    assert spans[1] < spans[0] - 4  # 8000 additions take 16 microseconds, or none
