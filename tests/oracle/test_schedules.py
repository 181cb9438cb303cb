"""Check and the exhaustive explorer agree, both ways, on random small schedules.

Long runs: ``python -m tests.oracle --cases N``; counts.json holds what has been run.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from tests.oracle import record
from tests.oracle.agree import BAD, compare
from tests.oracle.cases import random_case
from tests.oracle.explorer import TooLarge
from tests.oracle.explorer import explore as explore_plainly
from tests.oracle.program import build
from tests.oracle.states import explore
from tests.oracle.strategies import GENERATORS, random_schedule
from tests.oracle.translate import translate


def assert_agrees(schedule: Schedule) -> None:
    outcome, detail = compare(schedule)
    assert outcome not in BAD, f"{outcome}: {detail}"


def drawn(examples: int):  # type: ignore[no-untyped-def]
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


SLOW = {"crowd", "multicast_ring", "wgmma_ring"}
QUICK = sorted(set(GENERATORS) - SLOW)
RNGS = st.integers(0, 2**32 - 1).map(Random)


@drawn(1400)
@given(name=st.sampled_from(QUICK), rng=RNGS)
def test_random_schedules(name: str, rng: Random) -> None:
    try:
        schedule = random_schedule(name, rng)
    except ScheduleError:
        return
    assert_agrees(schedule)


@drawn(30)
@given(name=st.sampled_from(sorted(SLOW)), rng=RNGS)
def test_random_larger_schedules(name: str, rng: Random) -> None:
    try:
        schedule = random_schedule(name, rng)
    except ScheduleError:
        return
    assert_agrees(schedule)


def test_a_case_that_once_disagreed() -> None:
    assert_agrees(build(random_case(Random(3001183))))


@pytest.mark.parametrize("name", GENERATORS)
def test_each_generator_has_clean_and_broken_members(name: str) -> None:
    """Otherwise agreement would say little."""
    outcomes = set()
    for seed in range(60):
        try:
            outcomes.add(compare(random_schedule(name, Random(seed)))[0])
        except ScheduleError:
            continue
        if {"agree clean", "agree error"} <= outcomes:
            return
    raise AssertionError(f"{name}: only {outcomes}")


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
