"""A scenario outside the package, with its own compute and twin: double each tile, store by TMA."""

from __future__ import annotations

from typing import Any

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Rule, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Twin, scenario

ROWS, COLUMNS = 32, 32


def _double(tile: Any, lane: Any, **_: Any) -> None:
    tile[...] = 2 * tile


DOUBLE = ComputeDef(
    name="double_tile",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.READ_WRITE),),
    work=lambda: Work(alu=ROWS, lds_bytes=128 * ROWS, sts_bytes=128 * ROWS),
    cuda="""
        for (int row = 0; row < tile_rows; ++row) tile(row, lane) = 2.0f * tile(row, lane);
    """,
    numpy=_double,
)


@scenario(
    summary="double tiles in place: TMA in, TMA out",
    archs=("sm_90a",),
    twins=(
        Twin(
            name="no_fence",
            rule=Rule.MISSING_PROXY_FENCE,
            summary="stores the tile without fence.proxy.async after the writes",
        ),
    ),
)
def double_tiles(*, tiles: int = 4, ctas: int = 2, twin: str = "") -> Schedule:
    k = ScheduleBuilder("double_tiles", archs=("sm_90a",))
    n = k.arg("tiles", tiles)
    rows = ctas * tiles * ROWS
    source = k.global_tensor("source", (rows, COLUMNS), "f32")
    result = k.global_tensor("result", (rows, COLUMNS), "f32", output=True)
    load_map = k.tensor_map("load_map", source, box=(ROWS, COLUMNS), swizzle=128)
    store_map = k.tensor_map("store_map", result, box=(ROWS, COLUMNS), swizzle=128)
    tile = k.smem_tile("tile", (ROWS, COLUMNS), "f32", swizzle=128)
    full = k.mbarriers("full", count=1)
    k.grid(ctas)
    k.block(1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    phase = k.var("phase", 0)
    with k.loop(n) as i:
        at = ((k.block_idx * n + i) * ROWS, 0)
        with k.elect():
            k.mbarrier.arrive_expect_tx(full[0], 4 * ROWS * COLUMNS)
            k.tma.load(tile[0], load_map, at, full[0])
        k.mbarrier.wait(full[0], phase)
        k.mem.compute(DOUBLE, tile[0])
        if twin != "no_fence":
            k.fence.proxy_async("shared")
        k.bar.warp_sync()
        with k.elect():
            k.tma.store(store_map, at, tile[0])
            k.bulk.commit_group()
            k.bulk.wait_group(0)
        k.bar.warp_sync()
        phase.set(phase ^ 1)
    return k.finish()
