"""Correct schedules that ``check`` accuses, and schedules that it leaves undecided."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written, written_tile


def rules(schedule: Schedule) -> list[str]:
    """The errors, or the verdict if there are none."""
    result = check(schedule, max_states=2000)
    errors = [f.rule.name for f in result.findings if f.severity.value == "error"]
    return errors or [result.verdict.value]


def accused(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=f"correct, yet accused: {reason}")


def undecided(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=f"undecided: {reason}")


# -- correct, yet accused ------------------------------------------------------------------------


def boxes(at: Callable[[ScheduleBuilder], tuple[object, object]]) -> Schedule:
    """Three CTAs store an (8, 32) box each to a tensor of that shape, clipped by the map."""
    k = ScheduleBuilder("boxes")
    k.grid(3)
    out = k.global_tensor("out", (8, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(8, 32))
    tile = written_tile(k, k.smem_tile("tile", (8, 32), "f32"))
    with k.elect_thread():
        k.tma.store(out_map, at(k), tile[0])  # type: ignore[arg-type]
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=True)
    return k.finish()


@pytest.mark.parametrize(
    "at",
    [
        lambda k: (0, 32 + k.block_idx * 16),
        lambda k: (8 + k.block_idx * 4, 0),
        lambda k: (-8 - k.block_idx * 4, 0),
        lambda k: (0, -32 - k.block_idx * 16),
    ],
    ids=["right of it", "below it", "above it", "left of it"],
)
def test_boxes_that_meet_outside_the_tensor(
    at: Callable[[ScheduleBuilder], tuple[object, object]],
) -> None:
    assert rules(boxes(at)) == ["clean"]


def test_arrivals_of_32_lanes_are_32_operations() -> None:
    k = ScheduleBuilder("rendezvous")
    meet = k.mbarriers("meet", count=64)
    with k.elect_thread():
        k.mbarrier.init_all(meet)
    k.bar.sync()
    with k.specialize():
        with k.role("leader", warps=1):
            for parity in (0, 1):
                k.mbarrier.arrive(meet[0])
                k.mbarrier.wait(meet[0], parity)
        with k.role("follower", warps=1):
            k.mbarrier.arrive(meet[0])
            k.mbarrier.arrive(meet[0])
    assert "ARRIVAL_OVERFLOW" not in rules(k.finish())


# -- undecided -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("twice", "expected"), [(1, "clean"), (2, "GLOBAL_WRITE_OVERLAP")])
def test_two_stores_that_move_differently(twice: int, expected: str) -> None:
    k = ScheduleBuilder("two_stores")
    k.grid(4)
    out = k.global_tensor("out", (8, 32), "f32", output=True)
    reg = written(k, "reg", registers=1)
    k.mem.st_global(out.box((k.block_idx, k.lane), (1, 1)), reg.all)
    row = 7 - k.block_idx if twice == 1 else k.block_idx * 2 + 1
    k.mem.st_global(out.box((row, k.lane), (1, 1)), reg.all)
    assert rules(k.finish()) == [expected]


def test_disjoint_tiles_of_a_large_grid() -> None:
    k = ScheduleBuilder("large")
    k.grid(128, 128)
    out = k.global_tensor("out", (128, 128 * 32), "f32", output=True)
    reg = written(k, "reg", registers=1)
    k.mem.st_global(out.box((k.block_idx, k.block_idx_y * 32 + k.lane), (1, 1)), reg.all)
    assert rules(k.finish()) == ["clean"]


def rendezvous_ring(stages: int, steps: int, *, warning: bool) -> Schedule:
    """One rendezvous barrier for all stages; counting proves it for up to two stages."""
    k = ScheduleBuilder("ring")
    source = k.global_tensor("source", (1, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = written_tile(k, k.smem_tile("tile", (1, 32), "f32"))
    reg = written(k, "reg", registers=1)
    meet, bar = k.mbarriers("meet", count=2), k.mbarriers("bar", count=1)
    free = k.mbarriers("free", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(meet, bar, free)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("leader", warps=1), k.elect():
            state = k.pipeline_state(stages, name="lead")
            with k.loop(steps) as i:
                k.mbarrier.arrive(meet[0])
                k.mbarrier.wait(meet[0], i & 1)
                k.mbarrier.arrive(free[state.stage])
                state.advance()
        with k.role("follower", warps=1), k.elect():
            state = k.pipeline_state(stages, name="follow", producer=True)
            with k.loop(steps, name="j"):
                k.mbarrier.wait(free[state.stage], state.phase)
                k.mbarrier.arrive(meet[0])
                state.advance()
        with k.role("bystander", warps=1), k.elect():
            if warning:  # a PROXY_WAR that has nothing to do with the ring
                k.mem.ld_shared(reg.all, tile[0].box((0, 0), (1, 1)))
            k.mbarrier.arrive_expect_tx(bar[0], 128)
            k.tma.load(tile[0], rows, (0, 0), bar[0])
            k.mbarrier.wait(bar[0], 0)
    return k.finish()


@pytest.mark.parametrize(
    ("steps", "warning"),
    [
        (40, False),
        (40, True),
        (210, False),
    ],
)
def test_counting_decides_a_rendezvous_ring(steps: int, warning: bool) -> None:
    assert check(rendezvous_ring(2, steps, warning=warning), max_states=2000).verdict is (
        Verdict.CLEAN
    )


def test_persistent_tiles_of_an_ordinary_launch() -> None:
    k = ScheduleBuilder("persistent")
    ctas, tiles, steps = 132, 1024, 64
    k.grid(ctas)
    k.block(2)
    out = k.global_tensor("out", (tiles, 32), "f32", output=True)
    reg, bar = written(k, "reg", registers=1), k.mbarriers("bar", count=2)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.bar.sync()
    phase = k.var("phase", 0)
    with k.loop((tiles - k.block_idx + ctas - 1) // ctas, name="t") as t:
        with k.loop(steps):
            k.bar.warp_sync()
            with k.elect():
                k.mbarrier.arrive(bar[0])
            k.mbarrier.wait(bar[0], phase)
            phase.set(phase ^ 1)
        with k.when(k.warp_in_role == 0):
            k.mem.st_global(out.box((k.block_idx + t * ctas, k.lane), (1, 1)), reg.all)
    assert rules(k.finish()) == ["clean"]


def accumulate_in_place(steps: int) -> float:
    """Seconds to check a loop in which each lane reads and writes its own global element."""
    k = ScheduleBuilder("in_place")
    total = k.global_tensor("total", (1, 32), "f32", output=True)
    reg = written(k, "reg", registers=1)
    mine = total.box((0, k.lane), (1, 1))
    with k.loop(steps):
        k.mem.ld_global(reg.all, mine)
        k.mem.st_global(mine, reg.all)
    schedule = k.finish()
    start = perf_counter()
    assert check(schedule).verdict is Verdict.CLEAN
    return perf_counter() - start


def test_an_accumulation_in_global_memory_is_checked_in_linear_time() -> None:
    assert accumulate_in_place(800) < 8 * accumulate_in_place(200)
