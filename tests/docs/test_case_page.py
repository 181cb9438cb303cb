"""docs/cases.md is current; its rules and tests exist, and the tests speak of the rules."""

from __future__ import annotations

from tests.docs.case_page import CASES, CASES_PAGE, cases_text
from tests.docs.nodes import TESTS, faults

NO_RULE = {"clean", "predict", "refused"}


def test_the_page_is_current() -> None:
    assert CASES_PAGE.read_text(encoding="utf-8") == cases_text(), "run `python -m tests.docs`"


def test_rules_and_tests_of_the_cases_exist() -> None:
    wrong = []
    for family in CASES["family"]:
        for _, _, rules, node in family["rows"]:
            wrong += faults(node, "" if rules in NO_RULE else rules)
    assert wrong == []


def test_a_wrong_reference_is_named() -> None:
    node = "docs/test_case_page.py::test_a_wrong_reference_is_named"
    assert faults(node) == []
    assert faults(node, "NO_SUCH") == [f"{node}: no rule NO_SUCH"]
    assert faults("docs/test_case_page.py::test_x") == [
        "docs/test_case_page.py::test_x: no such test"
    ]
    assert faults("docs/none.py::test_x") == ["docs/none.py::test_x: no such file"]


def test_every_test_of_a_case_is_listed() -> None:
    listed = {row[3] for family in CASES["family"] for row in family["rows"]}
    files = sorted((TESTS / "cases").glob("test_*.py"))
    unlisted = [
        f"cases/{path.name}" for path in files if not any(path.name in node for node in listed)
    ]
    assert len(files) > 10
    assert unlisted == []
