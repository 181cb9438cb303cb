"""Verdicts for all larger trip counts: each that is given holds for those that are walked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.errors import ScheduleError
from asyncsim.ir.expr import Arg, Binary, Const
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Specialize, Stmt, When
from asyncsim.predict.result import Trips, Verdict
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from tests.check.test_jump import ring
from tests.oracle.agree import BAD, compare
from tests.oracle.strategies import random_schedule


def with_arg(schedule: Schedule, name: str, value: int) -> Schedule:
    args = tuple((n, value if n == name else v) for n, v in schedule.args)
    return replace(schedule, args=args)


def assert_holds(schedule: Schedule, trips: Trips) -> None:
    """Full walks at the next four counts of the claim."""
    for m in range(4):
        longer = with_arg(schedule, trips.arg, trips.value + m * trips.step)
        full = check(longer, jump=False)
        assert full.verdict is Verdict.CLEAN, (m, [f.message for f in full.findings])


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_ring_holds_for_all_counts(stages: int) -> None:
    """From some count on, each is spoken for by one at most two laps before it."""
    step = 2 * stages
    for tiles in range(7 * stages, 9 * stages):
        params = {"stages": stages, "tiles": tiles, "tile_bytes": 1024, "consumers": 1}
        schedule = tma_ring.build(params)
        result = check(schedule, trips=True)
        assert result.trips == Trips(arg="tiles", value=tiles, step=step)
        assert_holds(schedule, result.trips)
        assert check(tma_ring.build({**params, "tiles": tiles + step}), jump=False).certified


def test_a_gemm_holds_for_all_k() -> None:
    result = check(ws_gemm.build({"m": 128, "n": 128, "k": 4096}), trips=True)
    assert result.trips == Trips(arg="steps", value=64, step=8)


def test_no_claim_unless_asked_or_without_a_jump() -> None:
    assert check(tma_ring.build({"tiles": 40})).trips is None
    assert check(tma_ring.build({"tiles": 9}), trips=True).trips is None
    assert check(tma_ring.build({"tiles": 40}), trips=True, jump=False).trips is None


def test_no_claim_where_the_bounds_of_a_tensor_decide() -> None:
    result = check(cp_async_multistage.build({"tiles": 40}), trips=True)
    assert result.stats["passed"] and result.trips is None


def test_no_claim_for_a_finding() -> None:
    result = check(tma_ring.build({"tiles": 40}, "early_release"), trips=True)
    assert result.verdict is Verdict.FINDINGS and result.trips is None


Of = Callable[[ScheduleBuilder], object]

CONDITIONS = {
    "a round beyond": lambda i, n: i == 70,
    "rounds beyond": lambda i, n: i > 61,
    "the middle": lambda i, n: 2 * i == n + 60,
    "twice the index": lambda i, n: 2 * i > n + 58,
    "the count itself": lambda i, n: n > 70,
    "a count of another kind": lambda i, n: (n % 3 == 1) & (i == 2),
    "the end, from a constant": lambda i, n: i + 1 + (n > 80) > n,
    "one round of one count": lambda i, n: i + 7174 == 100 * n,  # 26 of 72
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_bug_of_larger_counts_is_not_claimed_away(name: str) -> None:
    """Clean at 60 rounds, broken at some larger count."""
    made = parametric(CONDITIONS[name], 60)
    result = check(made, trips=True)
    assert result.verdict is Verdict.CLEAN
    larger = [check(with_arg(made, "n", n), jump=False).verdict for n in range(61, 96)]
    assert Verdict.FINDINGS in larger
    if result.trips is not None:
        assert_holds(made, result.trips)


def test_the_same_ring_without_the_bug_is_claimed() -> None:
    for condition in (lambda i, n: i > n, lambda i, n: i < 0):
        made = parametric(condition, 60)
        assert check(made, trips=True).trips == Trips(arg="n", value=60, step=6)


def parametric(skips, n: int) -> Schedule:  # type: ignore[no-untyped-def]
    """The ring of test_jump, whose length is a kernel argument that conditions may name."""
    bound: list[object] = []

    def arg(k: ScheduleBuilder) -> object:
        bound.append(k.arg("n", n))
        return bound[0]

    return ring(skip_wait=lambda i: skips(i, bound[0]), steps=arg, rows=200)


def counted(schedule: Schedule, more: int) -> Schedule:
    """All outermost loops with a constant trip count get it from one argument."""
    first: list[int] = []

    def stmt(s: Stmt) -> Stmt:
        match s:
            case For(trip_count=Const(c)) if c:
                first.append(c)
                return replace(s, trip_count=Binary("+", Arg("n"), Const(c - first[0])))
            case When(body=body, orelse=other):
                return replace(s, body=tuple(map(stmt, body)), orelse=tuple(map(stmt, other)))
            case Elect(body=body, others=other):
                return replace(s, body=tuple(map(stmt, body)), others=tuple(map(stmt, other)))
            case Specialize(roles=roles):
                parts = (replace(r, body=tuple(map(stmt, r.body))) for r in roles)
                return replace(s, roles=tuple(parts))
            case _:
                return s

    body = tuple(map(stmt, schedule.body))
    return replace(schedule, body=body, args=(("n", more + (first or [0])[0]),))


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(["tma_ring", "tma_ring", "wgmma_ring", "rendezvous", "named"]),
    more=st.integers(12, 30),
    rng=st.randoms(use_true_random=False),
)
def test_claims_on_random_rings_hold(name: str, more: int, rng: Random) -> None:
    try:
        schedule = counted(random_schedule(name, rng), more)
        result = check(schedule, max_states=1000, trips=True)
    except ScheduleError:
        return
    if result.trips is not None:
        assert_holds(schedule, result.trips)


@pytest.mark.parametrize("seed", range(12))
def test_the_explorer_agrees(seed: int) -> None:
    """On the smallest rings: the claim's next count, every interleaving."""
    params = {"stages": 1, "consumers": 1, "tile_bytes": 1024, "ctas": 1, "tiles": 8 + seed % 4}
    schedule = tma_ring.build(params)
    trips = check(schedule, trips=True).trips
    assert trips is not None
    outcome, detail = compare(with_arg(schedule, "tiles", trips.value + trips.step))
    assert outcome not in BAD and outcome != "too large", detail
