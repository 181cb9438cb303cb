"""Schedules with tensor memory: a GEMM of one CTA, and one of CTA pairs."""

from __future__ import annotations

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.check.written import written, written_tile

K = 64  # of a step
EPILOGUE = 128  # threads


def gemm(
    *, bug: str = "", stages: int = 2, slots: int = 2, tiles: int = 4, steps: int = 3
) -> Schedule:
    """Load -> tcgen05.mma -> epilogue, with an accumulator of ``slots`` slots; ``bug``: a twin."""
    n = 64
    k = ScheduleBuilder("blackwell_gemm", archs=("sm_100a",))
    a = k.global_tensor("a", (128 * tiles, K * steps), "bf16")
    b = k.global_tensor("b", (n, K * steps), "bf16")
    out = k.global_tensor("out", (128 * tiles, n), "f32", output=True)
    a_map = k.tensor_map("a_map", a, box=(128, K), swizzle=128)
    b_map = k.tensor_map("b_map", b, box=(n, K), swizzle=128)
    a_tile = k.smem_tile("a_tile", (128, K), "bf16", stages=stages, swizzle=128)
    b_tile = k.smem_tile("b_tile", (n, K), "bf16", stages=stages, swizzle=128)
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=n, address=word, stages=slots)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    done = k.mbarriers("done", count=1, stages=slots)
    free = k.mbarriers("free", count=EPILOGUE, stages=slots)
    joint = k.named_barrier("joint", id=1, threads=EPILOGUE)
    r = written(k, "r", registers=n)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty, done, free)
        k.fence.mbarrier_init()
    if bug == "no_barrier_after_alloc":
        k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], n * slots)
        k.tcgen05.relinquish_alloc_permit()
    if bug != "no_barrier_after_alloc":
        k.bar.sync()
    with k.specialize():
        with k.role("epilogue", warps=4):
            slot = k.pipeline_state(slots)
            with k.loop(tiles) as t:
                k.mbarrier.wait(done[slot.stage], slot.phase)
                if bug != "no_after_fence":
                    k.tcgen05.fence_after_thread_sync()
                lanes = 32 * (k.warp_in_role if bug != "wrong_lanes" else 3 - k.warp_in_role)
                at = 0 if bug == "one_slot" else slot.stage
                if bug == "release_before_ld":
                    k.mbarrier.arrive(free[slot.stage])
                k.tcgen05.ld(r.all, acc[at].box((lanes, 0), (32, n)))
                if bug != "no_wait_ld":
                    k.tcgen05.wait_ld()
                if bug != "no_before_fence":
                    k.tcgen05.fence_before_thread_sync()
                if bug == "wrong_slot":
                    k.mbarrier.arrive(free[(slot.stage + 1) % slots])
                elif bug != "release_before_ld":
                    k.mbarrier.arrive(free[slot.stage])
                k.mem.st_global(out.box((t * 128 + k.thread_in_role, 0), (1, n)), r.all)
                slot.advance()
            if bug != "early_dealloc":
                k.bar.sync(joint)
            if bug != "leak":
                with k.when(k.warp_in_role == 0):
                    k.tcgen05.dealloc(word[0], n * slots)
        with k.role("mma", warps=1), k.elect():
            state = k.pipeline_state(stages)
            slot = k.pipeline_state(slots, producer=True)
            with k.loop(tiles) as t:
                k.mbarrier.wait(free[slot.stage], slot.phase)
                if bug != "no_after_fence_mma":
                    k.tcgen05.fence_after_thread_sync()
                with k.loop(steps) as i:
                    k.mbarrier.wait(full[state.stage], state.phase)
                    mean = a.box((t * 128, i * K), (128, K))
                    k.tcgen05.mma_tile(
                        acc[0 if bug == "one_slot" else slot.stage],
                        a_tile[state.stage].expecting(mean),
                        b_tile[state.stage],
                        accumulate_first=1 if bug == "never_overwritten" else i > 0,
                    )
                    if bug == "early_release":
                        k.mbarrier.arrive(empty[state.stage])
                    else:
                        k.tcgen05.commit(empty[state.stage])
                    state.advance()
                if bug == "no_commit":
                    k.mbarrier.arrive(done[slot.stage])
                else:
                    k.tcgen05.commit(done[slot.stage])
                slot.advance()
        with k.role("load", warps=1), k.elect():
            state = k.pipeline_state(stages, producer=True)
            with k.loop(tiles) as t, k.loop(steps) as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], (128 + n) * K * 2)
                k.tma.load(a_tile[state.stage], a_map, (t * 128, i * K), full[state.stage])
                k.tma.load(b_tile[state.stage], b_map, (0, i * K), full[state.stage])
                state.advance()
    return k.finish()


