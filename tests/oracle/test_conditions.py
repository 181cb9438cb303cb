"""Each condition is needed: without it check calls schedules clean that the explorer breaks."""

from __future__ import annotations

import sys
from random import Random

import pytest

from asyncsim.check.report import Breach, Condition
from tests.oracle.cases import random_case
from tests.oracle.compare import compare

EXECUTION = sys.modules["asyncsim.check.execution"].Execution
SEEDS = {Condition.A: 3, Condition.C: 33, Condition.F: 64, Condition.N: 473}


@pytest.mark.parametrize("condition", SEEDS, ids=lambda c: c.name)
def test_without_a_condition_the_explorer_objects(
    condition: Condition, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = random_case(Random(SEEDS[condition]))
    assert compare(case)[0] == "agree trouble"
    report = EXECUTION.breach

    def all_but_one(self, breach: Breach) -> None:  # type: ignore[no-untyped-def]
        if breach.condition is not condition:
            report(self, breach)

    monkeypatch.setattr(EXECUTION, "breach", all_but_one)
    assert compare(case)[0] == "unsound"
