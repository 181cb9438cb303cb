"""Random small schedules of whole blocks: cp.async groups, bulk stores, several CTAs."""

from __future__ import annotations

from random import Random

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from tests.check.written import written
from tests.oracle.rings import FOLD, chance

ADD = ComputeDef(
    name="add",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.READ_WRITE),),
    work=lambda: Work(alu=1),
    cuda="tile(0, lane) += 1;",
    numpy=lambda tile, **_: None,
)


def cp_async(rng: Random) -> Schedule:
    """All threads copy ahead by groups; a warp reads its own copies, or those of all."""
    k = ScheduleBuilder("cp_async")
    stages, steps, warps = rng.randint(2, 3), rng.randint(1, 5), rng.choice([1, 1, 2])
    shared, n = chance(rng, 0.7), stages - 2
    k.block(warps)
    source = k.global_tensor("source", (steps * 32 * warps, 4), "f32")
    ring = k.smem_tile("ring", (32 * warps, 4), "f32", stages=stages)
    x, own = written(k, "x", registers=1), written(k, "own", registers=4)

    def copy(stage, step) -> None:  # type: ignore[no-untyped-def]
        k.cp_async.copy_tile(ring[stage], source, (step * 32 * warps, 0), threads=32 * warps)

    for s in range(stages - 1):
        with k.when(s < steps):
            copy(s, s)
        k.cp_async.commit_group()
    with k.loop(steps) as i:
        k.cp_async.wait_group(n)
        if shared or chance(rng, 0.5):
            k.bar.sync()
        ahead = i + stages - 1
        stage, next_stage = i % stages, ahead % stages
        early = chance(rng, 0.8)
        if early:
            with k.when(ahead < steps):
                copy(next_stage, ahead)
            k.cp_async.commit_group()
        if shared:
            meant = source.box((i * 32 * warps, 0), (32 * warps, 4))
            k.mem.compute(FOLD, x.all, ring[stage].expecting(meant))
        else:
            row = k.thread_in_role
            meant = source.box((i * 32 * warps + row, 0), (1, 4))
            k.mem.ld_shared(own.all, ring[stage].box((row, 0), (1, 4)).expecting(meant))
        if not early:
            if chance(rng, 0.5):
                k.bar.sync()
            with k.when(ahead < steps):
                copy(next_stage, ahead)
            k.cp_async.commit_group()
    return k.finish()


def bulk_store(rng: Random) -> Schedule:
    """Warps write a stage, one thread stores it by TMA; the stage is used again."""
    k = ScheduleBuilder("bulk_store")
    stages, steps, warps = rng.randint(1, 3), rng.randint(1, 5), rng.choice([1, 2])
    depth, read = rng.choice([stages - 1, stages - 1, 0]), chance(rng, 0.8)
    k.block(warps)
    out = k.global_tensor("out", (steps * warps, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(warps, 32))
    tile = k.smem_tile("tile", (warps, 32), "f32", stages=stages)
    x = written(k, "x", registers=1)
    with k.loop(steps) as i:
        stage = tile[i % stages]
        with k.elect_thread():
            k.bulk.wait_group(depth, read=read)
        k.bar.sync()
        k.mem.st_shared(stage.box((k.warp_in_role, k.lane), (1, 1)), x.all)
        if chance(rng, 0.9):
            k.fence.proxy_async("shared")
        k.bar.sync()
        with k.elect_thread():
            k.tma.store(out_map, (i * warps, 0), stage)
            k.bulk.commit_group()
    with k.elect_thread():
        k.bulk.wait_group(0, read=chance(rng, 0.7))
    return k.finish()


def through(rng: Random) -> Schedule:
    """A tile in by TMA, changed in place, out by TMA; several CTAs, which may overlap."""
    k = ScheduleBuilder("through")
    warps, ctas = rng.choice([1, 2]), rng.choice([1, 2, 3])
    step = warps if chance(rng, 0.85) else 0
    k.block(warps)
    k.grid(ctas)
    source = k.global_tensor("source", (ctas * warps, 32), "f32")
    out = k.global_tensor("out", (ctas * warps, 32), "f32", output=True)
    source_map = k.tensor_map("source_map", source, box=(warps, 32))
    out_map = k.tensor_map("out_map", out, box=(warps, 32))
    tile = k.smem_tile("tile", (warps, 32), "f32")[0]
    full = k.mbarriers("full", count=32 * warps)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.proxy_async("shared")
    k.bar.sync()
    at = (k.block_idx * step, 0)
    with k.elect_thread():
        if chance(rng, 0.5):
            k.mbarrier.expect_tx(full[0], 128 * warps)
            k.tma.load(tile, source_map, at, full[0])
        else:
            k.tma.load(tile, source_map, at, full[0])
            k.mbarrier.expect_tx(full[0], 128 * warps)
    k.mbarrier.arrive(full[0])
    k.mbarrier.wait(full[0], 0)
    row = k.warp_in_role
    meant = source.box((k.block_idx * step + row, 0), (1, 32))
    k.mem.compute(ADD, tile.box((row, 0), (1, 32)).expecting(meant))
    if chance(rng, 0.9):
        k.fence.proxy_async(rng.choice(["shared", "all"]))
    k.bar.sync()
    with k.elect_thread():
        k.tma.store(out_map, at, tile)
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=chance(rng, 0.7))
    return k.finish()


def plain(rng: Random) -> Schedule:
    """Loads and stores of several warps and CTAs over global and shared memory, and barriers."""
    k = ScheduleBuilder("plain")
    warps, ctas, rounds = rng.choice([1, 2]), rng.choice([1, 1, 2]), rng.randint(1, 3)
    k.block(warps)
    k.grid(ctas)
    data = k.global_tensor("data", (ctas * warps + 1, 32), "f32", output=True)
    tile = k.smem_tile("tile", (warps, 32), "f32")[0]
    x = written(k, "x", registers=1)
    row = k.block_idx * warps + k.warp_in_role
    other = k.block_idx * warps + (k.warp_in_role + 1) % warps
    meet = rng.choice([k.bar.sync, k.bar.sync, k.bar.warp_sync])
    with k.loop(rounds) as i:
        k.mem.st_shared(tile.box((k.warp_in_role, k.lane), (1, 1)), x.all)
        meet()
        lane = (k.lane + 1) % 32 if chance(rng, 0.5) else k.lane
        peer = (k.warp_in_role + i) % warps
        k.mem.ld_shared(x.all, tile.box((peer, lane), (1, 1)))
        if chance(rng, 0.9):
            k.bar.sync()
        if chance(rng, 0.4):
            k.mem.st_global(data.box((row, k.lane), (1, 1)), x.all)
            if chance(rng, 0.7):
                k.bar.sync()
            k.mem.ld_global(x.all, data.box((other, k.lane), (1, 1)))
            k.bar.sync()
    with k.when(k.warp_in_role == 0):
        where = k.block_idx if chance(rng, 0.9) else ctas - 1
        k.mem.st_global(data.box((where * warps, k.lane), (1, 1)), x.all)
    return k.finish()
