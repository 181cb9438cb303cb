"""Shared memory is read where nothing has been written, with no word on what is meant."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, check
from asyncsim.build.handles import SmemHandle
from asyncsim.ir.schedule import Schedule
from tests.check.test_clusters import assert_clean, assert_finds
from tests.check.written import written, written_tile

MESSAGE = "tile is read where nothing has been written"


def started(*, ctas: int = 1) -> tuple[ScheduleBuilder, SmemHandle]:
    k = ScheduleBuilder("unwritten")
    k.grid(ctas)
    k.cluster(ctas)
    k.block(4)
    return k, k.smem_tile("tile", (64, 16), "bf16", swizzle=32)


def read(k: ScheduleBuilder, tile: SmemHandle, how: str) -> Schedule:
    if how == "ld.shared":
        x = k.fragment("x", registers=16, dtype="bf16")
        k.mem.ld_shared(x.all, tile[0].box((k.thread_in_role // 2, 0), (1, 16)))
    elif how == "wgmma":
        acc = k.accumulator("acc", n=64)
        k.wgmma.fence()
        k.wgmma.mma(acc, tile[0], tile[0], accumulate=0)
        k.wgmma.commit_group()
        k.wgmma.wait_group(0)
    else:
        out = k.global_tensor("out", (64, 16), "bf16", output=True)
        out_map = k.tensor_map("out_map", out, box=(64, 16), swizzle=32)
        with k.elect_thread():
            k.tma.store(out_map, (0, 0), tile[0])
            k.bulk.commit_group()
            k.bulk.wait_group(0)
    return k.finish()


@pytest.mark.parametrize("how", ["ld.shared", "wgmma", "TMA store"])
def test_a_tile_that_nobody_has_written(how: str) -> None:
    k, tile = started()
    assert_finds(read(k, tile, how), Rule.READ_BEFORE_ARRIVAL, MESSAGE)
    k, tile = started()
    assert_clean(read(k, written_tile(k, tile), how))


@pytest.mark.parametrize("rows", [63, 64])
def test_every_byte_counts(rows: int) -> None:
    k, tile = started()
    x = written(k, "x", registers=16, dtype="bf16")
    with k.elect_thread():
        with k.loop(rows) as row:
            k.mem.st_shared(tile[0].box((row, 0), (1, 16)), x.all)
        k.fence.proxy_async("shared")
    k.bar.sync()
    schedule = read(k, tile, "TMA store")
    if rows == 64:
        assert_clean(schedule)
    else:
        assert_finds(schedule, Rule.READ_BEFORE_ARRIVAL, MESSAGE)
        (found,) = check(schedule).findings
        assert found.missing == "a write of these bytes before the read"


@pytest.mark.parametrize("row", [0, 1000])
def test_a_box_outside_its_tensor_is_written_with_zeros(row: int) -> None:
    k, tile = started()
    source = k.global_tensor("source", (64, 16), "bf16")
    rows = k.tensor_map("rows", source, box=(64, 16), swizzle=32)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 2048)
        k.tma.load(tile[0], rows, (row, 0), full[0])
    k.bar.sync()
    k.mbarrier.wait(full[0], 0)
    assert_clean(read(k, tile, "wgmma"))


@pytest.mark.parametrize("to", [0, 1])
def test_a_write_counts_for_the_cta_that_it_reaches(to: int) -> None:
    """CTA 0 stores to a CTA of its cluster; CTA 1 reads its own tile."""
    k, tile = started(ctas=2)
    x = written(k, "x", registers=8, dtype="bf16")
    k.cluster_barrier.sync()
    with k.when(k.cta_rank == 0):
        there = tile[0].box((k.thread_in_role // 2, 8 * (k.thread_in_role % 2)), (1, 8))
        k.mem.st_shared(there.at(to), x.all)
    k.cluster_barrier.sync()
    with k.when(k.cta_rank == 1):
        k.mem.ld_shared(x.all, tile[0].box((k.thread_in_role // 2, 0), (1, 8)))
    schedule = k.finish()
    if to == 1:
        assert_clean(schedule)
    else:
        assert_finds(schedule, Rule.READ_BEFORE_ARRIVAL, MESSAGE)


def late(rounds: int, unwritten: int) -> Schedule:
    """Each round writes and reads a stage; one late round reads a stage that nobody wrote."""
    k = ScheduleBuilder("late")
    k.block(1)
    tile, x = k.smem_tile("tile", (32, 1), "f32", stages=3), written(k, "x", registers=1)
    with k.loop(rounds) as i:
        k.mem.st_shared(tile[i % 2].box((k.lane, 0), (1, 1)), x.all)
        stage = (i == unwritten) * 2 + (i != unwritten) * (i % 2)
        k.mem.ld_shared(x.all, tile[stage].box((k.lane, 0), (1, 1)))
    return k.finish()


def test_a_late_round_that_reads_an_unwritten_stage() -> None:
    assert_clean(late(4000, -1))
    assert_finds(late(4000, 3900), Rule.READ_BEFORE_ARRIVAL, MESSAGE)
