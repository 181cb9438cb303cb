"""Long runs of the oracle: ``python -m tests.oracle --cases N [--jobs J] [GENERATOR...]``.

N cases in all, spread over the generators, from the first seeds that counts.json does not name;
``--record`` adds them there, ``--seed`` starts elsewhere. Exit code 1 if check and explorer differ.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.oracle import record
from tests.oracle.agree import BAD, run
from tests.oracle.strategies import GENERATORS

CHUNK = 100


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("generator", nargs="*", default=[], help=", ".join(GENERATORS))
    parser.add_argument("--cases", type=int, default=1600)
    parser.add_argument("--seed", type=int, help="first seed, of every generator")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="add the counts to counts.json")
    args = parser.parse_args()
    names = args.generator or list(GENERATORS)
    each = -(-args.cases // len(names))
    totals: Counter[str] = Counter()
    with ProcessPoolExecutor(args.jobs) as pool:
        begun = []
        for name in names:
            first = record.next_seed(name) if args.seed is None else args.seed
            seeds = range(first, first + each)
            chunks = [seeds[i : i + CHUNK] for i in range(0, each, CHUNK)]
            begun.append((name, first, [pool.submit(run, name, chunk) for chunk in chunks]))
        for name, first, parts in begun:
            found: Counter[str] = sum((part.result() for part in parts), Counter())
            print(f"{name} {first}..{first + each - 1}: {_text(found)}", flush=True)
            if args.record:
                record.add(name, first, each, found)
            totals += found
    print(f"all: {_text(totals)}")
    if args.record:
        print(f"cumulative: {_text(record.totals())}")
    return int(any(totals[o] for o in BAD))


def _text(totals: Counter[str]) -> str:
    return ", ".join(f"{n} {outcome}" for outcome, n in sorted(totals.items()))


if __name__ == "__main__":
    sys.exit(main())
