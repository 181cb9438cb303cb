"""bw_gemm: C (M, N) = A (M, K) times B (N, K) transposed by tcgen05, on one CTA of sm_100a.

One thread loads tiles by TMA, one multiplies them into tensor memory, and four warps carry the
sums to C. The accumulator has ``slots`` slots: while the epilogue empties one, the next tile is
summed up in another. CTAs stay for many tiles; with ``ctas`` 0 each has one.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Severity
from asyncsim.scenario import Band, Buffers, OneCtaPerSm, Stages, Twin, scenario
from asyncsim.scenarios.bw_strips import WARPS, Strips
from asyncsim.scenarios.gemm_epilogue import c_type
from asyncsim.scenarios.gemm_raster import Raster

BLOCK_M = 128
BF16 = 2  # bytes

TWINS = (
    Twin(
        name="no_commit",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="says that a tile is complete by an ordinary arrive, not by tcgen05.commit",
        launch=False,
    ),
    Twin(
        name="wrong_slot",
        rule=Rule.LAPPED_WAITER,
        summary="the epilogue releases the accumulator slot after its own",
        params={"ctas": 1, "block_n": 64, "buffers": 1},
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
        name="late_wait_ld",
        rule=Rule.FRAGMENT_IN_FLIGHT,
        summary="uses registers before tcgen05.wait::ld",
        launch=False,
    ),
    Twin(
        name="no_after_fence",
        rule=Rule.MISSING_TCGEN05_FENCE,
        summary="no tcgen05.fence::after_thread_sync between the wait and tcgen05.ld",
        launch=False,
    ),
    Twin(
        name="wrong_lanes",
        rule=Rule.TMEM_LANES,
        summary="a warp loads lanes of another warp",
        launch=False,
    ),
    Twin(
        name="early_dealloc",
        rule=Rule.TMEM_DEALLOC,
        summary="the warps meet before their last loads are complete; then one frees tensor memory",
        launch=False,
    ),
    Twin(
        name="leak",
        rule=Rule.TMEM_LEAK,
        summary="tensor memory is never freed",
        launch=False,
    ),
    Twin(
        name="alloc_order",
        rule=Rule.TMEM_ALLOC_ORDER,
        summary="allocates 32 columns first, then the accumulator",
        params={"slots": 1},
        severity=Severity.WARNING,
        launch=False,
    ),
    Twin(
        name="no_alloc_barrier",
        rule=Rule.TMEM_ALLOC,
        summary="no barrier between tcgen05.alloc and the first use of the address",
        launch=False,
    ),
)


@scenario(
    summary="Blackwell GEMM: TMA, tcgen05.mma to tensor memory, double-buffered, stored by TMA",
    archs=("sm_100a",),
    twins=TWINS,
)
def bw_gemm(
    *,
    m: int = 1024,
    n: int = 1024,
    k: int = 1024,
    block_n: int = 256,
    block_k: int = 64,
    stages: Stages = 4,
    slots: Buffers = 2,
    buffers: Buffers = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 148,
    band: Band = 8,
    twin: str = "",
) -> Schedule:
    check_sizes(m=m, n=n, k=k, block_n=block_n, block_k=block_k, slots=slots)
    rows, columns = -(-m // BLOCK_M), -(-n // block_n)
    raster = Raster(rows, columns, band, ctas or rows * columns)
    b = ScheduleBuilder("bw_gemm", archs=("sm_100a",))
    steps, tiles = b.arg("steps", -(-k // block_k)), b.arg("tiles", raster.tiles)
    a_global = b.global_tensor("a", (m, k), "bf16")
    b_global = b.global_tensor("b", (n, k), "bf16")
    c_global = b.global_tensor("c", (m, n), c_type(f32), output=True)
    swizzle = BF16 * block_k
    a_map = b.tensor_map("a_map", a_global, box=(BLOCK_M, block_k), swizzle=swizzle)
    b_map = b.tensor_map("b_map", b_global, box=(block_n, block_k), swizzle=swizzle)
    a_tile = b.smem_tile("a_tile", (BLOCK_M, block_k), "bf16", stages=stages, swizzle=swizzle)
    b_tile = b.smem_tile("b_tile", (block_n, block_k), "bf16", stages=stages, swizzle=swizzle)
    strips = Strips.declare(b, c_global, block_n, buffers, twin)
    address = b.smem_tile("address", (1, 1), "u32")
    acc = b.tmem_tile("acc", columns=block_n, address=address, stages=slots)
    full = b.mbarriers("full", count=1, stages=stages)
    empty = b.mbarriers("empty", count=1, stages=stages)
    done = b.mbarriers("done", count=1, stages=slots)
    free = b.mbarriers("free", count=WARPS, stages=slots)
    warps_meet = b.named_barrier("warps_meet", id=1, threads=32 * WARPS)
    b.grid(raster.ctas)
    own_tiles = (tiles - b.block_idx + (raster.ctas - 1)) // raster.ctas
    allocated = columns_to_allocate(slots * block_n)

    with b.elect_thread():
        b.mbarrier.init_all(full, empty, done, free)
        b.fence.mbarrier_init()
    if twin == "no_alloc_barrier":
        b.bar.sync()
    with b.when(b.warp_in_role == 0):
        if twin == "alloc_order":
            scratch = b.smem_tile("scratch", (1, 1), "u32")
            b.tcgen05.alloc(scratch[0], 32)
        b.tcgen05.alloc(address[0], allocated)
        b.tcgen05.relinquish_alloc_permit()
    if twin != "no_alloc_barrier":
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
                        other = (slot.stage + 1) % slots
                        b.mbarrier.arrive(free[other if twin == "wrong_slot" else slot.stage])

                meet = (lambda: b.bar.sync(warps_meet)) if twin == "early_dealloc" else None
                strips.store(acc[slot.stage], (row * BLOCK_M, col * block_n), release, meet)
                slot.advance()
            strips.drain()
            if twin != "early_dealloc":
                b.bar.sync(warps_meet)
            if twin != "leak":
                with b.when(b.warp_in_role == 0):
                    b.tcgen05.dealloc(address[0], allocated)
                    if twin == "alloc_order":
                        b.tcgen05.dealloc(scratch[0], 32)
        with b.role("mma", warps=1), b.elect():
            state = b.pipeline_state(stages)
            slot = b.pipeline_state(slots, producer=True, name="slot")
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * raster.ctas)
                b.mbarrier.wait(free[slot.stage], slot.phase)
                b.tcgen05.fence_after_thread_sync()
                with b.loop(steps) as i:
                    b.mbarrier.wait(full[state.stage], state.phase)
                    b.tcgen05.fence_after_thread_sync()
                    meant_a = a_global.box((row * BLOCK_M, i * block_k), (BLOCK_M, block_k))
                    meant_b = b_global.box((col * block_n, i * block_k), (block_n, block_k))
                    b.tcgen05.mma_tile(
                        acc[slot.stage],
                        a_tile[state.stage].expecting(meant_a),
                        b_tile[state.stage].expecting(meant_b),
                        accumulate_first=i > 0,
                    )
                    if twin == "early_release":
                        b.mbarrier.arrive(empty[state.stage])
                    else:
                        b.tcgen05.commit(empty[state.stage])
                    state.advance()
                if twin == "no_commit":
                    b.mbarrier.arrive(done[slot.stage])
                else:
                    b.tcgen05.commit(done[slot.stage])
                slot.advance()
        with b.role("load", warps=1), b.elect():
            state = b.pipeline_state(stages, producer=True)
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(b.block_idx + t * raster.ctas)
                with b.loop(steps) as i:
                    b.mbarrier.wait(empty[state.stage], state.phase)
                    size = BF16 * block_k * (BLOCK_M + block_n)
                    b.mbarrier.arrive_expect_tx(full[state.stage], size)
                    to, at = state.stage, i * block_k
                    b.tma.load(a_tile[to], a_map, (row * BLOCK_M, at), full[to])
                    b.tma.load(b_tile[to], b_map, (col * block_n, at), full[to])
                    state.advance()
    return b.finish()


def columns_to_allocate(columns: int) -> int:
    """The least allocation of so many columns: a power of two of at least 32."""
    return max(32, 1 << (columns - 1).bit_length())


def check_sizes(*, m: int, n: int, k: int, block_n: int, block_k: int, slots: int) -> None:
    for name, size in (("m", m), ("n", n), ("k", k), ("slots", slots)):
        if size < 1:
            raise ScheduleError(f"{name} = {size}", fix="give at least 1")
    if block_k not in (16, 32, 64):
        raise ScheduleError(f"block_k = {block_k}", fix="use 16, 32 or 64 (swizzle span)")
    if slots * block_n > 512:
        fitting = 512 // block_n
        raise ScheduleError(
            f"slots = {slots} of block_n = {block_n}: {slots * block_n} columns of tensor memory",
            fix=f"there are 512: use slots={fitting}" if fitting else "block_n is at most 256",
            rule=Rule.TMEM_CAPACITY,
        )
