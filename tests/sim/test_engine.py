"""The engine: SimPy against a heap, running ahead against strict order, merging, insertion order,
and time that is accounted for."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim.ir.op import CommitGroup, GroupKind, WaitGroup
from asyncsim.ir.schedule import Schedule
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.sgemm_cp_async import sgemm_cp_async
from asyncsim.scenarios.sync_copy import sync_copy
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim.machine_state import Model
from asyncsim.sim.simulate import Options, run
from asyncsim.sim.steps import Step
from asyncsim.stream import Program
from tests.sim.heap_engine import HeapClock
from tests.sim.schedules import H200

CASES = [
    (tma_ring, {"tiles": 16, "ctas": 132}),
    (tma_ring, {"tiles": 9, "stages": 1, "ctas": 3}),
    (tma_ring, {"tiles": 20, "stages": 2, "consumers": 5, "ctas": 2, "ffma": 0}),
    (tma_ring, {"tiles": 8, "stages": 2, "ctas": 500, "tile_bytes": 65536}),
    (cp_async_multistage, {"tiles": 9, "ctas": 132}),
    (cp_async_multistage, {"tiles": 0, "ctas": 5}),
    (sgemm_cp_async, {"m": 512, "n": 512, "k": 64}),
    (sgemm_cp_async, {"m": 1024, "n": 2304, "k": 40, "stages": 5}),
    (sync_copy, {"tiles": 9, "ctas": 132}),
    (tma_copy, {"m": 256, "n": 512}),
    (sync_copy, {"tiles": 4, "ctas": 300, "tile_bytes": 2048}),
    (ws_gemm, {"m": 512, "n": 512, "k": 512}),
    (ws_gemm, {"m": 512, "n": 512, "k": 512, "stages": 2, "lag": 0}),
    (ws_gemm, {"m": 512, "n": 512, "k": 512, "consumers": 2, "block_m": 256}),
    (ws_gemm, {"m": 1024, "n": 2048, "k": 256, "block_m": 64, "block_n": 64, "stages": 2}),
]


def build(case: tuple) -> Schedule:  # type: ignore[type-arg]
    scenario, params = case
    return scenario.build(params)  # type: ignore[no-any-return]


def outcome(model: Model) -> tuple:  # type: ignore[type-arg]
    """Total, the end and stall sum of every agent, and the stalls of every op."""
    stalls = [{op: t for op, (t, _) in s.items() if t} for s in model.stalls]
    return model.end, sorted(model.finished), stalls


def parametrised() -> st.SearchStrategy[Schedule]:
    rings = st.builds(
        lambda **p: tma_ring.build(p),
        stages=st.integers(1, 5),
        tiles=st.integers(0, 14),
        tile_bytes=st.sampled_from([1024, 4096, 16384, 32768]),
        consumers=st.integers(1, 6),
        ffma=st.sampled_from([0, 10, 64, 300]),
        ctas=st.sampled_from([1, 3, 20, 140, 300]),
    )
    gemms = st.builds(
        lambda stages, lag, **p: ws_gemm.build(
            {**p, "stages": stages, "lag": min(lag, stages - 1)}
        ),
        m=st.sampled_from([128, 512, 1024]),
        n=st.sampled_from([256, 1024]),
        k=st.sampled_from([64, 192, 320]),
        block_m=st.sampled_from([64, 128]),
        block_n=st.sampled_from([64, 128]),
        stages=st.integers(1, 4),
        lag=st.integers(0, 1),
    )
    copies = st.builds(
        lambda **p: cp_async_multistage.build(p),
        stages=st.integers(2, 5),
        tiles=st.integers(0, 12),
        tile_bytes=st.sampled_from([2048, 8192]),
        ffma=st.sampled_from([0, 64]),
        ctas=st.sampled_from([1, 132, 700]),
    )
    return st.one_of(rings, gemms, copies)


# Derandomised while the next test fails: what is known is not to show at random.
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(parametrised(), st.randoms())
def test_every_way_to_run_gives_the_same_result(schedule: Schedule, rng: random.Random) -> None:
    ahead = outcome(run(schedule, H200, Options(certified=True)))
    assert outcome(run(schedule, H200, Options(certified=False))) == ahead
    assert outcome(run(schedule, H200, Options(certified=True, clock=HeapClock))) == ahead
    assert outcome(run(schedule, H200, Options(certified=False, clock=HeapClock))) == ahead

    def shuffled(first: list) -> list:  # type: ignore[type-arg]
        rng.shuffle(first)
        return first

    assert outcome(run(schedule, H200, Options(certified=True, order=shuffled))) == ahead


def test_groups_of_several_ctas_of_an_sm_in_strict_order() -> None:
    """Groups are served in order of their commits, whichever copy was issued first."""
    params = {"stages": 5, "tiles": 3, "tile_bytes": 8192, "ffma": 64, "ctas": 700}
    schedule = cp_async_multistage.build(params)
    ahead = outcome(run(schedule, H200, Options(certified=True)))
    assert outcome(run(schedule, H200, Options(certified=False))) == ahead


@pytest.mark.parametrize("case", CASES)
def test_strict_order_gives_what_running_ahead_gives(case: tuple) -> None:  # type: ignore[type-arg]
    schedule = build(case)
    ahead = run(schedule, H200, Options(certified=True))
    assert outcome(run(schedule, H200, Options(certified=False))) == outcome(ahead)
    assert ahead.end > 0


@pytest.mark.parametrize("case", CASES)
def test_merging_warps_changes_no_total(case: tuple) -> None:  # type: ignore[type-arg]
    schedule = build(case)
    merged = run(schedule, H200, Options(certified=True))
    single = run(schedule, H200, Options(certified=True, merge=False))
    assert len(single.finished) > len(merged.finished)
    # Warps that share the LSU or the store port are served in turn one by one, as one at once.
    tolerance = {
        "cp_async_multistage": 0.02,
        "ws_gemm": 0.01,
        "tma_ring": 1e-5,
        "tma_copy": 0.02,
        "sync_copy": 0.02,
        "sgemm_cp_async": 0.02,
    }[case[0].name]
    assert single.end == pytest.approx(merged.end, rel=tolerance, abs=0)


def _own(steps: Iterable[Step]) -> int:
    """What steps take by themselves. A wait for all products takes its time when they are complete,
    too, unless it has nothing new to wait for."""
    own = 0
    new = False
    for step in steps:
        own += step.cost + step.turn
        match step.op:
            case CommitGroup(kind=GroupKind.WGMMA):
                new = True
            case WaitGroup(kind=GroupKind.WGMMA, n=0) if new:
                own += step.work[0]
                new = False
    return own


@pytest.mark.parametrize("case", CASES)
def test_start_costs_and_stalls_make_the_end(case: tuple) -> None:  # type: ignore[type-arg]
    """The costs are recomputed from the streams alone."""
    schedule = build(case)
    model = run(schedule, H200, Options(certified=True))
    program = Program(schedule)
    costs: dict[tuple[int, int], int] = {}
    for number, index, start, end, stall in model.finished:
        c = model.classes[index]
        x, y, _ = schedule.grid
        block = (number % x, number // x % y, number // (x * y))
        key = (number, index)
        bound = program.bound(model.binders[index], block, c.first)
        costs[key] = _own(step for step, _ in bound)
        assert start + costs[key] + stall == end, (c.role, number)
    assert len(costs) == len(model.finished)


def test_a_clock_that_shuffles_ties_is_noticed() -> None:
    """Positive control: the outcome does depend on the order of events that are posted."""

    class Backwards(HeapClock):
        def post(self, time, key, call, arg):  # type: ignore[no-untyped-def]
            super().post(time + (key * 7919) % 640, key, call, arg)

    schedule = build(CASES[0])
    ahead = outcome(run(schedule, H200, Options(certified=True)))
    assert outcome(run(schedule, H200, Options(certified=True, clock=Backwards))) != ahead


@pytest.mark.parametrize(
    ("case", "tolerance"),
    [
        ((tma_ring, {"tiles": 24}), 0.02),
        ((tma_ring, {"tiles": 24, "stages": 2, "ffma": 0}), 0.02),
        ((tma_ring, {"tiles": 12, "ctas": 264, "tile_bytes": 4096}), 0.02),
        ((cp_async_multistage, {"tiles": 24}), 0.02),
        ((ws_gemm, {"m": 1408, "n": 1536, "k": 512}), 0.02),  # one whole wave
        # One stage: a few cycles of DRAM decide whether the producer polls once more.
        ((tma_ring, {"tiles": 24, "stages": 1, "ffma": 0}), 0.05),
        # Few SMs that run a CTA more, or less, weigh as they are many.
        ((tma_ring, {"tiles": 40, "ctas": 133}), 0.01),
        ((tma_ring, {"tiles": 24, "ctas": 300}), 0.01),
        ((ws_gemm, {"m": 2048, "n": 2048, "k": 512}), 0.02),
    ],
)
def test_eight_sms_stand_for_all(case: tuple, tolerance: float) -> None:  # type: ignore[type-arg]
    schedule = build(case)
    sample = run(schedule, H200, Options(certified=True))
    exact = run(schedule, H200, Options(certified=True, exact=True))
    assert len(sample.sms) in (8, 9)
    assert len(exact.sms) == min(132, schedule.ctas)
    assert sample.end == pytest.approx(exact.end, rel=tolerance)
