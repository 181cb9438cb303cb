"""Pairs of CTAs: publication before the first use, the last use before the exit, acks of both."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import found
from tests.check.written import written


def pair(name: str = "pair") -> ScheduleBuilder:
    k = ScheduleBuilder(name)
    k.grid(2)
    k.cluster(2)
    k.block(1)
    return k


def remote_arrive(*, sync: bool, fence: bool) -> Schedule:
    """CTA 0 initialises a barrier; CTA 1 arrives on it at once, or after both have met."""
    k = pair()
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        if fence:
            k.fence.mbarrier_init()
    if sync:
        k.cluster_barrier.sync()
    else:
        k.bar.sync()
    with k.elect():
        with k.when(k.cta_rank == 1):
            k.mbarrier.arrive(k.mbarrier.at(bar[0], 0), scope="cluster")
        with k.when(k.cta_rank == 0):
            k.mbarrier.wait(bar[0], 0, scope="cluster")
    k.cluster_barrier.sync()
    return k.finish()


def test_a_remote_arrive_on_a_barrier_that_is_not_known_to_exist() -> None:
    assert found(remote_arrive(sync=True, fence=True)) == []
    assert found(remote_arrive(sync=True, fence=False)) == ["MISSING_INIT_FENCE"]
    assert found(remote_arrive(sync=False, fence=True)) == ["PEER_NOT_STARTED"]


def read_and_exit(*, last: bool) -> Schedule:
    """CTA 1 reads what CTA 0 has stored, and CTA 0 may be gone by then."""
    k = pair()
    cell, x = k.smem_tile("cell", (1, 32), "f32"), written(k, "x", registers=1)
    mine = cell[0].box((0, k.lane), (1, 1))
    k.mem.st_shared(mine, x.all)
    k.cluster_barrier.sync()
    with k.when(k.cta_rank == 1):
        k.mem.ld_shared(x.all, mine.at(0))
    if last:
        k.cluster_barrier.sync()
    return k.finish()


def test_a_cta_that_returns_while_a_peer_reads_from_it() -> None:
    assert found(read_and_exit(last=True)) == []
    assert found(read_and_exit(last=False)) == ["PEER_EXITED"]


def drained(*, tail: bool, tiles: int = 4, stages: int = 2) -> Schedule:
    """Each CTA loads half of a tile to both; both release to both. Does the producer wait for the
    last releases, which come from the peer?"""
    k = ScheduleBuilder("drained")
    k.grid(2)
    k.cluster(2)
    source = k.global_tensor("source", (2 * tiles, 32), "f32")
    row = k.tensor_map("row", source, box=(1, 32))
    ring = k.smem_tile("ring", (2, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=2, stages=stages)
    x = written(k, "x", registers=2)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(tiles):
                k.mbarrier.wait(full[state.stage], state.phase)
                k.mem.ld_shared(x.all, ring[state.stage].box((0, k.lane), (2, 1)))
                k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect():
                    for rank in range(2):
                        at = k.mbarrier.at(empty[state.stage], rank)
                        k.mbarrier.arrive(at, scope="cluster")
                state.advance()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(tiles) as t:
                k.mbarrier.wait(empty[state.stage], state.phase, scope="cluster")
                k.mbarrier.arrive_expect_tx(full[state.stage], 256)
                part = ring[state.stage].box((k.cta_rank, 0), (1, 32))
                at = (2 * t + k.cta_rank, 0)
                k.tma.load(part, row, at, full[state.stage], multicast=3)
                state.advance()
            if tail:
                with k.loop(stages):
                    k.mbarrier.wait(empty[state.stage], state.phase, scope="cluster")
                    state.advance()
    return k.finish()


def test_a_producer_waits_once_more_for_releases_that_come_from_a_peer() -> None:
    assert found(drained(tail=True)) == []
    assert found(drained(tail=False)) == ["PEER_EXITED"]


def epilogue(*, both: bool) -> Schedule:
    """The epilogue of both CTAs uses a buffer that rank 0 then refills for both."""
    k = ScheduleBuilder("epilogue")
    k.grid(2)
    k.cluster(2)
    source = k.global_tensor("source", (1, 32), "f32")
    row = k.tensor_map("row", source, box=(1, 32))
    buf, x = k.smem_tile("buf", (1, 32), "f32"), written(k, "x", registers=1)
    done, full = k.mbarriers("done", count=2 if both else 1), k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(done, full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128)
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("epilogue", warps=1):
            mine = buf[0].box((0, k.lane), (1, 1))
            k.mem.st_shared(mine, x.all)
            k.mem.ld_shared(x.all, mine)
            k.fence.proxy_async("shared")
            k.bar.warp_sync()
            with k.elect():
                if both:
                    k.mbarrier.arrive(k.mbarrier.at(done[0], 0), scope="cluster")
                else:
                    k.mbarrier.arrive(done[0])
            k.mbarrier.wait(full[0], 0)
            k.mem.ld_shared(x.all, mine)
            k.cluster_barrier.sync()
        with k.role("load", warps=1):
            with k.elect(), k.when(k.cta_rank == 0):
                k.mbarrier.wait(done[0], 0, scope="cluster")
                k.tma.load(buf[0], row, (0, 0), full[0], multicast=3)
            k.cluster_barrier.sync()
    return k.finish()


def test_a_multicast_over_what_the_epilogue_of_a_peer_still_uses() -> None:
    assert found(epilogue(both=True)) == []
    assert found(epilogue(both=False)) == ["WRITE_BEFORE_RELEASE"]


def barrier_of_a_partition(*, all_warps: bool) -> Schedule:
    """barrier.cluster in one partition, or in all."""
    k = ScheduleBuilder("partition")
    k.grid(2)
    k.cluster(2)
    done = k.mbarriers("done", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(done)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("a", warps=1):
            k.cluster_barrier.sync()
            with k.elect():
                k.mbarrier.arrive(done[0])
        with k.role("b", warps=1):
            if all_warps:
                k.cluster_barrier.sync()
            k.mbarrier.wait(done[0], 0)
    return k.finish()


def test_a_cluster_barrier_in_one_partition_only() -> None:
    assert found(barrier_of_a_partition(all_warps=True)) == []
    assert found(barrier_of_a_partition(all_warps=False)) == ["DEADLOCK"]


def own_slots(*, ack: str, rounds: int = 3) -> Schedule:
    """Each CTA writes its own slot for its workers, and a request goes to both; ``ack``: on the
    leader only, or in each CTA, with a rendezvous before the next request."""
    k = ScheduleBuilder("own_slots")
    k.grid(2)
    k.cluster(2)
    slot, x = k.smem_tile("slot", (1, 1), "i32"), written(k, "x", registers=1, dtype="i32")
    ready = k.mbarriers("ready", count=1)
    taken = k.mbarriers("taken", count=2 if ack == "leader" else 1)
    with k.elect_thread():
        k.mbarrier.init_all(ready, taken)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("worker", warps=1):
            with k.elect(), k.loop(rounds) as t:
                k.mbarrier.wait(ready[0], t & 1)
                k.mem.ld_shared(x.all, slot[0])
                if ack == "leader":
                    k.mbarrier.arrive(k.mbarrier.at(taken[0], 0), scope="cluster")
                else:
                    k.mbarrier.arrive(taken[0])
            k.cluster_barrier.sync()
        with k.role("writer", warps=1):
            with k.elect(), k.loop(rounds) as t:
                if ack == "leader":
                    with k.when(k.cta_rank == 0):
                        k.mbarrier.wait(taken[0], (t & 1) ^ 1, scope="cluster")
                else:
                    k.mbarrier.wait(taken[0], (t & 1) ^ 1)
                k.mem.st_shared(slot[0], x.all)
                k.mbarrier.arrive(ready[0])
            k.cluster_barrier.sync()
    return k.finish()


def test_a_slot_of_each_cta_that_only_the_leader_waits_for() -> None:
    assert found(own_slots(ack="own")) == []
    assert found(own_slots(ack="leader")) == ["LAPPED_WAITER"]


def trampoline(*, scope: str, relaxed: bool = False) -> Schedule:
    """The peer copies by cp.async, joins its lanes, and arrives on the leader, which reads it."""
    k = pair()
    source = k.global_tensor("source", (32, 4), "f32")
    tile, x = k.smem_tile("tile", (32, 4), "f32"), written(k, "x", registers=4)
    ready = k.mbarriers("ready", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(ready)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    mine = tile[0].box((k.lane, 0), (1, 4))
    with k.when(k.cta_rank == 1):
        k.cp_async.copy(mine, source.box((k.lane, 0), (1, 4)))
        k.cp_async.commit_group()
        k.cp_async.wait_group(0)
        k.bar.warp_sync()
        with k.elect():
            at = k.mbarrier.at(ready[0], 0)
            k.mbarrier.arrive(at, scope=scope, relaxed=relaxed)
    with k.when(k.cta_rank == 0):
        k.mbarrier.wait(ready[0], 0, scope=scope)
        k.mem.ld_shared(x.all, mine.at(1))
    k.cluster_barrier.sync()
    return k.finish()


def test_a_release_of_cta_scope_to_another_cta() -> None:
    assert found(trampoline(scope="cluster")) == []
    assert found(trampoline(scope="cta")) == ["SCOPE_TOO_NARROW"]
    assert found(trampoline(scope="cluster", relaxed=True)) == ["SCOPE_TOO_NARROW"]


def hand_off(*, by: str) -> Schedule:
    """Two warps of each CTA: one reads, the other overwrites, after a relaxed or a full barrier of
    the cluster, or after an arrival of the reader."""
    k = ScheduleBuilder("hand_off")
    k.grid(2)
    k.cluster(2)
    cell, x = k.smem_tile("cell", (1, 32), "f32"), written(k, "x", registers=1)
    read = k.mbarriers("read", count=32)
    mine = cell[0].box((0, k.lane), (1, 1))
    with k.elect_thread():
        k.mbarrier.init_all(read)
    with k.when(k.warp_in_role == 0):
        k.mem.st_shared(mine, x.all)
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("reader", warps=1):
            k.mem.ld_shared(x.all, mine.at(1 - k.cta_rank) if by != "mbarrier" else mine)
            if by == "mbarrier":
                k.mbarrier.arrive(read[0])
            k.cluster_barrier.arrive(relaxed=by == "relaxed")
            k.cluster_barrier.wait()
        with k.role("writer", warps=1):
            if by == "mbarrier":
                k.mbarrier.wait(read[0], 0)
                k.mem.st_shared(mine, x.all)
            k.cluster_barrier.arrive(relaxed=by == "relaxed")
            k.cluster_barrier.wait()
            if by != "mbarrier":
                k.mem.st_shared(mine, x.all)
    return k.finish()


def test_what_a_cluster_barrier_hands_over() -> None:
    assert found(hand_off(by="full")) == []
    assert found(hand_off(by="mbarrier")) == []
    assert found(hand_off(by="relaxed")) == ["SCOPE_TOO_NARROW"]


def landing_not_waited_for(*, wait: str) -> Schedule:
    """A multicast to both CTAs, a cluster barrier, then a generic store over it in each."""
    k = pair()
    source = k.global_tensor("source", (1, 32), "f32")
    row = k.tensor_map("row", source, box=(1, 32))
    buf, x = k.smem_tile("buf", (1, 32), "f32"), written(k, "x", registers=1)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128)
    k.cluster_barrier.sync()
    with k.elect_thread(), k.when(k.cta_rank == 0):
        k.tma.load(buf[0], row, (0, 0), full[0], multicast=3)
    if wait == "all":
        k.mbarrier.wait(full[0], 0)
    elif wait == "rank 0":
        with k.when(k.cta_rank == 0):
            k.mbarrier.wait(full[0], 0)
    k.cluster_barrier.sync()
    k.mem.st_shared(buf[0].box((0, k.lane), (1, 1)), x.all)
    k.mbarrier.wait(full[0], 0)
    k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("wait", ["all", "rank 0", "nobody"])
def test_a_store_over_a_multicast_that_may_not_have_landed(wait: str) -> None:
    expected = [] if wait == "all" else ["WRITE_WRITE_RACE"]
    assert found(landing_not_waited_for(wait=wait)) == expected


def sent(*, wait: bool) -> Schedule:
    """st.async to the peer, then a read there with or without the wait."""
    k = pair()
    cell, x = k.smem_tile("cell", (1, 32), "f32"), written(k, "x", registers=1)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(full[0], 128)
    k.cluster_barrier.sync()
    mine, peer = cell[0].box((0, k.lane), (1, 1)), 1 - k.cta_rank
    k.mem.st_async(mine.at(peer), x.all, k.mbarrier.at(full[0], peer))
    if wait:
        k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, mine)
    k.mbarrier.wait(full[0], 0)
    k.cluster_barrier.sync()
    return k.finish()


def test_what_a_peer_sends_is_there_after_the_wait() -> None:
    assert found(sent(wait=True)) == []
    assert found(sent(wait=False)) == ["READ_BEFORE_ARRIVAL"]
