"""tma_reduce: all CTAs reduce their tiles into a few of one output by TMA reductions.

A producer thread fills a ring of stages by TMA; another one sends each tile on by
cp.reduce.async.bulk.tensor, and releases its stage when the reduction has read it. Both copies go
through the async proxy: no proxy fence, and no element passes a register.
"""

from __future__ import annotations

from asyncsim import Fill, Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Stages, Twin, scenario

ROWS, COLUMNS = 64, 32
TILE_BYTES = 4 * ROWS * COLUMNS
OPS = ("add", "min", "max")

TWINS = (
    Twin(
        name="wait_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="the stage is released when the reduction before has read its own",
    ),
    Twin(
        name="no_full_wait",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="a tile is sent on without waiting for it",
    ),
    Twin(
        name="plain_store",
        rule=Rule.GLOBAL_WRITE_OVERLAP,
        summary="the tiles are stored, not reduced: the last one stays",
    ),
    Twin(
        name="no_commit",
        rule=Rule.UNCOMMITTED_COPY,
        summary="the reductions are in no bulk group, so that no wait covers them",
    ),
    Twin(
        name="expect_short",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="the producer announces 16 bytes fewer than it copies",
    ),
)


@scenario(
    summary="CTAs reduce their tiles into one output by TMA: add, min or max",
    archs=("sm_90a", "sm_100a"),
    twins=TWINS,
)
def tma_reduce(
    *,
    stages: Stages = 3,
    tiles: int = 16,
    outputs: int = 8,
    ctas: int = 132,
    op: int = 0,
    twin: str = "",
) -> Schedule:
    """``tiles``: of each CTA; ``outputs``: tiles of the output; ``op``: 0 add, 1 min, 2 max."""
    if not 0 <= op < len(OPS):
        raise ScheduleError(f"op = {op}", fix="use 0 (add), 1 (min) or 2 (max)")
    for name, value in (("stages", stages), ("outputs", outputs), ("ctas", ctas)):
        if value < 1:
            raise ScheduleError(f"{name} = {value}", fix="give at least 1")
    if tiles < 0:
        raise ScheduleError(f"tiles = {tiles}", fix="give 0 or more")
    k = ScheduleBuilder("tma_reduce", archs=("sm_90a", "sm_100a"))
    n = k.arg("tiles", tiles)
    source = k.global_tensor(
        "source", (max(1, ctas * tiles) * ROWS, COLUMNS), "i32", fill=Fill.SMALL
    )
    result = k.global_tensor("result", (outputs * ROWS, COLUMNS), "i32", output=True)
    source_map = k.tensor_map("source_map", source, box=(ROWS, COLUMNS))
    result_map = k.tensor_map("result_map", result, box=(ROWS, COLUMNS))
    ring = k.smem_tile("ring", (ROWS, COLUMNS), "i32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    k.grid(ctas)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("sender", warps=1), k.elect():
            state = k.pipeline_state(stages)
            with k.loop(n) as i:
                tile = k.block_idx * n + i
                if twin != "no_full_wait":
                    k.mbarrier.wait(full[state.stage], state.phase)
                here = ring[state.stage].expecting(source.box((tile * ROWS, 0), (ROWS, COLUMNS)))
                there = (tile % outputs * ROWS, 0)
                if twin == "plain_store":
                    k.tma.store(result_map, there, here)
                else:
                    k.tma.reduce(result_map, there, here, op=OPS[op])
                if twin != "no_commit":
                    k.bulk.commit_group()
                k.bulk.wait_group(1 if twin == "wait_too_loose" else 0, read=True)
                k.mbarrier.arrive(empty[state.stage])
                state.advance()
            k.bulk.wait_group(0)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(n) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                short = 16 if twin == "expect_short" else 0
                k.mbarrier.arrive_expect_tx(full[state.stage], TILE_BYTES - short)
                row = (k.block_idx * n + i) * ROWS
                k.tma.load(ring[state.stage], source_map, (row, 0), full[state.stage])
                state.advance()
    return k.finish()
