"""The stored score: what became of the mutants of each scenario, and the table that docs show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.mutants.score import RIGHT, Outcome

FILE = Path(__file__).with_name("score.json")

Scores = Mapping[str, Mapping[str, int]]
"""Per scenario: "instances", then mutants per outcome."""


def load() -> Scores:
    """The scores that have been recorded."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def store(new: Scores) -> None:
    """Replace the scores of some scenarios."""
    scores = dict(sorted({**load(), **new}.items()))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(of)}" for name, of in scores.items())
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def table(scores: Scores) -> str:
    """A row a scenario: how many mutants there are, and what says that each verdict is right."""
    shown = [o for o in Outcome if o in RIGHT]
    head = ["scenario", "instances", "mutants", *(o.value for o in shown), "open", "score"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, of in scores.items():
        counts = [of.get(o.value, 0) for o in shown]
        mutants = sum(n for key, n in of.items() if key != "instances")
        score = f"{100 * sum(counts) / mutants:.1f} %"
        cells = [of["instances"], mutants, *counts, mutants - sum(counts), score]
        rows.append([f"`{name}`", *map(str, cells)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
