"""Random schedules in which several warps of a role do the same, and one role hands them data.

Counts, parities, scopes and strides are drawn; many are broken, in ways that show between two of
the warps, or only when all of them are counted.
"""

from __future__ import annotations

from random import Random

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.check.written import written, written_tile
from tests.oracle.rings import FOLD, chance


def crowd(rng: Random) -> Schedule:
    """A ring by TMA, or a tile that one warp stores, and 5 or 6 warps that read it."""
    return rng.choice([_ring, _ring, _handed, _meeting])(rng)


def _arrive(k: ScheduleBuilder, rng: Random, bar, wide: bool) -> None:  # type: ignore[no-untyped-def]
    if wide:
        k.mbarrier.arrive(bar)
        return
    if chance(rng, 0.9):
        k.bar.warp_sync()
    with k.elect():
        k.mbarrier.arrive(bar)


def _count(rng: Random, warps: int, wide: bool) -> int:
    """What a phase takes: all arrivals, mostly."""
    right = warps * (32 if wide else 1)
    wrong = [right - 1, right + 1, max(1, right // 2), max(1, right // warps), 2 * right]
    return right if chance(rng, 0.7) else rng.choice(wrong)


def _init(k: ScheduleBuilder, rng: Random, *arrays) -> None:  # type: ignore[no-untyped-def]
    with k.elect_thread():
        k.mbarrier.init_all(*arrays)
        if chance(rng, 0.95):
            k.fence.mbarrier_init()
    k.bar.sync()


def _results(k: ScheduleBuilder, rng: Random, warps: int, x) -> None:  # type: ignore[no-untyped-def]
    """Each thread stores what it has, at its own place or not."""
    if chance(rng, 0.5):
        return
    out = k.global_tensor("out", (1, 32 * warps + 32), "f32", output=True)
    at = rng.choice([k.thread_in_role] * 4 + [k.thread_in_role // 2, k.thread_in_role + 33])
    k.mem.st_global(out.box((0, at), (1, 1)), x.all)
    if chance(rng, 0.2):
        k.mem.ld_global(x.all, out.box((0, k.thread_in_role), (1, 1)))


def _ring(rng: Random) -> Schedule:
    k = ScheduleBuilder("crowd_ring")
    stages, steps, warps = rng.randint(1, 3), rng.randint(1, 5), rng.choice([5, 5, 6])
    wide = chance(rng, 0.2)
    source = k.global_tensor("source", (steps, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    ring = k.smem_tile("ring", (1, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=_count(rng, warps, wide), stages=stages)
    x = written(k, "x", registers=1)
    _init(k, rng, full, empty)
    with k.specialize():
        with k.role("consumer", warps=warps):
            state = k.pipeline_state(stages)
            waits, early = chance(rng, 0.95), chance(rng, 0.1)
            with k.loop(steps) as i:
                if waits:
                    k.mbarrier.wait(full[state.stage], state.phase)
                if early:
                    _arrive(k, rng, empty[state.stage], wide)
                tile = ring[state.stage]
                meant = tile.expecting(source.box((i, 0), (1, 32)))
                k.mem.compute(FOLD, x.all, meant if chance(rng, 0.8) else tile)
                if chance(rng, 0.05):
                    k.mem.st_shared(tile.box((0, k.lane), (1, 1)), x.all)
                if chance(rng, 0.95):
                    k.fence.proxy_async("shared")
                if not early:
                    _arrive(k, rng, empty[state.stage], wide)
                state.advance()
            _results(k, rng, warps, x)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=chance(rng, 0.95), name="p")
            with k.loop(steps, name="j") as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                k.tma.load(ring[state.stage], rows, (i, 0), full[state.stage])
                state.advance()
    return k.finish()


def _handed(rng: Random) -> Schedule:
    """One warp stores a tile, the others read it; named barriers, or mbarriers, hand it over."""
    k = ScheduleBuilder("crowd_handed")
    rounds, warps = rng.randint(1, 4), rng.choice([5, 5, 6])
    tile = written_tile(k, k.smem_tile("tile", (1, 32), "f32", stages=1))
    x = written(k, "x", registers=1)
    mine = tile[0].box((0, k.lane), (1, 1))
    threads = 32 * (warps + rng.choice([1, 1, 1, 1, 0, -1]))
    filled, freed = (
        k.named_barrier(name, id=i, threads=threads) for i, name in ((1, "filled"), (2, "freed"))
    )
    ready = k.mbarriers("ready", count=_count(rng, 1, False))
    by_mbarrier, frees = chance(rng, 0.4), chance(rng, 0.9)
    _init(k, rng, ready)
    with k.specialize():
        with k.role("reader", warps=warps):
            phase = k.var("phase", 0)
            with k.loop(rounds, name="j"):
                if by_mbarrier:
                    k.mbarrier.wait(ready[0], phase)
                else:
                    k.bar.sync(filled)
                k.mem.ld_shared(x.all, mine)
                if frees:
                    rng.choice([k.bar.sync, k.bar.arrive])(freed)
                phase.set(phase ^ 1)
            _results(k, rng, warps, x)
            if chance(rng, 0.3):
                k.bar.sync()
        with k.role("writer", warps=1):
            with k.loop(rounds, name="i"):
                k.mem.st_shared(mine, x.all)
                if by_mbarrier:
                    _arrive(k, rng, ready[0], False)
                else:
                    rng.choice([k.bar.sync, k.bar.arrive])(filled)
                if frees:
                    k.bar.sync(freed)
            if chance(rng, 0.3):
                k.bar.sync()
                k.mem.st_shared(mine, x.all)
    return k.finish()


def _meeting(rng: Random) -> Schedule:
    """All warps of the block arrive on mbarriers, and wait for each other."""
    k = ScheduleBuilder("crowd_meeting")
    rounds, warps, stages = rng.randint(1, 4), rng.choice([5, 5, 6]), rng.randint(1, 2)
    wide = chance(rng, 0.3)
    tile = written_tile(k, k.smem_tile("tile", (1, 32), "f32", stages=1))
    bars = k.mbarriers("bars", count=_count(rng, warps, wide), stages=stages)
    x = written(k, "x", registers=1)
    _init(k, rng, bars)
    with k.specialize(), k.role("all", warps=warps):
        state = k.pipeline_state(stages)
        with k.loop(rounds):
            k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
            _arrive(k, rng, bars[state.stage], wide)
            if chance(rng, 0.1):
                _arrive(k, rng, bars[state.stage], wide)
            if chance(rng, 0.9):
                k.mbarrier.wait(bars[state.stage], state.phase)
            state.advance()
        _results(k, rng, warps, x)
    return k.finish()
