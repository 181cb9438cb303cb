"""A scenario outside the package: the sums of the columns of a matrix, tile by tile.

A producer warp loads tiles of `rows` x 32 fp32 by TMA into a ring; a consumer warp adds them up,
one column a lane, with a compute definition of its own.
"""

from asyncsim import AccessMode, ComputeDef, ComputeOperand, Rule, ScheduleBuilder, Work
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Twin, scenario

CLEAR = ComputeDef(
    name="clear",
    operands=(ComputeOperand(name="sums", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=1),
    cuda="sums[0] = 0.0f;",
    numpy=lambda sums, **_: sums.fill(0),
)


def _add(sums, tile, lane, **_):
    for row in tile:  # in the order of the CUDA text: the same roundings, the same bits
        sums[:, 0] += row[lane]


ADD_ROWS = ComputeDef(
    name="add_rows",
    operands=(
        ComputeOperand(name="sums", kind="fragment", mode=AccessMode.READ_WRITE),
        ComputeOperand(name="tile", kind="smem"),
        ComputeOperand(name="rows", kind="int"),
    ),
    work=lambda rows: Work(ffma=rows, lds_bytes=128 * rows, chain_ffma=rows, chain_lds=1),
    cuda="for (int r = 0; r < rows; ++r) sums[0] += tile(r, lane);",
    numpy=lambda rows, **operands: _add(**operands),
)

TWINS = (
    Twin(
        name="late_wait",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="waits for the full barrier after it has added the tile",
    ),
    Twin(
        name="early_release",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="gives the stage back before it has read it",
    ),
)


@scenario(summary="column sums of a matrix through a TMA ring", archs=("sm_90a",), twins=TWINS)
def column_sum(
    *, stages: int = 3, tiles: int = 16, rows: int = 64, ctas: int = 132, twin: str = ""
) -> Schedule:
    k = ScheduleBuilder("column_sum")
    n = k.arg("tiles", tiles)
    matrix = k.global_tensor("matrix", (max(1, ctas * tiles) * rows, 32), "f32")
    result = k.global_tensor("result", (ctas, 32), "f32", output=True)
    matrix_map = k.tensor_map("matrix_map", matrix, box=(rows, 32))
    ring = k.smem_tile("ring", (rows, 32), "f32", stages=stages)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    sums = k.fragment("sums", registers=1)
    k.grid(ctas)

    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()

    def release(stage):
        k.fence.proxy_async("shared")
        k.bar.warp_sync()
        with k.elect():
            k.mbarrier.arrive(empty[stage])

    with k.specialize():
        with k.role("consumer", warps=1):
            k.mem.compute(CLEAR, sums.all)
            state = k.pipeline_state(stages)
            with k.loop(n) as i:
                if twin != "late_wait":
                    k.mbarrier.wait(full[state.stage], state.phase)
                if twin == "early_release":
                    release(state.stage)
                meant = matrix.box(((k.block_idx * n + i) * rows, 0), (rows, 32))
                k.mem.compute(ADD_ROWS, sums.all, ring[state.stage].expecting(meant), rows)
                if twin == "late_wait":
                    k.mbarrier.wait(full[state.stage], state.phase)
                if twin != "early_release":
                    release(state.stage)
                state.advance()
            k.mem.st_global(result.box((k.block_idx, k.lane), (1, 1)), sums.all)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(n) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], rows * 128)
                row = (k.block_idx * n + i) * rows
                k.tma.load(ring[state.stage], matrix_map, (row, 0), full[state.stage])
                state.advance()
    return k.finish()
