"""Random small schedules of clusters: multicast rings, mailboxes, and exchanges in rounds.

Orders between CTAs are of cluster scope throughout: the explorer is sequentially consistent.
"""

from __future__ import annotations

from random import Random

from asyncsim import ScheduleBuilder
from asyncsim.build.value import Value
from asyncsim.ir.schedule import Schedule
from tests.check.written import written
from tests.oracle.rings import chance

RANKS = 2


def cluster_of_two(k: ScheduleBuilder, rng: Random) -> None:
    """One or two clusters."""
    k.grid(RANKS * rng.choice([1, 1, 2]))
    k.cluster(RANKS)


def begin(k: ScheduleBuilder, rng: Random, *arrays) -> None:  # type: ignore[no-untyped-def]
    """Init, fence, and the peer runs: mostly."""
    with k.elect_thread():
        k.mbarrier.init_all(*arrays)
        if chance(rng, 0.95):
            rng.choice([k.fence.mbarrier_init, k.fence.proxy_async])()
    if chance(rng, 0.5):
        k.bar.sync()
    if chance(rng, 0.95):
        k.cluster_barrier.sync()
    else:
        k.bar.sync()


def multicast_ring(rng: Random) -> Schedule:
    """Each CTA loads its part of a stage to both, and releases to both; or only to itself."""
    k = ScheduleBuilder("multicast_ring")
    cluster_of_two(k, rng)
    stages, tiles = rng.choice([1, 1, 2]), rng.randint(1, 2)
    alone = chance(rng, 0.2)  # no multicast: each CTA for itself
    source = k.global_tensor("source", (RANKS * tiles * 2, 32), "f32")
    part = k.tensor_map("part", source, box=(1, 32))
    ring = k.smem_tile("ring", (2, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    both = not alone and chance(rng, 0.9)
    empty = k.mbarriers("empty", count=2 if both else 1, stages=stages)
    x = written(k, "x", registers=1)
    begin(k, rng, full, empty)
    first = k.block_idx // RANKS * tiles
    last = chance(rng, 0.9)
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(tiles) as t:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box(((first + t) * 2, k.lane), (1, 1))
                cell = ring[state.stage].box((0, k.lane), (1, 1))
                k.mem.ld_shared(x.all, cell if alone else cell.expecting(meant))
                if chance(rng, 0.9):
                    k.fence.proxy_async(rng.choice(["shared", "shared::cluster"]))
                k.bar.warp_sync()
                with k.elect():
                    for rank in range(RANKS) if both else (k.cta_rank,):
                        at = k.mbarrier.at(empty[state.stage], rank)
                        k.mbarrier.arrive(at, scope="cluster")
                state.advance()
            if last:
                k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.elect():
                state = k.pipeline_state(stages, producer=True)
                row: Value = k.cta_rank
                with k.loop(tiles) as t:
                    k.mbarrier.wait(empty[state.stage], state.phase, scope="cluster")
                    b = full[state.stage]
                    k.mbarrier.arrive_expect_tx(b, 128 if alone else 256)
                    where = ((first + t) * 2 + row, 0)
                    to = ring[state.stage].box((row, 0), (1, 32))
                    k.tma.load(to, part, where, b, **({} if alone else {"multicast": 3}))
                    state.advance()
            if last:
                k.cluster_barrier.sync()
    return k.finish()


def mailbox(rng: Random) -> Schedule:
    """Rank 0 sends rows to rank 1, by st.async or by st.shared and an arrive; slots come back."""
    k = ScheduleBuilder("mailbox")
    cluster_of_two(k, rng)
    slots, rounds = rng.choice([1, 1, 2]), rng.randint(1, 4)
    by_async = chance(rng, 0.5)
    box = k.smem_tile("box", (1, 32), "f32", stages=slots)
    full = k.mbarriers("full", count=1, stages=slots)
    free = k.mbarriers("free", count=1, stages=slots)
    x = written(k, "x", registers=1)
    begin(k, rng, full, free)
    returns = chance(rng, 0.9)
    with k.when(k.cta_rank == 0):
        state = k.pipeline_state(slots, producer=True)
        with k.loop(rounds):
            if returns:
                k.mbarrier.wait(free[state.stage], state.phase, scope="cluster")
            at = k.mbarrier.at(full[state.stage], 1)
            slot = box[state.stage].at(1).box((0, k.lane), (1, 1))
            if by_async:
                k.mem.st_async(slot, x.all, at)
            else:
                k.mem.st_shared(slot, x.all)
                if chance(rng, 0.9):
                    k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(at, scope="cluster")
            state.advance()
    with k.when(k.cta_rank == 1):
        own = k.pipeline_state(slots, name="own")
        with k.loop(rounds, name="j"):
            if by_async:
                with k.elect():
                    k.mbarrier.arrive_expect_tx(full[own.stage], 128)
            k.mbarrier.wait(full[own.stage], own.phase, scope="cluster")
            k.mem.ld_shared(x.all, box[own.stage].box((0, k.lane), (1, 1)))
            k.bar.warp_sync()
            with k.elect():
                k.mbarrier.arrive(k.mbarrier.at(free[own.stage], 0), scope="cluster")
            own.advance()
    if chance(rng, 0.9):
        k.cluster_barrier.sync()
    return k.finish()


def exchange(rng: Random) -> Schedule:
    """Rounds of the cluster barrier: each CTA stores a row, and reads its own or its peer's."""
    k = ScheduleBuilder("exchange")
    cluster_of_two(k, rng)
    warps, rounds = rng.choice([1, 1, 2]), rng.randint(1, 3)
    k.block(warps)
    row = k.smem_tile("row", (warps, 32), "f32", stages=rng.choice([1, 2]))
    x = written(k, "x", registers=1)
    ahead = chance(rng, 0.3)  # something between arrive and wait
    swap = chance(rng, 0.7)
    with k.loop(rounds) as i:
        stage = row[i % row.decl.stages]
        mine = stage.box((k.warp_in_role, k.lane), (1, 1))
        k.mem.st_shared(mine, x.all)
        k.cluster_barrier.arrive()
        if ahead:
            k.mem.ld_shared(x.all, mine)
        k.cluster_barrier.wait()
        other = (k.warp_in_role + 1) % warps
        theirs = stage.at(1 - k.cta_rank if swap else k.cta_rank)
        k.mem.ld_shared(x.all, theirs.box((other, k.lane), (1, 1)))
        if chance(rng, 0.8):
            k.cluster_barrier.sync()
    if chance(rng, 0.7):
        k.cluster_barrier.sync()
    return k.finish()


def meetings(rng: Random) -> Schedule:
    """Warps of both CTAs meet on one mbarrier of rank 0, and on one of each CTA; any order."""
    k = ScheduleBuilder("meetings")
    cluster_of_two(k, rng)
    warps, rounds = rng.choice([1, 2]), rng.randint(1, 3)
    k.block(warps)
    hub = k.mbarriers("hub", count=RANKS * warps)
    own = k.mbarriers("own", count=rng.choice([1, warps]))
    cell = k.smem_tile("cell", (1, 32), "f32")[0]
    x = written(k, "x", registers=1)
    begin(k, rng, hub, own)
    lead = chance(rng, 0.6)
    with k.loop(rounds) as i:
        with k.when(k.warp_in_role == i % warps):
            at = 1 - k.cta_rank if chance(rng, 0.5) else k.cta_rank
            k.mem.st_shared(cell.at(at).box((0, k.lane), (1, 1)), x.all)
        k.bar.warp_sync()
        with k.elect():
            k.mbarrier.arrive(k.mbarrier.at(hub[0], 0), scope="cluster")
        with k.when(k.cta_rank == 0):
            k.mbarrier.wait(hub[0], i % 2, scope="cluster")
            if lead:
                with k.when(k.warp_in_role == 0), k.elect():
                    for rank in range(RANKS):
                        k.mbarrier.arrive(k.mbarrier.at(own[0], rank), scope="cluster")
        if lead:
            k.mbarrier.wait(own[0], i % 2, scope="cluster")
        if chance(rng, 0.6):
            k.mem.ld_shared(x.all, cell.box((0, k.lane), (1, 1)))
            k.bar.warp_sync()
    if chance(rng, 0.9):
        k.cluster_barrier.sync()
    return k.finish()
