"""atomic_gemm: a persistent GEMM whose CTAs take their next tile from a counter in global memory.

A CTA begins with the tile of its own index. One thread of it, the scheduler, adds 1 to the counter
for each further one, and tells all who work on tiles through a ring of slots in shared memory: a
full and an empty mbarrier for each, as for data. It runs ahead, so that the atomic's way to L2 and
back lies under the tile before. A CTA that is slower takes fewer tiles.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import OneCtaPerSm, Stages, TileM, TileN, Twin, Warpgroups, scenario
from asyncsim.scenarios.gemm_epilogue import Epilogue, c_type
from asyncsim.scenarios.gemm_operands import Blocks, Operands
from asyncsim.scenarios.gemm_raster import Raster

TWINS = (
    Twin(
        name="slot_not_released",
        rule=Rule.DEADLOCK,
        summary="the scheduler tells the next tile while the last one may still be read",
        params={"slots": 1, "block_n": 128},
    ),
    Twin(
        name="released_unread",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="a consumer warp releases the slot before it reads it",
        params={"slots": 1, "block_n": 128},
    ),
    Twin(
        name="told_too_early",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="the scheduler arrives before it stores the tile",
    ),
    Twin(
        name="unheard",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="the loading thread reads the slot without waiting for it",
    ),
    Twin(
        name="loads_uncounted",
        rule=Rule.LAPPED_WAITER,
        summary="a slot is free when the consumers have read it; the loading thread does not count",
        params={"slots": 1, "block_n": 128},
    ),
    Twin(
        name="never_free",
        rule=Rule.ARRIVAL_SHORTFALL,
        summary="the loading thread does not release its slots",
        params={"slots": 1, "block_n": 128},
    ),
    Twin(
        name="rows_ahead",
        rule=Rule.WRONG_TILE,
        summary="the rows of A are those of the tile after, which is another CTA's perhaps",
    ),
)


@scenario(
    summary="persistent GEMM whose CTAs take tiles from an atomic counter, stored by TMA",
    archs=("sm_90a",),
    twins=TWINS,
)
def atomic_gemm(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 512,
    block_m: TileM = 128,
    block_n: TileN = 256,
    block_k: int = 64,
    stages: Stages = 4,
    lag: int = 1,
    buffers: int = 2,
    slots: int = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 132,
    band: int = 8,
    consumers: Warpgroups = 2,
    twin: str = "",
) -> Schedule:
    if slots < 1:
        raise ScheduleError(f"slots = {slots}", fix="give at least 1")
    blocks = Blocks(
        m=m,
        n=n,
        k=k,
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        stages=stages,
        lag=lag,
        warpgroups=consumers,
    )
    raster = Raster(blocks.rows, blocks.columns, band, ctas)
    b = ScheduleBuilder("atomic_gemm", archs=("sm_90a",))
    steps = b.arg("steps", blocks.steps)
    tiles = b.arg("tiles", raster.tiles)
    operands = Operands.declare(b, blocks)
    c = b.global_tensor("c", (m, n), c_type(f32), output=True)
    counter = b.global_tensor("counter", (1,), "u32", output=True)
    consumers_meet = b.named_barrier("consumers_meet", id=1, threads=128 * consumers)
    epilogue = Epilogue.declare(
        b,
        blocks,
        c_type(f32),
        buffers=buffers,
        meet=lambda: b.bar.sync(consumers_meet),
        twin=twin,
    )
    c_map = epilogue.map_of(c)
    acc = [b.accumulator(f"acc{h}", n=block_n) for h in range(blocks.halves)]
    slot = b.smem_tile("slot", (1, 1), "u32", stages=slots)
    told = b.mbarriers("told", count=1, stages=slots)
    readers = 4 * consumers + (twin != "loads_uncounted")
    read = b.mbarriers("read", count=readers, stages=slots)
    work = b.fragment("work", registers=1, dtype="u32")
    b.grid(raster.ctas)
    with b.elect_thread():
        b.mbarrier.init_all(operands.full, operands.empty, told, read)
        b.fence.mbarrier_init()
    b.bar.sync()

    with b.specialize():
        with b.role("consumer", warps=4 * consumers):
            first_row = b.warp_in_role // 4 * (block_m // consumers)
            state = b.pipeline_state(stages)
            done = b.pipeline_state(stages, name="done") if lag else state
            heard = b.pipeline_state(slots, name="heard")
            with b.loop(tiles, name="tile", ticket=work.all) as tile:
                row, col = raster.place(tile)
                corner = (row * block_m, col * block_n)
                with b.loop(steps) as i:
                    operands.multiply(state, acc, first_row, corner, i)
                    b.wgmma.wait_group(lag)
                    with b.when(i >= lag):
                        operands.release(done)
                        if lag:
                            done.advance()
                    state.advance()
                b.wgmma.wait_group(0)
                if lag:
                    operands.release(done)
                    done.advance()
                epilogue.store(
                    acc,
                    first_row,
                    lambda column, strip: b.tma.store(
                        c_map, (corner[0], corner[1] + column), strip
                    ),
                )
                b.mbarrier.wait(told[heard.stage], heard.phase)
                if twin == "released_unread":
                    with b.elect():
                        b.mbarrier.arrive(read[heard.stage])
                b.mem.ld_shared(work.all, slot[heard.stage])
                b.bar.warp_sync()
                if twin != "released_unread":
                    with b.elect():
                        b.mbarrier.arrive(read[heard.stage])
                heard.advance()
            epilogue.drain()
        with b.role("load", warps=1), b.elect():
            state = b.pipeline_state(stages, producer=True)
            heard = b.pipeline_state(slots, name="heard")
            with b.loop(tiles, name="tile", ticket=work.all) as tile:
                row, col = raster.place(tile + 1 if twin == "rows_ahead" else tile)
                _, col = raster.place(tile)
                with b.loop(steps) as i:
                    operands.fetch(state, row * block_m, col * block_n, i)
                if twin != "unheard":
                    b.mbarrier.wait(told[heard.stage], heard.phase)
                b.mem.ld_shared(work.all, slot[heard.stage])
                if twin not in ("loads_uncounted", "never_free"):
                    b.mbarrier.arrive(read[heard.stage])
                heard.advance()
        with b.role("scheduler", warps=1), b.elect():
            state = b.pipeline_state(slots, producer=True)
            with b.loop(tiles, name="tile", ticket=work.all):
                if twin != "slot_not_released":
                    b.mbarrier.wait(read[state.stage], state.phase)
                b.mem.atom_add(work.all, counter.box((0,), (1,)))
                if twin == "told_too_early":
                    b.mbarrier.arrive(told[state.stage])
                b.mem.st_shared(slot[state.stage], work.all)
                if twin != "told_too_early":
                    b.mbarrier.arrive(told[state.stage])
                state.advance()
    return b.finish()
