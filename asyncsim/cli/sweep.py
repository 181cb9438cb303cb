"""``check --over``: the verdict for every combination of parameter values."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from asyncsim.cli.beyond import Beyond, Within, beyond
from asyncsim.cli.progress import working
from asyncsim.cli.subject import Subject, build_subject, load_scenario
from asyncsim.cli.verdict import prove
from asyncsim.errors import ScheduleError, UsageError
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Rule, Severity
from asyncsim.scenario import Scenario

MAX_CELLS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination. ``verdict`` None: no such schedule, ``why`` says what forbids it."""

    values: tuple[int, ...]
    verdict: Verdict | None
    rules: tuple[Rule, ...] = ()
    warnings: tuple[Rule, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeMap:
    """``over``: the swept parameters and their values; ``cells``: their product, in order;
    ``beyond``: rows that are clean for all larger values of a parameter; ``within``: rows that end
    clean and are not."""

    scenario: str
    fixed: dict[str, int]
    twin: str
    over: dict[str, tuple[int, ...]]
    cells: tuple[Cell, ...]
    beyond: tuple[Beyond, ...] = ()
    within: tuple[Within, ...] = ()


def parse_over(texts: Sequence[str], option: str = "--over") -> dict[str, tuple[int, ...]]:
    """``["stages=1:8", "tiles=0,1,24"]``; both ends of a range count. Raises UsageError, in which
    ``option`` is what takes such texts."""
    over: dict[str, tuple[int, ...]] = {}
    cells = 1
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise UsageError(f"{option} {text}: write {option} NAME=FIRST:LAST or NAME=1,2,4")
        if name in over:
            raise UsageError(
                f"{option} {text}: {name} is swept already; give all its values at once"
            )
        over[name] = tuple(
            v for part in values.split(",") for v in _range(f"{option} {text}", part)
        )
        cells *= len(over[name])
        if cells > MAX_CELLS:
            raise UsageError(
                f"{option} {text}: more than {MAX_CELLS:,} combinations; sweep fewer values"
            )
    return over


def _range(text: str, part: str) -> range:
    try:
        first, *rest = (int(end, 0) for end in part.split(":"))
        last, step = (*rest, *(first, 1)[len(rest) :])
    except ValueError:
        raise UsageError(
            f"{text}: {part!r} is no value; write a number, FIRST:LAST or FIRST:LAST:STEP"
        ) from None
    if step < 1 or last < first:
        raise UsageError(f"{text}: {part!r} is empty; FIRST is at most LAST, STEP at least 1")
    if (last - first) // step >= MAX_CELLS:
        raise UsageError(f"{text}: more than {MAX_CELLS:,} combinations; sweep fewer values")
    return range(first, last + 1, step)


def sweep(
    args: Namespace, given: dict[str, int], over: dict[str, tuple[int, ...]], *, quiet: bool
) -> SafeMap:
    """Check every combination. Raises UsageError for a parameter that the scenario lacks, or when
    none of the combinations is a schedule."""
    scenario = load_scenario(args.scenario)
    both = [name for name in over if name in given]
    if both:
        raise UsageError(f"{both[0]} is given and swept; drop one of the two")
    scenario.values(dict.fromkeys(over, 0))
    fixed = {n: v for n, v in scenario.values(given, args.twin).items() if n not in over}
    table = _Table(args, scenario, given)
    cells, rows = [], []
    with working(f"checking {scenario.name}", quiet=quiet) as tell:
        for values in product(*over.values()):
            named = dict(zip(over, values, strict=True))
            tell(f"checking {scenario.name} " + " ".join(f"{n}={v}" for n, v in named.items()))
            cells.append(table.cell(named, values))
        tell(f"checking {scenario.name} beyond")
        rows = [row for name in over for row in table.rows(name, over)]
        counts = any(isinstance(row, Beyond) or row.counts for row in rows)
    if all(cell.verdict is None for cell in cells):
        raise UsageError(f"no combination is a schedule; the first one: {cells[0].why}")
    return SafeMap(
        scenario=scenario.name,
        fixed=fixed,
        twin=args.twin,
        over=over,
        cells=tuple(cells),
        beyond=tuple(row for row in rows if isinstance(row, Beyond)),
        within=tuple(r for r in rows if isinstance(r, Within) and (r.counts or not counts)),
    )


def _one(subject: Subject) -> Schedule | None:
    return subject.schedule if isinstance(subject.schedule, Schedule) else None


class _Table:
    """The schedules and verdicts of a sweep, each found once."""

    def __init__(self, args: Namespace, scenario: Scenario, given: dict[str, int]) -> None:
        self._args, self._scenario, self._given = args, scenario, given
        self._found: dict[object, tuple[Schedule | None, CheckResult | None, str]] = {}
        self._subjects: dict[object, Subject] = {}

    def _look(self, named: dict[str, int]) -> tuple[Schedule | None, CheckResult | None, str]:
        """The schedule and its verdict, or why there is none."""
        key = tuple(sorted(named.items()))
        if key not in self._found:
            schedule = None
            try:
                subject = self._subject(named)
                schedule = _one(subject)
                self._found[key] = schedule, prove(subject, quiet=True, trips=True), ""
            except (ScheduleError, UsageError) as error:
                self._found[key] = schedule, None, str(error)
        return self._found[key]

    def _subject(self, named: dict[str, int]) -> Subject:
        """What a combination builds. Raises ScheduleError, UsageError."""
        key = tuple(sorted(named.items()))
        if key not in self._subjects:
            params = {**self._given, **named}
            self._subjects[key] = build_subject(
                self._scenario, self._args.scenario, params, self._args.twin
            )
        return self._subjects[key]

    def _built(self, named: dict[str, int]) -> Schedule | None:
        try:
            return _one(self._subject(named))
        except (ScheduleError, UsageError):
            return None

    def _is_program(self, named: dict[str, int]) -> bool:
        try:
            return len(self._subject(named).kernels) > 1
        except (ScheduleError, UsageError):
            return False

    def cell(self, named: dict[str, int], values: tuple[int, ...]) -> Cell:
        _, result, why = self._look(named)
        if result is None:
            return Cell(values=values, verdict=None, why=why)
        found = {
            severity: tuple(
                dict.fromkeys(f.rule for f in result.findings if f.severity is severity)
            )
            for severity in Severity
        }
        return Cell(
            values=values,
            verdict=result.under(strict=self._args.strict),
            rules=found[Severity.ERROR],
            warnings=found[Severity.WARNING],
            why=result.note,
        )

    def rows(self, name: str, over: dict[str, tuple[int, ...]]) -> Iterator[Beyond | Within]:
        """What each row along a parameter says of all larger values."""
        others = {n: v for n, v in over.items() if n != name}
        for values in product(*others.values()):
            at = dict(zip(others, values, strict=True))
            if self._is_program({**at, name: over[name][-1]}):
                continue  # claims are of one schedule

            def look(value: int, at: dict[str, int] = at) -> tuple[Any, CheckResult | None]:
                return self._look({**at, name: value})[:2]

            def build(value: int, at: dict[str, int] = at) -> Schedule | None:
                return self._built({**at, name: value})

            row = beyond(at, name, sorted(over[name]), look, build)
            if row is not None:
                yield row
