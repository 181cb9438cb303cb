"""Checker against explorer on one case."""

from __future__ import annotations

from collections import Counter
from random import Random

from asyncsim import ScheduleError
from asyncsim.check import check
from asyncsim.predict.result import Verdict
from tests.oracle.cases import random_case
from tests.oracle.explorer import TooLarge, explore
from tests.oracle.program import Case, build


def compare(case: Case) -> tuple[str, str]:
    """(outcome, detail): "agree clean", "agree trouble", "too large", "incomplete", or a mismatch
    "unsound" (clean, but something can go wrong) or "accused" (a finding, but nothing can)."""
    try:
        trouble = explore(case)
    except TooLarge:
        return "too large", ""
    parted = "parted" in trouble
    trouble.discard("parted")
    try:
        result = check(build(case), max_states=100_000)
    except ScheduleError as error:
        return ("agree trouble" if trouble and error.rule else "accused"), str(error)
    detail = f"explorer {sorted(trouble)}; checker {[f.rule.name for f in result.findings]}"
    match result.verdict:
        case Verdict.INCOMPLETE if parted:
            return "agree parted", detail
        case Verdict.INCOMPLETE:
            return "incomplete", f"{detail}; {result.note}"
        case Verdict.CLEAN:
            how = "certified" if result.certified else "searched"
            return ("unsound", detail) if trouble else (f"agree clean ({how})", detail)
        case Verdict.FINDINGS:
            return ("agree trouble", detail) if trouble else ("accused", detail)


def run(cases: int, seed: int, *, verbose: bool = True) -> Counter[str]:
    """Compare many random cases; prints each disagreement with its seed."""
    totals: Counter[str] = Counter()
    for i in range(cases):
        case_seed = seed * 1_000_003 + i
        case = random_case(Random(case_seed))
        outcome, detail = compare(case)
        totals[outcome] += 1
        if verbose and outcome in ("unsound", "accused", "incomplete"):
            print(f"-- {outcome}, seed {case_seed}: {detail}\n{case}", flush=True)
    return totals
