"""bw_block_scaled: C (M, N) = A (M, K) times B (N, K) transposed, with block scale factors.

``kind`` 0: MXFP8 (e4m3, a factor ue8m0 for 32 elements); 1: MXFP4 (e2m1, two a byte, ue8m0 for
32); 2: NVFP4 (e2m1, ue4m3 for 16). ``k`` counts elements. A step is 128 bytes of a row deep.

Factors lie in global memory as the copy to tensor memory wants them: for 128 rows and four factors
of each, 32 lines of 16 bytes; line l holds the factors of rows l, 32 + l, 64 + l and 96 + l. The
thread that multiplies copies them to tensor memory (tcgen05.cp) before the instructions that read
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim import Fill, Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Band, Buffers, OneCtaPerSm, Stages, Twin, scenario
from asyncsim.scenarios.bw_strips import WARPS, Strips
from asyncsim.scenarios.gemm_epilogue import c_type
from asyncsim.scenarios.gemm_raster import Raster

BLOCK = 128  # rows of A and of B
BLOCK_BYTES = 128  # of a row, for one step
LINES, LINE_BYTES = 32, 16  # of the factors of 128 rows, four a row
COLUMNS = BLOCK // LINES  # of tensor memory, for these


@dataclass(frozen=True, slots=True)
class Format:
    """``per_byte`` elements a byte; ``scale_vec`` factors a row for one instruction."""

    kind: str
    dtype: str
    elements: Fill
    factors: Fill
    per_byte: int
    scale_vec: int

    @property
    def cells(self) -> int:
        """Cells of four factors of a row that the four instructions of a step need."""
        return self.scale_vec


FORMATS = (
    Format("mxf8f6f4", "e4m3", Fill.RANDOM, Fill.UE8M0, 1, 1),
    Format("mxf4", "u8", Fill.E2M1, Fill.UE8M0, 2, 2),
    Format("mxf4nvf4", "u8", Fill.E2M1, Fill.UE4M3, 2, 4),
)

TWINS = (
    Twin(
        name="no_scale_bytes",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="announces the bytes of A and B; the scale factors count as well",
        launch=False,
    ),
    Twin(
        name="no_copy",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="the factors of B are never copied to tensor memory",
        launch=False,
    ),
    Twin(
        name="release_before_ld",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="the epilogue releases a slot whose last columns it has not loaded",
        params={"ctas": 1, "slots": 1},
        launch=False,
    ),
    Twin(
        name="no_after_fence",
        rule=Rule.MISSING_TCGEN05_FENCE,
        summary="no tcgen05.fence::after_thread_sync between the wait and tcgen05.ld",
        launch=False,
    ),
    Twin(
        name="leak",
        rule=Rule.TMEM_LEAK,
        summary="tensor memory is never freed",
        launch=False,
    ),
)


@scenario(
    summary="Blackwell GEMM with block scale factors: MXFP8, MXFP4, NVFP4",
    archs=("sm_100a",),
    twins=TWINS,
)
def bw_block_scaled(
    *,
    m: int = 1024,
    n: int = 1024,
    k: int = 1024,
    kind: int = 0,
    stages: Stages = 4,
    slots: Buffers = 2,
    buffers: Buffers = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 148,
    band: Band = 8,
    twin: str = "",
) -> Schedule:
    how = _format(kind)
    step = BLOCK_BYTES * how.per_byte
    _check(m, n, k, step, stages, slots, how)
    raster = Raster(m // BLOCK, n // BLOCK, band, ctas or m // BLOCK * (n // BLOCK))
    b = ScheduleBuilder("bw_block_scaled", archs=("sm_100a",))
    steps, tiles = b.arg("steps", k // step), b.arg("tiles", raster.tiles)
    width, lines = k // how.per_byte, LINES * how.cells
    a_global, b_global = (
        b.global_tensor(x, (s, width), how.dtype, fill=how.elements)
        for x, s in (("a", m), ("b", n))
    )
    sa_global, sb_global = (
        b.global_tensor(x, (s // BLOCK * (k // step) * lines, LINE_BYTES), "u8", fill=how.factors)
        for x, s in (("scale_a", m), ("scale_b", n))
    )
    c_global = b.global_tensor("c", (m, n), c_type(f32), output=True)
    box, tile = (BLOCK, BLOCK_BYTES), {"stages": stages, "swizzle": 128}
    a_map, b_map = (
        b.tensor_map(x, t, box=box, swizzle=128)
        for x, t in (("a_map", a_global), ("b_map", b_global))
    )
    sa_map, sb_map = (
        b.tensor_map(x, t, box=(lines, LINE_BYTES))
        for x, t in (("scale_a_map", sa_global), ("scale_b_map", sb_global))
    )
    a_tile, b_tile = (b.smem_tile(x, box, how.dtype, **tile) for x in ("a_tile", "b_tile"))
    sa_tile, sb_tile = (
        b.smem_tile(x, (lines, LINE_BYTES), "u8", stages=stages) for x in ("sa_tile", "sb_tile")
    )
    strips = Strips.declare(b, c_global, BLOCK, buffers, twin)
    address = b.smem_tile("address", (1, 1), "u32")
    acc = b.tmem_tile("acc", columns=BLOCK, address=address, stages=slots)
    columns, first = COLUMNS * how.cells, slots * BLOCK
    scale_a, scale_b = (
        b.tmem_tile(x, columns=columns, dtype="u8", address=address, column=at, stages=stages)
        for x, at in (("scale_a_tmem", first), ("scale_b_tmem", first + stages * columns))
    )
    full = b.mbarriers("full", count=1, stages=stages)
    empty = b.mbarriers("empty", count=1, stages=stages)
    done = b.mbarriers("done", count=1, stages=slots)
    free = b.mbarriers("free", count=WARPS, stages=slots)
    warps_meet = b.named_barrier("warps_meet", id=1, threads=32 * WARPS)
    b.grid(raster.ctas)
    own_tiles = (tiles - b.block_idx + (raster.ctas - 1)) // raster.ctas

    with b.elect_thread():
        b.mbarrier.init_all(full, empty, done, free)
        b.fence.mbarrier_init()
    with b.when(b.warp_in_role == 0):
        b.tcgen05.alloc(address[0], 512)
        b.tcgen05.relinquish_alloc_permit()
    b.bar.sync()

    with b.specialize():
        with b.role("epilogue", warps=WARPS):
            slot = b.pipeline_state(slots)
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * raster.ctas)
                b.mbarrier.wait(done[slot.stage], slot.phase)
                if twin != "no_after_fence":
                    b.tcgen05.fence_after_thread_sync()

                def release() -> None:
                    """The warp's loads from the slot are complete."""
                    b.tcgen05.fence_before_thread_sync()
                    with b.elect():
                        b.mbarrier.arrive(free[slot.stage])

                strips.store(acc[slot.stage], (row * BLOCK, col * BLOCK), release)
                slot.advance()
            strips.drain()
            b.bar.sync(warps_meet)
            if twin != "leak":
                with b.when(b.warp_in_role == 0):
                    b.tcgen05.dealloc(address[0], 512)
        with b.role("mma", warps=1), b.elect():
            state = b.pipeline_state(stages)
            slot = b.pipeline_state(slots, producer=True, name="slot")
            with b.loop(own_tiles, name="t"):
                b.mbarrier.wait(free[slot.stage], slot.phase)
                b.tcgen05.fence_after_thread_sync()
                with b.loop(steps) as i:
                    b.mbarrier.wait(full[state.stage], state.phase)
                    b.tcgen05.fence_after_thread_sync()
                    for tmem, smem in ((scale_a, sa_tile), (scale_b, sb_tile)):
                        if twin == "no_copy" and tmem is scale_b:
                            continue
                        for cell in range(how.cells):
                            b.tcgen05.cp(
                                tmem[state.stage].box((0, cell * COLUMNS), (BLOCK, COLUMNS)),
                                smem[state.stage].box((cell * LINES, 0), (LINES, LINE_BYTES)),
                                shape="32x128b.warpx4",
                            )
                    b.tcgen05.mma_tile(
                        acc[slot.stage],
                        a_tile[state.stage],
                        b_tile[state.stage],
                        accumulate_first=i > 0,
                        kind=how.kind,
                        scale_a=scale_a[state.stage],
                        scale_b=scale_b[state.stage],
                        scale_vec=how.scale_vec,
                    )
                    b.tcgen05.commit(empty[state.stage])
                    state.advance()
                b.tcgen05.commit(done[slot.stage])
                slot.advance()
        with b.role("load", warps=1), b.elect():
            state = b.pipeline_state(stages, producer=True)
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * raster.ctas)
                with b.loop(steps) as i:
                    b.mbarrier.wait(empty[state.stage], state.phase)
                    operands, factors = 2 * BLOCK * BLOCK_BYTES, 2 * lines * LINE_BYTES
                    size = operands + (0 if twin == "no_scale_bytes" else factors)
                    to = state.stage
                    b.mbarrier.arrive_expect_tx(full[to], size)
                    b.tma.load(a_tile[to], a_map, (row * BLOCK, i * BLOCK_BYTES), full[to])
                    b.tma.load(b_tile[to], b_map, (col * BLOCK, i * BLOCK_BYTES), full[to])
                    b.tma.load(sa_tile[to], sa_map, ((row * steps + i) * lines, 0), full[to])
                    b.tma.load(sb_tile[to], sb_map, ((col * steps + i) * lines, 0), full[to])
                    state.advance()
    return b.finish()


def _format(kind: int) -> Format:
    if kind not in range(len(FORMATS)):
        raise ScheduleError(f"kind = {kind}", fix="0 is MXFP8, 1 is MXFP4, 2 is NVFP4")
    return FORMATS[kind]


def _check(m: int, n: int, k: int, step: int, stages: int, slots: int, how: Format) -> None:
    for name, size, unit in (("m", m, BLOCK), ("n", n, BLOCK), ("k", k, step)):
        if size < 1 or size % unit:
            raise ScheduleError(f"{name} = {size}", fix=f"give a multiple of {unit}")
    used = slots * BLOCK + 2 * stages * COLUMNS * how.cells
    if slots < 1 or used > 512:
        raise ScheduleError(
            f"slots = {slots} and stages = {stages} are {used} columns of tensor memory",
            fix=f"there are 512: a slot takes {BLOCK}, a stage {2 * COLUMNS * how.cells}",
            rule=Rule.TMEM_CAPACITY,
        )
