"""Bugs of real kernels, each written as a schedule and named by its rule."""

from __future__ import annotations

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Rule, ScheduleBuilder, Work
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written

USE = ComputeDef(
    name="use",
    operands=(ComputeOperand(name="tile", kind="smem"),),
    work=lambda: Work(alu=4),
    cuda="",
    numpy=lambda **kw: None,
)

FILL = ComputeDef(
    name="fill",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=4),
    cuda="",
    numpy=lambda **kw: None,
)


def rules(schedule: Schedule) -> list[str]:
    return [f.rule.name for f in check(schedule).findings]


def persistent_ring(*, flip_in_tail: bool, tiles: int = 2, steps: int = 5) -> Schedule:
    """A persistent tile loop; the last step of each tile is peeled off, and forgets the flip."""
    k = ScheduleBuilder("persistent")
    stages = 2
    source = k.global_tensor("source", (tiles * steps, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32))
    ring = k.smem_tile("ring", (1, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)

            def consume(row: object, *, flip: bool) -> None:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box((row, 0), (1, 32))  # type: ignore[arg-type]
                k.mem.compute(USE, ring[state.stage].expecting(meant))
                k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                state.advance(flip=flip)

            with k.loop(tiles, name="tile") as tile:
                with k.loop(steps - 1) as i:
                    consume(tile * steps + i, flip=True)
                consume(tile * steps + steps - 1, flip=flip_in_tail)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(tiles * steps) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                k.tma.load(ring[state.stage], source_map, (i, 0), full[state.stage])
                state.advance()
    return k.finish()


@pytest.mark.parametrize("steps", [2, 4, 6])
def test_forgotten_flip_in_the_tail_of_a_persistent_loop(steps: int) -> None:
    assert rules(persistent_ring(flip_in_tail=True, steps=steps)) == []
    (found,) = rules(persistent_ring(flip_in_tail=False, steps=steps))
    assert found in ("DEADLOCK", "VACUOUS_WAIT", "WRONG_TILE")


def two_waiters(*, arrivals: int) -> Schedule:
    """Two consumer warps wait for each tile; ``arrivals`` of them free the stage."""
    k = ScheduleBuilder("two_waiters")
    stages, tiles = 2, 9
    source = k.global_tensor("source", (tiles, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32))
    ring = k.smem_tile("ring", (1, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=arrivals, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=2):
            state = k.pipeline_state(stages)
            with k.loop(tiles) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box((i, 0), (1, 32))
                k.mem.compute(USE, ring[state.stage].expecting(meant))
                k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.when(k.warp_in_role < arrivals), k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(tiles) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                k.tma.load(ring[state.stage], source_map, (i, 0), full[state.stage])
                state.advance()
    return k.finish()


def test_one_warp_arrives_for_two_that_wait() -> None:
    assert rules(two_waiters(arrivals=2)) == []
    assert rules(two_waiters(arrivals=1)) == ["LAPPED_WAITER"]


def elected_waiter(*, all_wait: bool) -> Schedule:
    """A producer warp whose lanes refill a stage by cp.async; who waits for it to be empty?"""
    k = ScheduleBuilder("elected_waiter")
    stages, tiles = 2, 7
    source = k.global_tensor("source", (tiles * 4, 32), "f32")
    ring = k.smem_tile("ring", (4, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=32, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(tiles) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box((i * 4, 0), (4, 32))
                k.mem.compute(USE, ring[state.stage].expecting(meant))
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
        with k.role("producer", warps=1):
            state = k.pipeline_state(stages, producer=True)
            with k.loop(tiles) as i:
                if all_wait:
                    k.mbarrier.wait(empty[state.stage], state.phase)
                else:
                    with k.elect():
                        k.mbarrier.wait(empty[state.stage], state.phase)
                k.cp_async.copy_tile(ring[state.stage], source, (i * 4, 0), threads=32)
                k.cp_async.commit_group()
                k.cp_async.wait_group(0)
                k.mbarrier.arrive(full[state.stage])
                state.advance()
    return k.finish()


def test_elected_lane_waits_while_the_other_lanes_refill() -> None:
    assert rules(elected_waiter(all_wait=True)) == []
    assert rules(elected_waiter(all_wait=False)) == ["WRITE_BEFORE_RELEASE"]


@pytest.mark.parametrize(("first", "second", "found"), [(0, 16, []), (0, 0, ["WRITE_WRITE_RACE"])])
def test_k_slices_of_a_swizzled_stage(first: int, second: int, found: list[str]) -> None:
    """Two warps write k-slices of 32 bytes of one 128B-swizzled stage, in no order."""
    k = ScheduleBuilder("slices")
    tile = k.smem_tile("tile", (64, 64), "bf16", swizzle=128)
    with k.specialize():
        for name, start in (("left", first), ("right", second)):
            with k.role(name, warps=1):
                k.mem.compute(FILL, tile[0].box((0, start), (64, 16)))
    assert rules(k.finish()) == found


def test_slices_that_overlap_by_one_element_race() -> None:
    k = ScheduleBuilder("slices")
    tile = k.smem_tile("tile", (64, 64), "bf16", swizzle=128)
    with k.specialize():
        for name, start in (("left", 0), ("right", 15)):
            with k.role(name, warps=1):
                k.mem.compute(FILL, tile[0].box((0, start), (64, 16)))
    assert rules(k.finish()) == ["WRITE_WRITE_RACE"]


@pytest.mark.parametrize("off", [0, 1])
def test_ordered_read_of_the_wrong_stage(off: int) -> None:
    """All stages have landed before any is read: no race, no hang, and the wrong data."""
    k = ScheduleBuilder("stages")
    stages = 3
    source = k.global_tensor("source", (stages, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32))
    ring = k.smem_tile("ring", (1, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128 * stages)
        for s in range(stages):
            k.tma.load(ring[s], source_map, (s, 0), full[0])
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    with k.loop(stages) as i:
        meant = source.box((i, 0), (1, 32))
        k.mem.compute(USE, ring[(i + off) % stages].expecting(meant))
    schedule = k.finish()
    result = check(schedule)
    assert [f.rule.name for f in result.findings] == (["WRONG_TILE"] if off else [])
    if off:
        message = "ring holds source from [1, 0]; the read means source from [0, 0]"
        assert result.findings[0].message == message
    assert result.verdict is (Verdict.FINDINGS if off else Verdict.CLEAN)


@pytest.mark.parametrize("sync", [False, True])
def test_bytes_of_one_lane_read_by_another_need_a_warp_barrier(sync: bool) -> None:
    """Each lane writes its row; then each reads the row of its neighbour."""
    k = ScheduleBuilder("lanes")
    tile = k.smem_tile("tile", (32, 4), "f32")
    value = written(k, "value", registers=4)
    k.mem.st_shared(tile[0].box((k.lane, 0), (1, 4)), value.all)
    if sync:
        k.bar.warp_sync()
    k.mem.ld_shared(value.all, tile[0].box((31 - k.lane, 0), (1, 4)))
    assert rules(k.finish()) == ([] if sync else ["READ_BEFORE_ARRIVAL"])


def test_bytes_of_a_lane_read_by_itself_need_nothing() -> None:
    k = ScheduleBuilder("lanes")
    tile = k.smem_tile("tile", (32, 4), "f32")
    value = written(k, "value", registers=4)
    for _ in range(2):
        k.mem.st_shared(tile[0].box((k.lane, 0), (1, 4)), value.all)
        k.mem.ld_shared(value.all, tile[0].box((k.lane, 0), (1, 4)))
    assert rules(k.finish()) == []


@pytest.mark.parametrize("elect", [False, True])
def test_a_copy_issued_by_every_lane(elect: bool) -> None:
    k = ScheduleBuilder("copies")
    source = k.global_tensor("source", (1, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32")
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128 if elect else 128 * 32)
    k.bar.sync()
    if elect:
        with k.elect():
            k.tma.load(tile[0], source_map, (0, 0), full[0])
    else:
        k.tma.load(tile[0], source_map, (0, 0), full[0])
    k.mbarrier.wait(full[0], 0)
    assert rules(k.finish()) == ([] if elect else ["WRITE_WRITE_RACE"])


@pytest.mark.parametrize("wait", [False, True])
def test_lanes_are_not_ordered_by_program_order(wait: bool) -> None:
    """Each lane arrives twice. Without a wait a lane may arrive for the phase of another: 32
    operations each time, so that no phase overflows, and whose they are is not decided."""
    k = ScheduleBuilder("arrivals")
    bar = k.mbarriers("bar", count=32)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.bar.sync()
    for i in range(2):
        k.mbarrier.arrive(bar[0])
        if wait:
            k.mbarrier.wait(bar[0], i)
    result = check(k.finish())
    assert [f.rule for f in result.findings] == ([] if wait else [Rule.UNCONSUMED_PHASE])
    assert result.verdict is (Verdict.CLEAN if wait else Verdict.INCOMPLETE)
