"""split_k: a GEMM whose tiles are too few for the GPU, each shared by ``splits`` CTAs along k.

Persistent as cooperative_gemm; what a CTA takes is a part of a tile's steps. Partial sums leave
through shared memory as those do, but TMA adds them to what C holds, which starts as zero:
reductions by one operator are in no order, and need none.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError, minimum
from asyncsim.build.value import Index
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import OneCtaPerSm, Splits, Stages, TileM, TileN, Twin, Warpgroups, scenario
from asyncsim.scenarios.gemm_epilogue import Epilogue
from asyncsim.scenarios.gemm_operands import Blocks, Operands, Roles
from asyncsim.scenarios.gemm_raster import Raster

TWINS = (
    Twin(
        name="plain_store",
        rule=Rule.GLOBAL_WRITE_OVERLAP,
        summary="partial sums are stored, not added: the last one stays",
    ),
    Twin(
        name="all_from_zero",
        rule=Rule.WRONG_TILE,
        summary="the producer begins every part at the first step",
        params={"ctas": 1},
    ),
    Twin(
        name="parts_alike",
        rule=Rule.WRONG_TILE,
        summary="the producer takes the last, shorter part for as long as the others",
        params={"ctas": 1, "k": 448, "splits": 2},
    ),
    Twin(
        name="no_read_wait",
        rule=Rule.SMEM_REUSED_BEFORE_STORE_READ,
        summary="strip buffers are written without a wait for the reductions that read them",
    ),
    Twin(
        name="no_store_fence",
        rule=Rule.MISSING_PROXY_FENCE,
        summary="no fence.proxy.async between the strip and the reduction of it",
    ),
)


@scenario(
    summary="persistent GEMM split along k: partial sums added by TMA",
    archs=("sm_90a",),
    twins=TWINS,
)
def split_k(
    *,
    m: int = 512,
    n: int = 512,
    k: int = 16384,
    splits: Splits = 16,
    block_m: TileM = 128,
    block_n: TileN = 256,
    block_k: int = 64,
    stages: Stages = 4,
    lag: int = 1,
    buffers: int = 2,
    ctas: OneCtaPerSm = 132,
    band: int = 0,
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
    longest = _steps_of_part(blocks.steps, splits)
    tiles = Raster(blocks.rows, blocks.columns, band, ctas)
    parts = tiles.tiles * splits
    b = ScheduleBuilder("split_k", archs=("sm_90a",))
    steps = b.arg("steps", blocks.steps)
    operands = Operands.declare(b, blocks)
    c = b.global_tensor("c", (m, n), "f32", output=True)
    consumers_meet = b.named_barrier("consumers_meet", id=1, threads=128 * consumers)
    epilogue = Epilogue.declare(
        b,
        blocks,
        "f32",
        buffers=buffers,
        meet=lambda: b.bar.sync(consumers_meet),
        twin=twin,
    )
    c_map = epilogue.map_of(c)
    acc = [b.accumulator(f"acc{h}", n=block_n) for h in range(blocks.halves)]
    stride = min(ctas, parts)
    b.grid(stride)
    own_parts = (b.arg("parts", parts) - b.block_idx + (stride - 1)) // stride

    def part(t: Index) -> tuple[Index, Index, Index]:
        """The t-th of the CTA: row and column of its tile in C, its first step."""
        number = b.block_idx + t * stride
        row, column = tiles.place(number // splits)
        return row * block_m, column * block_n, number % splits * longest

    roles = Roles(b, consumers, setmaxnreg)
    operands.init()

    with b.specialize():
        with roles.consumers():
            first_row = b.warp_in_role // 4 * (block_m // consumers)
            state = b.pipeline_state(stages)
            done = b.pipeline_state(stages, name="done") if lag else state
            with b.loop(own_parts, name="t") as t:
                row0, col0, first = part(t)
                with b.loop(minimum(steps - first, longest)) as i:
                    operands.multiply(state, acc, first_row, (row0, col0), i, first_step=first)
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
                with_sums = b.tma.store if twin == "plain_store" else b.tma.reduce
                how = {} if twin == "plain_store" else {"op": "add"}
                epilogue.store(
                    acc,
                    first_row,
                    lambda column, strip: with_sums(c_map, (row0, col0 + column), strip, **how),
                )
            epilogue.drain()
        with roles.producer():
            state = b.pipeline_state(stages, producer=True)
            with b.loop(own_parts, name="t") as t:
                row0, col0, first = part(t)
                count = minimum(steps - first, longest)
                with b.loop(longest if twin == "parts_alike" else count) as i:
                    step = i if twin == "all_from_zero" else first + i
                    operands.fetch(state, row0, col0, step)
    return b.finish()


def _steps_of_part(steps: int, splits: int) -> int:
    """Of all parts but the last, which may be shorter. Raises ScheduleError."""
    if splits < 1:
        raise ScheduleError(f"splits = {splits}", fix="give at least 1")
    longest = -(-steps // splits)
    if longest * (splits - 1) >= steps:
        raise ScheduleError(
            f"{splits} splits of {steps} steps leave a part without steps",
            fix=f"use {-(-steps // longest)}: parts have {longest} steps, the last one the rest",
        )
    return longest
