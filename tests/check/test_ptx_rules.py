"""Rules of PTX that no other test is about: what groups, fences, copies and barriers do not do."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import Case, found
from tests.check.written import written, written_tile


def source_changed(*, waited: bool) -> Schedule:
    """Global data that cp.async reads is overwritten after, or before, the copy is complete."""
    k = ScheduleBuilder("source")
    k.block(1)
    data = k.global_tensor("data", (32, 4), "f32", output=True)
    tile, x = k.smem_tile("tile", (32, 4), "f32"), written(k, "x", registers=4)
    mine = data.box((k.lane, 0), (1, 4))
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 4)), mine)
    k.cp_async.commit_group()
    if waited:
        k.cp_async.wait_group(0)
    k.mem.st_global(mine, x.all)
    k.cp_async.wait_group(0)
    return k.finish()


def test_the_source_of_a_copy_stays_until_it_is_complete() -> None:
    assert found(source_changed(waited=True)) == []
    assert found(source_changed(waited=False)) == ["WRITE_BEFORE_RELEASE"]


def mixed_groups(*, wait: str) -> Schedule:
    """A bulk store and a cp.async, each in a group of its kind; then the store's source goes."""
    k = ScheduleBuilder("mixed")
    k.block(1)
    source = k.global_tensor("source", (32, 4), "f32")
    out = k.global_tensor("out", (1, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 32))
    row = written_tile(k, k.smem_tile("row", (1, 32), "f32"))
    tile = k.smem_tile("tile", (32, 4), "f32")
    x = written(k, "x", registers=1)
    with k.elect():
        k.tma.store(out_map, (0, 0), row[0])
        k.bulk.commit_group()
        k.cp_async.copy(tile[0].box((0, 0), (1, 4)), source.box((0, 0), (1, 4)))
        k.cp_async.commit_group()
        if wait == "bulk":
            k.bulk.wait_group(0, read=True)
        else:
            k.cp_async.wait_group(0)
        k.mem.st_shared(row[0].box((0, 0), (1, 1)), x.all)
        k.bulk.wait_group(0, read=True)
        k.cp_async.wait_group(0)
    return k.finish()


def test_a_wait_for_one_kind_of_group_is_none_for_the_other() -> None:
    assert found(mixed_groups(wait="bulk")) == []
    assert found(mixed_groups(wait="cp.async")) == ["SMEM_REUSED_BEFORE_STORE_READ"]


def twice_to_one_place(*, waited: bool) -> Schedule:
    """Two TMA loads to one cell, on two barriers."""
    c = Case()
    k = c.k
    full = c.bars("full", stages=2)
    c.start()
    with k.specialize(), c.thread("t"):
        c.load(full[0], 0)
        if waited:
            k.mbarrier.wait(full[0], 0)
        c.load(full[1], 1)
        k.mbarrier.wait(full[0], 0)
        k.mbarrier.wait(full[1], 0)
        c.read(1)
    return k.finish()


def test_bulk_copies_of_one_thread_land_in_no_order() -> None:
    assert found(twice_to_one_place(waited=True)) == []
    assert found(twice_to_one_place(waited=False)) == ["WRITE_WRITE_RACE"]


def test_the_fence_of_inits_is_no_fence_of_data() -> None:
    k = ScheduleBuilder("fence")
    k.block(1)
    out = k.global_tensor("out", (1, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 32))
    row, x = k.smem_tile("row", (1, 32), "f32"), written(k, "x", registers=1)
    k.mem.st_shared(row[0].box((0, k.lane), (1, 1)), x.all)
    k.fence.mbarrier_init()
    k.bar.sync()
    with k.elect_thread():
        k.tma.store(out_map, (0, 0), row[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=True)
    assert found(k.finish()) == ["MISSING_PROXY_FENCE"]


@pytest.mark.parametrize("between", [False, True])
def test_what_is_stored_between_arrive_and_wait_is_not_published(between: bool) -> None:
    k = ScheduleBuilder("between")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    cell, x = k.smem_tile("cell", (1, 32), "f32"), written(k, "x", registers=1)
    mine = cell[0].box((0, k.lane), (1, 1))
    if not between:
        k.mem.st_shared(mine, x.all)
    k.cluster_barrier.arrive()
    if between:
        k.mem.st_shared(mine, x.all)
    k.cluster_barrier.wait()
    k.mem.ld_shared(x.all, mine.at(1 - k.cta_rank))
    k.cluster_barrier.sync()
    assert found(k.finish()) == (["READ_BEFORE_ARRIVAL"] if between else [])
