"""From raw rows to the numbers of a machine file: pure Python, no GPU, no CUDA packages.

A rule is a function of the rows of one file; the number is the median over the files, its
uncertainty half the spread between them, or what the rule says about the spread of its samples.
Numbers without a rule, or without rows, stay as they are in the given machine file.
See docs/machine.md.
"""

__all__ = ["Rows", "fit_file", "fitted"]

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from .rows import MissingRowError, Rows
from .rules import LOWEST, RULES, Rule


def fitted(documents: list[dict[str, Any]], counted: int = 1) -> dict[str, dict[str, Any]]:
    """Entries of a machine file, by dotted key, for every rule that finds its rows."""
    files = [Rows(document["rows"], counted) for document in documents]
    entries: dict[str, dict[str, Any]] = {}
    for key, rule in RULES.items():
        values = [value for value in (_apply(rule.value, rows) for rows in files) if value]
        if not values:
            continue
        spreads = [_apply(rule.spread, rows) or 0.0 for rows in files] if rule.spread else [0.0]
        entries[key] = _entry(rule, values, max(spreads))
    return entries


def _apply(function: Callable[[Rows], Any], rows: Rows) -> Any:
    try:
        return function(rows)
    except MissingRowError:
        return None


def _entry(rule: Rule, values: list[Any], spread: float) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if isinstance(values[0], list):
        curve = [
            [x, rounded(median(v[i][1] for v in values))] for i, (x, _) in enumerate(values[0])
        ]
        entry[rule.unit] = curve
    else:
        value = median(values)
        entry[rule.unit] = round(value) if rule.unit in ("count", "bytes") else rounded(value)
        spread = max(spread, (max(values) - min(values)) / 2)
    entry["how"] = "measured"
    entry["source"] = rule.source
    if spread >= LOWEST:
        entry["uncertainty"] = rounded(spread, digits=2)
    return entry


def rounded(value: float, digits: int = 4) -> float | int:
    """Keep `digits` significant digits; whole numbers become integers."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short


def fit_file(raw: list[Path], machine: Path, out: Path, counted: int = 1) -> int:
    """Read raw JSON files and a machine file; write the machine file with fitted numbers."""
    from asyncsim.machine import parse_machine

    documents = [json.loads(path.read_text(encoding="utf-8")) for path in raw]
    base = tomllib.loads(machine.read_text(encoding="utf-8"))
    entries = fitted(documents, counted)
    origin = documents[-1]["provenance"]
    base["machine"] |= {
        "title": origin["gpu"],
        "date": origin["date"],
        "driver": origin["driver"],
        "cuda": origin["cuda"],
        "nvrtc": origin["nvrtc_package"],
        "boards": [document["provenance"]["board"] for document in documents],
    }
    for key, entry in entries.items():
        group, _, name = key.partition(".")
        base[group][name] = entry
    text = to_toml(base)
    parse_machine(text, str(out))
    out.write_text(text, encoding="utf-8")
    kept = sum(len(v) for k, v in base.items() if k not in ("schema", "machine")) - len(entries)
    print(f"{out}: {len(entries)} numbers fitted, {kept} kept", file=sys.stderr)
    return 0


def to_toml(document: dict[str, Any]) -> str:
    """A machine file as text: one number on each line."""
    title = document["machine"]["title"]
    architecture = document["machine"]["architecture"]
    lines = [f"# {title} ({architecture}).  What each number means: docs/machine.md."]
    lines.append(f"schema = {document['schema']}")
    for group, table in document.items():
        if group == "schema":
            continue
        lines += ["", f"[{group}]"]
        for key, value in table.items():
            if isinstance(value, dict):
                inner = ", ".join(f"{k} = {_toml(v)}" for k, v in value.items())
                lines.append(f"{key} = {{ {inner} }}")
            else:
                lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
