"""The cumulative count of compared cases: which seeds of each generator, at which commit."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

FILE = Path(__file__).with_name("counts.json")


def runs() -> list[dict[str, object]]:
    """Every recorded run: generator, commit, first seed, cases, outcomes."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []


def next_seed(name: str) -> int:
    """The first seed of a generator that no recorded run has used."""
    ends = [r["first_seed"] + r["cases"] for r in runs() if r["generator"] == name]
    return max(ends, default=0)


def add(name: str, first: int, cases: int, outcomes: Counter[str]) -> None:
    """Record one run; the file keeps generators together and seeds in order."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=FILE.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    entry = {
        "generator": name,
        "commit": commit,
        "first_seed": first,
        "cases": cases,
        "outcomes": dict(sorted(outcomes.items())),
    }
    entries = sorted([*runs(), entry], key=lambda r: (r["generator"], r["first_seed"]))
    lines = ",\n".join(json.dumps(e) for e in entries)
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def totals() -> Counter[str]:
    """Cases per outcome over all runs."""
    found: Counter[str] = Counter()
    for r in runs():
        found.update(r["outcomes"])
    return found
