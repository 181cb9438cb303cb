"""tma_copy: one TMA load in, one added to every element, one TMA store out; a tile for each CTA.

Thread 0 issues the copy, then announces its bytes as it arrives: that is legal while arrivals are
pending. The other 127 threads arrive on their own, and each waits by the state that its arrive
returned. Both proxy fences are needed: one for the load's barrier, one for the data that are
stored. Boxes that hang over are filled as they come in, clipped as they go out.
"""

from __future__ import annotations

from typing import Any

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Rule,
    ScheduleBuilder,
    ScheduleError,
    Severity,
    Work,
)
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Twin, scenario

ROWS, COLUMNS, WARPS = 16, 32, 4
TILE_BYTES = 4 * ROWS * COLUMNS

ADD_ONE = ComputeDef(
    name="add_one",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.READ_WRITE),),
    work=lambda: Work(alu=8, lds_bytes=512, sts_bytes=512, chain_alu=1, chain_lds=1),
    cuda="""
        int4& mine = *(int4*)&tile(lane / 8, lane % 8 * 4);
        int4 x = mine;
        x.x += 1; x.y += 1; x.z += 1; x.w += 1;
        mine = x;
    """,
    numpy=lambda tile, **_: _add_one(tile),
)


def _add_one(tile: Any) -> None:
    tile += 1


TWINS = (
    Twin(
        name="no_store_fence",
        rule=Rule.MISSING_PROXY_FENCE,
        summary="no fence.proxy.async between the elements and the TMA store of them",
    ),
    Twin(
        name="expect_short",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="announces 16 bytes fewer than are copied",
    ),
    Twin(
        name="expect_twice",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="announces twice the bytes that are copied",
    ),
    Twin(
        name="count_one",
        rule=Rule.ARRIVAL_OVERFLOW,
        summary="the barrier expects 1 arrival, 128 threads arrive",
    ),
    Twin(
        name="state_not_kept",
        rule=Rule.FOREIGN_STATE,
        summary="the thread that announces the bytes waits by a state that it did not keep",
    ),
    Twin(
        name="no_exit_wait",
        rule=Rule.OUTSTANDING_AT_EXIT,
        summary="the CTA ends while its store may still read shared memory",
    ),
    Twin(
        name="no_commit",
        rule=Rule.UNCOMMITTED_COPY,
        summary="the store is in no group, so that no wait covers it",
    ),
    Twin(
        name="no_init_fence",
        rule=Rule.MISSING_INIT_FENCE,
        severity=Severity.WARNING,
        summary="no fence between the init and the copy of the same thread",
    ),
)


@scenario(
    summary="TMA in, add one, TMA out: one 16x32 int tile a CTA, both proxy fences",
    archs=("sm_90a", "sm_100a"),
    twins=TWINS,
)
def tma_copy(*, m: int = 2048, n: int = 2048, twin: str = "") -> Schedule:
    for name, size in (("m", m), ("n", n)):
        if size < 1:
            raise ScheduleError(f"{name} = {size}", fix="give at least 1")
    k = ScheduleBuilder("tma_copy", archs=("sm_90a", "sm_100a"))
    source = k.global_tensor("source", (m, n), "i32")
    result = k.global_tensor("result", (m, n), "i32", output=True)
    source_map = k.tensor_map("source_map", source, box=(ROWS, COLUMNS))
    result_map = k.tensor_map("result_map", result, box=(ROWS, COLUMNS))
    tile = k.smem_tile("tile", (ROWS, COLUMNS), "i32")[0]
    full = k.mbarriers("full", count=1 if twin == "count_one" else 32 * WARPS)
    state = k.mbarrier_state("state")
    k.grid(-(-n // COLUMNS), -(-m // ROWS))
    k.block(WARPS)
    corner = (k.block_idx_y * ROWS, k.block_idx * COLUMNS)
    announced = {"expect_short": TILE_BYTES - 16, "expect_twice": 2 * TILE_BYTES}

    with k.elect_thread():
        k.mbarrier.init_all(full)
        if twin != "no_init_fence":
            k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.tma.load(tile, source_map, corner, full[0])
        k.mbarrier.arrive_expect_tx(
            full[0],
            announced.get(twin, TILE_BYTES),
            state=None if twin == "state_not_kept" else state,
        )
    with k.others():
        k.mbarrier.arrive(full[0], state=state)
    k.mbarrier.wait_state(full[0], state)
    rows = ROWS // WARPS
    first = k.warp_in_role * rows
    meant = source.box((corner[0] + first, corner[1]), (rows, COLUMNS))
    k.mem.compute(ADD_ONE, tile.box((first, 0), (rows, COLUMNS)).expecting(meant))
    if twin != "no_store_fence":
        k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        k.tma.store(result_map, corner, tile)
        if twin != "no_commit":
            k.bulk.commit_group()
        if twin != "no_exit_wait":
            k.bulk.wait_group(0, read=True)
    return k.finish()
