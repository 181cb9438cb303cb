"""bw_gemm_2cta: C (M, N) = A (M, K) times B (N, K) transposed by pairs of CTAs (cta_group::2).

A tile is 256 rows high. Each CTA of a pair loads its 128 rows of A and its half of the rows of B,
and holds the sums of its rows in its own tensor memory; one thread of rank 0 multiplies for both.
It commits to the barriers of both CTAs, and waits for loads and epilogues of both.
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Band, Buffers, OneCtaPerSm, Stages, Twin, scenario
from asyncsim.scenarios.bw_gemm import BF16, BLOCK_M, check_sizes, columns_to_allocate
from asyncsim.scenarios.bw_strips import WARPS, Strips
from asyncsim.scenarios.gemm_epilogue import c_type
from asyncsim.scenarios.gemm_raster import Raster

BOTH = 3  # a mask of CTA ranks

TWINS = (
    Twin(
        name="peer_not_started",
        rule=Rule.PEER_NOT_STARTED,
        summary="allocates for the pair before both of its CTAs run",
        launch=False,
    ),
    Twin(
        name="no_multicast",
        rule=Rule.DEADLOCK,
        summary="commits to the barriers of rank 0 alone",
        launch=False,
    ),
    Twin(
        name="one_epilogue",
        rule=Rule.EARLY_COMPLETION,
        summary="a slot counts as free when the warps of one CTA have arrived",
        params={"ctas": 2, "slots": 1, "block_n": 64, "buffers": 1},
        launch=False,
    ),
    Twin(
        name="no_commit",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="says that a tile is complete by ordinary arrives, not by tcgen05.commit",
        launch=False,
    ),
    Twin(
        name="no_after_fence",
        rule=Rule.MISSING_TCGEN05_FENCE,
        summary="no tcgen05.fence::after_thread_sync between the wait and tcgen05.ld",
        launch=False,
    ),
    Twin(
        name="one_frees",
        rule=Rule.DEADLOCK,
        summary="one of the two CTAs frees tensor memory, and waits for the other",
        launch=False,
    ),
    Twin(
        name="no_last_sync",
        rule=Rule.PEER_EXITED,
        summary="a CTA ends while its peer may still use its shared and tensor memory",
        launch=False,
    ),
    Twin(
        name="no_tail",
        rule=Rule.PEER_EXITED,
        summary="a CTA ends before the last commits have arrived on its barriers",
        launch=False,
    ),
)


@scenario(
    summary="Blackwell GEMM by CTA pairs: cta_group::2, commits to both CTAs",
    archs=("sm_100a",),
    twins=TWINS,
)
def bw_gemm_2cta(
    *,
    m: int = 1024,
    n: int = 1024,
    k: int = 1024,
    block_n: int = 256,
    block_k: int = 64,
    stages: Stages = 5,
    slots: Buffers = 2,
    buffers: Buffers = 2,
    f32: int = 0,
    ctas: OneCtaPerSm = 148,
    band: Band = 8,
    twin: str = "",
) -> Schedule:
    check_sizes(m=m, n=n, k=k, block_n=block_n, block_k=block_k, slots=slots)
    if ctas % 2:
        raise ScheduleError(f"ctas = {ctas}", fix="pairs: give an even number, or 0")
    rows, columns, half = -(-m // (2 * BLOCK_M)), -(-n // block_n), block_n // 2
    raster = Raster(rows, columns, band, ctas // 2 or rows * columns)
    b = ScheduleBuilder("bw_gemm_2cta", archs=("sm_100a",))
    b.grid(2 * raster.ctas)
    b.cluster(2)
    steps, tiles = b.arg("steps", -(-k // block_k)), b.arg("tiles", raster.tiles)
    a_global = b.global_tensor("a", (m, k), "bf16")
    b_global = b.global_tensor("b", (n, k), "bf16")
    c_global = b.global_tensor("c", (m, n), c_type(f32), output=True)
    swizzle = BF16 * block_k
    a_map = b.tensor_map("a_map", a_global, box=(BLOCK_M, block_k), swizzle=swizzle)
    b_map = b.tensor_map("b_map", b_global, box=(half, block_k), swizzle=swizzle)
    a_tile = b.smem_tile("a_tile", (BLOCK_M, block_k), "bf16", stages=stages, swizzle=swizzle)
    b_tile = b.smem_tile("b_tile", (half, block_k), "bf16", stages=stages, swizzle=swizzle)
    strips = Strips.declare(b, c_global, block_n, buffers, twin)
    address = b.smem_tile("address", (1, 1), "u32")
    acc = b.tmem_tile("acc", columns=block_n, address=address, stages=slots)
    full = b.mbarriers("full", count=1, stages=stages)
    empty = b.mbarriers("empty", count=1, stages=stages)
    done = b.mbarriers("done", count=1, stages=slots)
    both_epilogues = WARPS if twin == "one_epilogue" else 2 * WARPS
    free = b.mbarriers("free", count=both_epilogues, stages=slots)
    warps_meet = b.named_barrier("warps_meet", id=1, threads=32 * WARPS)
    pair = b.block_idx // 2
    own_tiles = (tiles - pair + (raster.ctas - 1)) // raster.ctas
    allocated = columns_to_allocate(slots * block_n)
    receivers = None if twin == "no_multicast" else BOTH

    def part_ends() -> None:
        """A warp stays until its peer is done with the memory of its CTA."""
        if twin != "no_last_sync":
            b.cluster_barrier.sync()

    with b.elect_thread():
        b.mbarrier.init_all(full, empty, done, free)
        b.fence.mbarrier_init()
    if twin != "peer_not_started":
        b.cluster_barrier.sync()
    with b.when(b.warp_in_role == 0):
        b.tcgen05.alloc(address[0], allocated, cta_group=2)
        b.tcgen05.relinquish_alloc_permit(cta_group=2)
    b.bar.sync()
    if twin == "peer_not_started":
        b.cluster_barrier.sync()

    with b.specialize():
        with b.role("epilogue", warps=WARPS):
            slot = b.pipeline_state(slots)
            with b.loop(own_tiles, name="t") as t:
                row, col = raster.place(pair + t * raster.ctas)
                b.mbarrier.wait(done[slot.stage], slot.phase)
                if twin != "no_after_fence":
                    b.tcgen05.fence_after_thread_sync()

                def release() -> None:
                    """The warp's loads from the slot are complete: tell the thread of rank 0."""
                    b.tcgen05.fence_before_thread_sync()
                    with b.elect():
                        b.mbarrier.arrive(b.mbarrier.at(free[slot.stage], 0))

                first = row * (2 * BLOCK_M) + b.cta_rank * BLOCK_M
                strips.store(acc[slot.stage], (first, col * block_n), release)
                slot.advance()
            strips.drain()
            b.bar.sync(warps_meet)
            frees = b.warp_in_role == 0
            with b.when(frees & (b.cta_rank == 0) if twin == "one_frees" else frees):
                b.tcgen05.dealloc(address[0], allocated, cta_group=2)
            part_ends()
        with b.role("mma", warps=1):
            with b.elect(), b.when(b.cta_rank == 0):
                state = b.pipeline_state(stages)
                slot = b.pipeline_state(slots, producer=True, name="slot")
                with b.loop(own_tiles, name="t") as t:
                    row, col = raster.place(pair + t * raster.ctas)
                    b.mbarrier.wait(free[slot.stage], slot.phase)
                    b.tcgen05.fence_after_thread_sync()
                    with b.loop(steps) as i:
                        b.mbarrier.wait(full[state.stage], state.phase)
                        b.tcgen05.fence_after_thread_sync()
                        place = (row * (2 * BLOCK_M), i * block_k)
                        meant_a = a_global.box(place, (BLOCK_M, block_k))
                        meant_b = b_global.box((col * block_n, i * block_k), (half, block_k))
                        b.tcgen05.mma_tile(
                            acc[slot.stage],
                            a_tile[state.stage].expecting(meant_a),
                            b_tile[state.stage].expecting(meant_b),
                            accumulate_first=i > 0,
                            cta_group=2,
                        )
                        b.tcgen05.commit(empty[state.stage], multicast=receivers, cta_group=2)
                        state.advance()
                    if twin == "no_commit":
                        for rank in range(2):
                            b.mbarrier.arrive(b.mbarrier.at(done[slot.stage], rank))
                    else:
                        b.tcgen05.commit(done[slot.stage], multicast=receivers, cta_group=2)
                    slot.advance()
            part_ends()
        with b.role("load", warps=1):
            with b.elect():
                state = b.pipeline_state(stages, producer=True)
                with b.loop(own_tiles, name="t") as t:
                    row, col = raster.place(pair + t * raster.ctas)
                    with b.loop(steps) as i:
                        b.mbarrier.wait(empty[state.stage], state.phase)
                        size = BF16 * block_k * (BLOCK_M + half)
                        with b.when(b.cta_rank == 0):
                            b.mbarrier.arrive_expect_tx(full[state.stage], 2 * size)
                        to, at = state.stage, i * block_k
                        signal = b.mbarrier.at(full[to], 0)
                        first = row * (2 * BLOCK_M) + b.cta_rank * BLOCK_M
                        b.tma.load(a_tile[to], a_map, (first, at), signal)
                        column = col * block_n + b.cta_rank * half
                        b.tma.load(b_tile[to], b_map, (column, at), signal)
                        state.advance()
                if twin != "no_tail":  # no commit may arrive in a CTA that has ended
                    b.pipeline(full, empty).producer_tail(state)
            part_ends()
    return b.finish()
