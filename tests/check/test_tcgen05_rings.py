"""Tensor memory: operands that are stored again, rings, disjoint columns and lanes."""

from __future__ import annotations

from asyncsim import Rule
from asyncsim.ir.schedule import Schedule
from tests.check.test_clusters import assert_clean, assert_finds
from tests.check.test_tcgen05_cases import start
from tests.check.written import written


def stored_each_step(*, wait: bool) -> Schedule:
    """Each of 8 steps stores a new operand; the mma of the step before may still read it."""
    p = start(count=1)
    k = p.k
    x = written(k, "x", registers=64, dtype="bf16")
    phase = k.var("phase", 0)
    with k.loop(8) as i:
        k.mem.st_shared(p.a[0].box((k.thread_in_role, 0), (1, 64)), x.all)
        k.fence.proxy_async("shared")
        k.bar.sync()
        with k.elect_thread():
            k.tcgen05.mma_tile(p.acc[0], p.a[0], p.b[0], accumulate_first=i > 0)
            k.tcgen05.commit(p.ready[0])
        if wait:
            k.mbarrier.wait(p.ready[0], phase)
            k.fence.proxy_async("shared")
        else:
            with k.elect_thread():
                k.mbarrier.wait(p.ready[0], phase)
        phase.set(phase ^ 1)
    k.bar.sync()
    return p.end()


def test_an_operand_that_is_stored_again_each_step() -> None:
    assert_clean(stored_each_step(wait=True))
    assert_finds(stored_each_step(wait=False), Rule.OPERAND_IN_FLIGHT)


def second_reader(*, commit: bool) -> Schedule:
    """Two threads issue mma that read one operand; the second tells the writer that it is free."""
    p = start(count=1)
    k = p.k
    x = written(k, "x", registers=64, dtype="bf16")
    with k.elect_thread():
        p.mma(0)
        k.tcgen05.commit(p.ready[0])
    with k.when(k.warp_in_role == 1), k.elect():
        p.mma(1)
        if commit:
            k.tcgen05.commit(p.ready[1])
        else:
            k.mbarrier.arrive(p.ready[1])
            k.tcgen05.commit(p.ready[2])
    if commit:
        with k.elect_thread():
            k.mbarrier.arrive(p.ready[2])
    k.mbarrier.wait(p.ready[0], 0)
    k.mbarrier.wait(p.ready[1], 0)
    k.fence.proxy_async("shared")
    k.mem.st_shared(p.a[0].box((k.thread_in_role, 0), (1, 64)), x.all)
    k.mbarrier.wait(p.ready[2], 0)
    return p.end()


def test_a_reader_that_signals_with_an_ordinary_arrive() -> None:
    assert_clean(second_reader(commit=True))
    assert_finds(second_reader(commit=False), Rule.OPERAND_IN_FLIGHT)


def ring(*, stages: int) -> Schedule:
    """10 steps, loads two ahead; the mma of the step before is waited for before a refill."""
    p = start(1)
    k = p.k
    tiles = 10
    source = k.global_tensor("source", (128 * tiles, 64), "bf16")
    source_map = k.tensor_map("source_map", source, box=(128, 64), swizzle=128)
    buffers = k.smem_tile("buffers", (128, 64), "bf16", stages=stages, swizzle=128)
    full = k.mbarriers("full", count=1, stages=stages)
    done = k.mbarriers("done", count=1, stages=2)
    with k.elect_thread():
        k.mbarrier.init_all(full, done)
        k.fence.mbarrier_init()

    def load(i):  # type: ignore[no-untyped-def]
        k.mbarrier.arrive_expect_tx(full[i % stages], 128 * 64 * 2)
        k.tma.load(buffers[i % stages], source_map, (i * 128, 0), full[i % stages])

    def compute(i):  # type: ignore[no-untyped-def]
        k.mbarrier.wait(full[i % stages], i // stages % 2)
        meant = source.box((i * 128, 0), (128, 64))
        k.tcgen05.mma_tile(p.acc[0], buffers[i % stages].expecting(meant), p.b[0])
        k.tcgen05.commit(done[i % 2])

    with k.elect_thread():
        p.mma()
        load(0)
        load(1)
        compute(0)
        with k.loop(tiles) as i:
            with k.when(i < tiles - 2):
                load(i + 2)
            with k.when(i < tiles - 1):
                compute(i + 1)
            k.mbarrier.wait(done[i % 2], i // 2 % 2)
    return p.end()


def test_a_ring_of_three_and_one_of_two() -> None:
    assert_clean(ring(stages=3))
    assert_finds(ring(stages=2), Rule.OPERAND_IN_FLIGHT, "TMA load source -> buffers")


# -- regions -------------------------------------------------------------------------------------


def two_columns(*, other: int) -> Schedule:
    """Two threads issue mma into columns 0..31 and into other ones, in no order."""
    p = start(count=1)
    k = p.k
    with k.elect_thread():
        p.mma(0)
        k.tcgen05.commit(p.ready[0])
    with k.when(k.warp_in_role == 1), k.elect():
        p.mma(other)
        k.tcgen05.commit(p.ready[1])
    k.mbarrier.wait(p.ready[0], 0)
    k.mbarrier.wait(p.ready[1], 0)
    return p.end()


def test_disjoint_columns_do_not_race() -> None:
    assert_clean(two_columns(other=1))
    assert_finds(two_columns(other=0), Rule.WRITE_WRITE_RACE)


def test_disjoint_lanes_do_not_race() -> None:
    p = start()
    p.k.tcgen05.st(p.mine(), p.r.all)
    p.k.tcgen05.wait_st()
    p.k.tcgen05.ld(p.r.all, p.mine())
    p.k.tcgen05.wait_ld()
    assert_clean(p.end())


def test_an_accumulator_of_another_shape_is_no_pipeline() -> None:
    p = start(1)
    k = p.k
    with k.elect_thread():
        p.mma()
        a, b = p.a[0].box((0, 0), (128, 16)), p.b[0].box((0, 0), (16, 16))
        k.tcgen05.mma(p.acc[0].box((0, 0), (128, 16)), a, b)
        k.tcgen05.commit(p.ready[0])
    k.mbarrier.wait(p.ready[0], 0)
    assert_finds(p.end(), Rule.READ_BEFORE_ARRIVAL, "tcgen05.mma acc += a x b reads acc")


def test_m_64_leaves_half_of_the_lanes_alone() -> None:
    """16 lanes of each warp's 32: what stands in the others is not overwritten."""
    p = start()
    k = p.k
    with k.elect_thread():
        a, b = p.a[0].box((0, 0), (64, 16)), p.b[0].box((0, 0), (32, 16))
        k.tcgen05.mma(p.acc[0], a, b, accumulate=0)
        k.tcgen05.commit(p.ready[0])
    k.mbarrier.wait(p.ready[0], 0)
    k.tcgen05.fence_after_thread_sync()
    k.tcgen05.ld(p.r.all, p.mine())
    k.tcgen05.wait_ld()
    assert_clean(p.end())
