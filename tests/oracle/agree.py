"""Check against the explorer on one schedule: no trouble, what check only warns of, or an error."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from random import Random

from asyncsim.check import check
from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Rule, Severity
from tests.oracle.acts import Untranslated
from tests.oracle.explorer import LanesPart, TooLarge
from tests.oracle.grid import Grid
from tests.oracle.strategies import random_schedule

MAX_EXPLORED = 8_000
MAX_SEARCHED = 100_000
LINTS = frozenset({Rule.UNCONSUMED_PHASE, Rule.NAMED_BARRIER_COUNT})
"""Rules whose warnings are about style: no interleaving shows them."""


class Level(IntEnum):
    CLEAN = 0
    WARNING = 1
    ERROR = 2


def compare(schedule: Schedule) -> tuple[str, str]:
    """(outcome, detail): "agree ...", "refused"; "too large" and "lanes part" where the
    explorer cannot say, "warps end" where it takes the end of a warp for an order of its accesses,
    "declined" where check says that its search does not know such orders; and what must not be:
    "unsound" (check sees less), "accused" (it sees more), "incomplete", "crash".
    """
    try:
        result = check(schedule, max_states=MAX_SEARCHED)
    except ScheduleError:
        return "refused", ""
    except Exception as error:
        return "crash", f"{type(error).__name__}: {error}"
    try:
        grid = Grid(schedule)
        trouble = grid.explore(MAX_EXPLORED, warnings=True)
        level = Level.WARNING if trouble else Level.CLEAN
        if trouble and (errors := grid.explore(MAX_EXPLORED, warnings=False)):
            trouble, level = errors, Level.ERROR
    except LanesPart:
        return "lanes part", ""
    except (TooLarge, Untranslated):
        return "too large", ""
    said = level_of(result)
    names = sorted({f.rule.name for f in result.findings})
    detail = f"explorer {sorted(trouble)}; check {names}"
    if result.verdict is Verdict.INCOMPLETE:
        searched_all = result.stats["states"] < MAX_SEARCHED
        outcome = "declined" if searched_all else "incomplete"
        return outcome, f"{detail}; {result.note}"
    if said < level:
        return "unsound", detail
    if said > level and grid.lets_ends_order():
        return "warps end", ""
    if said > level:
        return "accused", detail
    return f"agree {level.name.lower()}", detail


def level_of(result: CheckResult) -> Level:
    """What check says, without lints."""
    errors = {f.severity for f in result.findings} & {Severity.ERROR}
    severities = errors | {f.severity for f in result.findings if f.rule not in LINTS}
    if Severity.ERROR in severities:
        return Level.ERROR
    return Level.WARNING if severities else Level.CLEAN


BAD = frozenset({"unsound", "accused", "incomplete", "crash"})


def run(name: str, seeds: range, *, verbose: bool = True) -> Counter[str]:
    """Compare the cases of one generator; prints each disagreement with its seed."""
    totals: Counter[str] = Counter()
    for seed in seeds:
        try:
            schedule = random_schedule(name, Random(seed))
        except ScheduleError:
            totals["refused"] += 1
            continue
        outcome, detail = compare(schedule)
        totals[outcome] += 1
        if verbose and outcome in BAD:
            print(f"-- {outcome}: {name} {seed}: {detail}", flush=True)
    return totals
