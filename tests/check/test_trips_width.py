"""Claims of larger trip counts end where an integer of the kernel leaves its 32 bits."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.check.trips import grown
from asyncsim.check.width import too_wide
from asyncsim.ir.expr import Binary, Expr, Unary, walk
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Trips
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.sgemm_cp_async import sgemm_cp_async
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.stream.operands import operand_exprs
from asyncsim.stream.program import WarpPlace
from asyncsim.stream.tracer import ExprTable, Tracer
from tests.check.written import written

LOW, HIGH = -(1 << 31), (1 << 31) - 1


@pytest.mark.parametrize(
    "schedule",
    [
        cp_async_multistage.build({"tiles": 40, "ctas": 3}),
        tma_ring.build({"tiles": 60}),
        sgemm_cp_async.build({"m": 128, "n": 128, "k": 320}),
        ws_gemm.build({"m": 128, "n": 128, "k": 4096}),
    ],
    ids=lambda schedule: schedule.name,
)
def test_a_claim_ends_at_the_first_step_that_is_too_wide(schedule: Schedule) -> None:
    trips = check(schedule, trips=True).trips
    assert trips is not None
    steps = (trips.last - trips.value) // trips.step
    assert too_wide(grown(schedule, trips, steps)) is None
    wide = too_wide(grown(schedule, trips, steps + 1))
    assert wide is not None and wide.split(" may reach")[0] == trips.ends.split(" leaves")[0]


def sums(rng: Random, n: int, ctas: int = 1) -> Schedule:
    """Variables that grow with rounds, or start again, in a loop of loads that do not move."""
    k = ScheduleBuilder("sums")
    count = k.arg("n", n)
    k.grid(ctas)
    source = k.global_tensor("source", (64, 32), "f32")
    x = written(k, "x", registers=1)
    large = 1 << rng.randint(18, 26)
    names = ["a", "b", "c"][: rng.randint(1, 3)]
    starts = [rng.choice([0, 1, large, -large, count * rng.choice([0, 1, large])]) for _ in names]
    held = [k.var(name, start) for name, start in zip(names, starts, strict=True)]
    laps = [rng.randint(1, 4) for _ in names]
    with k.loop(count) as i:
        for var, lap in zip(held, laps, strict=True):
            match rng.randrange(5):
                case 0:
                    var.set(var + rng.choice([large, -large]))
                case 1:
                    var.set(var + large)
                    with k.when(i % lap == 0):
                        var.set(var - lap * large)
                case 2:
                    var.set((count - i) * rng.choice([large, -large]))
                case 3:
                    with k.when(i >= count - lap):
                        var.set(var + i * large)
                case 4:
                    with k.when(i % lap == 0):
                        var.set(var + large)
            row = (var * rng.choice([0, 64, 1 << 20])) % 64 * 0
            k.mem.ld_global(x.all, source.box((row, k.lane), (1, 1)))
    with k.loop(rng.randint(0, 3)) as j:
        held[0].set(held[0] + j * large)
    return k.finish()


def reached(schedule: Schedule) -> tuple[int, int]:
    """The least and the greatest of all that variables are set to, and operands computed from."""
    tracer = Tracer(schedule, WarpPlace((0, 0, 0), 0, "block", 0), table := ExprTable())
    values = [0]

    def note(name: str, value: object) -> None:
        assert isinstance(value, int)
        values.append(value)

    tracer.kept = note
    while (op := tracer.next()) is not None:
        env = {**tracer.env, "lane": 31}
        for expr in operand_exprs(op):
            values += [table.value(node, False)(env) for node in nodes(expr)]
    return min(values), max(values)


def nodes(expr: Expr) -> list[Expr]:
    return [node for node in walk(expr) if isinstance(node, Binary | Unary)]


@settings(
    max_examples=100, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(n=st.integers(12, 18), rng=st.randoms(use_true_random=False))
def test_nothing_leaves_32_bits_inside_a_claim(n: int, rng: Random) -> None:
    schedule = sums(rng, n)
    trips = check(schedule, trips=True).trips
    if trips is not None:
        inside(schedule, trips)


def inside(schedule: Schedule, trips: Trips) -> None:
    steps = (trips.last - trips.value) // trips.step
    for m in sorted({1, 2, steps // 2, steps - 1, steps} & set(range(min(steps, 4000) + 1))):
        low, high = reached(grown(schedule, trips, m))
        assert low >= LOW and high <= HIGH, (m, steps)


def test_the_sums_are_claimed_and_end() -> None:
    """Else the test above would say nothing."""
    found = [check(sums(Random(seed), 16), trips=True) for seed in range(60)]
    ends = [r.trips.last for r in found if r.trips is not None]
    assert len(ends) > 15 and sum(last < 5000 for last in ends) > 8


@pytest.mark.parametrize("by", [1 << 20, -(1 << 20)])
def test_a_variable_that_counts_on_ends_the_claim(by: int) -> None:
    k = ScheduleBuilder("sum")
    count = k.arg("n", 20)
    source = k.global_tensor("source", (8, 32), "f32")
    x, far = written(k, "x", registers=1), k.var("far", 5)
    with k.loop(count):
        far.set(far + by)
        k.mem.ld_global(x.all, source.box((far % 8, k.lane), (1, 1)))
    schedule = k.finish()
    trips = check(schedule, trips=True).trips
    assert trips is not None
    assert trips.last == (2046 if by > 0 else 2047)  # the last 5 + n * by might be added to again
    assert trips.ends.startswith(f"far + {by if by > 0 else f'({by})'} at ")
    inside(schedule, trips)


def test_what_differs_from_cta_to_cta_is_not_followed() -> None:
    k = ScheduleBuilder("place")
    count = k.arg("n", 20)
    k.grid(4)
    source = k.global_tensor("source", (8, 32), "f32")
    x, far = written(k, "x", registers=1), k.var("far", k.block_idx)
    with k.loop(count):
        far.set(far + 8)
        k.mem.ld_global(x.all, source.box((0, k.lane), (1, 1)))
    result = check(k.finish(), trips=True)
    assert result.trips is None
    assert result.unclaimed.startswith("how large far at test_trips_width.py:")
    assert result.unclaimed.endswith(" may be is not known")
