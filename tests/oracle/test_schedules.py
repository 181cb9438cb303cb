"""Check and the exhaustive explorer agree, both ways, on random small schedules.

Long runs: ``python -m tests.oracle --cases N``; counts.json holds what has been run.
"""

from __future__ import annotations

from random import Random

import pytest

from asyncsim.errors import ScheduleError
from tests.oracle import record
from tests.oracle.agree import BAD, compare
from tests.oracle.cases import random_case
from tests.oracle.explorer import TooLarge
from tests.oracle.explorer import explore as explore_plainly
from tests.oracle.program import build
from tests.oracle.states import explore
from tests.oracle.strategies import GENERATORS, random_schedule
from tests.oracle.translate import translate

SLOW = {"crowd", "multicast_ring", "wgmma_ring"}


@pytest.mark.parametrize("name", GENERATORS)
def test_random_schedules(name: str) -> None:
    """Each generator has clean and broken members among them: otherwise agreement says little."""
    least, outcomes = (10 if name in SLOW else 25), set()
    for seed in range(60):
        if seed >= least and {"agree clean", "agree error"} <= outcomes:
            return
        try:
            outcome, detail = compare(random_schedule(name, Random(seed)))
        except ScheduleError:
            continue
        assert outcome not in BAD, f"{outcome}: {name} {seed}: {detail}"
        outcomes.add(outcome)
    raise AssertionError(f"{name}: only {outcomes}")


def test_a_case_that_once_disagreed() -> None:
    outcome, detail = compare(build(random_case(Random(3001183))))
    assert outcome not in BAD, f"{outcome}: {detail}"


def test_the_reduced_explorer_sees_what_the_plain_one_sees() -> None:
    """One order for acts that nothing depends on, against every order of everything."""
    trouble = clean = 0
    for seed in range(150):
        case = random_case(Random(seed))
        try:
            plain = explore_plainly(case) - {"parted"}
            reduced = explore(translate(build(case)), 60_000, warnings=False)
        except (ScheduleError, TooLarge):
            continue
        # copies of groups that nobody waits for: the plain one does not look at the end of a CTA
        if reduced == {"outstanding"} and not plain:
            continue
        assert bool(plain) == bool(reduced), (seed, plain, reduced)
        trouble, clean = trouble + bool(plain), clean + (not plain)
    assert min(trouble, clean) > 40


@pytest.mark.parametrize("name", sorted(set(GENERATORS) - {"case_free"}))
def test_the_reduction_loses_nothing(name: str) -> None:
    """The same states machine with and without it, where the latter is small."""
    compared = 0
    for seed in range(15 if name in SLOW else 40):
        try:
            machine = translate(random_schedule(name, Random(seed)))
            plain = explore(machine, 3000, reduced=False)
        except (ScheduleError, TooLarge):
            continue
        assert bool(plain) == bool(explore(machine, 3000)), (name, seed, plain)
        compared += 1
    assert compared >= (5 if name in SLOW else 10)


def test_recorded_runs_do_not_repeat_seeds() -> None:
    ends: dict[str, int] = {}
    for run in record.runs():
        name = run["generator"]
        assert name in GENERATORS
        assert run["first_seed"] >= ends.get(name, 0)
        assert sum(run["outcomes"].values()) == run["cases"]
        ends[name] = run["first_seed"] + run["cases"]
