"""``python -m tests.benchmarks``: whole-process times of the commands, against their limits.

Start of Python included. Prints a table and the machine; it is not a test, because a limit in
seconds says as much about the machine as about the program.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time

from tests.benchmarks import growing, simulating, speed

# command, limit in seconds on two ordinary cores
COMMANDS = (
    ("list", 0.3),
    ("check tma_ring", 1.0),
    ("check ws_gemm", 1.0),
    ("predict tma_ring", 1.0),
    ("predict ws_gemm", 3.0),
    ("show ws_gemm", 1.0),
    ("render ws_gemm", 1.0),
)


def seconds(command: str) -> float:
    """Wall time of one process; its exit code must be 0."""
    begin = time.perf_counter()
    words = [sys.executable, "-m", "asyncsim", *command.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"asyncsim {command} ended with {done.returncode}: {done.stderr.strip()}")
    return time.perf_counter() - begin


def main() -> None:
    """Run each command several times; print best, median and limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="time check alone, in one process")
    parser.add_argument("--simulate", action="store_true", help="time the simulator alone")
    parser.add_argument("--growth", action="store_true", help="curves of predict, and profiles")
    args = parser.parse_args()
    runs = args.runs
    if args.check:
        speed.main(runs)
        return
    if args.growth:
        growing.main()
        return
    if args.simulate:
        simulating.main(runs)
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"Python {platform.python_version()}, {cores} cores, {runs} runs of each, seconds")
    print(f"{'command':<20} {'best':>7} {'median':>7} {'limit':>7}")
    for command, limit in COMMANDS:
        times = sorted(seconds(command) for _ in range(runs))
        middle = times[len(times) // 2]
        mark = "" if middle <= limit else "  OVER"
        print(f"{command:<20} {times[0]:>7.2f} {middle:>7.2f} {limit:>7.1f}{mark}")


if __name__ == "__main__":
    main()
