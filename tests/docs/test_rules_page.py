"""docs/rules.md is current, and each of its examples breaks the rule under which it stands."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError, Severity
from asyncsim.check import check
from asyncsim.rule_notes import NOTES, PREAMBLE
from tests.docs.rule_page import RULES_PAGE, rules_text


def test_the_page_is_current() -> None:
    assert RULES_PAGE.read_text(encoding="utf-8") == rules_text(), "run `python -m tests.docs`"


@pytest.mark.parametrize("rule", NOTES, ids=lambda r: r.name)
def test_the_example_breaks_its_rule(rule: Rule) -> None:
    note = NOTES[rule]
    namespace = {"ScheduleBuilder": ScheduleBuilder}
    try:
        exec(note.body, namespace)
        findings = check(namespace["k"].finish()).findings  # type: ignore[attr-defined]
    except ScheduleError as error:
        assert error.rule is rule
        return
    reported = [f for f in findings if f.severity is Severity.ERROR] or findings
    assert [(f.rule, f.severity) for f in reported] == [(rule, note.severity)]


def test_the_preamble_alone_is_clean() -> None:
    namespace = {"ScheduleBuilder": ScheduleBuilder}
    exec(PREAMBLE, namespace)
    assert check(namespace["k"].finish()).findings == ()  # type: ignore[attr-defined]
