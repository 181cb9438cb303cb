"""Generic and async accesses to one place: where a proxy fence is needed, and where it is not."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import Case, found
from tests.check.written import written, written_tile


def read_then_copied(*, fence: str, rounds: int = 4) -> Schedule:
    """Warps read a stage and release it; the next TMA load overwrites it."""
    c = Case()
    k = c.k
    full, empty = c.bars("full"), c.bars("empty")
    c.start()
    with k.specialize():
        with c.thread("consumer"), k.loop(rounds) as i:
            k.mbarrier.wait(full[0], i & 1)
            c.read(i)
            if fence == "reader":
                k.fence.proxy_async("shared")
            k.mbarrier.arrive(empty[0])
        with c.thread("producer"), k.loop(rounds) as i:
            k.mbarrier.wait(empty[0], (i & 1) ^ 1)
            if fence == "issuer":
                k.fence.proxy_async("shared")
            c.load(full[0], i)
    return k.finish()


def test_generic_reads_before_an_async_overwrite() -> None:
    """A warning: it has corrupted kernels, and many in production leave the fence out."""
    assert found(read_then_copied(fence="reader")) == []
    assert found(read_then_copied(fence="issuer")) == []
    assert found(read_then_copied(fence="")) == ["PROXY_WAR warning"]


def stored(*, fence: str) -> Schedule:
    """All threads write, one stores by TMA; the fence is the writers', one writer's, or nobody's,
    or stands before the write."""
    k = ScheduleBuilder("stored")
    k.block(2)
    out = k.global_tensor("out", (1, 64), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 64))
    tile, x = k.smem_tile("tile", (1, 64), "f32"), written(k, "x", registers=1)
    if fence == "before":
        k.fence.proxy_async("shared")
    k.mem.st_shared(tile[0].box((0, k.thread_in_role), (1, 1)), x.all)
    if fence == "writers":
        k.fence.proxy_async("shared")
    if fence == "one warp":
        with k.when(k.warp_in_role == 0):
            k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.tma.store(out_map, (0, 0), tile[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=True)
    return k.finish()


def test_generic_writes_before_a_bulk_store() -> None:
    assert found(stored(fence="writers")) == []
    for fence in ("", "before", "one warp"):
        assert found(stored(fence=fence)) == ["MISSING_PROXY_FENCE"]


def landed(*, wait: str) -> Schedule:
    """A TMA load by one thread, read, and overwritten, by another that waits before or after."""
    c = Case()
    full = c.bars("full")
    c.start()
    with c.k.specialize():
        with c.thread("load"):
            c.load(full[0], 0)
        with c.thread("use"):
            if wait == "before":
                c.k.mbarrier.wait(full[0], 0)
            c.read(0)
            if wait == "after":
                c.k.mbarrier.wait(full[0], 0)
            c.k.mem.st_shared(c.buf[0], c.reg.all)
    return c.k.finish()


def test_no_fence_after_an_observed_landing() -> None:
    assert found(landed(wait="before")) == []


def test_a_read_before_the_wait_for_a_landing() -> None:
    assert found(landed(wait="after")) == ["READ_BEFORE_ARRIVAL"]


def test_no_fence_around_cp_async() -> None:
    """It is a generic access: written, copied over, and read without a proxy fence."""
    k = ScheduleBuilder("generic")
    source = k.global_tensor("source", (32, 4), "f32")
    tile, x = k.smem_tile("tile", (32, 4), "f32"), written(k, "x", registers=4)
    mine = tile[0].box((k.lane, 0), (1, 4))
    k.mem.st_shared(mine, x.all)
    k.cp_async.copy(mine, source.box((k.lane, 0), (1, 4)))
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.mem.ld_shared(x.all, mine.expecting(source.box((k.lane, 0), (1, 4))))
    assert found(k.finish()) == []


def written_globally(*, space: str) -> Schedule:
    """A generic write of global memory, then a TMA load of it."""
    k = ScheduleBuilder("globally")
    k.block(1)
    data = k.global_tensor("data", (1, 32), "f32", output=True)
    rows = k.tensor_map("rows", data, box=(1, 32))
    tile, x = k.smem_tile("tile", (1, 32), "f32"), written(k, "x", registers=1)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.mem.st_global(data.box((0, k.lane), (1, 1)), x.all)
    if space:
        k.fence.proxy_async(space)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], 128)
        k.tma.load(tile[0], rows, (0, 0), full[0])
    k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
    return k.finish()


@pytest.mark.parametrize(
    ("space", "clean"), [("", False), ("global", True), ("shared", False), ("all", True)]
)
def test_the_space_of_a_fence_holds_the_place(space: str, clean: bool) -> None:
    assert found(written_globally(space=space)) == ([] if clean else ["MISSING_PROXY_FENCE"])


def written_remotely(*, space: str) -> Schedule:
    """A store to the shared memory of the peer, which then stores it by TMA."""
    k = ScheduleBuilder("remotely")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    out = k.global_tensor("out", (2, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 32))
    tile, x = k.smem_tile("tile", (1, 32), "f32"), written(k, "x", registers=1)
    k.cluster_barrier.sync()
    k.mem.st_shared(tile[0].at(1 - k.cta_rank).box((0, k.lane), (1, 1)), x.all)
    k.fence.proxy_async(space)
    k.cluster_barrier.sync()
    with k.elect_thread():
        k.tma.store(out_map, (k.block_idx, 0), tile[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=True)
    return k.finish()


def test_a_fence_of_the_own_shared_memory_does_not_hold_that_of_the_peer() -> None:
    assert found(written_remotely(space="shared::cluster")) == []
    assert found(written_remotely(space="shared")) == ["MISSING_PROXY_FENCE"]


def exact(*, column: int) -> Schedule:
    """A TMA load of bytes 128 to 255 of a tile, and a store to one word of it by another warp."""
    k = ScheduleBuilder("exact")
    source = k.global_tensor("source", (1, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile, x = k.smem_tile("tile", (2, 32), "f32"), written(k, "x", registers=1)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("load", warps=1), k.elect():
            k.mbarrier.arrive_expect_tx(full[0], 128)
            k.tma.load(tile[0].box((1, 0), (1, 32)), rows, (0, 0), full[0])
            k.mbarrier.wait(full[0], 0)
        with k.role("store", warps=1), k.elect():
            k.mem.st_shared(tile[0].box((column // 32, column % 32), (1, 1)), x.all)
    return k.finish()


def test_bytes_of_a_copy_are_exact() -> None:
    assert found(exact(column=0)) == []
    assert found(exact(column=31)) == []
    assert found(exact(column=32)) == ["WRITE_WRITE_RACE"]


def over_an_older_write(*, fence: bool) -> Schedule:
    """A generic write, then a TMA load over part of it, then a read of the whole."""
    k = ScheduleBuilder("over")
    k.block(1)
    source = k.global_tensor("source", (1, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile, x = k.smem_tile("tile", (2, 32), "f32"), written(k, "x", registers=2)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.mem.st_shared(tile[0].box((0, k.lane), (2, 1)), x.all)
    if fence:
        k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], 128)
        k.tma.load(tile[0].box((1, 0), (1, 32)), rows, (0, 0), full[0])
    k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (2, 1)))
    return k.finish()


def test_a_copy_over_an_older_generic_write() -> None:
    assert found(over_an_older_write(fence=True)) == []
    assert found(over_an_older_write(fence=False)) == ["MISSING_PROXY_FENCE"]


def released_destination(*, read: bool, fence: bool = True) -> Schedule:
    """A bulk store, a group wait of its source or of all of it, then a flag to a reader."""
    k = ScheduleBuilder("destination")
    out = k.global_tensor("out", (1, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 32))
    tile = written_tile(k, k.smem_tile("tile", (1, 32), "f32"))
    x = written(k, "x", registers=1)
    flag = k.mbarriers("flag", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(flag)
    k.bar.sync()
    with k.specialize():
        with k.role("store", warps=1), k.elect():
            k.tma.store(out_map, (0, 0), tile[0])
            k.bulk.commit_group()
            k.bulk.wait_group(0, read=read)
            if fence:
                k.fence.proxy_async("global")
            k.mbarrier.arrive(flag[0])
            k.bulk.wait_group(0)
        with k.role("reader", warps=1):
            k.mbarrier.wait(flag[0], 0)
            k.mem.ld_global(x.all, out.box((0, k.lane), (1, 1)))
    return k.finish()


def test_a_wait_for_the_source_says_nothing_of_the_destination() -> None:
    assert found(released_destination(read=False)) == []
    assert found(released_destination(read=False, fence=False)) == []
    assert found(released_destination(read=True)) == ["WAIT_GROUP_TOO_LOOSE"]
