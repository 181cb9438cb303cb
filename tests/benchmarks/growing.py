"""``python -m tests.benchmarks --growth``: how a prediction grows, and where its time goes.

CPU seconds of check and of simulate over the trip count and over the SMs, peak memory over the trip
count, each in a process of its own; and a profile by the parts of the simulator.
"""

from __future__ import annotations

import cProfile
import os
import platform
import pstats
import resource
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.machine import load_machine
from asyncsim.sim import simulate
from tests.benchmarks.speed import empty

PROFILED = (
    ("cooperative_gemm", {"m": 8192, "n": 8192, "k": 8192}),
    ("ws_gemm", {"m": 4096, "n": 4096, "k": 2048}),
    ("flash_attention", {"seq": 16384, "heads": 16}),
)
# What a module of asyncsim is a part of, by the start of its path.
PARTS = (
    ("stream/", "streams"),
    ("sim/period", "looking for periods"),
    ("sim/state", "looking for periods"),
    ("sim/rounds", "looking for periods"),
    ("sim/do_matrix", "wgmma"),
    ("sim/warpgroup", "wgmma"),
    ("sim/do_compute", "computations"),
    ("sim/beside", "computations"),
    ("sim/do_copy", "loads and memory"),
    ("sim/do_bulk", "loads and memory"),
    ("sim/do_tiles", "loads and memory"),
    ("sim/flights", "loads and memory"),
    ("sim/memory", "loads and memory"),
    ("sim/sharing", "loads and memory"),
    ("sim/reach", "loads and memory"),
    ("sim/servers", "loads and memory"),
    ("sim/scatter", "loads and memory"),
    ("sim/pace", "loads and memory"),
    ("sim/barriers", "barriers"),
    ("sim/do_sync", "barriers"),
    ("sync/", "barriers"),
    ("sim/engine", "engine and agents"),
    ("sim/role", "engine and agents"),
    ("sim/turns", "engine and agents"),
    ("sim/path", "critical path"),
    ("sim/", "the rest of sim"),
    ("ir/", "IR"),
    ("build/", "building the schedule"),
    ("scenarios/", "building the schedule"),
)


TRACED_S = 4.0  # runs up to so long are repeated under tracemalloc


@dataclass(frozen=True, slots=True)
class Point:
    """A prediction to time: of which curve, at what x, and what is asked."""

    curve: str
    x: int
    scenario: str
    params: tuple[tuple[str, int], ...]
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Took:
    """CPU seconds of check and of simulate; MB at most, of both together and of Python alone."""

    checking: float
    simulating: float
    resident_mb: float
    traced_mb: float


def points() -> Iterator[Point]:
    """Loops that get longer; then more SMs, sampled and exactly."""
    for rounds in (64, 256, 1024, 4096, 16384):
        given = {"tiles": rounds, "ctas": 1}
        yield Point("ring, 1 CTA", rounds, "tma_ring", tuple(given.items()))
    for rounds in (16, 64, 256):
        given = {"m": 1024, "n": 2048, "k": 64 * rounds}
        yield Point("GEMM, 64 CTAs", rounds, "cooperative_gemm", tuple(given.items()))
    for rounds in (16, 64, 256):
        given = {"m": 1024, "n": 1408, "k": 64 * rounds}
        yield Point("GEMM, 88 CTAs", rounds, "ws_gemm", tuple(given.items()))
    for exact in (False, True):
        name = "ring, exact" if exact else "ring, sampled"
        for ctas in (1, 4, 16, 66, 132):
            given = {"tiles": 128, "ctas": ctas}
            yield Point(name, ctas, "tma_ring", tuple(given.items()), exact)


def took(point: Point) -> Took:
    """Of one point, in this process; MB of Python while it simulates again, if that is short."""
    machine = load_machine("h200")
    scenario = find_scenario(point.scenario)
    schedule = scenario.build({**scenario.params, **dict(point.params)})
    begin = time.process_time()
    certified = check(schedule).certified
    checked = time.process_time()
    simulate(schedule, machine, certified=certified, exact=point.exact)
    simulated = time.process_time()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tracemalloc.start()
    if simulated - begin < TRACED_S:  # tracing makes it several times as slow
        simulate(schedule, machine, certified=certified, exact=point.exact)
    traced = tracemalloc.get_traced_memory()[1] / 1e6
    return Took(checked - begin, simulated - checked, resident, traced)


def part_of(path: str) -> str:
    """Which part of the simulator a source file belongs to."""
    _, inside, rest = path.partition(f"{os.sep}asyncsim{os.sep}")
    if not inside:
        return "SimPy" if f"{os.sep}simpy{os.sep}" in path else "Python and libraries"
    return next((part for start, part in PARTS if rest.startswith(start)), "other")


def profile(scenario: str, params: dict[str, int]) -> dict[str, float]:
    """Shares of the time of a simulation by part, built-in functions with whoever calls them."""
    found = find_scenario(scenario)
    schedule = found.build({**found.params, **params})
    machine = load_machine("h200")
    recorder = cProfile.Profile(builtins=False)
    recorder.runcall(simulate, schedule, machine, certified=True)
    shares: dict[str, float] = {}
    total = 0.0
    for (path, _, _), (_, _, own, _, _) in pstats.Stats(recorder).stats.items():  # type: ignore[attr-defined]
        part = part_of(str(Path(path).resolve()))
        shares[part] = shares.get(part, 0.0) + own
        total += own
    return dict(sorted(((p, t / total) for p, t in shares.items()), key=lambda i: -i[1]))


def main() -> None:
    """Print the curves, then the profiles."""
    print(f"Python {platform.python_version()}, CPU time, load {os.getloadavg()[0]:.1f}")
    print(f"a million empty rounds of a Python loop: {1e3 * min(map(empty, range(5))):.1f} ms")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        every = tuple(points())
        for point, t in zip(every, pool.map(took, every), strict=True):
            print(
                f"{point.curve}, {point.x}: check {t.checking:.3f} s, "
                f"simulate {t.simulating:.3f} s, {t.resident_mb:.0f} MB resident, "
                f"{t.traced_mb:.2f} MB traced",
                flush=True,
            )
    for scenario, params in PROFILED:
        shares = profile(scenario, params)
        shown = ", ".join(f"{p} {100 * s:.0f} %" for p, s in shares.items() if s >= 0.01)
        print(f"{scenario}: {shown}", flush=True)
