"""Clean schedules survive: thousands of launches with random delays, each compared bit for bit.

``python -m asyncsim.hw.survive --launches 1000 --seed 1 --out FILE [--twins]``. Every launch has a
delay table of its own, made from its seed alone (``--seed`` for the first, then one more for each).
``--replay SEED`` launches one table again and again. See docs/hardware.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.compile import compile_schedule, nvrtc_version
from asyncsim.hw.configurations import Configuration
from asyncsim.hw.delays import random_table
from asyncsim.hw.launch.child_process import Child
from asyncsim.hw.launch.series import Meaning, Series, meaning_of, run_series
from asyncsim.hw.measure import commit_id, document_text
from asyncsim.hw.render import Variant
from asyncsim.hw.small import CLEAN
from asyncsim.hw.twins import measure_twins, submit_twins
from asyncsim.ir.schedule import Schedule

Row = dict[str, Any]
CHUNK = 250  # launches of one run of the child; L2 is warm and cold in turn
MOST_CTAS = 64  # that are compared
MOST_FAILURES = 20  # of one configuration


Task = tuple[Configuration, Future[Meaning]]


def submit(configurations: Iterable[Configuration], pool: ProcessPoolExecutor) -> list[Task]:
    """Have every configuration prepared."""
    return [(c, pool.submit(prepare, c)) for c in configurations]


def survive(
    tasks: Iterable[Task], child: Child, seeds: Sequence[int]
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """A row and the GPU's facts for each configuration: a launch for each seed, and what failed."""
    for configuration, meaning in tasks:
        schedule = find_scenario(configuration.scenario).build(configuration.params)
        yield _row(configuration, schedule, meaning.result(), child, seeds)


def prepare(c: Configuration) -> Meaning:
    """What takes time on the host: the compiler, and ``evaluate`` of the CTAs."""
    schedule = find_scenario(c.scenario).build(c.params)
    compile_schedule(schedule, variant=Variant(delays=True))
    return meaning_of(schedule, MOST_CTAS)


def _row(
    c: Configuration, schedule: Schedule, meaning: Meaning, child: Child, seeds: Sequence[int]
) -> tuple[Row, dict[str, Any]]:
    begin = time.monotonic()
    failures: list[Row] = []
    launches = 0
    gpu: dict[str, Any] = {}
    chunks = [seeds[i : i + CHUNK] for i in range(0, len(seeds), CHUNK)]
    for turn, chunk in enumerate(chunks):
        l2 = "cold" if turn % 2 else "warm"
        for done, r in _launch_all(schedule, meaning, child, chunk, l2):
            launches += r.done + (r.failure is not None)
            gpu = gpu or r.gpu
            if r.failure is not None:
                seed = chunk[done + r.done]
                form, what = r.failure.form.value, r.failure.what
                failures.append({"seed": seed, "l2": l2, "form": form, "what": what})
            cubin = r.compiled.sha256[:16]
        if len(failures) >= MOST_FAILURES:
            break
    row: Row = {
        "scenario": c.scenario,
        "params": {**find_scenario(c.scenario).params, **c.params},
        "launches": launches,
        "first_seed": seeds[0],
        "failures": failures[:MOST_FAILURES],
        "elements": sum(int(i.compared.sum()) for i in meaning.images.values()),
        "seconds": round(time.monotonic() - begin, 2),
        "cubin": cubin,
    }
    return row, gpu


def _launch_all(
    schedule: Schedule, meaning: Meaning, child: Child, seeds: Sequence[int], l2: str
) -> Iterator[tuple[int, Series]]:
    """Runs of the child, each up to its first failure, until every seed has had its launch.
    With each: how many seeds were used up before it."""
    import numpy as np

    done = 0
    tables = np.stack([random_table(schedule, seed) for seed in seeds])
    failed = 0
    while done < len(seeds) and failed < MOST_FAILURES:
        r = run_series(schedule, meaning, child, tables=tables[done:], l2=l2)
        yield done, r
        done += r.done + (r.failure is not None)
        failed += r.failure is not None


def main(argv: list[str] | None = None) -> int:
    """0: no launch failed; 1: some did. Twins do not matter for it."""
    args = _parser().parse_args(argv)
    chosen = [c for c in CLEAN if not args.scenario or c.scenario in args.scenario]
    names = list(dict.fromkeys(c.scenario for c in chosen))
    seeds: Sequence[int] = range(args.seed, args.seed + args.launches)
    if args.replay is not None:
        seeds = [args.replay] * args.launches
    begin = time.monotonic()
    rows: list[Row] = []
    document: dict[str, Any] = {"schema": 1, "provenance": {}, "survived": rows}
    with ProcessPoolExecutor() as pool, Child() as child:
        clean, twins = submit(chosen, pool), submit_twins(names if args.twins else (), pool)
        for row, gpu in survive(clean, child, seeds):
            if gpu and not document["provenance"]:
                document["provenance"] = {**gpu, "nvrtc": nvrtc_version(), "commit": args.commit}
            rows.append(row)
            _keep(document, args.out, begin, row)
        for row in measure_twins(twins, child, args.seed):
            document.setdefault("twins", []).append(row)
            _keep(document, args.out, begin, row)
    failed = sum(len(row["failures"]) for row in rows)
    total = sum(row["launches"] for row in rows)
    print(f"{total} launches of {len(rows)} configurations, {failed} failed, "
          f"{time.monotonic() - begin:.1f} s")  # fmt: skip
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.survive", description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--launches", type=int, default=1000, help="of each configuration")
    parser.add_argument("--seed", type=int, default=0, help="of the first launch")
    parser.add_argument("--replay", type=int, metavar="SEED", help="every launch has this seed")
    parser.add_argument("--scenario", action="append", help="only this one; may be repeated")
    parser.add_argument("--twins", action="store_true", help="then what the broken twins show")
    parser.add_argument("--commit", default=commit_id(), help="recorded with the rows")
    return parser


def _keep(document: dict[str, Any], path: Path, begin: float, row: Row) -> None:
    path.write_text(document_text(document), encoding="utf-8")
    print(f"{time.monotonic() - begin:6.1f} s {row}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
