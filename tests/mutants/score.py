"""What check says of every mutant, and whether that is right: judged by the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from asyncsim.check import check
from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate import validate
from asyncsim.predict.result import Verdict
from asyncsim.rules import Severity
from tests.mutants.mutants import Mutant, Streams, mutants, streams
from tests.oracle.explorer import TooLarge
from tests.oracle.grid import Grid
from tests.oracle.translate import Untranslated

MAX_STATES = 200_000  # of check's own search
MAX_EXPLORED = 50_000


class Outcome(Enum):
    """The first five are right; the value is what the score prints."""

    REFUSED = "refused"  # it does not build
    ERROR = "error"
    WARNING = "warning"
    SAME = "same"  # the warps execute what they did
    REDUNDANT = "redundant"  # clean; the explorer finds nothing in any interleaving
    MISSED = "missed"  # clean, but the explorer finds trouble
    ACCUSED = "accused"  # an error, but the explorer finds nothing
    UNEXPLAINED = "unexplained"  # clean, and the explorer cannot decide
    UNDECIDED = "undecided"  # check says incomplete
    CRASHED = "crashed"


RIGHT = frozenset(
    {Outcome.REFUSED, Outcome.ERROR, Outcome.WARNING, Outcome.SAME, Outcome.REDUNDANT}
)


@dataclass(frozen=True, slots=True)
class Result:
    """``detail``: the rules that are named, or what is known instead."""

    op: str
    change: str
    where: str
    outcome: Outcome
    detail: str

    def __str__(self) -> str:
        return f"{self.outcome.value}: {self.op} {self.change} ({self.where}): {self.detail}"


def score(schedule: Schedule, *, judge_errors: bool = False) -> Iterator[Result]:
    """One result a mutant. ``judge_errors``: the explorer looks at what check accuses, too."""
    base = streams(schedule)
    for mutant in mutants(schedule):
        try:
            outcome, detail = judge(mutant, base, judge_errors)
        except Exception as error:  # a crash of check is a finding about check
            outcome, detail = Outcome.CRASHED, f"{type(error).__name__}: {error}"
        yield Result(type(mutant.op).__name__, mutant.change, str(mutant.op.loc), outcome, detail)


def judge(mutant: Mutant, base: Streams, judge_errors: bool) -> tuple[Outcome, str]:
    """The outcome of one mutant of a schedule whose streams are ``base``."""
    try:
        validate(mutant.schedule)
        result = check(mutant.schedule, max_states=MAX_STATES)
    except ScheduleError as error:
        return Outcome.REFUSED, error.rule.name if error.rule else error.message
    errors = {f.rule.name for f in result.findings if f.severity is Severity.ERROR}
    warnings = {f.rule.name for f in result.findings if f.severity is Severity.WARNING}
    if result.verdict is Verdict.INCOMPLETE:
        return Outcome.UNDECIDED, result.note
    if errors:
        names = ", ".join(sorted(errors))
        if judge_errors and trouble(mutant.schedule, warnings=True) == "nothing":
            return Outcome.ACCUSED, names
        return Outcome.ERROR, names
    if warnings:
        return Outcome.WARNING, ", ".join(sorted(warnings))
    if streams(mutant.schedule) == base:
        return Outcome.SAME, "equal streams"
    found = trouble(mutant.schedule, warnings=True)
    if found == "nothing":
        return Outcome.REDUNDANT, "every interleaving explored"
    if found.startswith("not explored"):
        return Outcome.UNEXPLAINED, found
    return Outcome.MISSED, found


def trouble(schedule: Schedule, *, warnings: bool) -> str:
    """What the explorer finds: "nothing", the kinds of trouble, or why it cannot say."""
    try:
        found = Grid(schedule).explore(MAX_EXPLORED, warnings=warnings)
    except TooLarge:
        return f"not explored: more than {MAX_EXPLORED} states"
    except Untranslated as op:
        return f"not explored: {op}"
    return ", ".join(sorted(found)) or "nothing"
