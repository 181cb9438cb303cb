"""Groups of cp.async, bulk stores and wgmma: how many may stay pending, and who has waited."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import found
from tests.check.written import written


def forwarded(*, n: int, refill: str, steps: int = 6) -> Schedule:
    """One thread loads tiles into two stages and stores each: which stage is refilled after a
    wait_group ``n``, the one just stored or the one before?"""
    stages = 2
    k = ScheduleBuilder("forwarded")
    source = k.global_tensor("source", (steps, 32), "f32")
    out = k.global_tensor("out", (steps, 32), "f32", output=True)
    rows, outs = (k.tensor_map(f"{t.decl.name}_map", t, box=(1, 32)) for t in (source, out))
    buf = k.smem_tile("buf", (1, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()

    def load(i, stage):  # type: ignore[no-untyped-def]
        k.mbarrier.arrive_expect_tx(full[stage], 128)
        k.tma.load(buf[stage], rows, (i, 0), full[stage])

    with k.elect_thread():
        load(0, 0)
        if refill == "same":
            load(1, 1)
        with k.loop(steps) as i:
            k.mbarrier.wait(full[i % stages], i // stages % 2)
            k.tma.store(outs, (i, 0), buf[i % stages])
            k.bulk.commit_group()
            k.bulk.wait_group(n, read=True)
            ahead = stages if refill == "same" else stages - 1
            with k.when(i + ahead < steps):
                load(i + ahead, (i + ahead) % stages)
        k.bulk.wait_group(0)
    return k.finish()


def test_a_stage_that_is_refilled_while_its_own_store_may_be_pending() -> None:
    assert found(forwarded(n=0, refill="same")) == []
    assert found(forwarded(n=1, refill="before")) == []
    assert found(forwarded(n=1, refill="same")) == ["WAIT_GROUP_TOO_LOOSE"]


def announced(*, n: int, stages: int = 4, steps: int = 6) -> Schedule:
    """A warp copies by cp.async, and tells a reader that the oldest of its groups has landed."""
    k = ScheduleBuilder("announced")
    source = k.global_tensor("source", (32 * steps, 4), "f32")
    buf = k.smem_tile("buf", (32, 4), "f32", stages=steps)
    full = k.mbarriers("full", count=32, stages=steps)
    x = written(k, "x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    k.bar.sync()

    def copy(i):  # type: ignore[no-untyped-def]
        to = buf[i].box((k.lane, 0), (1, 4))
        k.cp_async.copy(to, source.box((i * 32 + k.lane, 0), (1, 4)))
        k.cp_async.commit_group()

    with k.specialize():
        with k.role("producer", warps=1):
            for i in range(stages - 1):
                copy(i)
            with k.loop(steps - stages + 1) as i:
                k.cp_async.wait_group(n)
                k.mbarrier.arrive(full[i])
                copy(i + stages - 1)
            k.cp_async.wait_group(0)
            for i in range(steps - stages + 1, steps):
                k.mbarrier.arrive(full[i])
        with k.role("consumer", warps=1), k.loop(steps) as i:
            k.mbarrier.wait(full[i], 0)
            meant = source.box((i * 32 + (k.lane + 1) % 32, 0), (1, 4))
            k.mem.ld_shared(x.all, buf[i].box(((k.lane + 1) % 32, 0), (1, 4)).expecting(meant))
    return k.finish()


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_a_producer_that_tells_before_anything_was_waited_for(stages: int) -> None:
    assert found(announced(n=stages - 2, stages=stages)) == []
    assert found(announced(n=stages - 1, stages=stages)) == ["WAIT_GROUP_TOO_LOOSE"]


def copied_by_some(*, wait: str) -> Schedule:
    """Warp 0 copies, both warps copy more; ``wait``: before the barrier or only after it."""
    k = ScheduleBuilder("some")
    k.block(2)
    first = k.global_tensor("first", (32, 4), "f32")
    second = k.global_tensor("second", (64, 4), "f32")
    t3, t2 = k.smem_tile("t3", (32, 4), "f32"), k.smem_tile("t2", (64, 4), "f32")
    x = written(k, "x", registers=4)
    with k.when(k.warp_in_role == 0):
        k.cp_async.copy(t3[0].box((k.lane, 0), (1, 4)), first.box((k.lane, 0), (1, 4)))
        k.cp_async.commit_group()
        if wait == "before":
            k.cp_async.wait_group(0)
    k.bar.sync()
    at = (k.thread_in_role, 0)
    k.cp_async.copy(t2[0].box(at, (1, 4)), second.box(at, (1, 4)))
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.mem.ld_shared(x.all, t3[0].box((k.lane, 0), (1, 4)).expecting(first.box((k.lane, 0), (1, 4))))
    return k.finish()


def test_a_wait_by_the_issuers_after_the_barrier() -> None:
    assert found(copied_by_some(wait="before")) == []
    assert found(copied_by_some(wait="after")) == ["MISSING_BLOCK_BARRIER"]


def two_groups_a_tile(*, n: int, stages: int = 3, tiles: int = 8, single: bool = False) -> Schedule:
    """A and B of a tile are two groups, or one; each loop ends with wait_group ``n``."""
    k = ScheduleBuilder("two_groups")
    a, b = (k.global_tensor(name, (32 * tiles, 4), "f32") for name in ("a", "b"))
    sa, sb = (k.smem_tile(name, (32, 4), "f32", stages=stages) for name in ("sa", "sb"))
    x = written(k, "x", registers=4)
    other = (k.lane + 1) % 32

    def copy(t):  # type: ignore[no-untyped-def]
        for to, source in ((sa, a), (sb, b)):
            at = to[t % stages].box((k.lane, 0), (1, 4))
            k.cp_async.copy(at, source.box((t * 32 + k.lane, 0), (1, 4)))
            if not single:
                k.cp_async.commit_group()
        if single:
            k.cp_async.commit_group()

    for t in range(stages - 1):
        copy(t)
    k.cp_async.wait_group(n)
    k.bar.sync()
    with k.loop(tiles) as t:
        with k.when(t + stages - 1 < tiles):
            copy(t + stages - 1)
        for tile, source in ((sa, a), (sb, b)):
            meant = source.box((t * 32 + other, 0), (1, 4))
            k.mem.ld_shared(x.all, tile[t % stages].box((other, 0), (1, 4)).expecting(meant))
        with k.when(t + stages - 1 < tiles):
            k.cp_async.wait_group(n)
        with k.when(t + stages - 1 >= tiles):
            k.cp_async.wait_group(0)
        k.bar.sync()
    return k.finish()


@pytest.mark.parametrize("stages", [3, 4])
def test_a_count_in_tiles_of_groups_that_are_halves_of_tiles(stages: int) -> None:
    assert found(two_groups_a_tile(n=stages - 2, stages=stages, single=True)) == []
    assert found(two_groups_a_tile(n=2 * (stages - 2), stages=stages)) == []
    assert found(two_groups_a_tile(n=stages - 2, stages=stages)) == []  # waits for more than needed
    for n in (2 * (stages - 2) + 1, 2 * (stages - 1)):
        assert found(two_groups_a_tile(n=n, stages=stages)) == ["WAIT_GROUP_TOO_LOOSE"]


def tail(*, commits: str, stages: int = 3, tiles: int = 6) -> Schedule:
    """No copy in the last rounds: is an empty group committed, is N lowered, or neither?"""
    k = ScheduleBuilder("tail")
    source = k.global_tensor("source", (32 * tiles, 4), "f32")
    ring = k.smem_tile("ring", (32, 4), "f32", stages=stages)
    x = written(k, "x", registers=4)
    other = (k.lane + 1) % 32

    def copy(t):  # type: ignore[no-untyped-def]
        at = ring[t % stages].box((k.lane, 0), (1, 4))
        k.cp_async.copy(at, source.box((t * 32 + k.lane, 0), (1, 4)))

    for t in range(stages - 1):
        copy(t)
        k.cp_async.commit_group()
    with k.loop(tiles) as t:
        if commits == "lower N":
            with k.when(t < tiles - 1):
                k.cp_async.wait_group(stages - 2)
            with k.when(t == tiles - 1):
                k.cp_async.wait_group(0)
        else:
            k.cp_async.wait_group(stages - 2)
        k.bar.sync()
        with k.when(t + stages - 1 < tiles):
            copy(t + stages - 1)
            if commits != "always":
                k.cp_async.commit_group()
        if commits == "always":
            k.cp_async.commit_group()
        meant = source.box((t * 32 + other, 0), (1, 4))
        k.mem.ld_shared(x.all, ring[t % stages].box((other, 0), (1, 4)).expecting(meant))
    return k.finish()


def test_the_tail_of_a_pipeline_commits_empty_groups_or_lowers_n() -> None:
    assert found(tail(commits="always")) == []
    assert found(tail(commits="lower N")) == []
    assert found(tail(commits="when copied")) == ["WAIT_GROUP_TOO_LOOSE"]


def staged_store(*, joined: bool, waves: int = 3) -> Schedule:
    """Each warpgroup stages its half; one thread of each stores it and waits, the others do not."""
    k = ScheduleBuilder("staged")
    out = k.global_tensor("out", (2 * waves, 128), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 128))
    stage = k.smem_tile("stage", (1, 128), "f32", stages=2)
    bars = [k.named_barrier(f"group{g}", id=1 + g, threads=128) for g in range(2)]
    x = written(k, "x", registers=1)
    with k.specialize():
        for g, bar in enumerate(bars):
            with k.role(f"g{g}", warps=4), k.loop(waves) as w:
                if joined:
                    k.bar.sync(bar)
                k.mem.st_shared(stage[g].box((0, k.thread_in_role), (1, 1)), x.all)
                k.fence.proxy_async("shared")
                k.bar.sync(bar)
                with k.elect_thread():
                    k.tma.store(out_map, (2 * w + g, 0), stage[g])
                    k.bulk.commit_group()
                    k.bulk.wait_group(0, read=True)
    return k.finish()


def test_a_store_that_one_thread_waits_for_and_the_others_do_not() -> None:
    assert found(staged_store(joined=True)) == []
    assert found(staged_store(joined=False)) == ["MISSING_BLOCK_BARRIER"]


def reused(*, drained: bool, barrier: bool) -> Schedule:
    """The scratch of a reduction lies over a pipeline's slots: a tile is read, then overwritten."""
    k = ScheduleBuilder("reused")
    k.block(2)
    source = k.global_tensor("source", (64 * 2, 4), "f32")
    slots = k.smem_tile("slots", (64, 4), "f32", stages=2)
    x = written(k, "x", registers=4)
    me, other = k.thread_in_role, (k.thread_in_role + 33) % 64
    for t in range(2):
        k.cp_async.copy(slots[t].box((me, 0), (1, 4)), source.box((t * 64 + me, 0), (1, 4)))
        k.cp_async.commit_group()
    k.cp_async.wait_group(0 if drained else 1)
    k.bar.sync()
    k.mem.ld_shared(x.all, slots[0].box((other, 0), (1, 4)))
    if barrier:
        k.bar.sync()
    k.mem.st_shared(slots[0].box((me, 0), (1, 4)), x.all)
    k.mem.st_shared(slots[1].box((me, 0), (1, 4)), x.all)
    k.cp_async.wait_group(0)
    return k.finish()


