"""Waiters that a barrier can lap: those for whom nobody waits before it goes on."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import Case, found
from tests.check.written import written


def leader_arrives(*, join: str, rounds: int = 3) -> Schedule:
    """Two warps of a partition wait; warp 0 alone arrives, perhaps after joining warp 1."""
    k = ScheduleBuilder("leader")
    full = k.mbarriers("full", count=1)
    empty = k.mbarriers("empty", count=2 if join == "all arrive" else 1)
    pair = k.named_barrier("pair", id=1, threads=64)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("partition", warps=2), k.loop(rounds) as i:
            k.mbarrier.wait(full[0], i & 1)
            if join == "barrier":
                k.bar.sync(pair)
            k.bar.warp_sync()
            if join == "all arrive":
                with k.elect():
                    k.mbarrier.arrive(empty[0])
            else:
                with k.when(k.warp_in_role == 0), k.elect():
                    k.mbarrier.arrive(empty[0])
        with k.role("partner", warps=1), k.elect(), k.loop(rounds) as i:
            k.mbarrier.wait(empty[0], (i & 1) ^ 1)
            k.mbarrier.arrive(full[0])
    return k.finish()


def test_a_leader_that_arrives_for_its_partition() -> None:
    assert found(leader_arrives(join="barrier")) == []
    assert found(leader_arrives(join="all arrive")) == []
    assert found(leader_arrives(join="nothing")) == ["LAPPED_WAITER"]


def spectator(*, returns: bool, tiles: int = 3) -> Schedule:
    """A thread that gathers nothing still waits for the slot of every tile."""
    c = Case()
    k = c.k
    full, empty = c.bars("full"), c.bars("empty")
    c.start()
    with k.specialize():
        with c.thread("consumer"), k.loop(tiles) as i:
            k.mbarrier.wait(full[0], i & 1)
            k.mbarrier.arrive(empty[0])
        with c.thread("spectator"), k.loop(0 if returns else tiles) as i:
            k.mbarrier.wait(empty[0], (i & 1) ^ 1)
        with c.thread("producer"), k.loop(tiles) as i:
            k.mbarrier.wait(empty[0], (i & 1) ^ 1)
            k.mbarrier.arrive(full[0])
    return k.finish()


def test_a_spectator_for_whom_nobody_waits() -> None:
    assert found(spectator(returns=True)) == []
    for tiles in (1, 2, 3):  # with one tile it may come when the slot has been released already
        assert found(spectator(returns=False, tiles=tiles)) == ["LAPPED_WAITER"]


def published(*, acknowledged: bool, rounds: int = 3) -> Schedule:
    """CTA 0 publishes to four warps of each CTA of a pair, and goes on with or without acks."""
    k = ScheduleBuilder("published")
    k.grid(2)
    k.cluster(2)
    ready, taken = k.mbarriers("ready", count=1), k.mbarriers("taken", count=8)
    with k.elect_thread():
        k.mbarrier.init_all(ready, taken)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("waiter", warps=4):
            with k.loop(rounds) as i:
                k.mbarrier.wait(ready[0], i & 1, scope="cluster")
                k.bar.warp_sync()
                if acknowledged:
                    with k.elect():
                        k.mbarrier.arrive(k.mbarrier.at(taken[0], 0), scope="cluster")
            k.cluster_barrier.sync()
        with k.role("publisher", warps=1):
            with k.elect(), k.when(k.cta_rank == 0), k.loop(rounds) as i:
                if acknowledged:
                    k.mbarrier.wait(taken[0], (i & 1) ^ 1, scope="cluster")
                for rank in range(2):
                    k.mbarrier.arrive(k.mbarrier.at(ready[0], rank), scope="cluster")
            k.cluster_barrier.sync()
    return k.finish()


def test_a_publisher_that_is_not_acknowledged() -> None:
    assert found(published(acknowledged=True)) == []
    assert found(published(acknowledged=False)) == ["LAPPED_WAITER"]


def mailbox(*, free: str, rounds: int = 3) -> Schedule:
    """A scheduler writes a word that four warps read. The slot is released before the read, after
    it, or never."""
    k = ScheduleBuilder("mailbox")
    word = k.smem_tile("word", (1, 1), "i32")
    full, empty = k.mbarriers("full", count=1), k.mbarriers("empty", count=4)
    value = written(k, "value", registers=1, dtype="i32")
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()
    with k.specialize():
        with k.role("worker", warps=4), k.elect(), k.loop(rounds) as i:
            k.mbarrier.wait(full[0], i & 1)
            if free == "before":
                k.mbarrier.arrive(empty[0])
            k.mem.ld_shared(value.all, word[0])
            if free == "after":
                k.mbarrier.arrive(empty[0])
        with k.role("scheduler", warps=1), k.elect(), k.loop(rounds) as i:
            if free != "never":
                k.mbarrier.wait(empty[0], (i & 1) ^ 1)
            k.mem.st_shared(word[0], value.all)
            k.mbarrier.arrive(full[0])
    return k.finish()


def test_a_slot_that_is_released_before_it_is_read() -> None:
    assert found(mailbox(free="after")) == []
    assert found(mailbox(free="before")) == ["WRITE_BEFORE_RELEASE"]
    assert found(mailbox(free="never")) == ["LAPPED_WAITER"]


def waits_late(*, acknowledged: bool) -> Schedule:
    """A late wait for phase 0: does the copy of phase 1 wait for it, by another barrier?"""
    c = Case(cells=2)
    k = c.k
    data, go, ack = c.bars("data"), c.bars("go"), c.bars("ack")
    c.start()
    with k.specialize():
        with c.thread("late"):
            k.mbarrier.wait(data[0], 0)
            c.read(0, 0)
            k.mbarrier.arrive(ack[0])
            k.mbarrier.wait(data[0], 1)
            c.read(1, 1)
        with c.thread("copier"):
            c.load(data[0], 0, 0)
            k.mbarrier.wait(data[0], 0)
            k.mbarrier.wait((ack if acknowledged else go)[0], 0)
            c.load(data[0], 1, 1)
        with c.thread("starter"):
            k.mbarrier.arrive(go[0])
    return k.finish()


def test_a_wait_that_comes_late() -> None:
    assert found(waits_late(acknowledged=True)) == []
    assert found(waits_late(acknowledged=False)) == ["LAPPED_WAITER"]


@pytest.mark.parametrize("waiters", [2, 15])
def test_many_waiters_for_one_copy(waiters: int) -> None:
    c = Case()
    k = c.k
    data = c.bars("data")
    c.start()
    with k.specialize():
        for w in range(waiters):
            with c.thread(f"w{w}"):
                k.mbarrier.wait(data[0], 0)
                c.read(0)
        with c.thread("copier"):
            c.load(data[0], 0)
            k.mbarrier.wait(data[0], 0)
    assert found(k.finish()) == []
