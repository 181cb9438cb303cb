"""The jump changes no result, and is made: full walks beside it, on every kind of loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder
from asyncsim.catalog import builtin_scenarios
from asyncsim.check import check
from asyncsim.check.jump import Jumper
from asyncsim.check.recurrence import Recurrence
from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.scenario import Scenario
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from tests.check.written import written
from tests.oracle.longer import longer
from tests.oracle.strategies import random_schedule

SIZES = {
    "cooperative_gemm": {"m": 256, "n": 512, "k": 640, "ctas": 1},
    "cp_async_multistage": {"tiles": 25, "ctas": 2},
    "dispatch": {"rows": 25, "width": 8, "ctas": 2},
    "fp8_gemm": {"m": 256, "n": 256, "k": 1152, "ctas": 1},
    "mma_gemm": {"m": 128, "n": 128, "k": 448},
    "pingpong_gemm": {"m": 256, "n": 256, "k": 640, "ctas": 1},
    "sgemm_cp_async": {"m": 128, "n": 128, "k": 200},
    "sync_copy": {"tiles": 25, "ctas": 2},
    "tma_copy": {"m": 64, "n": 64},
    "tma_reduce": {"tiles": 25, "ctas": 2},
    "tma_ring": {"tiles": 37, "ctas": 2},
    "ws_gemm": {"m": 256, "n": 128, "k": 2048},
}

SCENARIOS = [s for s in builtin_scenarios() if s.name in SIZES]
FORMS = [(s, t) for s in SCENARIOS for t in ("", *(t.name for t in s.twins))]


def compared(schedule: Schedule) -> CheckResult:
    """The result with jumps, which is that of a full walk."""
    jumped = check(schedule, max_states=20_000)
    full = check(schedule, max_states=20_000, jump=False)
    assert full.stats["passed"] == 0
    assert jumped.stats["ops"] == full.stats["ops"]
    assert replace(jumped, stats={}) == replace(full, stats={})
    return jumped


def passed(schedule: Schedule) -> int:
    return compared(schedule).stats["passed"]


@pytest.mark.parametrize(("scenario", "twin"), FORMS, ids=[f"{s.name}-{t}" for s, t in FORMS])
def test_every_scenario_and_twin(scenario: Scenario, twin: str) -> None:
    params = SIZES[scenario.name] | (dict(scenario.twin(twin).params) if twin else {})
    compared(scenario.build(params, twin))


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("tiles", [60, 61, 62, 63])
def test_rings_jump(stages: int, tiles: int) -> None:
    params = {"stages": stages, "tiles": tiles, "consumers": 1 + tiles % 3, "ctas": 1}
    result = compared(tma_ring.build({**params, "tile_bytes": 1024}))
    assert result.verdict is Verdict.CLEAN and result.certified
    assert result.stats["passed"] > result.stats["ops"] // 3


def test_a_gemm_jumps() -> None:
    assert passed(ws_gemm.build({"m": 128, "n": 128, "k": 4096})) > 500


def test_attention_jumps() -> None:
    """The barrier of the queries stays in its second phase."""
    params = {"seq": 4096, "heads": 1, "hdim": 64}
    assert passed(flash_attention.build(params)) > 2000


def test_a_gemm_of_a_cluster_jumps() -> None:
    """Each half of a stage is overwritten by a multicast of its own, the reads of both by none."""
    params = {"m": 256, "n": 512, "k": 1920, "cluster_n": 2, "ctas": 4}
    stats = compared(multicast_gemm.build(params)).stats
    assert stats["passed"] > 1000


def test_what_is_passed_does_not_cost() -> None:
    """The walked ops do not grow with the trip count."""
    walked = set()
    for tiles in (200, 1000):
        stats = check(tma_ring.build({"tiles": tiles, "ctas": 1})).stats
        walked.add(stats["ops"] - stats["passed"])
    assert len(walked) == 1


RANDOM = (
    *("tma_ring", "wgmma_ring", "rendezvous", "named", "cp_async", "bulk_store", "plain"),
    *("multicast_ring", "exchange", "mailbox", "meetings", "peeking_ring"),
)


@settings(
    max_examples=120, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(
    name=st.sampled_from(RANDOM),
    more=st.integers(12, 33),
    rng=st.randoms(use_true_random=False),
)
def test_random_schedules(name: str, more: int, rng: Random) -> None:
    """Whole and broken ones, whose conditions on the index do not know how long the loop is."""
    try:
        schedule = random_schedule(name, rng)
    except ScheduleError:
        return
    try:
        compared(longer(schedule, more))
    except ScheduleError:
        return


# -- what shows late --------------------------------------------------------------------------

Change = Callable[[ScheduleBuilder, object], object]

STEPS = 80


def ring(  # type: ignore[no-untyped-def]
    *,
    skip_wait=None,
    skip_release=None,
    flip=None,
    stage=None,
    bytes_=None,
    row=None,
    steps=STEPS,
    rows: int | None = None,
) -> Schedule:
    """A ring of three stages. Each argument is a condition, or value, of the round ``i``."""
    k = ScheduleBuilder("late")
    if callable(steps):  # a kernel argument
        steps, rounds = rows, steps(k)
    else:
        rounds = steps
    source = k.global_tensor("source", (rows or steps, 32), "f32")
    out = k.global_tensor("out", (steps + 8, 32), "f32", output=True)
    rows_map = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32", stages=3)
    full, empty = k.mbarriers("full", count=1, stages=3), k.mbarriers("empty", count=1, stages=3)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(3)
            with k.loop(rounds) as i:
                with k.when(skip_wait(i) == 0 if skip_wait else 1):
                    k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box((i, 0), (1, 32))
                at = stage(i, state.stage) if stage else state.stage
                k.mem.ld_shared(x.all, tile[at].expecting(meant).box((0, k.lane), (1, 1)))
                if row:
                    k.mem.st_global(out.box((row(i), k.lane), (1, 1)), x.all)
                k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect(), k.when(skip_release(i) if skip_release else 1):
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(3, producer=True, name="p")
            with k.loop(rounds, name="j") as j:
                phase = flip(j, state.phase) if flip else state.phase
                k.mbarrier.wait(empty[state.stage], phase)
                amount = bytes_(j) if bytes_ else 128
                k.mbarrier.arrive_expect_tx(full[state.stage], amount)
                k.tma.load(tile[state.stage], rows_map, (j, 0), full[state.stage])
                state.advance()
    return k.finish()


def test_the_ring_itself_is_clean_and_jumps() -> None:
    assert check(ring()).verdict is Verdict.CLEAN
    assert passed(ring()) > 200


LATE = {
    "a wait is left out": {"skip_wait": lambda i: i == 70},
    "the last wait is left out": {"skip_wait": lambda i: i == STEPS - 1},
    "a release is left out": {"skip_release": lambda i: i != 61},
    "a parity is turned": {"flip": lambda i, p: p ^ (i == 55)},
    "another stage is read": {"stage": lambda i, s: (s + (i == 50)) % 3},
    "too few bytes": {"bytes_": lambda i: 128 - 16 * (i == 66)},
    "too few bytes from there on": {"bytes_": lambda i: 128 - 16 * (i >= 66)},
    "rows of the output meet again": {"row": lambda i: i % 64},
    "a row of the output is written twice": {"row": lambda i: i - 70 * (i == 71)},
    "a row outside": {"row": lambda i: i + 9 * (i >= 79)},
    "a row outside by its step": {"row": lambda i: 2 * i},
}


@pytest.fixture
def jumps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The windows passed over by each jump that is made, those that are undone included."""
    made: list[int] = []
    move = Jumper._move

    def counted(self: Jumper, found: Recurrence, windows: int) -> None:
        made.append(windows)
        move(self, found, windows)

    monkeypatch.setattr(Jumper, "_move", counted)
    return made


