"""The stored figures of accuracy: exact, row by row, so that no row gets worse unnoticed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.compare import Comparison, Key, compare_suite, comparison_json, row_json
from asyncsim.hw.goals import goals, misses
from asyncsim.hw.misses import load_reasons, unneeded
from asyncsim.hw.store import load_all

ACCURACY = Path(__file__).parent / "data" / "accuracy.json"
REPAIR = "run python -m asyncsim.hw.compare --update and look at what moved"
_SHOWN = 20


def load_stored(path: Path | None = None) -> dict[str, Any]:
    """The document, {} if there is none yet."""
    path = path or ACCURACY
    if not path.exists():
        return {}
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def stored_rows(stored: Mapping[str, Any]) -> dict[Key, dict[str, Any]]:
    """Its rows by configuration; a parameter that a row does not name has its default."""
    found = {}
    for row in stored.get("rows", ()):
        params = {**find_scenario(row["scenario"]).params, **row["params"]}
        found[row["scenario"], tuple(sorted(params.items())), row["l2"]] = row
    return found


def proven(stored: Mapping[str, Any]) -> dict[Key, str]:
    """Fingerprints of the schedules that were proven clean when the figures were stored."""
    return {key: row["proven"] for key, row in stored_rows(stored).items()}


def document_of(c: Comparison) -> dict[str, Any]:
    """What is stored of a comparison."""
    document = comparison_json(c)
    document["rows"] = [
        {**row_json(r), "params": _given(r.scenario, r.params), "proven": r.proven}
        for r in sorted(c.rows, key=lambda r: r.key)
    ]
    return document


def document_text(document: Mapping[str, Any]) -> str:
    """JSON with a line for each row, so that a diff says what moved."""
    head = {name: value for name, value in document.items() if name != "rows"}
    rows = ",\n".join(f"  {json.dumps(row)}" for row in document["rows"])
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "rows": [\n{rows}\n ]\n}}\n'


def differences(stored: Mapping[str, Any], c: Comparison) -> list[str]:
    """In which rows a comparison is not what is stored, worse ones first; empty if in none."""
    before, now = stored_rows(stored), stored_rows(document_of(c))
    moved: list[tuple[float, str]] = []
    for key, row in now.items():
        was = before.get(key)
        if was is None:
            moved.append((0.0, f"{_name(row)}: not stored yet"))
            continue
        fields = ("measured_cycles", "predicted_cycles")
        if any(was[name] != row[name] for name in fields):
            moved.append((_size(row) - _size(was), _moved(was, row)))
    gone = [
        f"{_name(before[key])}: stored, and measured no more" for key in before if key not in now
    ]
    return [text for _, text in sorted(moved, key=lambda m: -m[0])] + gone


def _size(row: Mapping[str, Any]) -> float:
    return float("inf") if row["error_pct"] is None else abs(row["error_pct"])


def _moved(was: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    apart = _size(row) - _size(was)
    verdict = "worse" if apart > 0 else "better" if apart < 0 else "as good"
    return (
        f"{_name(row)}: predicted {was['predicted_cycles']} -> {row['predicted_cycles']} of "
        f"{row['measured_cycles']} cycles, "
        f"error {was['error_pct']} -> {row['error_pct']} %, {verdict}"
    )


def _name(row: Mapping[str, Any]) -> str:
    shown = " ".join(f"{n}={v}" for n, v in row["params"].items())
    return f"{row['scenario']} {shown or '(defaults)'} {row['l2']}"


def _given(scenario: str, params: Mapping[str, int]) -> dict[str, int]:
    defaults = find_scenario(scenario).params
    return {name: value for name, value in params.items() if defaults.get(name) != value}


def shown(faults: list[str]) -> Iterator[str]:
    """The first of them, and how many more there are."""
    yield from faults[:_SHOWN]
    if len(faults) > _SHOWN:
        yield f"and {len(faults) - _SHOWN} more rows"


def main(argv: list[str] | None = None, *, then: Callable[[], None] = lambda: None) -> int:
    """0: printed, or as stored; 1: not as stored. ``then`` is called after figures were stored."""
    parser = argparse.ArgumentParser(prog="python -m asyncsim.hw.compare", description=__doc__)
    parser.add_argument("--machine", default="h200")
    parser.add_argument(
        "--check", action="store_true", help="fail if the figures are not as stored"
    )
    parser.add_argument("--update", action="store_true", help="store the figures")
    args = parser.parse_args(argv)
    stored = load_stored()
    now = compare_suite(load_all(), args.machine, proven=proven(stored))
    document = document_of(now)
    for row in sorted(document["rows"], key=_size):
        print(f"{row['error_pct']} % of {row['measured_cycles']} cycles: {_name(row)}")
    print(*goals(now), sep="\n")
    for reason in unneeded(misses(now), load_reasons()):
        print(f"no row misses for this reason any more, delete it: {reason.scenario}: {reason.why}")
    faults = differences(stored, now)
    if args.update:
        ACCURACY.write_text(document_text(document), encoding="utf-8")
        then()
    if args.update or args.check:
        for fault in shown(faults):
            print(fault, file=sys.stderr)
    if args.check and not args.update and faults:
        print(REPAIR, file=sys.stderr)
        return 1
    return 0
