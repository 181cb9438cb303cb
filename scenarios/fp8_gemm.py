"""fp8_gemm: C (M, N) = A (M, K) times B (N, K) transposed, 8-bit floats with scales for blocks.

Tensor cores keep few bits of a long sum of 8-bit floats. So they sum 128 products, and FFMA add
these to sums in fp32, times the scale of the 128 (of a row of A) and of the 128 x 128 (of B): two
levels, two sets of registers. The tensor work of a warpgroup and its FFMA follow each other; two
warpgroups that share a tile take turns at them. The tiles of a CTA and their way out are those of
`cooperative_gemm`.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, Severity
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Band, OneCtaPerSm, Stages, TileM, Twin, Warpgroups, scenario
from asyncsim.scenarios.fp8_operands import Fp8Blocks, Fp8Operands, clear, padded
from asyncsim.scenarios.gemm_epilogue import Epilogue, c_type
from asyncsim.scenarios.gemm_operands import Roles
from asyncsim.scenarios.gemm_raster import Raster

TWINS = (
    Twin(
        name="promoted_in_flight",
        rule=Rule.FRAGMENT_IN_FLIGHT,
        summary="the sums of a step are added up before the wait for its wgmma",
    ),
    Twin(
        name="no_fence",
        rule=Rule.MISSING_WGMMA_FENCE,
        summary="no wgmma.fence after FFMA have read the accumulator that wgmma overwrites",
    ),
    Twin(
        name="released_in_flight",
        rule=Rule.OPERAND_IN_FLIGHT,
        summary="a stage is released before the wait for the wgmma that reads it",
    ),
    Twin(
        name="scales_before_arrival",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="scales are read before the wait for the stage that they come in",
    ),
    Twin(
        name="scales_after_release",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="a stage is released before its scales are read",
        params={"block_m": 128},
    ),
    Twin(
        name="one_warp_releases",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="one warp of a warpgroup releases a stage for all; others may still read scales",
    ),
    Twin(
        name="no_proxy_fence",
        rule=Rule.PROXY_WAR,
        severity=Severity.WARNING,
        summary="no fence.proxy.async between reading scales and the refill by TMA",
    ),
    Twin(
        name="scale_not_counted",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="the 16 bytes with the scale of B are not among those expected",
    ),
    Twin(
        name="scales_of_last_step",
        rule=Rule.WRONG_TILE,
        summary="the scales of A are those of the step before",
    ),
    Twin(
        name="first_columns",
        rule=Rule.WRONG_TILE,
        summary="of the four scales of B that come, the first one is taken for every tile",
    ),
)


@scenario(
    summary="persistent fp8 GEMM: scales for blocks, sums of tensor cores promoted by FFMA",
    archs=("sm_90a",),
    twins=TWINS,
)
def fp8_gemm(
    *,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    block_m: TileM = 256,
    block_n: int = 128,
    stages: Stages = 3,
    buffers: int = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 132,
    band: Band = 16,
    consumers: Warpgroups = 2,
    setmaxnreg: int = 1,
    twin: str = "",
) -> Schedule:
    blocks = Fp8Blocks(
        m=m, n=n, k=k, block_m=block_m, block_n=block_n, stages=stages, warpgroups=consumers
    )
    raster = Raster(blocks.rows, blocks.columns, band, ctas)
    b = ScheduleBuilder("fp8_gemm", archs=("sm_90a",))
    steps = b.arg("steps", blocks.steps)
    tiles = b.arg("tiles", raster.tiles)
    released_by = consumers if twin == "one_warp_releases" else 4 * consumers
    operands = Fp8Operands.declare(b, blocks, released_by=released_by, twin=twin)
    row_length = padded(n, 4 if f32 else 2)
    c = b.global_tensor("c", (m, n), c_type(f32), strides=(row_length, 1), output=True)
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
    sums = [b.fragment(f"sums{h}", registers=block_n // 2) for h in range(blocks.halves)]
    b.grid(raster.ctas)
    own_tiles = (tiles - b.block_idx + (raster.ctas - 1)) // raster.ctas
    roles = Roles(b, consumers, setmaxnreg)
    operands.init()

    with b.specialize():
        with roles.consumers():
            first_row = b.warp_in_role // 4 * (block_m // consumers)
            state = b.pipeline_state(stages)
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * raster.ctas)
                corner = (row * block_m, col * block_n)
                for sum_ in sums:
                    b.mem.compute(clear(block_n // 2), sum_.all)
                with b.loop(steps) as i:
                    operands.add_step(state, sums, first_row, corner, i)
                epilogue.store(
                    sums,
                    first_row,
                    lambda column, strip: b.tma.store(
                        c_map, (corner[0], corner[1] + column), strip
                    ),
                )
            epilogue.drain()
        with roles.producer():
            state = b.pipeline_state(stages, producer=True)
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * raster.ctas)
                with b.loop(steps) as i:
                    operands.fetch(state, row * block_m, col * block_n, i)
    return b.finish()
