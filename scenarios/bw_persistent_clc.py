"""bw_persistent_clc: a persistent Blackwell GEMM whose tiles come by cluster launch control.

The grid has a CTA for each tile. A CTA that runs begins with its own, and takes over those of CTAs
that have not been launched: one thread, the scheduler, asks for the next one ahead of time, with
clusterlaunchcontrol.try_cancel. The response, 16 bytes, comes by the async proxy to a slot of a
ring, and all who work on tiles read it there: the scheduler, the thread that loads, the one that
multiplies, and the four warps of the epilogue, which runs under the next tile (``slots``
accumulators in tensor memory).
"""

from __future__ import annotations

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.build.pipeline import PipelineState
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Severity
from asyncsim.scenario import Band, Buffers, Stages, Twin, scenario
from asyncsim.scenarios.bw_gemm import BF16, BLOCK_M, check_sizes, columns_to_allocate
from asyncsim.scenarios.bw_strips import WARPS, Strips
from asyncsim.scenarios.gemm_epilogue import c_type
from asyncsim.scenarios.gemm_raster import Raster

READERS = WARPS + 3
RESPONSE_BYTES = 16

TWINS = (
    Twin(
        name="unheard",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="the epilogue reads a response without waiting for it",
        launch=False,
    ),
    Twin(
        name="asked_too_early",
        rule=Rule.DEADLOCK,
        summary="the scheduler asks again before everybody has read the slot",
        params={"responses": 1},
        launch=False,
    ),
    Twin(
        name="released_unread",
        rule=Rule.WRITE_BEFORE_RELEASE,
        summary="the multiplying thread releases a slot, then reads it",
        params={"responses": 1},
        launch=False,
    ),
    Twin(
        name="no_slot_fence",
        rule=Rule.PROXY_WAR,
        summary="no fence.proxy.async between the epilogue's read of a slot and the next response",
        params={"responses": 1},
        severity=Severity.WARNING,
        launch=False,
    ),
    Twin(
        name="loads_uncounted",
        rule=Rule.LAPPED_WAITER,
        summary="a slot is free when the others have read it; the loading thread does not count",
        params={"responses": 1},
        launch=False,
    ),
    Twin(
        name="wrong_bytes",
        rule=Rule.TX_BYTES_MISMATCH,
        summary="expects two responses where one comes",
        launch=False,
    ),
    Twin(
        name="wrong_slot",
        rule=Rule.LAPPED_WAITER,
        summary="the epilogue releases the accumulator slot after its own",
        params={"block_n": 64, "buffers": 1},
        launch=False,
    ),
    Twin(
        name="no_commit",
        rule=Rule.READ_BEFORE_ARRIVAL,
        summary="says that a tile is complete by an ordinary arrive, not by tcgen05.commit",
        launch=False,
    ),
)


