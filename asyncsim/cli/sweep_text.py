"""A safe map as text for 80 columns, as JSON and as CSV."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

from asyncsim.cli.findings_text import MEANING
from asyncsim.cli.output import WIDTH, wrap
from asyncsim.cli.sweep import Cell, SafeMap
from asyncsim.predict.result import Verdict
from asyncsim.rules import Rule

CLEAN, WARNED, OPEN, NONE = ".", "w", "?", "-"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVXYZ"


def safe_map_text(m: SafeMap) -> str:
    """A grid with the last swept parameter across and the one before it down, for each value of
    the others; then what the letters mean, each with its first cell."""
    fixed = " ".join(f"{n}={v}" for n, v in m.fixed.items())
    twin = f" twin={m.twin}" if m.twin else ""
    letters = _letters(m)
    cells = {cell.values: letters[_kind(cell)] for cell in m.cells}
    parts = [wrap(f"{m.scenario} {fixed}{twin}".rstrip(), indent="    ")]
    names = list(m.over)
    for outer in product(*list(m.over.values())[:-2]):
        title = " ".join(f"{n}={v}" for n, v in zip(names, outer, strict=False))
        grid = "\n\n".join(_blocks(m, outer, cells))
        parts.append(f"{title}\n{grid}" if title else grid)
    parts.append("\n".join(_legend(m, letters)))
    if m.beyond:
        parts.append("\n".join(_beyond(m)))
    if m.within:
        parts.append("\n".join(_within(m)))
    return "\n\n".join(parts)


def _blocks(m: SafeMap, outer: tuple[int, ...], cells: dict[tuple[int, ...], str]) -> Iterator[str]:
    """The grid; columns that do not fit in 80 go into a block below."""
    *above, (across, columns) = m.over.items()
    down, rows = above[-1] if above else ("", (None,))
    labels = ["" if row is None else f"{row}" for row in rows]
    margin = max(len(f"{down} \\ {across}" if down else across), *map(len, labels))
    width = 1 + max(len(f"{column}") for column in columns)
    fit = max(1, (WIDTH - margin) // width)
    corner = f"{down} \\ {across}" if down else across
    for first in range(0, len(columns), fit):
        shown = columns[first : first + fit]
        lines = [corner.rjust(margin) + "".join(f"{c:>{width}}" for c in shown)]
        for row, label in zip(rows, labels, strict=True):
            inner = () if row is None else (row,)
            line = "".join(f"{cells[(*outer, *inner, c)]:>{width}}" for c in shown)
            lines.append(label.rjust(margin) + line)
        yield "\n".join(lines)


def _kind(cell: Cell) -> Rule | str:
    """What a cell shows: the first rule that it breaks, or a symbol."""
    if cell.verdict is None:
        return NONE
    if cell.verdict is Verdict.INCOMPLETE:
        return OPEN
    if cell.verdict is Verdict.FINDINGS:
        return (cell.rules or cell.warnings)[0]
    return WARNED if cell.warnings else CLEAN


def _letters(m: SafeMap) -> dict[Rule | str, str]:
    rules = dict.fromkeys(kind for cell in m.cells if isinstance(kind := _kind(cell), Rule))
    symbols: dict[Rule | str, str] = {s: s for s in (CLEAN, WARNED, OPEN, NONE)}
    return symbols | {rule: LETTERS[i % len(LETTERS)] for i, rule in enumerate(rules)}


def _legend(m: SafeMap, letters: dict[Rule | str, str]) -> Iterator[str]:
    first: dict[Rule | str, Cell] = {}
    count: dict[Rule | str, int] = {}
    for cell in m.cells:
        kind = _kind(cell)
        first.setdefault(kind, cell)
        count[kind] = count.get(kind, 0) + 1
    for kind, letter in letters.items():
        if kind in first:
            at = " ".join(f"{n}={v}" for n, v in zip(m.over, first[kind].values, strict=True))
            said = f"{count[kind]:>4}  {_meaning(kind)}"
            where = "" if kind == CLEAN else f"; first at {at}"
            why = f": {first[kind].why}" if kind in (OPEN, NONE) else ""
            yield wrap(said + where + why, first=f"{letter} ", indent=" " * 8)


def _beyond(m: SafeMap) -> Iterator[str]:
    """Rows that hold for all larger values; of others, the values shown are all that is said."""
    yield "clean for all values of a range, as the state recurs in the loop:"
    for row in m.beyond:
        at = "".join(f"{n}={v}, " for n, v in row.at.items())
        stride = f" in steps of {row.stride}" if row.stride > 1 else ""
        repeat = f"{row.rounds} rounds repeat" if row.rounds > 1 else "every round repeats"
        yield wrap(
            f"{at}{row.first:,} <= {row.name} <= {row.last:,}{stride}: from {row.recurs} on, "
            f"{repeat} (checked to {row.checked}); then {row.ends}",
            first="  ",
            indent="    ",
        )


def _within(m: SafeMap) -> Iterator[str]:
    """Rows that end clean: what was checked is all that is said, and why."""
    yield "clean as far as checked, and no further:"
    alike: dict[tuple[str, str, tuple[int, ...]], list[str]] = {}
    for row in m.within:
        at = " ".join(f"{n}={v}" for n, v in row.at.items())
        alike.setdefault((row.name, row.why, row.checked), []).append(at)
    for (name, why, checked), places in alike.items():
        at = f"{places[0]}, " if places[0] else ""
        more = f" (and {len(places) - 1} rows more)" if len(places) > 1 else ""
        text = f"{at}{name} = {_values(checked)}{more}: {why}"
        yield wrap(text, first="  ", indent="    ")


def _values(values: tuple[int, ...]) -> str:
    """A set of integers, in full unless all steps are equal."""
    steps = {b - a for a, b in pairwise(values)}
    if len(values) < 3 or len(steps) > 1:
        return ", ".join(map(str, values))
    stride = steps.pop()
    return f"{values[0]} to {values[-1]}" + (f" in steps of {stride}" if stride > 1 else "")


def _meaning(kind: Rule | str) -> str:
    if isinstance(kind, Rule):
        return f"{kind.name}: {kind.value}"
    return {
        CLEAN: f"clean: {MEANING[Verdict.CLEAN]}",
        WARNED: "clean with warnings",
        OPEN: f"incomplete: {MEANING[Verdict.INCOMPLETE]}",
        NONE: "no such schedule",
    }[kind]


def safe_map_json(m: SafeMap) -> dict[str, Any]:
    """``cells`` have ``params``, ``verdict`` (null: no such schedule), ``rules``, ``warnings`` and
    ``why``; rows in ``beyond`` are clean for ``param`` from ``at_least`` to ``at_most``, every
    ``stride``; of rows in ``within``, which end clean, no more than ``checked`` is known."""
    return {
        "scenario": m.scenario,
        "params": {**m.fixed, **({"twin": m.twin} if m.twin else {})},
        "over": {name: list(values) for name, values in m.over.items()},
        "cells": [
            {
                "params": dict(zip(m.over, cell.values, strict=True)),
                "verdict": cell.verdict.value if cell.verdict else None,
                "rules": [rule.name for rule in cell.rules],
                "warnings": [rule.name for rule in cell.warnings],
                "why": cell.why,
            }
            for cell in m.cells
        ],
        "beyond": [
            {
                "params": dict(row.at),
                "param": row.name,
                "at_least": row.first,
                "at_most": row.last,
                "ends": row.ends,
                "stride": row.stride,
                "recurs_from": row.recurs,
                "period": row.step,
                "checked_to": row.checked,
            }
            for row in m.beyond
        ],
        "within": [
            {
                "params": dict(row.at),
                "param": row.name,
                "checked": list(row.checked),
                "why": row.why,
            }
            for row in m.within
        ],
    }


def exported(m: SafeMap, suffix: str) -> str:
    """The content of a file of that suffix, ``.json`` or ``.csv``."""
    if suffix == ".csv":
        return safe_map_csv(m)
    import json

    return json.dumps(safe_map_json(m), indent=2) + "\n"


def safe_map_csv(m: SafeMap) -> str:
    """A column for each swept parameter, then verdict, rules, warnings, why."""
    import csv

    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([*m.over, "verdict", "rules", "warnings", "why"])
    for cell in m.cells:
        rules = (" ".join(rule.name for rule in kind) for kind in (cell.rules, cell.warnings))
        verdict = cell.verdict.value if cell.verdict else ""
        table.writerow([*cell.values, verdict, *rules, cell.why])
    return out.getvalue()
