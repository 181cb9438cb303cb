"""``python -m tests.benchmarks --check``: how long ``check`` takes in a warm process.

CPU seconds of the process, the best of some runs, so that other work on the machine matters less.
Growth is shown over ops (longer loops) and over agents (more warps), with jumps and in full walks.
"""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Iterator

from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from tests.check.tcgen05_schedules import multicast_ring, pair

MILLION = 12_800  # tiles of a ring of 16 warps: a million ops


def ring(tiles: int, warps: int = 16) -> Schedule:
    return tma_ring.build({"consumers": warps - 1, "stages": 4, "tiles": tiles})


def targets() -> Iterator[tuple[str, Schedule, float]]:
    """What is measured, and its limit in seconds."""
    yield "ring, 16 warps x 4 stages x 32 rounds", ring(32), 0.020
    yield "GEMM of a CTA pair, 6 tiles of 16 steps", pair(stages=4, tiles=6, steps=16), 1.0
    yield "two CTAs with multicast, 64 tiles", multicast_ring(multicast=True, tiles=64), 1.0
    yield "ws_gemm, 64 steps", ws_gemm.build({}), 1.0
    yield "ring, 16 warps, a million ops", ring(MILLION), 10.0


def measured(schedule: Schedule, runs: int, *, jump: bool = True) -> tuple[float, int, int]:
    """CPU seconds, ops, and how many of them were passed over."""
    best, stats = float("inf"), {}
    for _ in range(runs + 1):  # the first one warms up
        begin = time.process_time()
        stats = check(schedule, jump=jump).stats
        best = min(best, time.process_time() - begin)
        if best > 1:
            break
    return best, stats["ops"], stats["passed"]


def empty(_: int) -> float:
    """CPU seconds of an empty loop: how fast this machine is now."""
    begin = time.process_time()
    for _ in range(1_000_000):
        pass
    return time.process_time() - begin


def line(name: str, found: tuple[float, int, int], limit: float = 0) -> str:
    seconds, ops, passed = found
    over = f"{1e3 * limit:>9,.0f}" + ("  OVER" if seconds > limit else "") if limit else ""
    each = 1e6 * seconds / max(1, ops)
    return f"{name:<42} {ops:>9,} {passed:>9,} {1e3 * seconds:>9,.1f} {each:>8.1f} {over}".rstrip()


def main(runs: int) -> None:
    """Print the targets and the growth."""
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, CPU time, best of {runs}, load {load:.1f}")
    print(f"a million empty rounds of a Python loop: {1e3 * min(map(empty, range(5))):.1f} ms")
    print(f"{'schedule':<42} {'ops':>9} {'passed':>9} {'ms':>9} {'us/op':>8} {'limit ms':>9}")
    for name, schedule, limit in targets():
        print(line(name, measured(schedule, runs), limit), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")
    for jump in (True, False):
        how = "with jumps" if jump else "full walk"
        for tiles in (32, 128, 512, 2048):
            found = measured(ring(tiles), runs, jump=jump)
            print(line(f"ring of 16 warps, {tiles} rounds, {how}", found), flush=True)
        for warps in (2, 4, 8, 16, 31):
            found = measured(ring(128, warps), runs, jump=jump)
            print(line(f"ring of {warps} warps, 128 rounds, {how}", found), flush=True)