@scenario(
    summary="persistent Blackwell GEMM, tiles by cluster launch control, stored by TMA",
    archs=("sm_100a",),
    twins=TWINS,
)
def bw_persistent_clc(
    *,
    m: int = 1024,
    n: int = 512,
    k: int = 512,
    block_n: int = 256,
    block_k: int = 64,
    stages: Stages = 4,
    slots: Buffers = 2,
    buffers: Buffers = 2,
    responses: int = 3,
    f32: int = 0,
    band: Band = 8,
    twin: str = "",
) -> Schedule:
    check_sizes(m=m, n=n, k=k, block_n=block_n, block_k=block_k, slots=slots)
    if responses < 1:
        raise ScheduleError(f"responses = {responses}", fix="give at least 1")
    rows, columns = -(-m // BLOCK_M), -(-n // block_n)
    raster = Raster(rows, columns, band, rows * columns)
    b = ScheduleBuilder("bw_persistent_clc", archs=("sm_100a",))
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
    response = b.smem_tile("response", (1, 4), "u32", stages=responses)
    answered = b.mbarriers("answered", count=1, stages=responses)
    readers = READERS - (twin == "loads_uncounted")
    read = b.mbarriers("read", count=readers, stages=responses)
    work = b.fragment("work", registers=1, dtype="u32")
    warps_meet = b.named_barrier("warps_meet", id=1, threads=32 * WARPS)
    b.grid(raster.ctas)
    allocated = columns_to_allocate(slots * block_n)

    with b.elect_thread():
        b.mbarrier.init_all(full, empty, done, free, answered, read)
        b.fence.mbarrier_init()
    with b.when(b.warp_in_role == 0):
        b.tcgen05.alloc(address[0], allocated)
        b.tcgen05.relinquish_alloc_permit()
    b.bar.sync()

    def release(state: PipelineState) -> None:
        """The response has been read: the next one may come, by the async proxy."""
        b.fence.proxy_async("shared")
        b.mbarrier.arrive(read[state.stage])

    def hear(state: PipelineState, *, counts: bool = True) -> None:
        """One thread reads the next tile."""
        b.mbarrier.wait(answered[state.stage], state.phase)
        b.clc.query_cancel(work.all, response[state.stage])
        if counts:
            release(state)
        state.advance()

    with b.specialize():
        with b.role("epilogue", warps=WARPS):
            slot = b.pipeline_state(slots)
            heard = b.pipeline_state(responses, name="heard")
            with b.loop(tiles, name="tile", ticket=work.all) as tile:
                row, col = raster.place(tile)
                b.mbarrier.wait(done[slot.stage], slot.phase)
                b.tcgen05.fence_after_thread_sync()

                def free_slot() -> None:
                    """The warp's loads from the accumulator are complete."""
                    b.tcgen05.fence_before_thread_sync()
                    with b.elect():
                        other = (slot.stage + 1) % slots
                        b.mbarrier.arrive(free[other if twin == "wrong_slot" else slot.stage])

                strips.store(acc[slot.stage], (row * BLOCK_M, col * block_n), free_slot)
                slot.advance()
                if twin != "unheard":
                    b.mbarrier.wait(answered[heard.stage], heard.phase)
                b.clc.query_cancel(work.all, response[heard.stage])
                if twin != "no_slot_fence":
                    b.fence.proxy_async("shared")
                b.bar.warp_sync()
                with b.elect():
                    b.mbarrier.arrive(read[heard.stage])
                heard.advance()
            strips.drain()
            b.bar.sync(warps_meet)
            with b.when(b.warp_in_role == 0):
                b.tcgen05.dealloc(address[0], allocated)
        with b.role("mma", warps=1), b.elect():
            state = b.pipeline_state(stages)
            slot = b.pipeline_state(slots, producer=True, name="slot")
            heard = b.pipeline_state(responses, name="heard")
            with b.loop(tiles, name="tile", ticket=work.all) as tile:
                row, col = raster.place(tile)
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
                    b.tcgen05.commit(empty[state.stage])
                    state.advance()
                if twin == "no_commit":
                    b.mbarrier.arrive(done[slot.stage])
                else:
                    b.tcgen05.commit(done[slot.stage])
                slot.advance()
                if twin == "released_unread":
                    b.mbarrier.wait(answered[heard.stage], heard.phase)
                    release(heard)
                    b.clc.query_cancel(work.all, response[heard.stage])
                    heard.advance()
                else:
                    hear(heard)
        with b.role("load", warps=1), b.elect():
            state = b.pipeline_state(stages, producer=True)
            heard = b.pipeline_state(responses, name="heard")
            with b.loop(tiles, name="tile", ticket=work.all) as tile:
                row, col = raster.place(tile)
                with b.loop(steps) as i:
                    b.mbarrier.wait(empty[state.stage], state.phase)
                    size = BF16 * block_k * (BLOCK_M + block_n)
                    b.mbarrier.arrive_expect_tx(full[state.stage], size)
                    to, at = state.stage, i * block_k
                    b.tma.load(a_tile[to], a_map, (row * BLOCK_M, at), full[to])
                    b.tma.load(b_tile[to], b_map, (col * block_n, at), full[to])
                    state.advance()
                hear(heard, counts=twin != "loads_uncounted")
        with b.role("scheduler", warps=1), b.elect():
            state = b.pipeline_state(responses, producer=True)
            with b.loop(tiles, name="tile", ticket=work.all):
                if twin != "asked_too_early":
                    b.mbarrier.wait(read[state.stage], state.phase)
                size = 2 * RESPONSE_BYTES if twin == "wrong_bytes" else RESPONSE_BYTES
                b.mbarrier.arrive_expect_tx(answered[state.stage], size)
                b.clc.try_cancel(response[state.stage], answered[state.stage])
                b.mbarrier.wait(answered[state.stage], state.phase ^ 1)
                b.clc.query_cancel(work.all, response[state.stage])
                release(state)
                state.advance()
    return b.finish()