def pair(*, bug: str = "", stages: int = 2, tiles: int = 3, steps: int = 2) -> Schedule:
    """256 x 256 by a pair of CTAs: each loads its half of A and of B, rank 0 issues for both."""
    n = 256
    k = ScheduleBuilder("pair_gemm", archs=("sm_100a",))
    k.grid(4)
    k.cluster(2)
    rows = 256 * tiles
    a = k.global_tensor("a", (2 * rows, K * steps), "bf16")
    b = k.global_tensor("b", (n, K * steps), "bf16")
    out = k.global_tensor("out", (2 * rows, n), "f32", output=True)
    a_map = k.tensor_map("a_map", a, box=(128, K), swizzle=128)
    b_map = k.tensor_map("b_map", b, box=(n // 2, K), swizzle=128)
    a_tile = k.smem_tile("a_tile", (128, K), "bf16", stages=stages, swizzle=128)
    b_tile = k.smem_tile("b_tile", (n // 2, K), "bf16", stages=stages, swizzle=128)
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=n, address=word, stages=2)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    done = k.mbarriers("done", count=1, stages=2)
    free = k.mbarriers("free", count=2 * EPILOGUE, stages=2)
    joint = k.named_barrier("joint", id=1, threads=EPILOGUE)
    r = written(k, "r", registers=32)
    both = None if bug == "no_multicast" else 3
    with k.elect_thread():
        k.mbarrier.init_all(full, empty, done, free)
        k.fence.mbarrier_init()
    if bug != "no_cluster_sync":
        k.cluster_barrier.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 2 * n, cta_group=2)
        k.tcgen05.relinquish_alloc_permit(cta_group=2)
    k.bar.sync()
    first = k.block_idx // 2 * rows
    mine = first + k.cta_rank * 128
    with k.specialize():
        with k.role("epilogue", warps=4):
            slot = k.pipeline_state(2)
            with k.loop(tiles) as t:
                k.mbarrier.wait(done[slot.stage], slot.phase)
                k.tcgen05.fence_after_thread_sync()
                with k.loop(n // 32) as c:
                    part = acc[slot.stage].box((32 * k.warp_in_role, 32 * c), (32, 32))
                    k.tcgen05.ld(r.all, part)
                    k.tcgen05.wait_ld()
                    row = mine + t * 256 + k.thread_in_role
                    k.mem.st_global(out.box((row, 32 * c), (1, 32)), r.all)
                k.tcgen05.fence_before_thread_sync()
                k.mbarrier.arrive(k.mbarrier.at(free[slot.stage], 0))
                slot.advance()
            if bug == "hang":  # rank 1 frees after the last cluster barrier, rank 0 before
                with k.when(k.cta_rank == 1):
                    k.cluster_barrier.sync()
            k.bar.sync(joint)
            if bug == "one_frees":
                with k.when((k.warp_in_role == 0) & (k.cta_rank == 0)):
                    k.tcgen05.dealloc(word[0], 2 * n, cta_group=2)
            else:
                with k.when(k.warp_in_role == 0):
                    k.tcgen05.dealloc(word[0], 2 * n, cta_group=2)
            if bug == "hang":
                with k.when(k.cta_rank == 0):
                    k.cluster_barrier.sync()
            elif bug != "no_last_sync":
                k.cluster_barrier.sync()
        with k.role("mma", warps=1):
            with k.elect(), k.when(k.cta_rank == 0):
                state = k.pipeline_state(stages)
                slot = k.pipeline_state(2, producer=True)
                with k.loop(tiles):
                    k.mbarrier.wait(free[slot.stage], slot.phase)
                    k.tcgen05.fence_after_thread_sync()
                    with k.loop(steps) as i:
                        k.mbarrier.wait(full[state.stage], state.phase)
                        k.tcgen05.mma_tile(
                            acc[slot.stage],
                            a_tile[state.stage],
                            b_tile[state.stage],
                            accumulate_first=i > 0,
                            cta_group=2,
                        )
                        k.tcgen05.commit(empty[state.stage], multicast=both, cta_group=2)
                        state.advance()
                    k.tcgen05.commit(done[slot.stage], multicast=both, cta_group=2)
                    slot.advance()
            if bug != "no_last_sync":
                k.cluster_barrier.sync()
        with k.role("load", warps=1):
            with k.elect():
                state = k.pipeline_state(stages, producer=True)
                with k.loop(tiles) as t, k.loop(steps) as i:
                    at = k.mbarrier.at(full[state.stage], 0)
                    if bug == "no_multicast":
                        with k.when(k.cta_rank == 0):
                            k.mbarrier.wait(empty[state.stage], state.phase)
                    else:
                        k.mbarrier.wait(empty[state.stage], state.phase)
                    with k.when(k.cta_rank == 0):
                        size = 2 * (128 + n // 2) * K * 2
                        k.mbarrier.arrive_expect_tx(full[state.stage], size)
                    row = mine + t * 256
                    k.tma.load(a_tile[state.stage], a_map, (row, i * K), at)
                    k.tma.load(b_tile[state.stage], b_map, (k.cta_rank * n // 2, i * K), at)
                    state.advance()
                if bug != "no_tail":
                    k.pipeline(full, empty).producer_tail(state)
            if bug != "no_last_sync":
                k.cluster_barrier.sync()
    return k.finish()


def multicast_ring(*, multicast: bool, ranks: int = 2, stages: int = 2, tiles: int = 4) -> Schedule:
    """Each CTA loads a part of A to all of the cluster; each multiplies on its own.

    A stage is free when the mma of all CTAs have read it: their commits must reach all of them.
    """
    k = ScheduleBuilder("multicast_ring", archs=("sm_100a",))
    k.grid(ranks)
    k.cluster(ranks)
    rows = 128 // ranks
    every = (1 << ranks) - 1
    a = k.global_tensor("a", (128 * tiles, K), "bf16")
    part = k.tensor_map("part", a, box=(rows, K), swizzle=128)
    ring = k.smem_tile("ring", (128, K), "bf16", stages=stages, swizzle=128)
    b = written_tile(k, k.smem_tile("b", (32, K), "bf16", swizzle=128))
    word = k.smem_tile("word", (1, 1), "u32")
    acc = k.tmem_tile("acc", columns=32, address=word)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=ranks if multicast else 1, stages=stages)
    done = k.mbarriers("done", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty, done)
        k.fence.mbarrier_init()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 32)
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("mma", warps=1):
            with k.elect():
                state = k.pipeline_state(stages)
                with k.loop(tiles) as t:
                    k.mbarrier.wait(full[state.stage], state.phase)
                    meant = a.box((t * 128, 0), (128, K))
                    tile = ring[state.stage].expecting(meant)
                    k.tcgen05.mma_tile(acc[0], tile, b[0], accumulate_first=t > 0)
                    k.tcgen05.commit(empty[state.stage], multicast=every if multicast else None)
                    state.advance()
                k.tcgen05.commit(done[0])
            k.mbarrier.wait(done[0], 0)
            k.tcgen05.dealloc(word[0], 32)
            k.cluster_barrier.sync()
        with k.role("load", warps=1):
            with k.elect():
                state = k.pipeline_state(stages, producer=True)
                with k.loop(tiles) as t:
                    k.mbarrier.wait(empty[state.stage], state.phase)
                    k.mbarrier.arrive_expect_tx(full[state.stage], 128 * K * 2)
                    row = k.cta_rank * rows
                    to = ring[state.stage].box((row, 0), (rows, K))
                    at = (t * 128 + row, 0)
                    k.tma.load(to, part, at, full[state.stage], multicast=every)
                    state.advance()
                k.pipeline(full, empty).producer_tail(state)
            k.cluster_barrier.sync()
    return k.finish()
