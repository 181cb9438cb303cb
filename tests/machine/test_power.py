"""Power: the law recovers what a synthetic board draws, and the clock follows from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from asyncsim.hw.calibrate.laws_power import drawn_watts
from asyncsim.hw.calibrate.points_power import COLUMNS, drawn, held, peaks
from asyncsim.hw.calibrate.rows import Rows
from asyncsim.hw.nvml import Sample, mean_watts
from asyncsim.machine import load_machine
from asyncsim.predict.power import Load, sustained
from asyncsim.predict.result import Activity, Occupancy, Prediction

H200 = load_machine("h200")
CYCLES = 1_000_000.0
NOTHING = Activity(
    sms=1.0,
    flops={},
    smem_bytes=0,
    fill_bytes=0,
    l2_bytes=0,
    dram_bytes=0,
    store_bytes=0,
    ffma=0,
    mufu=0,
    alu=0,
)
FULL = 132 * 4096 * CYCLES  # flops of all tensor cores, 16 bits


def run(activity: Activity, dram: float = 0.0, ports: float = 0.0) -> Prediction:
    return Prediction(
        cycles=CYCLES,
        time_us=CYCLES / 1980,
        clock_mhz=1980.0,
        bound_by="",
        occupancy=Occupancy(ctas_per_sm=1, waves=1.0, smem_bytes=0, limited_by=""),
        path={},
        engines={"DRAM": dram, "GPC port": ports},
        l2_read_bytes=0,
        stalls=(),
        activity=activity,
    )


def tensor(share: float) -> Activity:
    return replace(NOTHING, flops={"f16": share * FULL}, smem_bytes=share * 132 * 80 * CYCLES)


def test_what_does_nothing_runs_at_the_boost_clock() -> None:
    found = sustained(run(NOTHING), H200)
    assert found is not None
    assert (found.clock_mhz, found.because, found.tflops) == (1980.0, "boost", 0.0)
    power = H200.power
    assert found.watts == pytest.approx(float(power.base_watts + power.awake_watts))


def test_little_tensor_work_has_the_tensor_clock_and_much_the_power_limit() -> None:
    little, much = (sustained(run(tensor(share)), H200) for share in (0.2, 1.0))
    assert little is not None and much is not None
    assert (little.clock_mhz, little.because) == (1815.0, "tensor")
    assert much.because == "power"
    assert much.clock_mhz == pytest.approx(1570.9, rel=0.02)  # as the board held
    assert much.watts == pytest.approx(700 * float(H200.power.held_share), rel=1e-6)
    assert much.tflops == pytest.approx(132 * 4096 * much.clock_mhz / 1e6, rel=1e-9)


def test_zeros_draw_less_and_are_slowed_by_peak_power() -> None:
    found = sustained(run(tensor(1.0)), H200, operands="zeros")
    assert found is not None and found.because == "peak power"
    assert found.clock_mhz == pytest.approx(1766.9, rel=0.015)
    assert found.watts == pytest.approx(290, rel=0.05)


def test_a_lower_limit_means_a_lower_clock() -> None:
    clocks = []
    for limit in (700.0, 500.0, 300.0):
        found = sustained(run(tensor(1.0)), H200, limit_w=limit)
        assert found is not None
        clocks.append(found.clock_mhz)
    assert clocks == sorted(clocks, reverse=True) and clocks[-1] < 1100


@pytest.mark.parametrize("busy", [{"dram": 0.5}, {"ports": 0.5}])
def test_where_memory_is_busy_the_run_is_predicted_again_at_the_clock_found(
    busy: dict[str, float],
) -> None:
    asked: list[float] = []

    def again(mhz: float) -> Prediction:
        asked.append(mhz)
        return replace(run(tensor(1.0), **busy), cycles=CYCLES * (mhz / 1980), clock_mhz=mhz)

    found = sustained(run(tensor(1.0), **busy), H200, cycles_at=again)
    assert found is not None and len(asked) == 1
    assert found.clock_mhz < asked[0]  # fewer cycles, more power
    assert found.cycles == pytest.approx(CYCLES * found.clock_mhz / 1980, rel=0.005)
    asked.clear()
    assert sustained(run(tensor(1.0), dram=0.1, ports=0.1), H200, cycles_at=again) is not None
    assert asked == []


@pytest.mark.parametrize("limit", range(150, 700, 25))
def test_no_clock_but_the_lowest_draws_more_than_the_limit(limit: int) -> None:
    """Bytes at the rate of DRAM, whatever the clock, until the ports bound it below 700 MHz."""
    activity = replace(NOTHING, sms=132.0, dram_bytes=2.2e9, fill_bytes=2.2e9, l2_bytes=2.2e9)
    asked: list[float] = []

    def again(mhz: float) -> Prediction:
        asked.append(mhz)
        cycles = CYCLES * max(mhz / 1980, 700 / 1980)
        return replace(run(activity, dram=0.9), cycles=cycles, clock_mhz=mhz)

    found = sustained(run(activity, dram=0.9), H200, limit_w=float(limit), cycles_at=again)
    assert found is not None and len(asked) <= 4
    assert found.watts <= limit or found.clock_mhz == pytest.approx(100)
    true = again(found.clock_mhz).cycles
    assert found.cycles == pytest.approx(true, rel=0.05)


def test_energies_of_memory_do_not_fall_with_the_clock() -> None:
    activity = replace(NOTHING, dram_bytes=1e9)
    load = Load(activity, CYCLES, H200, "random")
    base = Load(NOTHING, CYCLES, H200, "random")
    high, low = (load.watts(mhz) - base.watts(mhz) for mhz in (1980.0, 990.0))
    assert high == pytest.approx(2 * low)


def rows_of(
    params: dict[str, int | str], watts: float, reasons: int = 0
) -> list[dict[str, object]]:
    values = {"mhz": 1500.0, "cycles": 36e6, "watts": watts, "driver_watts": watts}
    values |= {"limit": 700.0, "reasons": float(reasons), "celsius": 60.0}
    return [
        {"bench": "power", "params": params, "metric": m, "median": v, "p10": v, "p90": v, "n": 1}
        for m, v in values.items()
    ]


def test_points_count_what_a_load_does() -> None:
    params: dict[str, int | str] = {"load": "wgmma", "kind": "e4m3", "n": 256, "rs": 0}
    params |= {"ctas": 132, "data": "normal", "turns": 35156}
    rows = Rows(rows_of(params, 640.0, reasons=4))
    (point,) = [p for p in drawn(rows) if p is not None]
    x = dict(zip(COLUMNS, point.x, strict=True))
    each = 35156 * 132 * 1500e6 / 36e6 / 1e12  # turns of all CTAs in a second
    assert x["f8"] == pytest.approx(each * 8 * 2 * 64 * 256 * 32)
    assert x["smem"] == pytest.approx(each * 8 * (256 + 64) * 32)
    assert x["f16"] == x["dram"] == 0.0
    assert len(list(peaks(rows))) == 1 and held(rows) == []
    limited = Rows(rows_of(params, 690.0, reasons=4))
    assert list(peaks(limited)) == [] and held(limited) == [pytest.approx(690 / 700)]


def test_the_law_scales_sms_and_not_memory() -> None:
    theta = np.ones(2 + len(COLUMNS) - 1)
    sm, memory = np.zeros((2, len(COLUMNS)))
    sm[COLUMNS.index("f16")] = memory[COLUMNS.index("dram")] = 100.0
    sm[0] = memory[0] = 990.0
    assert drawn_watts(theta, np.array([sm, memory])).tolist() == [26.0, 101.0]


def test_mean_power_counts_between_steps_of_the_energy_counter() -> None:
    joules = [0, 0, 10, 10, 20, 20, 30, 30]
    samples = [Sample(at=0.1 * i, joules=j, watts=0, reasons=0) for i, j in enumerate(joules)]
    assert mean_watts(samples, 0.0) == pytest.approx(20 / 0.4)
    assert mean_watts(samples[:3], 0.0) == 0.0
