"""Predictions on every machine: refused, ordered, below the published rates, and accounted for."""

from __future__ import annotations

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.errors import UsageError
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import Machine, load_machine
from asyncsim.predict import Prediction, predict
from asyncsim.sim import simulate

PEAK_GB_PER_S = {"h200": 4915, "h100": 3350, "a100": 2039, "b200": 8000}


def build(name: str, **params: int) -> Schedule:
    return find_scenario(name).build(params, "")


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        ("a100", "ws_gemm is written for sm_90a, machine a100 is sm_80; "),
        ("b200", "ws_gemm is written for sm_90a, machine b200 is sm_100a; "),
    ],
)
def test_another_architecture_is_refused(machine: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        predict(gemm(), machine)
    assert str(caught.value) == text + "choose a machine of one of these architectures"


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        ("a100", "machine a100 is sm_80, which has no mbarrier.try_wait; choose another machine"),
        ("b200", "machine b200 is sm_100a, which has no wgmma; choose another machine"),
    ],
)
def test_the_simulator_alone_refuses_as_well(machine: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        simulate(gemm(), load_machine(machine), certified=True)
    assert str(caught.value) == text


def gemm() -> Schedule:
    return build("ws_gemm", m=256, n=256, k=256)


def ring(machine: Machine) -> Schedule:
    """A ring that DRAM bounds on every machine."""
    ctas = machine.gpu.sms
    return build("tma_ring", stages=6, tiles=24, tile_bytes=32768, consumers=4, ffma=0, ctas=ctas)


def multistage(machine: Machine) -> Schedule:
    return build(
        "cp_async_multistage", stages=6, tiles=32, tile_bytes=16384, ffma=0, ctas=machine.gpu.sms
    )


def gb_per_s(prediction: Prediction, amount: int) -> float:
    return amount / prediction.time_us / 1000


@pytest.mark.parametrize("name", ["h200", "h100", "b200"])
def test_a_memory_bound_ring_stays_below_the_published_rate(name: str) -> None:
    machine = load_machine(name)
    run = simulate(ring(machine), machine, certified=True)
    rate = gb_per_s(run, machine.gpu.sms * 24 * 32768)
    read = float(machine.dram.read_bytes_per_cycle * machine.clock.boost_mhz) / 1000
    assert 0.8 * read < rate < read < PEAK_GB_PER_S[name]
    warm = simulate(ring(machine), machine, certified=True, l2="warm")
    assert warm.cycles <= run.cycles


@pytest.mark.parametrize("name", ["h200", "h100", "a100", "b200"])
def test_cp_async_stays_below_the_published_rate(name: str) -> None:
    machine = load_machine(name)
    run = simulate(multistage(machine), machine, certified=True)
    rate = gb_per_s(run, machine.gpu.sms * 32 * 16384)
    read = float(machine.dram.read_bytes_per_cycle * machine.clock.boost_mhz) / 1000
    assert 0.5 * read < rate < read < PEAK_GB_PER_S[name]


def test_faster_memory_is_faster() -> None:
    """The same bytes on each machine: time falls as the published rate rises."""
    copy = build("cp_async_multistage", stages=6, tiles=32, tile_bytes=16384, ffma=0, ctas=132)
    times = [
        simulate(copy, load_machine(name), certified=True).time_us
        for name in ("a100", "h100", "h200", "b200")
    ]
    assert times == sorted(times, reverse=True)


def test_h100_differs_from_h200_by_its_memory() -> None:
    """The same SM: a ring that computes takes as long, one that DRAM bounds does not."""
    both = [load_machine(name) for name in ("h200", "h100")]
    busy = build("tma_ring", stages=4, tiles=24, tile_bytes=4096, consumers=1, ffma=1024, ctas=1)
    h200, h100 = (simulate(busy, machine, certified=True).cycles for machine in both)
    assert h100 == pytest.approx(h200, rel=0.005)
    h200, h100 = (simulate(ring(machine), machine, certified=True).cycles for machine in both)
    assert h100 > 1.3 * h200


def test_a_loaded_loop_of_b200_is_near_the_published_one() -> None:
    """Bytes in flight and the published turn of a loop: what the ring adds is its hand-over."""
    machine = load_machine("b200")
    for size, stages, turn in ((8192, 1, 1258), (16384, 4, 659), (32768, 2, 1328)):
        loop = build("tma_ring", stages=stages, tiles=48, tile_bytes=size, ffma=0, ctas=148)
        cycles = simulate(loop, machine, certified=True).cycles / 48
        assert 0.97 * turn < cycles < turn + 250


@pytest.mark.parametrize("name", ["h200", "h100", "a100", "b200"])
def test_a_prediction_counts_its_numbers(name: str) -> None:
    machine = load_machine(name)
    run = simulate(multistage(machine), machine, certified=True)
    assert sum(run.origins.get("assumed", {}).values()) == run.assumed
    used = {group for groups in run.origins.values() for group in groups}
    assert {"cp_async", "dram", "l2", "gpu", "clock", "launch"} <= used
    assert ("tma" in used) == (name != "a100")  # the port into the SM
    assert "wgmma" not in used
    assert ("measured" in run.origins) == (name == "h200")
    assert run.origins["published"]["gpu"] == (11 if name == "b200" else 10)


def test_predict_gives_verdict_and_origins() -> None:
    result, run = predict(gemm(), "h100")
    assert result.verdict.value == "clean"
    assert run is not None
    assert run.origins["published"]["wgmma"] == 1
    assert run.origins["assumed"]["wgmma"] == 10
    assert run.origins["assumed"]["clock"] == 1
    assert run.clock_mhz == 1772