def test_scratch_over_the_slots_of_a_pipeline() -> None:
    assert found(reused(drained=True, barrier=True)) == []
    assert found(reused(drained=True, barrier=False)) == ["WRITE_BEFORE_RELEASE"]
    assert found(reused(drained=False, barrier=True)) == ["WAIT_GROUP_TOO_LOOSE"]


def two_copies(*, n: int) -> Schedule:
    """cp.async to slot 0, to slot 1, a wait, then to slot 0 again."""
    k = ScheduleBuilder("two_copies")
    source = k.global_tensor("source", (32, 4), "f32")
    buf = k.smem_tile("buf", (32, 4), "f32", stages=2)

    def copy(slot):  # type: ignore[no-untyped-def]
        at = (k.lane, 0)
        k.cp_async.copy(buf[slot].box(at, (1, 4)), source.box(at, (1, 4)))
        k.cp_async.commit_group()

    copy(0)
    copy(1)
    k.cp_async.wait_group(n)
    copy(0)
    k.cp_async.wait_group(0)
    return k.finish()


def test_a_copy_over_a_copy_in_flight() -> None:
    assert found(two_copies(n=1)) == []
    assert found(two_copies(n=2)) == ["WAIT_GROUP_TOO_LOOSE"]


def pipelined_readers(*, read: int) -> Schedule:
    """A warp commits two groups, waits for the first, and tells another warp, which reads one."""
    k = ScheduleBuilder("visible")
    source = k.global_tensor("source", (64, 4), "f32")
    buf = k.smem_tile("buf", (32, 4), "f32", stages=2)
    ready, x = k.mbarriers("ready", count=32), written(k, "x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(ready)
    k.bar.sync()
    with k.specialize():
        with k.role("copy", warps=1):
            for s in range(2):
                box = source.box((32 * s + k.lane, 0), (1, 4))
                k.cp_async.copy(buf[s].box((k.lane, 0), (1, 4)), box)
                k.cp_async.commit_group()
            k.cp_async.wait_group(1)
            k.mbarrier.arrive(ready[0])
            k.cp_async.wait_group(0)
        with k.role("read", warps=1):
            k.mbarrier.wait(ready[0], 0)
            k.mem.ld_shared(x.all, buf[read].box(((k.lane + 1) % 32, 0), (1, 4)))
    return k.finish()


def test_an_arrival_publishes_the_groups_that_were_waited_for() -> None:
    assert found(pipelined_readers(read=0)) == []
    assert found(pipelined_readers(read=1)) == ["WAIT_GROUP_TOO_LOOSE"]


def tracked_by_two(*, waits: tuple[int, int]) -> Schedule:
    """The lanes of a warp copy to two slots and let a barrier of 32 arrivals track each; two
    readers."""
    k = ScheduleBuilder("tracked")
    source = k.global_tensor("source", (64, 4), "f32")
    buf = k.smem_tile("buf", (32, 4), "f32", stages=2)
    landed, x = k.mbarriers("landed", count=32, stages=2), written(k, "x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(landed)
    k.bar.sync()
    with k.specialize():
        with k.role("copy", warps=1):
            for s in range(2):
                box = source.box((32 * s + k.lane, 0), (1, 4))
                k.cp_async.copy(buf[s].box((k.lane, 0), (1, 4)), box)
                k.cp_async.mbarrier_arrive(landed[s], noinc=True)
        for s, waited in enumerate(waits):
            with k.role(f"read{s}", warps=1):
                k.mbarrier.wait(landed[waited], 0)
                k.mem.ld_shared(x.all, buf[s].box(((k.lane + 1) % 32, 0), (1, 4)))
    return k.finish()


def test_barriers_that_track_the_copies_of_a_warp() -> None:
    assert found(tracked_by_two(waits=(0, 1))) == []
    assert found(tracked_by_two(waits=(0, 0))) == ["READ_BEFORE_ARRIVAL"]
