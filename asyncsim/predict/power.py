"""The clock that a board holds, from what the units of a run do and what it may draw.

Power is that of the base, of awake SMs, and of what is computed and moved, at an energy each. What
happens in an SM takes less where the clock and with it the voltage is lower. See docs/power.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from asyncsim.predict.result import Activity, Prediction, Sustained

if TYPE_CHECKING:
    from asyncsim.machine import Machine

OPERANDS = ("random", "zeros")
LOWEST_MHZ = 100.0
MAX_WATTS = 100_000.0  # no board may draw more: a limit beyond is a slip
_ROUNDS = 4  # of clock and cycles, where DRAM and L2 get faster in cycles
_SAME = 0.005
_NEAR = 0.15  # of a clock that was simulated for this: beside it, cycles go on along the line
_MEMORY_MATTERS = 0.25  # of the run that DRAM, or what L2 hands out, is busy


class Load:
    """The watts of a run of ``cycles`` that repeats, by clock in MHz."""

    def __init__(self, activity: Activity, cycles: float, machine: Machine, operands: str) -> None:
        p, self._base = machine.power, float(machine.power.base_watts)
        self._boost = float(machine.clock.boost_mhz)
        self._voltage = float(p.voltage_share)
        self._awake = float(p.awake_watts) * activity.sms
        zeros = operands == "zeros"
        moved = float(p.moved_zeros_share) if zeros else 1.0
        dram = float(p.dram_zeros_share) if zeros else 1.0
        flops = activity.flops
        half = float(p.f16_zeros_picojoules if zeros else p.f16_picojoules)
        # Of tf32 and mma.sync no zeros were measured: as of the others.
        share = half / float(p.f16_picojoules) if p.f16_picojoules else 1.0
        energies = (
            (flops.get("f16", 0.0), half),
            (
                flops.get("f8", 0.0) + flops.get("i8", 0.0),
                p.f8_zeros_picojoules if zeros else p.f8_picojoules,
            ),
            (flops.get("tf32", 0.0), float(p.tf32_picojoules) * share),
            (flops.get("mma", 0.0), float(p.mma_picojoules) * share),
            (activity.smem_bytes, p.smem_zeros_picojoules if zeros else p.smem_picojoules),
            (activity.ffma, p.ffma_picojoules),
            (activity.alu, p.alu_picojoules),
            (activity.mufu, p.mufu_picojoules),
        )
        reckoned = (
            (flops.get("f16", 0.0) + flops.get("mma", 0.0), p.peak_f16_picojoules),
            (flops.get("tf32", 0.0) * 2, p.peak_f16_picojoules),
            (flops.get("f8", 0.0) + flops.get("i8", 0.0), p.peak_f8_picojoules),
            (activity.smem_bytes, p.peak_smem_picojoules),
            (activity.fill_bytes, p.peak_fill_picojoules),
        )
        memory = (
            (activity.fill_bytes, float(p.fill_picojoules) * moved),
            (activity.l2_bytes, float(p.l2_picojoules) * moved),
            (activity.store_bytes, float(p.store_picojoules) * moved),
            (activity.dram_bytes, float(p.dram_picojoules) * dram),
        )
        each = 1e-12 / cycles  # a cycle's joules
        self._switched = each * sum(n * float(energy) for n, energy in energies)
        self._memory = each * sum(n * energy for n, energy in memory)
        self._reckoned = each * sum(n * float(energy) for n, energy in reckoned)

    def watts(self, mhz: float) -> float:
        """What the board draws."""
        lower = self._lower(mhz)
        switched = self._awake * lower + self._switched * mhz * 1e6 * lower
        return self._base + switched + self._memory * mhz * 1e6

    def peak(self, mhz: float) -> float:
        """What its power management reckons with: the same, and a part for what is busy."""
        return self.watts(mhz) + self._reckoned * mhz * 1e6 * self._lower(mhz)

    def _lower(self, mhz: float) -> float:
        """The square of the voltage, against that at the boost clock."""
        return float((mhz / self._boost) ** (2 * self._voltage))


def sustained(
    prediction: Prediction,
    machine: Machine,
    *,
    operands: str = "random",
    limit_w: float | None = None,
    cycles_at: Callable[[float], Prediction] | None = None,
) -> Sustained | None:
    """What a run gives if it repeats without pauses; None where its activity is not known.

    ``cycles_at``: predicts the run at another clock, in MHz; asked where DRAM or the ports to L2
    are busy, since these two have clocks of their own: often once, four times at most.
    """
    if prediction.activity is None or not prediction.cycles:
        return None
    p = machine.power
    limit = float(p.limit_watts) if limit_w is None else limit_w
    tensor = any(prediction.activity.flops.values())
    top = float(machine.clock.tensor_mhz if tensor else machine.clock.boost_mhz)
    runs = [prediction]

    def load(mhz: float) -> Load:
        run = _at(runs, mhz)
        assert run.activity is not None
        return Load(run.activity, run.cycles, machine, operands)

    for rounds in range(_ROUNDS + 1):
        found = {
            "tensor" if tensor else "boost": top,
            "power": _highest(lambda mhz: load(mhz).watts(mhz), limit * float(p.held_share), top),
            "peak power": _highest(lambda mhz: load(mhz).peak(mhz), float(p.peak_watts), top),
        }
        because = min(found, key=lambda name: found[name])
        mhz = found[because]
        if cycles_at is None or rounds == _ROUNDS or _is_known(runs, mhz):
            break
        runs.append(cycles_at(mhz))
    run = _at(runs, mhz)
    assert run.activity is not None
    time_us = run.cycles / mhz
    return Sustained(
        cycles=run.cycles,
        time_us=time_us,
        clock_mhz=mhz,
        watts=load(mhz).watts(mhz),
        limit_w=limit,
        operands=operands,
        because=because,
        tflops=sum(run.activity.flops.values()) / time_us / 1e6,
    )


def _is_known(runs: Sequence[Prediction], mhz: float) -> bool:
    """Whether the cycles at this clock follow from those at the clocks that were simulated."""
    if abs(mhz / runs[0].clock_mhz - 1) < _SAME:
        return True
    if any(abs(mhz / run.clock_mhz - 1) < _NEAR for run in runs[1:]):
        return True
    busy = max(runs[-1].engines.get(name, 0.0) for name in ("DRAM", "GPC port"))
    return busy < _MEMORY_MATTERS


def _at(runs: Sequence[Prediction], mhz: float) -> Prediction:
    """The run at a clock: its cycles on the line through those at the two clocks next to it."""
    nearest, *others = sorted(runs, key=lambda run: abs(run.clock_mhz - mhz))
    across = [run for run in others if (run.clock_mhz - mhz) * (nearest.clock_mhz - mhz) <= 0]
    for second in across or others:
        slope = (second.cycles - nearest.cycles) / (second.clock_mhz - nearest.clock_mhz)
        cycles = nearest.cycles + slope * (mhz - nearest.clock_mhz)
        return replace(nearest, cycles=cycles, clock_mhz=mhz)
    return nearest


def _highest(watts: Callable[[float], float], allowed: float, top: float) -> float:
    """The highest clock with at most so many watts; the lowest there is if none has."""
    if watts(top) <= allowed:
        return top
    low, high = LOWEST_MHZ, top
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if watts(middle) <= allowed else (low, middle)
    return low
