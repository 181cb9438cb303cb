"""``python -m tests.benchmarks --simulate``: how long the simulator takes in a warm process.

CPU seconds of the process, one core. Growth is shown over the rounds of a loop, with jumps over
periods and without; the share of ``check`` in a prediction, and configurations a minute, by
``ws_gemm`` over its tiles and stages.
"""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product

from asyncsim.check import check
from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import load_machine
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim.simulate import Options, run, simulate
from tests.benchmarks.speed import empty

H200 = load_machine("h200")
JUMP = Options(certified=True)
CUBE = {"m": 8192, "n": 8192, "k": 8192}
TARGETS: tuple[tuple[str, Callable[[], Schedule], float], ...] = (
    ("cooperative_gemm, 8192 cubed", lambda: cooperative_gemm.build(CUBE), 0.3),
    ("ws_gemm, 8192 cubed", lambda: ws_gemm.build(CUBE), 0.3),
    ("flash_attention, 16k", lambda: flash_attention.build({"seq": 16384, "heads": 16}), 0.6),
)
CORES = 2


def seconds(schedule: Schedule, options: Options, runs: int) -> tuple[float, float]:
    """CPU seconds, the best of some runs, and the share of the ticks that was passed over."""
    best, passed = float("inf"), 0.0
    for _ in range(runs):
        begin = time.process_time()
        model = run(schedule, H200, options)
        best = min(best, time.process_time() - begin)
        passed = model.passed / model.end
        if best > 1:
            break
    return best, passed


def growth() -> Iterator[tuple[str, int, Schedule]]:
    """Loops that get longer."""
    for rounds in (50, 100, 200, 400, 800, 1600):
        yield "ring on one SM", rounds, tma_ring.build({"tiles": rounds, "ctas": 1})
    for rounds in (16, 32, 64, 128, 256):
        params = {"m": 1024, "n": 2048, "k": 64 * rounds}
        yield "GEMM on 8 SMs", rounds, cooperative_gemm.build(params)


def configurations(size: int) -> list[dict[str, int]]:
    """Of a sweep of ``ws_gemm`` over tiles, stages and lag, those that exist."""
    found = []
    for block_m, block_n, block_k, stages, lag in product(
        (64, 128, 256), (64, 128, 256), (32, 64), (2, 3, 4, 5, 6), (0, 1)
    ):
        params = {"m": size, "n": size, "k": size, "block_m": block_m, "block_n": block_n}
        params |= {"block_k": block_k, "stages": stages, "lag": lag}
        params["consumers"] = 2 if block_m == 256 else 1
        try:
            schedule = ws_gemm.build(params)
        except ScheduleError:
            continue
        if schedule.smem_bytes <= H200.gpu.smem_per_sm_bytes - 1024:
            found.append(params)
    return found


def predicted(params: dict[str, int]) -> tuple[float, float]:
    """CPU seconds of check and of simulate, the schedule's building with the former."""
    begin = time.process_time()
    schedule = ws_gemm.build(params)
    certified = check(schedule).certified
    middle = time.process_time()
    simulate(schedule, H200, certified=certified, ties=False)
    return middle - begin, time.process_time() - middle


def sweep(size: int, count: int) -> None:
    """Predict some of the configurations on two cores."""
    every = configurations(size)
    chosen = every[:: max(1, len(every) // count)][:count]
    with ProcessPoolExecutor(CORES) as pool:
        list(pool.map(predicted, chosen[:CORES]))
        begin = time.perf_counter()
        times = list(pool.map(predicted, chosen, chunksize=4))
        wall = time.perf_counter() - begin
    checking, simulating = (sum(column) for column in zip(*times, strict=True))
    cpu = checking + simulating
    print(
        f"ws_gemm, {size} cubed: {len(chosen)} configurations, {60 * len(chosen) / wall:,.0f} a "
        f"minute on {CORES} cores ({60 * CORES * len(chosen) / cpu:,.0f} by CPU time), "
        f"check {100 * checking / cpu:.0f} % of it",
        flush=True,
    )


def main(runs: int) -> None:
    """Print the targets, the growth and the sweeps."""
    print(f"Python {platform.python_version()}, CPU time, load {os.getloadavg()[0]:.1f}")
    print(f"a million empty rounds of a Python loop: {1e3 * min(map(empty, range(5))):.1f} ms")
    for name, build, limit in TARGETS:
        took, passed = seconds(build(), JUMP, runs)
        over = "  OVER" if took > limit else ""
        print(
            f"{name:<30} {took:>7.2f} s of {limit}, {100 * passed:.0f} % passed{over}", flush=True
        )
    for name, rounds, schedule in growth():
        for how, options in (("with jumps", JUMP), ("every tick", replace(JUMP, jump=False))):
            took, _ = seconds(schedule, options, runs)
            print(f"{name}, {rounds} rounds, {how}: {1e3 * took:,.1f} ms", flush=True)
    for size, count in ((1024, 100), (2048, 60), (4096, 30)):
        sweep(size, count)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
