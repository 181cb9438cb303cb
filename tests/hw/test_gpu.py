"""On a real GPU: the data are right, a hang is diagnosed, a delay shows a bug, stamps decode.

Skipped without an H100, H200 or another GPU of compute capability 9.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from asyncsim.catalog import find_scenario
from asyncsim.hw.delays import random_table, table_of
from asyncsim.hw.launch import Child, run_schedule
from asyncsim.hw.launch.prepare import Stamps
from asyncsim.hw.launch.series import Form, meaning_of, run_series
from asyncsim.hw.launch.verify import Verification
from asyncsim.hw.probe import what_is_missing
from asyncsim.hw.twins import prepare, show
from asyncsim.ir.op import Compute
from asyncsim.trace import SpanKind

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(what_is_missing()), reason=what_is_missing() or "there is a GPU"),
]

EXTERNAL = str(Path(__file__).parent / "external_scenario.py")
PROVOKING = str(Path(__file__).parent / "provoking_scenarios.py")
ZOO = str(Path(__file__).parent / "zoo_scenario.py")


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as owner:
        yield owner


def small(name: str, **more: int) -> dict[str, int]:
    params = {"m": 256, "n": 256, "k": 512} if name == "ws_gemm" else {"ctas": 4, "tiles": 20}
    return {**params, **more}


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("name", ["tma_ring", "ws_gemm", "cp_async_multistage"])
def test_data_are_right(child: Child, name: str, stages: int) -> None:
    schedule = find_scenario(name).build(small(name, stages=stages))
    r = run_schedule(schedule, child=child, launches=0, verify_ctas=100)
    assert r.verification is not None and r.verification.ok, str(r.verification)
    assert r.verification.ctas == schedule.ctas


@pytest.mark.parametrize(
    "params",
    [
        {"block_m": 64, "block_n": 256},
        {"block_m": 64, "block_n": 64, "block_k": 32},
        {"block_k": 16, "lag": 0},
    ],
    ids=str,
)
def test_gemm_shapes(child: Child, params: dict[str, int]) -> None:
    schedule = find_scenario("ws_gemm").build(small("ws_gemm", **params))
    r = run_schedule(schedule, child=child, launches=0)
    assert r.verification is not None and r.verification.ok, str(r.verification)


@pytest.mark.parametrize("tiles", [0, 1, 3])
def test_few_tiles(child: Child, tiles: int) -> None:
    for name in ("tma_ring", "cp_async_multistage"):
        schedule = find_scenario(name).build({"ctas": 2, "tiles": tiles, "stages": 4})
        r = run_schedule(schedule, child=child, launches=0)
        assert r.verification is not None and r.verification.ok, f"{name}: {r.verification}"


def test_a_deadlock_ends_and_says_where(child: Child) -> None:
    schedule = find_scenario("tma_ring").build({"ctas": 264}, "producer_phase")
    r = run_schedule(schedule, child=child, launches=0, broken=True)
    assert r.diagnosis is not None and r.timing is None
    assert (r.diagnosis.role, r.diagnosis.barrier) in (("consumer", "full[0]"),
                                                       ("producer", "empty[0]"))  # fmt: skip
    assert data_of(child).ok  # the same process goes on


def data_of(child: Child) -> Verification:
    schedule = find_scenario("tma_ring").build(small("tma_ring"))
    verification = run_schedule(schedule, child=child, launches=0).verification
    assert verification is not None
    return verification


def test_a_delay_shows_an_early_release(child: Child) -> None:
    p = prepare("tma_ring", "early_release", small("tma_ring"))
    schedule = find_scenario("tma_ring").build(p.params, p.twin)
    shown = show(child, schedule, p.meaning, p.tries)
    assert shown.form == "wrong data" and "differ: " in shown.what
    assert shown.delay.startswith("compute tile_hash delayed by ")


@pytest.mark.parametrize("l2", ["cold", "warm"])
def test_every_launch_is_compared(child: Child, l2: str) -> None:
    """Right values are no failure; one wrong bit is, at the first launch."""
    schedule = find_scenario("ws_gemm").build(small("ws_gemm", m=200))
    tables = np.stack([random_table(schedule, seed) for seed in range(20)])
    meaning = meaning_of(schedule, schedule.ctas)
    r = run_series(schedule, meaning, child, tables=tables, l2=l2)
    assert (r.done, r.failure) == (20, None)
    meaning.images["c"].values.view(np.uint32)[199, 255] ^= 1
    r = run_series(schedule, meaning, child, tables=tables, l2=l2)
    assert r.done == 0 and r.failure is not None and r.failure.form is Form.WRONG_DATA
    assert r.failure.what.startswith("1 of 51200 elements of 4 of 4 CTAs differ: c[199, 255] is ")


@pytest.mark.parametrize(
    ("name", "twin", "shows"),
    [("late_stores", "no_fence", True), ("early_reuse", "no_wait", False)],
)
def test_what_the_copy_engine_forgives(child: Child, name: str, twin: str, shows: bool) -> None:
    """Stores that no proxy fence orders are late; memory of a CTA that has left is kept."""
    scenario = find_scenario(f"{PROVOKING}:{name}")
    meaning = meaning_of(scenario.build(), 8)
    clean = run_series(scenario.build(), meaning, child, launches=20)
    assert (clean.done, clean.failure) == (20, None)
    r = run_series(scenario.build(twin=twin), meaning, child, launches=100, broken=True)
    assert (r.failure is not None) == shows, str(r.failure)


def test_each_launch_has_its_own_delays(child: Child) -> None:
    schedule = find_scenario("tma_ring").build(small("tma_ring"), "early_release")
    compute = [o.id for o in schedule.ops() if isinstance(o, Compute)][-1]
    tables = np.stack([table_of(schedule, d) for d in ({}, {}, {compute: 20_000}, {})])
    clean = find_scenario("tma_ring").build(small("tma_ring"))
    r = run_series(schedule, meaning_of(clean, 4), child, tables=tables, broken=True)
    assert r.done == 2 and r.failure is not None and r.failure.form is Form.WRONG_DATA


def test_the_wrong_tile_is_what_evaluate_says(child: Child) -> None:
    """An ordered read of the wrong tile: the GPU and evaluate agree on the wrong numbers."""
    twin = find_scenario("tma_ring").build(small("tma_ring"), "wrong_tile")
    r = run_schedule(twin, child=child, launches=0, broken=True)
    assert r.verification is not None and r.verification.ok


def test_times_and_stamps(child: Child) -> None:
    schedule = find_scenario("tma_ring").build({"ctas": 1, "tiles": 64})
    r = run_schedule(schedule, child=child, launches=20, l2="warm", stamps=Stamps())
    assert r.timing is not None and r.stamped is not None and r.trace is not None
    assert r.timing.n == 20 and 64 * 264 < r.timing.cycles < 64 * 700
    assert 1000 < r.timing.clock_mhz < 2100
    assert r.trace.complete and max(s.end for s in r.trace.spans) < 3 * r.stamped.cycles
    waits = [s for s in r.trace.spans if s.kind is SpanKind.STALL and s.track == "consumer/0"]
    assert len([s for s in waits if s.name.startswith("MbarrierWait full")]) == 64


@pytest.mark.parametrize("params", [{"m": 16, "n": 32}, {"m": 1000, "n": 1024}], ids=str)
def test_a_copy_through_one_tile_a_cta(child: Child, params: dict[str, int]) -> None:
    schedule = find_scenario("tma_copy").build(params)
    r = run_schedule(schedule, child=child, launches=0, verify_ctas=100)
    assert r.verification is not None and r.verification.ok, str(r.verification)


def test_a_scenario_from_outside_the_package(child: Child) -> None:
    schedule = find_scenario(EXTERNAL).build({"tiles": 9, "ctas": 5})
    r = run_schedule(schedule, child=child, launches=20, l2="cold")
    assert r.verification is not None and r.verification.ok, str(r.verification)
    assert r.timing is not None and r.timing.n == 20


@pytest.mark.parametrize("turns", [0, 1, 6])
def test_every_op(child: Child, turns: int) -> None:
    r = run_schedule(find_scenario(ZOO).build({"turns": turns}), child=child, launches=0)
    assert r.verification is not None and r.verification.ok, str(r.verification)
