"""Streams stay small, and what cannot be computed is an error with a line."""

from __future__ import annotations

import tracemalloc

import pytest

from asyncsim import ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.rules import Rule
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.stream import Program, StreamLimit
from asyncsim.stream.program import run_checked


def peak_of(schedule, *, accesses: bool) -> tuple[int, int]:
    """Peak bytes while every warp of a CTA is streamed, and the ops streamed."""
    program = Program(schedule)
    tracemalloc.start()
    ops = 0
    for warp in range(schedule.warps):
        for dyn, _ in program.stream((0, 0, 0), warp):
            ops += 1
            if accesses:
                assert dyn.accesses is not None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, ops


@pytest.mark.parametrize(
    ("scenario", "few", "many"),
    [
        (tma_ring, {"tiles": 500, "ctas": 1}, {"tiles": 5000, "ctas": 1}),
        (cp_async_multistage, {"tiles": 500, "ctas": 1}, {"tiles": 5000, "ctas": 1}),
        (
            ws_gemm,
            {"m": 128, "n": 128, "k": 64 * 150},
            {"m": 128, "n": 128, "k": 64 * 1500},
        ),
    ],
)
def test_ten_times_the_tiles_need_no_more_memory(scenario, few, many):
    small, ops = peak_of(scenario.build(few), accesses=False)
    large, more_ops = peak_of(scenario.build(many), accesses=False)
    assert more_ops > 9 * ops
    assert large < 1.1 * small + 10_000


def test_footprints_of_ten_times_the_tiles_need_little_more_memory():
    """Regions of a ring repeat; only the bounded tables of the resolver may fill up."""
    small, _ = peak_of(tma_ring.build({"tiles": 1000, "ctas": 1}), accesses=True)
    large, _ = peak_of(tma_ring.build({"tiles": 10_000, "ctas": 1}), accesses=True)
    assert large < 3 * small


def schedule_with(make):
    k = ScheduleBuilder("limits")
    bar = k.mbarriers("bar", count=1, stages=2)
    n = k.arg("n", 0)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        make(k, bar, n)
    return k.finish()


def run(schedule, limit: int = 1000) -> int:
    events = run_checked(Program(schedule).stream((0, 0, 0), 0), limit)
    return sum(1 for _ in events)


def test_division_by_zero_is_a_schedule_error():
    s = schedule_with(lambda k, bar, n: k.mbarrier.arrive(bar[5 // n]))
    with pytest.raises(ScheduleError) as caught:
        run(s)
    assert str(caught.value) == (
        "division by zero in an expression of the schedule; make the divisor at least 1"
    )


@pytest.mark.parametrize("warp", [0, 5])
@pytest.mark.parametrize(
    ("divided", "message"),
    [
        (lambda t, bad: t + 0 // (t - bad), "division by zero in an expression of the schedule"),
        (lambda t, bad: t + 0 % (t - bad), "division by zero in an expression of the schedule"),
        (
            lambda t, bad: t + (t >> 8 >> (t - bad)),
            "an expression of the schedule fails: negative shift count",
        ),
    ],
)
def test_what_fails_in_one_lane_is_a_schedule_error(divided, message: str, warp: int):
    k = ScheduleBuilder("one_lane")
    source = k.global_tensor("source", (1, 256), "f32")
    x = k.fragment("x", registers=1, dtype="f32")
    with k.specialize(), k.role("all", warps=6):
        column = divided(k.thread_in_role, 32 * warp + 3)
        k.mem.ld_global(x.all, source.box((0, column), (1, 1)))
    with pytest.raises(ScheduleError) as caught:
        check(k.finish())
    assert caught.value.message == message
    assert caught.value.loc is not None


def test_negative_shift_is_a_schedule_error():
    s = schedule_with(lambda k, bar, n: k.mbarrier.arrive(bar[1 << (n - 1)]))
    with pytest.raises(ScheduleError) as caught:
        run(s)
    assert str(caught.value) == (
        "an expression of the schedule fails: negative shift count; check shifts and sizes"
    )


def test_barrier_stage_out_of_its_array_is_out_of_bounds():
    s = schedule_with(lambda k, bar, n: k.mbarrier.arrive(bar[n + 2]))
    with pytest.raises(ScheduleError) as caught:
        run(s)
    assert caught.value.rule is Rule.OUT_OF_BOUNDS
    assert caught.value.message == "mbarrier bar[2] of 2"
    assert caught.value.fix == "the stage must be 0..1"


def test_a_stream_past_the_stated_number_of_ops_stops():
    def forever(k, bar, n):
        with k.loop(1 << 19):
            k.mbarrier.arrive(bar[0])

    s = schedule_with(forever)
    with pytest.raises(
        StreamLimit, match="^a warp executes more than 1000 ops; lower the trip counts$"
    ):
        run(s)


def test_a_stream_of_exactly_the_limit_is_complete():
    def some(k, bar, n):
        with k.loop(8):
            k.mbarrier.arrive(bar[0])

    assert run(schedule_with(some), limit=10) == 10  # two inits


@pytest.mark.parametrize(("outer", "inner", "ends"), [(1000, 999, True), (1000, 1000, False)])
def test_rounds_of_nested_loops_are_counted_together(outer, inner, ends):
    k = ScheduleBuilder("rounds")
    with k.loop(outer), k.loop(inner), k.when(k.block_idx > 0):
        k.bar.sync()
    stream = Program(k.finish()).stream((0, 0, 0), 0)
    if ends:
        assert list(stream) == []
        return
    with pytest.raises(StreamLimit, match="1001000 rounds of loops; at most 1000000 are"):
        list(stream)
