"""Verdicts for many tiles against all sets of tiles, on mutants of kernels that ask for them."""

from __future__ import annotations

from itertools import chain, combinations
from random import Random

import pytest

from asyncsim.check import check
from asyncsim.check.assignments import set_of
from asyncsim.errors import ScheduleError
from asyncsim.ir.given import one_tile_each
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.test_assignments import Atomic, atomic
from tests.check.test_clc import Persistent, persistent
from tests.oracle.strategies import mutated

TILES = 7


def by_all_sets(schedule: Schedule) -> Verdict:
    """What is found in any set of tiles, and in one tile each."""
    sets = chain.from_iterable(combinations(range(TILES), n) for n in range(TILES + 1))
    verdicts = {check(one_tile_each(schedule, TILES)).verdict}
    for some in sets:
        verdicts.add(check(set_of(schedule, some)).verdict)
        if Verdict.FINDINGS in verdicts:
            return Verdict.FINDINGS
    return Verdict.INCOMPLETE if Verdict.INCOMPLETE in verdicts else Verdict.CLEAN


def drawn(seed: int) -> Schedule:
    rng = Random(seed)
    forms = [
        lambda: atomic(Atomic(tiles=TILES, slots=rng.choice([1, 2]))),
        lambda: atomic(Atomic(tiles=TILES, meant=rng.choice([0, 0, 1]))),
        lambda: persistent(Persistent(tiles=TILES, slots=rng.choice([1, 2]), assigned=True)),
    ]
    schedule = rng.choice(forms)()
    for _ in range(rng.choice([0, 1, 1, 2])):
        schedule = mutated(rng, schedule)
    return schedule


@pytest.mark.parametrize("seed", range(6))
def test_many_tiles_as_all_their_sets(seed: int) -> None:
    assert_agrees(seed)


def assert_agrees(seed: int) -> None:
    try:
        schedule = drawn(seed)
        said = check(schedule).verdict
    except ScheduleError:
        return
    if said is Verdict.INCOMPLETE:
        return
    assert by_all_sets(schedule) is said
