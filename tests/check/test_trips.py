"""Verdicts for all larger trip counts: each that is given holds for those that are walked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.check.trips import grown
from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Extents, Trips, Verdict
from asyncsim.rules import Rule
from asyncsim.scenario import Scenario
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.sgemm_cp_async import sgemm_cp_async
from asyncsim.scenarios.sync_copy import sync_copy
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from tests.check import parametric as families
from tests.check.test_jump import ring
from tests.oracle.agree import BAD, compare
from tests.oracle.strategies import random_schedule

SGEMM = [(2, 0), (2, 2), (3, 0), (3, 1), (3, 3), (4, 2)]
WS_GEMM: list[dict[str, int]] = [
    {},
    {"stages": 3, "lag": 0},
    {"distance": 2},
    {"stages": 2, "lag": 0, "distance": 1},
    {"consumers": 2, "block_m": 256},
    {"setmaxnreg": 1},
    {"setmaxnreg": 1, "consumers": 2, "block_m": 256},
    {"m": 200, "n": 100},
    {"k_order": 1},
    {"block_k": 16, "k": 1024},
]


def with_arg(schedule: Schedule, name: str, value: int) -> Schedule:
    args = tuple((n, value if n == name else v) for n, v in schedule.args)
    return replace(schedule, args=args)


def assert_holds(schedule: Schedule, trips: Trips, steps: Sequence[int] = range(4)) -> None:
    """Full walks at further counts of the claim."""
    for m in steps:
        full = check(grown(schedule, trips, m), jump=False)
        assert full.verdict is Verdict.CLEAN, (m, [f.message for f in full.findings])


def claimed(result: CheckResult) -> tuple[str, int, int] | str:
    """The kernel argument, its value and the step; or why there is no claim."""
    trips = result.trips
    return (trips.arg, trips.value, trips.step) if trips is not None else result.unclaimed


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_ring_holds_for_all_counts(stages: int) -> None:
    """From some count on, each is spoken for by one at most two laps before it."""
    step = 2 * stages
    for tiles in range(7 * stages, 9 * stages):
        params = {"stages": stages, "tiles": tiles, "tile_bytes": 1024, "consumers": 1}
        schedule = tma_ring.build(params)
        result = check(schedule, trips=True)
        assert result.trips is not None and claimed(result) == ("tiles", tiles, step)
        assert_holds(schedule, result.trips)
        assert check(tma_ring.build({**params, "tiles": tiles + step}), jump=False).certified


def test_a_gemm_holds_for_all_k() -> None:
    result = check(ws_gemm.build({"m": 128, "n": 128, "k": 4096}), trips=True)
    assert claimed(result) == ("steps", 64, 8)


def test_no_claim_unless_asked_or_without_a_jump() -> None:
    assert check(tma_ring.build({"tiles": 40})).trips is None
    few = "the state does not recur in so few rounds"
    assert claimed(check(tma_ring.build({"tiles": 9}), trips=True)) == few
    assert claimed(check(tma_ring.build({"tiles": 40}), trips=True, jump=False)) == (
        "no rounds are passed over"
    )


@pytest.mark.parametrize("distance", range(5))
def test_copies_that_may_not_leave_their_tensor(distance: int) -> None:
    """The tensor grows by what a tile of each of 3 CTAs takes."""
    params = {"tiles": 40, "ctas": 3, "tile_bytes": 2048, "distance": distance}
    schedule = cp_async_multistage.build(params)
    result = check(schedule, trips=True)
    assert result.trips == Trips(
        arg="tiles",
        value=40,
        step=4,
        last=44_739_240,
        ends=result.trips.ends if result.trips else "",
        extents=(
            Extents(tensor="source", size=(1920, 32), grows=(192, 0)),
            Extents(tensor="result", size=(3, 128), grows=None),
        ),
    )
    assert_holds(schedule, result.trips)


@pytest.mark.parametrize("more", [0, 2])
def test_the_tensor_is_as_large_as_a_claim_needs_and_no_larger(more: int) -> None:
    """One element less, in any dimension, and some step of the claim is out of bounds."""
    schedule = sgemm_cp_async.build({"m": 128, "n": 256, "k": 240})
    trips = check(schedule, trips=True).trips
    assert trips is not None
    longer = grown(schedule, trips, more)
    assert check(longer).verdict is Verdict.CLEAN
    for e in trips.extents:
        for axis in range(2):
            less = tuple(n - (i == axis) for i, n in enumerate(e.at(more)))
            smaller = resized(longer, e.tensor, less)
            assert check(smaller).has(Rule.OUT_OF_BOUNDS), (e.tensor, axis)


def resized(schedule: Schedule, tensor: str, shape: tuple[int, ...]) -> Schedule:
    decls = tuple(
        replace(d, shape=shape) if isinstance(d, GlobalTensor) and d.name == tensor else d
        for d in schedule.decls
    )
    return replace(schedule, decls=decls, _by_name={})


VARIANTS = [
    (sync_copy, {"tiles": 20, "tile_bytes": 2048}),
    *((sgemm_cp_async, {"k": 320, "stages": s, "distance": d}) for s, d in SGEMM),
    *((ws_gemm, {"k": 4096, **p}) for p in WS_GEMM),
]


@pytest.mark.parametrize(("scenario", "params"), VARIANTS)
def test_every_ring_among_the_scenarios_is_claimed(
    scenario: Scenario, params: dict[str, int]
) -> None:
    small = {"m": 256, "n": 128} if scenario is not sync_copy else {}
    schedule = scenario.build({**small, **params})
    trips = check(schedule, trips=True).trips
    assert trips is not None
    assert_holds(schedule, trips, [1])


def test_no_claim_for_a_finding() -> None:
    result = check(tma_ring.build({"tiles": 40}, "early_release"), trips=True)
    assert result.verdict is Verdict.FINDINGS and result.trips is None and not result.unclaimed


FAMILIES = sorted(families.FAMILIES)

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
    larger = (check(with_arg(made, "n", n), jump=False).verdict for n in range(61, 96))
    assert Verdict.FINDINGS in larger
    if result.trips is not None:
        assert_holds(made, result.trips)


@pytest.mark.parametrize(("adds", "breaks"), [(False, 41), (True, 41 * 41)])
def test_what_a_variable_has_from_the_count_is_followed(adds: bool, breaks: int) -> None:
    """The last arrival is left out where a variable, set before the loop, is 41; or a sum 1,681."""
    k = ScheduleBuilder("left")
    count = k.arg("n", 20)
    go, back = k.mbarriers("go", count=1), k.mbarriers("back", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(go, back)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("a", warps=1), k.elect():
            left = k.var("left", 0 if adds else count)
            phase = k.var("phase", 0)
            with k.loop(count):
                k.mbarrier.arrive(go[0])
                k.mbarrier.wait(back[0], phase)
                phase.set(phase ^ 1)
                if adds:
                    left.set(left + count)
            with k.when(left != breaks):
                k.mbarrier.arrive(go[0])
        with k.role("b", warps=1), k.elect():
            phase = k.var("phase", 0)
            with k.loop(count):
                k.mbarrier.wait(go[0], phase)
                k.mbarrier.arrive(back[0])
                phase.set(phase ^ 1)
            k.mbarrier.wait(go[0], phase)
    schedule = k.finish()
    assert check(with_arg(schedule, "n", 41)).verdict is Verdict.FINDINGS
    for n in (20, 35, 60):
        result = check(with_arg(schedule, "n", n), trips=True)
        assert result.verdict is Verdict.CLEAN
        if n < 41 or adds:
            assert result.trips is None, n


def test_the_same_ring_without_the_bug_is_claimed() -> None:
    for condition in (lambda i, n: i > n, lambda i, n: i < 0):
        made = parametric(condition, 60)
        assert claimed(check(made, trips=True)) == ("n", 60, 6)


def parametric(skips, n: int) -> Schedule:  # type: ignore[no-untyped-def]
    """The ring of test_jump, whose length is a kernel argument that conditions may name."""
    bound: list[object] = []

    def arg(k: ScheduleBuilder) -> object:
        bound.append(k.arg("n", n))
        return bound[0]

    return ring(skip_wait=lambda i: skips(i, bound[0]), steps=arg, rows=200)


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(["tma_ring", "tma_ring", "wgmma_ring", "rendezvous", "named"]),
    more=st.integers(12, 30),
    rng=st.randoms(use_true_random=False),
)
def test_claims_on_random_rings_hold(name: str, more: int, rng: Random) -> None:
    try:
        schedule = families.counted(random_schedule(name, rng), more)
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


@settings(max_examples=80, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(FAMILIES),
    n=st.integers(14, 24),
    rng=st.randoms(use_true_random=False),
)
def test_claims_of_random_families_hold(name: str, n: int, rng: Random) -> None:
    """Whole ones, broken ones, and those that break at one late count or round."""
    try:
        schedule = families.broken(rng, families.FAMILIES[name](rng, n))
        result = check(schedule, max_states=1000, trips=True)
    except ScheduleError:
        return
    if result.trips is not None:
        assert_holds(schedule, result.trips, [1, 2, 3, 7])


@pytest.mark.parametrize("name", FAMILIES)
def test_random_families_that_are_whole_are_claimed(name: str) -> None:
    """Else the test above would say nothing."""
    made = [families.FAMILIES[name](Random(seed), 24) for seed in range(10)]
    results = [check(schedule, trips=True) for schedule in made]
    clean = [r for r in results if r.verdict is Verdict.CLEAN]
    assert len(clean) >= 2
    assert [r.unclaimed for r in clean if r.trips is None] == []
