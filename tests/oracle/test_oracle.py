"""The checker and the exhaustive explorer agree, both ways, on random small schedules.

Long runs: ``python -m tests.oracle --cases N --seed S``. Seeds that once disagreed are kept below.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracle.cases import (
    chain,
    cp_async,
    free,
    lanes,
    mutate,
    named,
    parts,
    random_case,
    rendezvous,
    rendezvous_ring,
    ring,
    states,
)
from tests.oracle.compare import compare
from tests.oracle.program import Case

DISAGREED_ONCE = (3001183,)

FAMILIES = (ring, rendezvous, rendezvous_ring, chain, named, cp_async, free, lanes, states, parts)


def assert_agrees(case: Case) -> None:
    outcome, detail = compare(case)
    assert outcome.startswith("agree") or outcome == "too large", f"{outcome}: {detail}\n{case}"


@settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(
    family=st.sampled_from(FAMILIES),
    mutations=st.integers(0, 3),
    rng=st.integers(0, 2**32 - 1).map(Random),
)
def test_random_cases(family, mutations: int, rng: Random) -> None:  # type: ignore[no-untyped-def]
    case = family(rng)
    for _ in range(mutations):
        case = mutate(rng, case)
    assert_agrees(case)


@pytest.mark.parametrize("seed", DISAGREED_ONCE)
def test_seeds_that_once_disagreed(seed: int) -> None:
    assert_agrees(random_case(Random(seed)))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_each_family_has_clean_and_broken_members(family) -> None:  # type: ignore[no-untyped-def]
    """Otherwise agreement would say little."""
    outcomes = set()
    for seed in range(40):
        rng = Random(seed)
        case = family(rng)
        for _ in range(seed % 3):
            case = mutate(rng, case)
        outcomes.add(compare(case)[0].split(" (")[0])
        if {"agree clean", "agree trouble"} <= outcomes:
            return
    raise AssertionError(f"{family.__name__}: only {outcomes}")
