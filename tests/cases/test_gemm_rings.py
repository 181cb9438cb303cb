"""A warp-specialised GEMM of Hopper with one edge missing at a time.

A cluster of two CTAs, one above the other: each loads its rows of A, and half of the columns of B
for both. One producer warp, two consumer warpgroups, a ring; a consumer leaves a wgmma pending and
releases the stage of the step before.
"""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.build.value import Value
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import found
from tests.check.written import written

M, N, K = 64, 64, 64  # of a consumer warpgroup, for a stage


def gemm(*, change: str = "", wait: int = 1, steps: int = 9, stages: int = 4) -> Schedule:
    k = ScheduleBuilder("gemm")
    k.grid(2)
    k.cluster(2)
    rows = 2 * M
    a = k.global_tensor("a", (2 * rows, K * steps), "bf16")
    b = k.global_tensor("b", (N, K * steps), "bf16")
    a_map = k.tensor_map("a_map", a, box=(rows, K), swizzle=128)
    b_map = k.tensor_map("b_map", b, box=(N // 2, K), swizzle=128)
    sa = k.smem_tile("sa", (rows, K), "bf16", stages=stages, swizzle=128)
    sb = k.smem_tile("sb", (N, K), "bf16", stages=stages, swizzle=128)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=4, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    top = k.cta_rank * rows

    def release(stage: Value) -> None:
        with k.when(k.warp_in_role == 0), k.elect():
            for rank in range(2):
                k.mbarrier.arrive(k.mbarrier.at(empty[stage], rank), scope="cluster")

    def consume(g: int) -> None:
        acc = k.accumulator(f"acc{g}", n=N)
        state, last = k.pipeline_state(stages), k.var("last")
        with k.loop(steps) as i:
            if change not in ("no full wait", "late full wait"):
                k.mbarrier.wait(full[state.stage], state.phase)
            k.wgmma.fence()
            left = sa[state.stage].box((g * M, 0), (M, K))
            k.wgmma.mma_tile(
                acc,
                left.expecting(a.box((top + g * M, i * K), (M, K))),
                sb[state.stage].expecting(b.box((0, i * K), (N, K))),
                accumulate_first=i > 0,
            )
            k.wgmma.commit_group()
            if change == "late full wait":
                k.mbarrier.wait(full[state.stage], state.phase)
            k.wgmma.wait_group(wait)
            if change != "no release":
                with k.when(i > 0):
                    release(last)
            last.set(state.stage)
            state.advance()
        k.wgmma.wait_group(0)
        if change not in ("no last release", "no release"):
            release(last)

    def load(stage: Value, i: Value) -> None:
        k.mbarrier.arrive_expect_tx(full[stage], (rows + N) * K * 2)
        k.tma.load(sa[stage], a_map, (top, i * K), full[stage])
        half = k.cta_rank * (N // 2)
        part = sb[stage].box((half, 0), (N // 2, K))
        k.tma.load(part, b_map, (half, i * K), full[stage], multicast=3)

    with k.specialize():
        for g in range(2):
            with k.role(f"consumer{g}", warps=4):
                consume(g)
                k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.elect():
                state = k.pipeline_state(stages, producer=True)
                with k.loop(steps) as i:
                    if change == "late empty wait":
                        load(state.stage, i)
                    k.mbarrier.wait(empty[state.stage], state.phase, scope="cluster")
                    if change != "late empty wait":
                        load(state.stage, i)
                    state.advance()
                if change == "no last release":  # the tail of the producer waits for it
                    with k.loop(stages):
                        k.mbarrier.wait(empty[state.stage], state.phase, scope="cluster")
                        state.advance()
            k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("steps", [3, 4, 9])
def test_a_cooperative_gemm(steps: int) -> None:
    assert found(gemm(steps=steps)) == []
    assert found(gemm(steps=steps, wait=0)) == []


def test_a_wait_that_leaves_one_wgmma_more_pending() -> None:
    assert found(gemm(wait=2, steps=4)) == []  # no stage is filled twice
    assert found(gemm(wait=2)) == ["WAIT_GROUP_TOO_LOOSE"]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("no full wait", "READ_BEFORE_ARRIVAL"),
        ("late full wait", "READ_BEFORE_ARRIVAL"),
        ("late empty wait", "WRITE_BEFORE_RELEASE"),
        ("no release", "DEADLOCK"),
        ("no last release", "DEADLOCK"),
    ],
)
def test_an_edge_of_the_ring_is_missing(change: str, rule: str) -> None:
    assert found(gemm(change=change)) == [rule]


def shared_stage(*, before: bool = True, after: bool = True, tiles: int = 2) -> Schedule:
    """The epilogue of two warpgroups keeps C over B; consumers and producers of both CTAs meet
    before and after it."""
    k = ScheduleBuilder("shared_stage")
    k.grid(2)
    k.cluster(2)
    b = k.global_tensor("b", (N * tiles, K), "bf16")
    b_map = k.tensor_map("b_map", b, box=(N // 2, K), swizzle=128)
    sb = k.smem_tile("sb", (N, K), "bf16", swizzle=128)
    full, x = k.mbarriers("full", count=1), written(k, "x", registers=16, dtype="bf16")
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()

    def meet(needed: bool) -> None:
        if needed:
            k.cluster_barrier.sync()

    with k.specialize():
        for g in range(2):
            with k.role(f"consumer{g}", warps=4):
                acc = k.accumulator(f"acc{g}", n=N)
                with k.loop(tiles) as t:
                    k.mbarrier.wait(full[0], t % 2)
                    k.wgmma.fence()
                    meant = sb[0].expecting(b.box((t * N, 0), (N, K)))
                    k.wgmma.mma_tile(acc, meant, meant, accumulate_first=0)
                    k.wgmma.commit_group()
                    k.wgmma.wait_group(0)
                    meet(before)
                    row = g * 32 + k.thread_in_role // 4
                    part = sb[0].box((row, k.thread_in_role % 4 * 16), (1, 16))
                    k.mem.st_shared(part, x.all)
                    k.mem.ld_shared(x.all, part)
                    k.fence.proxy_async("shared")
                    meet(after)
                k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.loop(tiles) as t:
                with k.elect():
                    k.mbarrier.arrive_expect_tx(full[0], N * K * 2)
                    half = k.cta_rank * (N // 2)
                    part = sb[0].box((half, 0), (N // 2, K))
                    k.tma.load(part, b_map, (t * N + half, 0), full[0], multicast=3)
                meet(before)
                meet(after)
            k.cluster_barrier.sync()
    return k.finish()


def test_an_epilogue_over_the_stages_of_an_operand() -> None:
    assert found(shared_stage()) == []
    assert found(shared_stage(before=False)) == ["WRITE_BEFORE_RELEASE"]
    assert found(shared_stage(after=False)) == ["WRITE_BEFORE_RELEASE"]


def turns(*, ordered: bool, tiles: int = 2, steps: int = 3, stages: int = 4) -> Schedule:
    """Ping-pong: each of two consumer warpgroups takes every other tile, and they take turns."""
    k = ScheduleBuilder("turns")
    a = k.global_tensor("a", (M * 2 * tiles, K * steps), "bf16")
    a_map = k.tensor_map("a_map", a, box=(M, K), swizzle=128)
    sa = k.smem_tile("sa", (M, K), "bf16", stages=stages, swizzle=128)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    turn = [k.named_barrier(f"turn{g}", id=1 + g, threads=256) for g in range(2)]
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        for g in range(2):
            with k.role(f"math{g}", warps=4):
                acc = k.accumulator(f"acc{g}", n=M)
                if g == 1 and ordered:
                    k.bar.arrive(turn[0])
                with k.loop(tiles, name="t") as t:
                    if ordered:
                        k.bar.sync(turn[g])
                    with k.loop(steps) as i:
                        n = (2 * t + g) * steps + i
                        k.mbarrier.wait(full[n % stages], n // stages % 2)
                        k.wgmma.fence()
                        meant = a.box(((2 * t + g) * M, i * K), (M, K))
                        tile = sa[n % stages].expecting(meant)
                        k.wgmma.mma_tile(acc, tile, tile, accumulate_first=i > 0)
                        k.wgmma.commit_group()
                        k.wgmma.wait_group(0)
                        with k.when(k.warp_in_role == 0), k.elect():
                            k.mbarrier.arrive(empty[n % stages])
                    if ordered and g == 0:
                        k.bar.arrive(turn[1])
                    if ordered and g == 1:
                        with k.when(t + 1 < tiles):
                            k.bar.arrive(turn[0])
        with k.role("producer", warps=1), k.elect(), k.loop(2 * tiles * steps) as n:
            k.mbarrier.wait(empty[n % stages], (n // stages + 1) % 2)
            k.mbarrier.arrive_expect_tx(full[n % stages], M * K * 2)
            at = (n // steps * M, n % steps * K)
            k.tma.load(sa[n % stages], a_map, at, full[n % stages])
    return k.finish()


def test_a_ping_pong_gemm() -> None:
    """Without turns one warpgroup waits for phase 1 of a stage while phase 0 may not be over."""
    assert found(turns(ordered=True)) == []
    assert found(turns(ordered=False)) == ["VACUOUS_WAIT"]