@pytest.mark.parametrize("name", LATE)
def test_a_bug_that_shows_late_is_found(name: str, jumps: list[int]) -> None:
    result = compared(ring(**LATE[name]))
    assert jumps or "row" in name  # stores that meet, or lie outside, stop it before
    clean = name == "rows of the output meet again" or "written twice" in name
    assert (result.verdict is Verdict.CLEAN) == clean  # one thread's stores are in order


@pytest.mark.parametrize("at", [30, 41, 52, 79])
@pytest.mark.parametrize("steps", [80, 81, 82])
def test_the_round_of_the_bug_and_the_tail(at: int, steps: int) -> None:
    result = compared(ring(skip_wait=lambda i: i == at, steps=steps))
    assert result.verdict is Verdict.FINDINGS


def test_a_load_of_what_the_kernel_stores() -> None:
    """Row 70 of what the loop has stored comes back by TMA, 40 rounds later, without any order."""
    k = ScheduleBuilder("back")
    out = k.global_tensor("out", (200, 32), "f32", output=True)
    rows = k.tensor_map("rows", out, box=(1, 32))
    tile, full = k.smem_tile("tile", (1, 32), "f32"), k.mbarriers("full", count=1)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("stores", warps=1), k.loop(100) as i:
            k.mem.st_global(out.box((i, k.lane), (1, 1)), x.all)
        with k.role("loads", warps=1), k.elect():
            phase = k.var("phase", 0)
            with k.loop(100, name="j") as j:
                k.mbarrier.arrive_expect_tx(full[0], 128)
                k.tma.load(tile[0], rows, (171 - j, 0), full[0])
                k.mbarrier.wait(full[0], phase)
                phase.set(phase ^ 1)
    assert compared(k.finish()).verdict is Verdict.FINDINGS


