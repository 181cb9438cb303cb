"""Public questions of speed: the change that a report asks for, and what is predicted for it."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.predict import predict
from tests.check.written import written


def cycles(schedule: Schedule) -> float:
    """Predicted cycles of a proven schedule on an H200."""
    result, prediction = predict(schedule, "h200")
    assert prediction is not None, [f.message for f in result.findings] or result.note
    return prediction.cycles


def sliced_epilogue(*, buffers: int, slices: int = 16) -> Schedule:
    """Slices of a tile go through ``buffers`` staging buffers to global memory."""
    k = ScheduleBuilder("sliced")
    k.block(4)
    out = k.global_tensor("out", (64 * slices, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(64, 32))
    stage = k.smem_tile("stage", (64, 32), "f32", stages=buffers)
    x = written(k, "x", registers=16)
    row = (k.thread_in_role // 2, k.thread_in_role % 2 * 16)
    with k.loop(slices) as i:
        with k.elect_thread():
            k.bulk.wait_group(buffers - 1, read=True)
        k.bar.sync()
        for q in range(4):
            part = stage[i % buffers].box((row[0], row[1] + 4 * q), (1, 4))
            k.mem.st_shared(part, x.part(4 * q, 4))
        k.fence.proxy_async("shared")
        k.bar.sync()
        with k.elect_thread():
            k.tma.store(out_map, (i * 64, 0), stage[i % buffers])
            k.bulk.commit_group()
    with k.elect_thread():
        k.bulk.wait_group(0)
    return k.finish()


def test_a_second_staging_buffer_shortens_an_epilogue() -> None:
    assert cycles(sliced_epilogue(buffers=2)) < cycles(sliced_epilogue(buffers=1))


def loads(*, apart: bool, n: int = 4) -> Schedule:
    """One thread loads n tiles and waits for each before the next load, or for all at the end."""
    k = ScheduleBuilder("loads")
    k.block(1)
    source = k.global_tensor("source", (64 * n, 32), "f32")
    box = k.tensor_map("box", source, box=(64, 32))
    tiles = k.smem_tile("tiles", (64, 32), "f32", stages=n)
    full, x = k.mbarriers("full", count=1, stages=n), written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    for i in range(n):
        with k.elect_thread():
            k.mbarrier.arrive_expect_tx(full[i], 64 * 32 * 4)
            k.tma.load(tiles[i], box, (i * 64, 0), full[i])
        if apart:
            k.mbarrier.wait(full[i], 0)
    for i in range(n):
        k.mbarrier.wait(full[i], 0)
        k.mem.ld_shared(x.all, tiles[i].box((0, k.lane), (1, 1)))
    return k.finish()


def test_waits_belong_before_the_first_use() -> None:
    """Four round trips become one."""
    assert cycles(loads(apart=True)) > 2 * cycles(loads(apart=False))


def multiplied(*, wait: int, steps: int = 32, stages: int = 4) -> Schedule:
    """A ring of wgmma that leaves ``wait`` groups pending, or none."""
    k = ScheduleBuilder("multiplied")
    a = k.global_tensor("a", (64 * steps, 64), "bf16")
    a_map = k.tensor_map("a_map", a, box=(64, 64), swizzle=128)
    sa = k.smem_tile("sa", (64, 64), "bf16", stages=stages, swizzle=128)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("math", warps=4):
            acc, state = k.accumulator("acc", n=64), k.pipeline_state(stages)
            with k.loop(steps) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                k.wgmma.fence()
                tile = sa[state.stage]
                k.wgmma.mma_tile(acc, tile, tile, accumulate_first=i > 0)
                for _ in range(7):  # more work than the copies take
                    k.wgmma.mma_tile(acc, tile, tile)
                k.wgmma.commit_group()
                k.wgmma.wait_group(wait)
                with k.when((k.warp_in_role == 0) & (i >= wait)), k.elect():
                    k.mbarrier.arrive(empty[(state.stage + stages - wait) % stages])
                state.advance()
            k.wgmma.wait_group(0)
        with k.role("load", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(steps) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 64 * 64 * 2)
                k.tma.load(sa[state.stage], a_map, (i * 64, 0), full[state.stage])
                state.advance()
    return k.finish()


def test_a_wait_for_all_in_each_step_is_slower() -> None:
    assert cycles(multiplied(wait=0)) > cycles(multiplied(wait=1))


@pytest.mark.parametrize("stages", [3, 4])
def test_a_drain_in_each_step_costs_the_overlap_of_copies(stages: int) -> None:
    """cp.async with the author's count, and with zero: correct, and slower."""

    def ring(n: int) -> Schedule:
        k, tiles = ScheduleBuilder("ring"), 24
        k.block(4)
        source = k.global_tensor("source", (128 * tiles, 4), "f32")
        tile = k.smem_tile("tile", (128, 4), "f32", stages=stages)
        x, me = written(k, "x", registers=4), k.thread_in_role
        for t in range(stages - 1):
            k.cp_async.copy(tile[t].box((me, 0), (1, 4)), source.box((t * 128 + me, 0), (1, 4)))
            k.cp_async.commit_group()
        with k.loop(tiles) as t:
            k.cp_async.wait_group(n)
            k.bar.sync()
            new = t + stages - 1
            with k.when(new < tiles):
                to = tile[new % stages].box((me, 0), (1, 4))
                k.cp_async.copy(to, source.box((new * 128 + me, 0), (1, 4)))
            k.cp_async.commit_group()
            other = (me + 1) % 128
            k.mem.ld_shared(x.all, tile[t % stages].box((other, 0), (1, 4)))
        return k.finish()

    assert cycles(ring(0)) > cycles(ring(stages - 2))
