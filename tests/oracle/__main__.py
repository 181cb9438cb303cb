"""Long runs of the oracle: ``python -m tests.oracle --cases N --seed S``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tests.oracle.compare import run


def main() -> int:
    parser = argparse.ArgumentParser(description="compare the checker with the explorer")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    totals = run(args.cases, args.seed)
    for outcome, count in sorted(totals.items()):
        print(f"{count:8} {outcome}")
    return int(any(totals[o] for o in ("unsound", "accused", "incomplete")))


if __name__ == "__main__":
    sys.exit(main())
