"""Measure intervals: stamped builds of some configurations, and what a stamp takes.

``python -m asyncsim.hw.measure_intervals --out intervals.json``. The data of each kernel are
verified, and its plain build timed, in the same run. See docs/hardware.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asyncsim.hw.compile import nvrtc_version
from asyncsim.hw.interval_set import INTERVALS
from asyncsim.hw.launch.child_process import Child
from asyncsim.hw.launch.prepare import Stamps
from asyncsim.hw.launch.run import run_schedule
from asyncsim.hw.measure import commit_id, document_text, measure
from asyncsim.hw.stamp_cost import stamp_benchmarks, stamps_of

LAUNCHES = 21
STAMPS = Stamps(ctas=4, capacity=8192)

Row = dict[str, Any]


def cost_rows(child: Child) -> Iterator[Row]:
    """What the stamps of each benchmark cost."""
    for name, schedule in stamp_benchmarks().items():
        r = run_schedule(schedule, child=child, launches=LAUNCHES, l2="warm", stamps=STAMPS)
        if r.timing is None or r.stamped is None:
            yield {"benchmark": name, "error": str(r.diagnosis)}
            continue
        yield {
            "benchmark": name,
            "cycles": round(r.timing.cycles),
            "stamped_cycles": round(r.stamped.cycles),
            "stamps": stamps_of(name),
        }


def main(argv: list[str] | None = None) -> int:
    """0: all rows measured and verified; 1: some failed."""
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.measure_intervals")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--commit", default=commit_id(), help="recorded with the rows")
    args = parser.parse_args(argv)
    begin = time.monotonic()
    document: dict[str, Any] = {"schema": 1, "provenance": {}}
    rows: list[Row] = []
    with Child() as child:
        costs = list(cost_rows(child))
        document |= {"costs": costs, "rows": rows}
        for row, gpu in measure(INTERVALS, child, stamps=STAMPS):
            if gpu and not document["provenance"]:
                document["provenance"] = {**gpu, "nvrtc": nvrtc_version(), "commit": args.commit}
            rows.append(row)
            args.out.write_text(document_text(document), encoding="utf-8")
            shown = {k: v for k, v in row.items() if k != "intervals"}
            print(f"{time.monotonic() - begin:6.1f} s {json.dumps(shown)}", flush=True)
    failed = [r for r in rows if "error" in r or not r.get("verified")]
    print(f"{len(rows)} rows, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
