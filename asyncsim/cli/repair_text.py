"""Proven repairs, and what a clean schedule can do without, as text and JSON."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from asyncsim.cli.output import WIDTH, shorten, wrap
from asyncsim.repair import Repair


def repairs_text(found: Sequence[Repair]) -> str:
    """Under a finding: each change at its line of the source, with what it costs."""
    if not found:
        return "  no single change that was tried is proven to repair it"
    lines = ["  repairs, each proven clean by itself:"]
    for i, repair in enumerate(found, start=1):
        rest = "" if repair.clean else "; the other findings stay"
        said = f"{repair.edit.what}{_cost(repair)}{rest}"
        lines += [wrap(said, first=f"    {i}. {repair.edit.loc}: "), *_source(repair)]
    return "\n".join(lines)


def lint_text(found: Sequence[Repair], tried: int) -> str:
    """Which waits, fences and barriers can go, one at a time."""
    if not found:
        return f"every one of {tried} waits, fences and barriers is needed for the proof"
    lines = [f"{len(found)} of {tried} waits, fences and barriers can go, each by itself:"]
    for repair in found:
        said = f"{repair.edit.what}{_cost(repair)}"
        lines += [wrap(said, first=f"  {repair.edit.loc}: "), *_source(repair)]
    return "\n".join(lines)


def repair_json(repair: Repair) -> dict[str, Any]:
    """``cost``: predicted cycles more than before; null where one of the two does not end."""
    loc = repair.edit.loc
    return {
        "at": str(loc) if loc else None,
        "what": repair.edit.what,
        "clean": repair.clean,
        "cycles": repair.cycles,
        "cost": repair.cost,
    }


def _cost(repair: Repair) -> str:
    if repair.cycles is None:
        return ""
    if repair.cost is None:
        return f" ({repair.cycles:,.0f} cycles)"
    return f" ({repair.cost:+,.0f} cycles: {repair.cycles:,.0f})"


def _source(repair: Repair) -> list[str]:
    loc = repair.edit.loc
    source = linecache.getline(loc.file, loc.line).strip() if loc else ""
    number = f"{loc.line:>8} | " if loc else ""
    return [number + shorten(source, WIDTH - len(number))] if source else []
