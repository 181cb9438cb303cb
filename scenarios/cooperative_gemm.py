"""cooperative_gemm: C (M, N) = A (M, K) times B (N, K) transposed by CTAs that stay for many tiles.

``consumers`` warpgroups (two, or one) share a tile, each with its own rows. The producer, a thread
of a warpgroup that has given its registers away, runs ahead of them: into the next tile while they
store one. The ring of operands, its stages and its phases go on from tile to tile.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Band, OneCtaPerSm, Stages, TileM, TileN, Twin, Warpgroups, scenario
from asyncsim.scenarios import gemm_epilogue
from asyncsim.scenarios.gemm_epilogue import Epilogue, c_type
from asyncsim.scenarios.gemm_operands import Blocks, Operands, Roles
from asyncsim.scenarios.gemm_raster import Raster

TWINS = (
    *gemm_epilogue.TWINS,
    Twin(
        name="ring_restarts",
        rule=Rule.DEADLOCK,
        summary="the producer begins every tile at the first stage",
        params={"ctas": 1, "stages": 3, "k": 320},
    ),
    Twin(
        name="tail_not_released",
        rule=Rule.DEADLOCK,
        summary="the last stage of a tile, which lags behind, is never released",
        params={"ctas": 1, "stages": 2},
    ),
    Twin(
        name="rows_ahead",
        rule=Rule.WRONG_TILE,
        summary="the producer takes the rows of A from the tile after",
        params={"ctas": 1},
    ),
    Twin(
        name="tile_skipped",
        rule=Rule.DEADLOCK,
        summary="the producer rounds its number of tiles down, the consumers round it up",
    ),
    Twin(
        name="tile_twice",
        rule=Rule.GLOBAL_WRITE_OVERLAP,
        summary="the stride from tile to tile is one CTA short",
    ),
)


@scenario(
    summary="persistent GEMM: two consumer warpgroups share a tile, stored by TMA",
    archs=("sm_90a",),
    twins=TWINS,
)
def cooperative_gemm(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    block_m: TileM = 128,
    block_n: TileN = 256,
    block_k: int = 64,
    stages: Stages = 4,
    lag: int = 1,
    buffers: int = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 132,
    band: Band = 8,
    consumers: Warpgroups = 2,
    setmaxnreg: int = 1,
    twin: str = "",
) -> Schedule:
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
    b = ScheduleBuilder("cooperative_gemm", archs=("sm_90a",))
    steps = b.arg("steps", blocks.steps)
    tiles = b.arg("tiles", raster.tiles)
    operands = Operands.declare(b, blocks)
    c = b.global_tensor("c", (m, n), c_type(f32), output=True)
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
    b.grid(raster.ctas)
    stride = max(raster.ctas - (twin == "tile_twice"), 1)
    own_tiles = (tiles - b.block_idx + (stride - 1)) // stride
    roles = Roles(b, consumers, setmaxnreg)
    operands.init()

    with b.specialize():
        with roles.consumers():
            first_row = b.warp_in_role // 4 * (block_m // consumers)
            state = b.pipeline_state(stages)
            done = b.pipeline_state(stages, name="done") if lag else state
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * stride)
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
                if lag and twin != "tail_not_released":
                    operands.release(done)
                    done.advance()
                epilogue.store(
                    acc,
                    first_row,
                    lambda column, strip: b.tma.store(
                        c_map, (corner[0], corner[1] + column), strip
                    ),
                )
            if twin != "no_exit_wait":
                epilogue.drain()
        with roles.producer():
            state = b.pipeline_state(stages, producer=True)
            rounded_down = (tiles - b.block_idx) // stride
            with b.loop(rounded_down if twin == "tile_skipped" else own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * stride)
                if twin == "rows_ahead":
                    row, _ = raster.place(b.block_idx + (t + 1) * stride)
                if twin == "ring_restarts":
                    state.reset(phase=1)
                with b.loop(steps) as i:
                    operands.fetch(state, row * block_m, col * block_n, i)
    return b.finish()
