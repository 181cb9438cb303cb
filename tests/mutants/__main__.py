"""The mutation score: ``python -m tests.mutants [SCENARIO] [--accused] [--jobs N]``.

Prints the score per scenario and op, the table from mutation to rule, and every mutant whose
verdict is not shown to be right, with its source line. Exit code 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import islice

from asyncsim.catalog import builtin_scenarios, find_scenario
from tests.mutants import record
from tests.mutants.instances import instances
from tests.mutants.score import RIGHT, Outcome, Result, score

Job = tuple[str, int, bool]


def run(job: Job) -> tuple[Job, str, list[Result], float]:
    """The results of one instance of a scenario."""
    name, index, accused = job
    start = time.process_time()
    params, schedule = list(instances(find_scenario(name)))[index]
    found = list(score(schedule, judge_errors=accused))
    text = " ".join(f"{k}={v}" for k, v in params.items())
    return job, text, found, time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("scenario", nargs="*", help="names or files; all that come with asyncsim")
    parser.add_argument(
        "--accused", action="store_true", help="let the explorer judge the errors as well"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first", type=int, help="no more than so many instances of a scenario")
    parser.add_argument("--record", action="store_true", help="keep the score of each scenario")
    args = parser.parse_args()
    names = args.scenario or [s.name for s in builtin_scenarios()]
    jobs = [
        (name, i, args.accused)
        for name in names
        for i in range(len(list(islice(instances(find_scenario(name)), args.first))))
    ]
    by_op: dict[str, Counter[tuple[str, Outcome]]] = {name: Counter() for name in names}
    rules: Counter[tuple[str, str, str]] = Counter()
    open_: Counter[str] = Counter()
    scores = {name: Counter({"instances": 0}) for name in names}
    with ProcessPoolExecutor(args.jobs) as pool:
        for (name, _, _), params, found, seconds in pool.map(run, jobs):
            counts = Counter(r.outcome for r in found)
            print(f"{name} {params}: {_counts(counts)} ({seconds:.0f} s of CPU)", flush=True)
            scores[name].update({"instances": 1, **{o.value: n for o, n in counts.items()}})
            for r in found:
                by_op[name][r.op, r.outcome] += 1
                rules[r.op, r.change, _rule(r)] += 1
                if r.outcome not in RIGHT:
                    open_[f"{name}: {r}"] += 1
    if args.record:
        record.store(scores)
    _print_scores(by_op)
    print("\nmutation -> what says so")
    for (op, change, rule), n in sorted(rules.items()):
        print(f"  {op:<24} {change:<14} {n:>4}  {rule}")
    if open_:
        print("\nnot shown to be right")
        for text, n in sorted(open_.items()):
            print(f"  {n:>3} x {text}")
    return 1 if open_ else 0


def _rule(r: Result) -> str:
    if r.outcome in (Outcome.ERROR, Outcome.REFUSED):
        return r.detail
    return f"{r.outcome.value} ({r.detail})" if r.outcome is Outcome.WARNING else r.outcome.value


def _counts(counts: Counter[Outcome]) -> str:
    return ", ".join(f"{counts[o]} {o.value}" for o in Outcome if counts[o])


def _print_scores(by_op: dict[str, Counter[tuple[str, Outcome]]]) -> None:
    for name, counts in by_op.items():
        total = sum(counts.values())
        right = sum(n for (_, o), n in counts.items() if o in RIGHT)
        print(f"\n{name}: {right} of {total} mutants ({100 * right / max(1, total):.1f} %)")
        for op in sorted({op for op, _ in counts}):
            own = Counter({o: counts[op, o] for o in Outcome})
            print(f"  {op:<24} {_counts(own)}")


if __name__ == "__main__":
    sys.exit(main())
