"""The explorer on all CTAs of a grid: each by itself, then what they write in common."""

from __future__ import annotations

from itertools import product

from asyncsim.ir.schedule import Schedule
from tests.oracle.states import explore
from tests.oracle.translate import global_elements, translate


def explore_grid(schedule: Schedule, max_states: int, *, warnings: bool) -> set[str]:
    """The first trouble of any CTA, or "overlap". Raises TooLarge and Untranslated."""
    blocks = list(product(*map(range, schedule.grid)))
    for block in blocks:
        found = explore(translate(schedule, block), max_states, warnings=warnings)
        if found:
            return found
    touched: dict[tuple[str, int], set[int]] = {}
    written: dict[tuple[str, int], set[int]] = {}
    for number, block in enumerate(blocks if len(blocks) > 1 else ()):
        for name, elements, write in global_elements(schedule, block):
            for element in elements:
                touched.setdefault((name, element), set()).add(number)
                if write:
                    written.setdefault((name, element), set()).add(number)
    if any(len(touched[at]) > 1 for at in written):
        return {"overlap"}
    return set()
