"""docs/cases.md is current; its rules and tests exist, and the tests speak of the rules."""

from __future__ import annotations

from tests.docs.case_page import CASES, CASES_PAGE, cases_text
from tests.docs.nodes import TESTS, missing, unknown_rules

NO_RULE = {"clean", "predict", "refused"}


def test_the_page_is_current() -> None:
    assert CASES_PAGE.read_text(encoding="utf-8") == cases_text(), "run `python -m tests.docs`"


def test_rules_and_tests_of_the_cases_exist() -> None:
    wrong = []
    for family in CASES["family"]:
        for source, _, rules, node in family["rows"]:
            wrong += [missing(node)] if missing(node) else []
            if rules in NO_RULE:
                continue
            wrong += [f"{source}: no rule {name}" for name in unknown_rules(rules)]
            text = (TESTS / node.partition("::")[0]).read_text(encoding="utf-8")
            wrong += [f"{node} does not name {r}" for r in rules.split(", ") if r not in text]
    assert wrong == []


def test_every_test_of_a_case_is_listed() -> None:
    listed = {row[3] for family in CASES["family"] for row in family["rows"]}
    files = sorted((TESTS / "cases").glob("test_*.py"))
    unlisted = [
        f"cases/{path.name}" for path in files if not any(path.name in node for node in listed)
    ]
    assert len(files) > 10
    assert unlisted == []