def test_a_clean_turn_of_the_loop_bounds_the_jump() -> None:
    """A condition that changes once: jumps on both sides, and a walk across."""
    schedule = ring(skip_release=lambda i: i * 0 + 1, row=lambda i: i + 4 * (i > 40))
    result = compared(schedule)
    assert result.verdict is Verdict.CLEAN
    assert 0 < result.stats["passed"] < result.stats["ops"]


def tiles(*, tiles: int, steps: int, stages: int = 2, late: bool = False) -> Schedule:
    """Persistent tiles: a ring over steps that goes on from tile to tile, and a row stored of each.

    ``late``: the last step of the last tile is read before it has come.
    """
    k = ScheduleBuilder("tiles")
    source = k.global_tensor("source", (tiles, steps * 32), "f32")
    out = k.global_tensor("out", (tiles, 32), "f32", output=True)
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32", stages=stages)
    full, empty = (k.mbarriers(n, count=1, stages=stages) for n in ("full", "empty"))
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(tiles) as t:
                with k.loop(steps, name="s") as s:
                    last = (t == tiles - 1) & (s == steps - 1)
                    with k.when(last == 0 if late else 1):
                        k.mbarrier.wait(full[state.stage], state.phase)
                    meant = source.box((t, 32 * s), (1, 32))
                    view = tile[state.stage].expecting(meant)
                    k.mem.ld_shared(x.all, view.box((0, k.lane), (1, 1)))
                    k.fence.proxy_async("shared")
                    k.bar.warp_sync()
                    with k.elect():
                        k.mbarrier.arrive(empty[state.stage])
                    state.advance()
                k.mem.st_global(out.box((t, k.lane), (1, 1)), x.all)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True, name="p")
            with k.loop(tiles, name="u") as u, k.loop(steps, name="v") as v:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                k.tma.load(tile[state.stage], rows, (u, 32 * v), full[state.stage])
                state.advance()
    return k.finish()


@pytest.mark.parametrize("steps", [1, 3, 4, 7, 40])
def test_loops_in_loops(steps: int) -> None:
    result = compared(tiles(tiles=40, steps=steps))
    assert result.verdict is Verdict.CLEAN
    assert result.stats["passed"] > result.stats["ops"] // 2


def test_inner_and_outer_jumps_add_up() -> None:
    """Long inner loops: each is cut short, and then most of the outer rounds are."""
    stats = compared(tiles(tiles=60, steps=60)).stats
    assert stats["passed"] > stats["ops"] * 9 // 10


@pytest.mark.parametrize("steps", [3, 4, 40])
def test_a_bug_in_the_last_step_of_the_last_tile(steps: int) -> None:
    assert compared(tiles(tiles=40, steps=steps, late=True)).verdict is Verdict.FINDINGS
