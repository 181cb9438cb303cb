"""Random small schedules with bulk copies that need no tensor map: rings of runs, and sends."""

from __future__ import annotations

from random import Random

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.check.written import written
from tests.oracle.peers import begin, cluster_of_two
from tests.oracle.rings import chance


def bulk_runs(rng: Random) -> Schedule:
    """Runs of rows in, passed on or stored again in bulk groups; some lie outside, or overlap."""
    k = ScheduleBuilder("bulk_runs")
    stages, steps, rows = rng.randint(1, 2), rng.randint(1, 4), rng.choice([1, 2])
    ctas, stores = rng.choice([1, 1, 2]), chance(rng, 0.6)
    k.grid(ctas)
    have = ctas * steps * rows - chance(rng, 0.1)
    source = k.global_tensor("source", (have, 32), "f32")
    out = k.global_tensor("out", (ctas * steps * rows, 32), "f32", output=True)
    ring = k.smem_tile("ring", (rows, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        if chance(rng, 0.95):
            rng.choice([k.fence.mbarrier_init, k.fence.proxy_async])()
    k.bar.sync()
    mine = k.block_idx if chance(rng, 0.9) else 0
    fences, read = chance(rng, 0.9), chance(rng, 0.8)
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(steps) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                at = ((mine * steps + i) * rows, 0)
                tile = ring[state.stage].expecting(source.box(at, (rows, 32)))
                k.mem.ld_shared(x.all, tile.box((0, k.lane), (1, 1)))
                if stores:
                    if chance(rng, 0.4):
                        k.mem.st_shared(ring[state.stage].box((0, k.lane), (1, 1)), x.all)
                    if fences:
                        k.fence.proxy_async("shared")
                    k.bar.warp_sync()
                    with k.elect():
                        k.bulk.store(out.box(at, (rows, 32)), ring[state.stage])
                        k.bulk.commit_group()
                        k.bulk.wait_group(rng.choice([0, 0, 0, 1]), read=read)
                elif fences:
                    k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
            with k.elect():
                k.bulk.wait_group(0, read=chance(rng, 0.5))
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(steps) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 128 * rows)
                at = ((mine * steps + i) * rows, 0)
                k.bulk.load(ring[state.stage], source.box(at, (rows, 32)), full[state.stage])
                if chance(rng, 0.3):
                    k.bulk.prefetch(source.box((0, 0), (1, 32)))
                state.advance()
    return k.finish()


def sends(rng: Random) -> Schedule:
    """A CTA writes a slot and sends it to its peer, which frees it."""
    k = ScheduleBuilder("sends")
    cluster_of_two(k, rng)
    slots, rounds = rng.choice([1, 1, 2]), rng.randint(1, 4)
    mine = k.smem_tile("mine", (1, 32), "f32", stages=slots)
    box = k.smem_tile("box", (1, 32), "f32", stages=slots)
    full = k.mbarriers("full", count=1, stages=slots)
    free = k.mbarriers("free", count=1, stages=slots)
    x = written(k, "x", registers=1)
    begin(k, rng, full, free)
    returns, fences, meets = chance(rng, 0.9), chance(rng, 0.9), chance(rng, 0.9)
    to = 1 if chance(rng, 0.97) else 0
    with k.when(k.cta_rank == 0):
        state = k.pipeline_state(slots, producer=True)
        with k.loop(rounds):
            if returns:
                k.mbarrier.wait(free[state.stage], state.phase, scope="cluster")
            if chance(rng, 0.95):
                k.mem.st_shared(mine[state.stage].box((0, k.lane), (1, 1)), x.all)
            if fences:
                k.fence.proxy_async(rng.choice(["shared", "all"]))
            if meets:
                k.bar.warp_sync()
            with k.elect():
                at = k.mbarrier.at(full[state.stage], to)
                k.bulk.send(box[state.stage].at(to), mine[state.stage], at)
            state.advance()
    with k.when(k.cta_rank == 1):
        own = k.pipeline_state(slots, name="own")
        with k.loop(rounds, name="j"):
            with k.elect():
                k.mbarrier.arrive_expect_tx(full[own.stage], 128)
            k.mbarrier.wait(full[own.stage], own.phase, scope="cluster")
            k.mem.ld_shared(x.all, box[own.stage].box((0, k.lane), (1, 1)))
            if chance(rng, 0.9):
                k.fence.proxy_async(rng.choice(["shared", "all"]))
            k.bar.warp_sync()
            with k.elect():
                k.mbarrier.arrive(k.mbarrier.at(free[own.stage], 0), scope="cluster")
            own.advance()
    if chance(rng, 0.9):
        k.cluster_barrier.sync()
    return k.finish()
