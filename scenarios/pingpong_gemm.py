"""pingpong_gemm: two consumer warpgroups in turn, each with a tile of its own.

While one multiplies, the other stores, so that the tensor cores do not wait for the end of a tile.
Two pairs of named barriers keep the order: a warpgroup begins its mainloop when the other has
issued its last wgmma, and its epilogue when the other's stores have read the strips, which both
use. The operands come in the order of the tiles; each warpgroup skips the stages of the other's.
"""

from __future__ import annotations

from collections.abc import Callable

from asyncsim import Rule, ScheduleBuilder
from asyncsim.build.handles import NamedBarrierHandle
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Band, OneCtaPerSm, Stages, TileM, TileN, Twin, scenario
from asyncsim.scenarios.gemm_epilogue import Epilogue, c_type
from asyncsim.scenarios.gemm_operands import Blocks, Operands, Roles
from asyncsim.scenarios.gemm_raster import Raster

GROUPS = 2

TWINS = (
    Twin(
        name="no_store_order",
        rule=Rule.MISSING_BLOCK_BARRIER,
        summary="nothing keeps the epilogues apart, which share the strips",
        params={"ctas": 1},
    ),
    Twin(
        name="handed_on_unread",
        rule=Rule.WAIT_BY_NON_ISSUER,
        summary="the strips are handed on while stores may still read them",
        params={"ctas": 1, "buffers": 1},
    ),
    Twin(
        name="same_turn",
        rule=Rule.NAMED_BARRIER_OVERRUN,
        summary="a warpgroup hands its turn to multiply to itself",
        params={"ctas": 1},
        launch=False,
    ),
    Twin(
        name="releases_others",
        rule=Rule.DEADLOCK,
        summary="a warpgroup skips the stages of the other's tile in reading, not in releasing",
        params={"ctas": 1, "stages": 3},
    ),
    Twin(
        name="both_release",
        rule=Rule.DEADLOCK,
        summary="a stage counts as empty when both warpgroups have arrived; one reads it",
        params={"ctas": 1},
    ),
    Twin(
        name="read_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="wait_group.read leaves one store too many, the one that has the buffer",
    ),
    Twin(
        name="no_store_fence",
        rule=Rule.MISSING_PROXY_FENCE,
        summary="no fence.proxy.async between the strip and the TMA store of it",
    ),
)


@scenario(
    summary="persistent GEMM: two consumer warpgroups take tiles in turn, stored by TMA",
    archs=("sm_90a",),
    twins=TWINS,
)
def pingpong_gemm(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    block_m: TileM = 64,
    block_n: TileN = 256,
    block_k: int = 64,
    stages: Stages = 4,
    lag: int = 1,
    buffers: int = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 132,
    band: Band = 8,
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
        warpgroups=1,
    )
    raster = Raster(blocks.rows, blocks.columns, band, ctas)
    b = ScheduleBuilder("pingpong_gemm", archs=("sm_90a",))
    steps = b.arg("steps", blocks.steps)
    tiles = b.arg("tiles", raster.tiles)
    operands = Operands.declare(b, blocks, released_by=1 + (twin == "both_release"))
    c = b.global_tensor("c", (m, n), c_type(f32), output=True)
    group = b.warp_in_role // 4

    def pair(name: str, id: int, threads: int) -> list[NamedBarrierHandle]:
        return [b.named_barrier(f"{name}{g}", id=id + g, threads=threads) for g in range(GROUPS)]

    def mine(op: Callable[[NamedBarrierHandle], None], of: list[NamedBarrierHandle]) -> None:
        """An op on the barrier that belongs to the warpgroup."""
        for g, barrier in enumerate(of):
            with b.when(group == g):
                op(barrier)

    meet = pair("meet", 1, 128)
    may_multiply, may_store = pair("may_multiply", 3, 256), pair("may_store", 5, 256)
    hand_on_multiply = may_multiply if twin == "same_turn" else may_multiply[::-1]
    epilogue = Epilogue.declare(
        b, blocks, c_type(f32), buffers=buffers, meet=lambda: mine(b.bar.sync, meet), twin=twin
    )
    c_map = epilogue.map_of(c)
    acc = [b.accumulator(f"acc{h}", n=block_n) for h in range(blocks.halves)]
    b.grid(raster.ctas)
    own_tiles = (tiles - b.block_idx + (raster.ctas - 1)) // raster.ctas
    roles = Roles(b, GROUPS, setmaxnreg)
    operands.init()

    with b.specialize():
        with roles.consumers():
            state = b.pipeline_state(stages)
            state.skip(group * steps)
            done = state
            if lag:
                done = b.pipeline_state(stages, name="done")
                done.skip(group * steps)
            with b.loop((own_tiles + 1 - group) // GROUPS, name="turn") as turn:
                t = turn * GROUPS + group
                row, col = raster.place(b.block_idx + t * raster.ctas)
                corner = (row * block_m, col * block_n)
                with b.when(t > 0):
                    mine(b.bar.sync, may_multiply)
                with b.loop(steps) as i:
                    operands.multiply(state, acc, 0, corner, i)
                    b.wgmma.wait_group(lag)
                    with b.when(i >= lag):
                        operands.release(done)
                        if lag:
                            done.advance()
                    state.advance()
                with b.when(t + 1 < own_tiles):
                    mine(b.bar.arrive, hand_on_multiply)
                b.wgmma.wait_group(0)
                if lag:
                    operands.release(done)
                    done.advance()
                state.skip(steps)
                if lag and twin != "releases_others":
                    done.skip(steps)
                if twin != "no_store_order":
                    with b.when(t > 0):
                        mine(b.bar.sync, may_store)
                epilogue.store(
                    acc,
                    0,
                    lambda column, strip: b.tma.store(
                        c_map, (corner[0], corner[1] + column), strip
                    ),
                )
                if twin != "handed_on_unread":
                    epilogue.drain()
                if twin != "no_store_order":
                    with b.when(t + 1 < own_tiles):
                        mine(b.bar.arrive, may_store[::-1])
            if twin == "handed_on_unread":
                epilogue.drain()
        with roles.producer():
            state = b.pipeline_state(stages, producer=True)
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * raster.ctas)
                with b.loop(steps) as i:
                    operands.fetch(state, row * block_m, col * block_n, i)
    return b.finish()
