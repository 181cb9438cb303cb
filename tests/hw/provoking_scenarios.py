"""Kernels made to show what timing hides: data that come late, memory that is reused early.

``late_stores``: 32 lanes write to one bank right before the TMA store. ``early_reuse``: more CTAs
than fit at once, each of which writes its shared memory first thing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Rule, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Twin, scenario

TILE = ComputeOperand(name="tile", kind="smem", mode=AccessMode.WRITE)
ONE_BANK = """
    for (int c = 31; c >= 0; --c)
      for (int r = lane; r < tile_rows; r += 32) tile(r, c) = {};
"""


def _place(tile: Any) -> Any:
    rows, columns = tile.shape
    return 1 + 32 * np.arange(rows)[:, None] + np.arange(columns)[None, :]


def _set(tile: Any, values: Any) -> None:
    tile[...] = values


CLEAR = ComputeDef(
    name="clear",
    operands=(TILE,),
    work=lambda: Work(alu=8, sts_bytes=512),
    cuda=ONE_BANK.format("0"),
    numpy=lambda tile, **_: _set(tile, 0),
)
COUNT = ComputeDef(
    name="count",
    operands=(TILE,),
    work=lambda: Work(alu=8, sts_bytes=512),
    cuda=ONE_BANK.format("1 + r * 32 + c"),
    numpy=lambda tile, **_: _set(tile, _place(tile)),
)
COUNT_BLOCKS = ComputeDef(
    name="count_blocks",
    operands=(TILE, ComputeOperand(name="block", kind="int")),
    work=lambda block: Work(alu=8, sts_bytes=512),
    cuda="""
        for (int r = 0; r < tile_rows; ++r) tile(r, lane) = block * 4099 + 1 + r * 32 + lane;
    """,
    numpy=lambda tile, block, **_: _set(tile, block * 4099 + _place(tile)),
)


@scenario(
    summary="stores with bank conflicts, then a TMA store of the same bytes",
    twins=[Twin(name="no_fence", rule=Rule.MISSING_PROXY_FENCE, summary="no proxy fence between")],
)
def late_stores(*, warps: int = 4, rows: int = 64, ctas: int = 264, twin: str = "") -> Schedule:
    k, tile, store = _kernel("late_stores", warps, rows, ctas)
    k.mem.compute(CLEAR, tile)
    k.fence.proxy_async("shared")
    k.bar.sync()
    k.mem.compute(COUNT, tile)
    if twin != "no_fence":
        k.fence.proxy_async("shared")
    k.bar.sync()
    store(wait=True)
    return k.finish()


@scenario(
    summary="a CTA writes its shared memory as soon as it has some, and stores it by TMA",
    twins=[Twin(name="no_wait", rule=Rule.OUTSTANDING_AT_EXIT, summary="ends without a wait")],
)
def early_reuse(*, warps: int = 4, rows: int = 64, ctas: int = 1320, twin: str = "") -> Schedule:
    k, tile, store = _kernel("early_reuse", warps, rows, ctas)
    k.mem.compute(COUNT_BLOCKS, tile, k.block_idx)
    k.fence.proxy_async("shared")
    k.bar.sync()
    store(wait=twin != "no_wait")
    return k.finish()


def _kernel(name: str, warps: int, rows: int, ctas: int) -> tuple[ScheduleBuilder, Any, Any]:
    """The builder, the warp's part of the tile, and what stores the tile."""
    k = ScheduleBuilder(name, archs=("sm_90a",))
    result = k.global_tensor("result", (ctas * warps * rows, 32), "i32", output=True)
    result_map = k.tensor_map("result_map", result, box=(rows, 32))
    tile = k.smem_tile("tile", (warps * rows, 32), "i32")[0]
    k.grid(ctas)
    k.block(warps)

    def store(*, wait: bool) -> None:
        with k.elect_thread():
            for w in range(warps):
                place = ((k.block_idx * warps + w) * rows, 0)
                k.tma.store(result_map, place, tile.box((w * rows, 0), (rows, 32)))
            k.bulk.commit_group()
            if wait:
                k.bulk.wait_group(0, read=True)

    return k, tile.box((k.warp_in_role * rows, 0), (rows, 32)), store
