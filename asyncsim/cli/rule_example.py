"""Run the example of a rule: what check says about the smallest schedule that breaks it."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

from asyncsim.cli.subject import as_finding
from asyncsim.errors import ScheduleError, UsageError
from asyncsim.rule_notes import NOTES
from asyncsim.rules import Finding, Rule
from asyncsim.scenario import Scenario, Twin
from asyncsim.suggest import did_you_mean

FILE = "example.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A twin of a built-in scenario that shows a rule."""

    scenario: str
    twin: Twin

    @property
    def command(self) -> str:
        return f"asyncsim check {self.scenario} --twin {self.twin.name}"


def find_rule(name: str) -> Rule:
    """The rule of this name, in any case, with - for _. Raises UsageError."""
    wanted = name.strip().upper().replace("-", "_")
    if wanted in Rule.__members__:
        return Rule[wanted]
    raise UsageError(
        f"unknown rule {name!r}; {did_you_mean(wanted, Rule.__members__)}"
        "`asyncsim explain` lists them all"
    )


def run_example(rule: Rule) -> Finding | None:
    """The finding that the rule's example gives; None for a rule without one.

    Its places name lines of the file that ``explain RULE --example`` prints.
    """
    from asyncsim.check import check

    note = NOTES.get(rule)
    if note is None:
        return None
    lines = note.program.splitlines(keepends=True)
    linecache.cache[FILE] = (len(note.program), None, lines, FILE)
    namespace: dict[str, object] = {}
    exec(compile(note.program, FILE, "exec"), namespace)
    build = namespace["example"]
    assert callable(build)
    try:
        findings = check(build()).findings
    except ScheduleError as error:
        return as_finding(error)
    return next(f for f in findings if f.rule is rule)


def twins_that_show(rule: Rule, scenarios: tuple[Scenario, ...]) -> list[Shown]:
    """In the order of the catalogue."""
    return [
        Shown(scenario=s.name, twin=twin)
        for s in scenarios
        for twin in s.twins
        if twin.rule is rule
    ]
