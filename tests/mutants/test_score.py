"""The mutation score of a few instances, to the mutant; of all: ``python -m tests.mutants``."""

from __future__ import annotations

from collections import Counter

import pytest

from asyncsim.catalog import find_scenario
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Finding, Rule, Severity
from tests.mutants import score as scoring
from tests.mutants.instances import instances
from tests.mutants.score import RIGHT, Result, score

EXPECTED: dict[tuple[str, str], dict[str, int]] = {
    ("sync_copy", ""): {"error": 10, "redundant": 2},
    ("tma_copy", ""): {"refused": 2, "error": 42, "warning": 4, "redundant": 20},
    ("tma_ring", "stages=2 consumers=1"): {
        "refused": 5,
        "error": 57,
        "warning": 4,
        "same": 1,
        "redundant": 17,
    },
    ("cp_async_multistage", "stages=3"): {"refused": 3, "error": 24, "same": 5, "redundant": 4},
    ("ws_gemm", "stages=1 consumers=1"): {
        "refused": 5,
        "error": 44,
        "same": 2,
        "redundant": 18,
    },
}


def instance(name: str, shape: str) -> Schedule:
    """The first small instance whose parameters include those of ``shape``."""
    wanted = dict(item.split("=") for item in shape.split())
    for params, schedule in instances(find_scenario(name)):
        if all(str(params[k]) == v for k, v in wanted.items()):
            return schedule
    raise AssertionError((name, shape))


def counts(found: list[Result]) -> dict[str, int]:
    return dict(Counter(r.outcome.value for r in found))


@pytest.mark.parametrize(("name", "shape"), EXPECTED)
def test_the_score_of_an_instance(name: str, shape: str) -> None:
    found = list(score(instance(name, shape)))
    assert [str(r) for r in found if r.outcome not in RIGHT] == []
    assert counts(found) == EXPECTED[name, shape]


def test_what_check_accuses_is_wrong_in_some_interleaving() -> None:
    found = list(score(instance("tma_ring", "stages=1 consumers=1"), judge_errors=True))
    assert counts(found) == {
        "refused": 5,
        "error": 36,
        "warning": 4,
        "same": 3,
        "redundant": 13,
    }


def says(verdict: Verdict, *findings: Finding):  # type: ignore[no-untyped-def]
    return lambda schedule, max_states: CheckResult(verdict=verdict, findings=findings)


def test_a_check_that_finds_nothing_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "check", says(Verdict.CLEAN))
    found = list(score(instance("sync_copy", "")))
    assert counts(found) == {"missed": 10, "redundant": 2}


def test_a_check_that_accuses_everything_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding(rule=Rule.DEADLOCK, severity=Severity.ERROR, message="all is bad")
    monkeypatch.setattr(scoring, "check", says(Verdict.FINDINGS, finding))
    found = list(score(instance("sync_copy", ""), judge_errors=True))
    assert counts(found) == {"error": 10, "accused": 2}


def test_a_check_that_fails_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(schedule: Schedule, max_states: int) -> CheckResult:
        raise AssertionError("inside check")

    monkeypatch.setattr(scoring, "check", fails)
    found = list(score(instance("sync_copy", "")))
    assert {str(r.outcome.value) for r in found} == {"crashed"}
    assert found[0].detail == "AssertionError: inside check"
