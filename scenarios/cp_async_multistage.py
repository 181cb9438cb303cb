"""cp_async_multistage: the Ampere pipeline. Every thread copies and every thread computes.

Round t waits for tile t with ``wait_group(distance - 1)``, crosses a block barrier, copies tile
t + distance, commits (also when there was nothing to copy, so that N keeps its meaning), then
computes on tile t. With ``distance = stages - 1``, the default, the copy refills the stage that
round t-1 has finished with. With ``distance = stages`` it refills the stage of tile t itself: it
comes after the computing and a second block barrier.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError, Value
from asyncsim.build.value import Index
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Stages, Twin, scenario
from asyncsim.scenarios.distance import copies_ahead
from asyncsim.scenarios.tile_hash import HASH_INIT, TILE_HASH

TWINS = (
    Twin(
        name="commit_if_copied",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="commit only when something was copied: the last rounds wait for too little",
    ),
    Twin(
        name="wait_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="wait_group(distance) leaves the tile that is read pending",
    ),
    Twin(
        name="no_barrier",
        rule=Rule.MISSING_BLOCK_BARRIER,
        summary="no block barrier after the wait: it covers the thread's own copies only",
    ),
    Twin(
        name="prologue_overrun",
        rule=Rule.OUT_OF_BOUNDS,
        summary="the prologue copies tiles that do not exist",
        params={"tiles": 1},
        launch=False,
    ),
    Twin(
        name="refill_same_stage",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="distance = stages refills the stage just read, without a second block barrier",
    ),
)


@scenario(
    summary="cp.async multistage: all threads copy and compute, wait_group counts tiles",
    archs=("sm_80", "sm_90a", "sm_100a"),
    twins=TWINS,
)
def cp_async_multistage(
    *,
    stages: Stages = 4,
    distance: int = 0,
    tiles: int = 64,
    tile_bytes: int = 8192,
    ffma: int = 64,
    ctas: int = 132,
    twin: str = "",
) -> Schedule:
    warps, threads, columns = 4, 128, 32
    no_second_barrier = twin == "refill_same_stage"
    ahead = copies_ahead(stages, stages if no_second_barrier else distance)
    if tiles < 0:
        raise ScheduleError(f"tiles = {tiles}", fix="give 0 or more")
    if ffma < 0:
        raise ScheduleError(f"ffma = {ffma}", fix="give 0 or more")
    if ctas < 1:
        raise ScheduleError(f"ctas = {ctas}", fix="a grid has at least 1 CTA")
    if tile_bytes < 2048 or tile_bytes % 2048:
        raise ScheduleError(
            f"tile_bytes = {tile_bytes}",
            fix="128 threads copy 16 bytes each: give a multiple of 2048",
        )
    rows = tile_bytes // 128

    k = ScheduleBuilder("cp_async_multistage", archs=("sm_80", "sm_90a", "sm_100a"))
    n = k.arg("tiles", tiles)
    source = k.global_tensor("source", (max(1, ctas * tiles * rows), columns), "f32")
    result = k.global_tensor("result", (ctas, threads), "u32", output=True)
    ring = k.smem_tile("ring", (rows, columns), "f32", stages=stages)
    hash_, unit = k.fragment("hash", registers=1, dtype="u32"), k.fragment("unit", registers=2)
    k.grid(ctas)
    k.block(warps)

    def first_row(i: Index) -> Value:
        return (k.block_idx * n + i) * rows

    def copy(stage: Index, i: Index) -> None:
        k.cp_async.copy_tile(ring[stage], source, (first_row(i), 0), threads=threads)

    def copy_and_commit(stage: Index, i: Index) -> None:
        with k.when(i < n):
            copy(stage, i)
            if twin == "commit_if_copied":
                k.cp_async.commit_group()
        if twin != "commit_if_copied":
            k.cp_async.commit_group()

    k.mem.compute(HASH_INIT, hash_.all, unit.all, n)
    for s in range(ahead):
        if twin == "prologue_overrun":
            copy(s, s)
            k.cp_async.commit_group()
        else:
            copy_and_commit(s, s)

    read, write = k.var("read_stage", 0), k.var("write_stage", ahead % stages)
    with k.loop(n, name="t") as t:
        k.cp_async.wait_group(ahead if twin == "wait_too_loose" else ahead - 1)
        if twin != "no_barrier":
            k.bar.sync()
        if ahead < stages:
            copy_and_commit(write, t + ahead)
        meant = source.box((first_row(t), 0), (rows, columns))
        k.mem.compute(TILE_HASH, hash_.all, unit.all, ring[read].expecting(meant), ffma)
        if ahead == stages:
            if not no_second_barrier:
                k.bar.sync()
            copy_and_commit(write, t + ahead)
        for var in (read, write):
            var.set(var + 1)
            with k.when(var == stages):
                var.set(0)
    k.mem.st_global(result.box((k.block_idx, k.thread_in_role), (1, 1)), hash_.all)
    return k.finish()
