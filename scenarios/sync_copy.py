"""sync_copy: the baseline of the ladder. Load, barrier, compute, barrier; nothing overlaps.

Every thread loads its part of the tile from global memory into registers and stores it to the one
stage in shared memory; a block barrier before the tile is read, one before it is overwritten.
The consumer is that of cp_async_multistage, so that the two compare.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError, Value
from asyncsim.build.value import Index, maximum
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Twin, scenario
from asyncsim.scenarios.tile_hash import HASH_INIT, TILE_HASH

ARCHS = ("sm_80", "sm_90a", "sm_100a")
TWINS = (
    Twin(
        name="no_first_barrier",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="no block barrier between the stores and the reads of the tile",
    ),
    Twin(
        name="no_second_barrier",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="no block barrier between the reads and the next tile's stores",
    ),
    Twin(
        name="wrong_tile",
        rule=Rule.WRONG_TILE,
        summary="loads the tile of the round before",
    ),
)


@scenario(
    summary="the synchronous baseline: load to registers, store to shared memory, two barriers",
    archs=ARCHS,
    twins=TWINS,
)
def sync_copy(
    *,
    tiles: int = 64,
    tile_bytes: int = 8192,
    ffma: int = 64,
    ctas: int = 132,
    twin: str = "",
) -> Schedule:
    warps, threads, columns = 4, 128, 32
    if tiles < 0:
        raise ScheduleError(f"tiles = {tiles}", fix="give 0 or more")
    if ffma < 0:
        raise ScheduleError(f"ffma = {ffma}", fix="give 0 or more")
    if ctas < 1:
        raise ScheduleError(f"ctas = {ctas}", fix="a grid has at least 1 CTA")
    if not 2048 <= tile_bytes <= 32768 or tile_bytes % 2048:
        raise ScheduleError(
            f"tile_bytes = {tile_bytes}",
            fix="128 threads hold 16-byte chunks in registers: a multiple of 2048 up to 32768",
        )
    rows = tile_bytes // 128

    k = ScheduleBuilder("sync_copy", archs=ARCHS)
    n = k.arg("tiles", tiles)
    source = k.global_tensor("source", (max(1, ctas * tiles) * rows, columns), "f32")
    result = k.global_tensor("result", (ctas, threads), "u32", output=True)
    stage = k.smem_tile("stage", (rows, columns), "f32")[0]
    held = k.fragment("held", registers=tile_bytes // (4 * threads))
    hash_, unit = k.fragment("hash", registers=1, dtype="u32"), k.fragment("unit", registers=2)
    k.grid(ctas)
    k.block(warps)

    def first_row(i: Index) -> Value:
        return (k.block_idx * n + i) * rows

    k.mem.compute(HASH_INIT, hash_.all, unit.all, n)
    with k.loop(n, name="t") as t:
        loaded = maximum(t - 1, 0) if twin == "wrong_tile" else t
        k.mem.copy_tile(stage, source, (first_row(loaded), 0), threads=threads, via=held)
        if twin != "no_first_barrier":
            k.bar.sync()
        meant = source.box((first_row(t), 0), (rows, columns))
        k.mem.compute(TILE_HASH, hash_.all, unit.all, stage.expecting(meant), ffma)
        if twin != "no_second_barrier":
            k.bar.sync()
    k.mem.st_global(result.box((k.block_idx, k.thread_in_role), (1, 1)), hash_.all)
    return k.finish()
