"""docs/rules/ptx.md is current; its 139 rules are all there, and what they name exists."""

from __future__ import annotations

from tests.docs.nodes import faults
from tests.docs.ptx_page import BY_REASON, BY_TEST, PTX_PAGE, ptx_rules, ptx_text


def test_the_page_is_current() -> None:
    assert PTX_PAGE.read_text(encoding="utf-8") == ptx_text(), "run `python -m tests.docs`"


def test_every_rule_is_there_once() -> None:
    assert [rule.number for rule in ptx_rules()] == list(range(1, 140))


def test_what_holds_a_rule_exists_and_names_it() -> None:
    wrong: list[str] = []
    for rule in ptx_rules():
        if rule.kind in BY_REASON:
            wrong += [f"{rule.number}: a test, and no reason"] if "::" in rule.where else []
        else:
            wrong += faults(rule.where, "" if rule.kind in BY_TEST else rule.how)
    assert wrong == []
