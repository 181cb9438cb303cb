"""Random small schedules with peeks, tracked cp.async, arrivals that drop out, bytes by hand."""

from __future__ import annotations

from random import Random

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.check.written import written
from tests.oracle.rings import chance


def peeking_ring(rng: Random) -> Schedule:
    """A ring whose two sides may peek, at the right phase or at another one."""
    k = ScheduleBuilder("peeking_ring")
    stages, steps = rng.randint(1, 2), rng.randint(1, 4)
    source = k.global_tensor("source", (steps, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32))
    ring = k.smem_tile("ring", (1, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    x, token, ready = written(k, "x", registers=1), k.mbarrier_token("token"), k.mbarrier_token("r")
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    here, ahead = chance(rng, 0.4), chance(rng, 0.6)  # the consumer peeks right before, or ahead
    by_producer, before_release = chance(rng, 0.5), chance(rng, 0.3)
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            waits = here or ahead
            if ahead:
                k.mbarrier.peek(full[state.stage], state.phase, token)
            with k.loop(steps) as i:
                if here:
                    k.mbarrier.peek(full[state.stage], state.phase, token)
                k.mbarrier.wait(full[state.stage], state.phase, peek=token if waits else None)
                meant = source.box((i, 0), (1, 32))
                row = ring[state.stage].expecting(meant).box((0, k.lane), (1, 1))
                k.mem.ld_shared(x.all, row)
                k.fence.proxy_async("shared")
                k.bar.warp_sync()
                now = k.var("now", state.stage)
                if ahead and before_release:
                    state.advance()
                    with k.when(i + 1 < steps):
                        k.mbarrier.peek(full[state.stage], state.phase, token)
                with k.elect():
                    k.mbarrier.arrive(empty[now])
                if not (ahead and before_release):
                    state.advance()
                    if ahead:
                        with k.when(i + 1 < steps):
                            k.mbarrier.peek(full[state.stage], state.phase, token)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            if by_producer:
                k.mbarrier.peek(empty[state.stage], state.phase, ready)
            with k.loop(steps) as i:
                peek = ready if by_producer else None
                k.mbarrier.wait(empty[state.stage], state.phase, peek=peek)
                k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                k.tma.load(ring[state.stage], source_map, (i, 0), full[state.stage])
                state.advance()
                if by_producer:
                    k.mbarrier.peek(empty[state.stage], state.phase, ready)
    return k.finish()


def free_peeks(rng: Random) -> Schedule:
    """Lanes that arrive, peek and wait on two mbarriers at random, and a byte that they guard."""
    k = ScheduleBuilder("free_peeks")
    warps = rng.choice([1, 2, 2])
    k.block(warps)
    bars = k.mbarriers("bar", count=rng.choice([1, 1, 2]), stages=2)
    token = k.mbarrier_token("token")
    tile, x = k.smem_tile("tile", (1, 4), "f32"), written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.bar.sync()
    for warp in range(warps):
        with k.when(k.warp_in_role == warp), k.elect():
            last = (0, 0)
            for _ in range(rng.randint(1, 5)):
                stage, parity = rng.randint(0, 1), rng.randint(0, 1)
                match rng.randint(0, 8):
                    case 0 | 1 | 2:
                        k.mbarrier.arrive(bars[stage], no_complete=chance(rng, 0.2))
                    case 3:
                        k.mbarrier.arrive_drop(bars[stage])
                    case 4 | 5:
                        k.mbarrier.peek(bars[stage], parity, token)
                        last = stage, parity
                    case 6 | 7:
                        if chance(rng, 0.9):
                            stage, parity = last
                        k.mbarrier.wait(bars[stage], parity, peek=token)
                    case _:
                        cell = tile[0].box((0, 0), (1, 1))
                        if chance(rng, 0.5):
                            k.mem.st_shared(cell, x.all)
                        else:
                            k.mem.ld_shared(x.all, cell)
            k.mbarrier.peek(bars[0], 0, token)
            k.mbarrier.peek(bars[1], 0, token)
    return k.finish()


def tracked_ring(rng: Random) -> Schedule:
    """cp.async that mbarriers track, with and without noinc, with and without the lanes' own."""
    k = ScheduleBuilder("tracked_ring")
    stages, steps = rng.randint(1, 2), rng.randint(1, 3)
    noinc, own = rng.choice(
        [(True, False), (True, False), (False, True), (False, True), (True, True)]
    )
    source = k.global_tensor("source", (32 * steps, 4), "f32")
    ring = k.smem_tile("ring", (32, 4), "f32", stages=stages)
    full = k.mbarriers("full", count=32, stages=stages)
    empty = k.mbarriers("empty", count=32, stages=stages)
    x = written(k, "x", registers=4)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
    k.bar.sync()
    before, early = chance(rng, 0.15), chance(rng, 0.1)
    with k.specialize():
        with k.role("producer", warps=1):
            state = k.pipeline_state(stages, producer=True)
            with k.loop(steps) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                if own and before:
                    k.mbarrier.arrive(full[state.stage])
                if early:
                    k.cp_async.mbarrier_arrive(full[state.stage], noinc=noinc)
                row = ring[state.stage].box((k.lane, 0), (1, 4))
                k.cp_async.copy(row, source.box((32 * i + k.lane, 0), (1, 4)))
                if not early:
                    k.cp_async.mbarrier_arrive(full[state.stage], noinc=noinc)
                if own and not before:
                    k.mbarrier.arrive(full[state.stage])
                state.advance()
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages)
            with k.loop(steps) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                meant = source.box((32 * i + 31 - k.lane, 0), (1, 4))
                row = ring[state.stage].box((31 - k.lane, 0), (1, 4))
                k.mem.ld_shared(x.all, row.expecting(meant))
                k.mbarrier.arrive(empty[state.stage])
                state.advance()
    return k.finish()


def by_hand(rng: Random) -> Schedule:
    """Bytes by TMA and by complete_tx on one mbarrier, in any order, by two lanes."""
    k = ScheduleBuilder("by_hand")
    k.block(2)
    source = k.global_tensor("source", (1, 16), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 16))
    tile, bar = k.smem_tile("tile", (1, 16), "f32"), k.mbarriers("bar", count=1)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
    k.bar.sync()
    announced = rng.choice([80, 80, 80, 64, 96])
    acts = [
        lambda: k.tma.load(tile[0], source_map, (0, 0), bar[0]),
        lambda: k.mbarrier.complete_tx(bar[0], 16),
    ]
    if chance(rng, 0.7):
        acts.append(lambda: k.mbarrier.arrive_expect_tx(bar[0], announced))
    else:
        acts.append(lambda: k.mbarrier.expect_tx(bar[0], announced))
        acts.append(lambda: k.mbarrier.arrive(bar[0]))
    if chance(rng, 0.2):
        acts.append(rng.choice(acts))
    order = [(rng.randint(0, 1), act) for act in rng.sample(acts, len(acts))]
    for warp in range(2):
        with k.when(k.warp_in_role == warp), k.elect():
            for lane, act in order:
                if lane == warp:
                    act()
    k.mbarrier.wait(bar[0], 0)
    meant = source.box((0, 0), (1, 16))
    k.mem.ld_shared(x.all, tile[0].expecting(meant).box((0, k.lane % 16), (1, 1)))
    return k.finish()
