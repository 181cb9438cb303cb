"""check and the explorer agree on who may wait for registers for ever."""

from __future__ import annotations

from collections import Counter
from random import Random

from asyncsim.check import check
from asyncsim.predict.result import Verdict
from tests.oracle.registers import Step, build, can_hang, random_trade

CASES = 250


def test_verdicts_on_random_trades() -> None:
    rng = Random(7)
    seen: Counter[Verdict] = Counter()
    for _ in range(CASES):
        trade = random_trade(rng)
        result = check(build(trade))
        wanted = Verdict.FINDINGS if can_hang(trade) else Verdict.CLEAN
        assert result.verdict is wanted, (trade, result)
        seen[result.verdict] += 1
    assert min(seen[Verdict.CLEAN], seen[Verdict.FINDINGS]) >= 50, seen


def test_explorer_knows_an_order_that_hangs_and_one_that_does_not() -> None:
    up, down, meet = Step("set", 88), Step("set", 40), Step("meet")
    assert not can_hang(((down,), (up,)))
    assert can_hang(((), (up,)))
    assert can_hang(((Step("wait", 0), down), (up, Step("arrive", 0))))
    # four warps of each take a share of what is free, and nobody has all
    assert can_hang(((Step("set", 48),), (Step("set", 72), meet), (Step("set", 72), meet))) is False
    assert can_hang(((Step("set", 56),), (Step("set", 72), meet), (Step("set", 72), meet)))
