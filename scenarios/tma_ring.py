"""tma_ring: a producer warp fills a ring of stages by TMA, consumer warps fold the tiles.

The smallest complete asynchronous pipeline: full and empty mbarriers, transaction bytes, phases.
The producer loads tile i when tile i - ``distance`` has been released: with ``distance = stages``,
the default, when its own stage has been.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError, Severity, Value
from asyncsim.ir.op import MbarrierRef
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate import MAX_SMEM_BYTES
from asyncsim.scenario import Stages, Twin, scenario
from asyncsim.scenarios.distance import producer_ahead
from asyncsim.scenarios.tile_hash import HASH_INIT, TILE_HASH

TWINS = (
    Twin(
        name="no_proxy_fence",
        rule=Rule.PROXY_WAR,
        severity=Severity.WARNING,
        summary="consumers read, then release without fence.proxy.async",
    ),
    Twin(
        name="no_init_fence",
        rule=Rule.MISSING_INIT_FENCE,
        summary="no fence.mbarrier_init between the init and the block barrier",
    ),
    Twin(
        name="no_full_wait",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="consumers do not wait for the full barrier",
    ),
    Twin(
        name="early_release",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="consumers release the stage before they read it",
    ),
    Twin(
        name="expect_short",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="the producer announces 16 bytes fewer than it copies",
    ),
    Twin(
        name="producer_phase",
        rule=Rule.DEADLOCK,
        summary="the producer starts with phase 0 and waits for a release that never comes",
    ),
    Twin(
        name="all_lanes_arrive",
        rule=Rule.ARRIVAL_OVERFLOW,
        summary="every lane of a consumer warp arrives, one per warp is expected",
    ),
    Twin(
        name="one_warp_arrives",
        rule=Rule.LAPPED_WAITER,
        summary="one consumer warp arrives for all of them",
    ),
    Twin(
        name="wrong_tile",
        rule=Rule.WRONG_TILE,
        summary="the producer fetches the tile after the one that is meant",
    ),
)


@scenario(
    summary="TMA ring: one producer warp, consumer warps, full and empty barriers",
    archs=("sm_90a", "sm_100a"),
    twins=TWINS,
)
def tma_ring(
    *,
    stages: Stages = 4,
    distance: int = 0,
    tiles: int = 64,
    tile_bytes: int = 16384,
    consumers: int = 4,
    ffma: int = 64,
    ctas: int = 132,
    twin: str = "",
) -> Schedule:
    columns, rows, boxes = tile_shape(tile_bytes)
    ahead = producer_ahead(stages, distance)
    if tiles < 0:
        raise ScheduleError(f"tiles = {tiles}", fix="give 0 or more")
    if consumers < 1:
        raise ScheduleError(f"consumers = {consumers}", fix="give at least 1 consumer warp")
    if ffma < 0:
        raise ScheduleError(f"ffma = {ffma}", fix="give 0 or more")
    if ctas < 1:
        raise ScheduleError(f"ctas = {ctas}", fix="a grid has at least 1 CTA")

    k = ScheduleBuilder("tma_ring", archs=("sm_90a", "sm_100a"))
    n = k.arg("tiles", tiles)
    source = k.global_tensor("source", (max(1, ctas * tiles) * rows * boxes, columns), "f32")
    result = k.global_tensor("result", (ctas, consumers * 32), "u32", output=True)
    source_map = k.tensor_map("source_map", source, box=(rows, columns))
    ring = k.smem_tile("ring", (rows * boxes, columns), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers(
        "empty", count=1 if twin == "one_warp_arrives" else consumers, stages=stages
    )
    hash_, unit = k.fragment("hash", registers=1, dtype="u32"), k.fragment("unit", registers=2)
    k.grid(ctas)

    def tile_row(i: Value) -> Value:
        return (k.block_idx * n + i) * (rows * boxes)

    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        if twin != "no_init_fence":
            k.fence.mbarrier_init()
    k.bar.sync()

    with k.specialize():
        with k.role("consumer", warps=consumers):
            k.mem.compute(HASH_INIT, hash_.all, unit.all, n)
            state = k.pipeline_state(stages)
            with k.loop(n) as i:
                if twin != "no_full_wait":
                    k.mbarrier.wait(full[state.stage], state.phase)
                if twin == "early_release":
                    release(k, empty[state.stage], twin)
                meant = source.box((tile_row(i), 0), (rows * boxes, columns))
                k.mem.compute(
                    TILE_HASH, hash_.all, unit.all, ring[state.stage].expecting(meant), ffma
                )
                if twin != "early_release":
                    release(k, empty[state.stage], twin)
                state.advance()
            k.mem.st_global(result.box((k.block_idx, k.thread_in_role), (1, 1)), hash_.all)
        with k.role("producer", warps=1), k.elect():
            fresh = twin != "producer_phase"
            state = freed = k.pipeline_state(stages, producer=fresh)
            if ahead < stages:  # the release of tile i - ahead is one of another stage
                start = stages - ahead
                freed = k.pipeline_state(stages, producer=fresh, start=start, name="freed")
            with k.loop(n) as i:
                k.mbarrier.wait(empty[freed.stage], freed.phase)
                announced = tile_bytes - 16 if twin == "expect_short" else tile_bytes
                k.mbarrier.arrive_expect_tx(full[state.stage], announced)
                shift = rows * boxes if twin == "wrong_tile" else 0
                for b in range(boxes):
                    k.tma.load(
                        ring[state.stage].box((b * rows, 0), (rows, columns)),
                        source_map,
                        (tile_row(i) + b * rows + shift, 0),
                        full[state.stage],
                    )
                if freed is not state:
                    freed.advance()
                state.advance()
    return k.finish()


def release(k: ScheduleBuilder, empty: MbarrierRef, twin: str) -> None:
    """Order the reads before the refill (generic read, async write), then arrive once a warp."""
    if twin != "no_proxy_fence":
        k.fence.proxy_async("shared")
    if twin == "all_lanes_arrive":
        k.mbarrier.arrive(empty)
        return
    k.bar.warp_sync()
    if twin == "one_warp_arrives":
        with k.when(k.warp_in_role == 0), k.elect():
            k.mbarrier.arrive(empty)
        return
    with k.elect():
        k.mbarrier.arrive(empty)


def tile_shape(tile_bytes: int) -> tuple[int, int, int]:
    """Columns, rows of a box, and boxes of a tile of fp32: rows of 128 bytes if that divides."""
    if tile_bytes < 16 or tile_bytes % 16:
        raise ScheduleError(
            f"tile_bytes = {tile_bytes}",
            fix="a bulk copy moves a multiple of 16 bytes, at least 16",
        )
    if tile_bytes % 128:
        if tile_bytes > 1024:
            raise ScheduleError(
                f"tile_bytes = {tile_bytes}", fix="above 1024 give a multiple of 128"
            )
        return tile_bytes // 4, 1, 1
    if tile_bytes > MAX_SMEM_BYTES:
        raise ScheduleError(
            f"tile_bytes = {tile_bytes}", fix=f"a CTA has {MAX_SMEM_BYTES} bytes of shared memory"
        )
    rows = tile_bytes // 128
    boxes = -(-rows // 256)
    while rows % boxes:
        boxes += 1
    return 32, rows // boxes, boxes
