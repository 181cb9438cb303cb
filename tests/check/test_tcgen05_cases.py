"""Small schedules with tensor memory: one missing edge each, and what must be said of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from asyncsim import Rule, ScheduleBuilder, Severity, check
from asyncsim.build.handles import FragmentHandle, MbarrierArray, SmemHandle
from asyncsim.build.tmem import TmemHandle
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.test_clusters import assert_clean, assert_finds, rules
from tests.check.written import written


@dataclass
class Parts:
    """What the schedules here have in common: a block, an allocation, operands, barriers."""

    k: ScheduleBuilder
    word: SmemHandle
    acc: TmemHandle
    a: SmemHandle
    b: SmemHandle
    ready: MbarrierArray
    r: FragmentHandle

    def mine(self, stage: int = 0, columns: int = 32):  # type: ignore[no-untyped-def]
        """The columns of the executing warp's lanes."""
        return self.acc[stage].box((32 * (self.k.warp_in_role % 4), 0), (32, columns))

    def mma(self, stage: int = 0, *, accumulate: int = 0) -> None:
        a, b = self.a[0].box((0, 0), (128, 16)), self.b[0].box((0, 0), (32, 16))
        self.k.tcgen05.mma(self.acc[stage], a, b, accumulate=accumulate)

    def end(self) -> Schedule:
        """All warps are through; one frees."""
        self.k.bar.sync()
        with self.k.when(self.k.warp_in_role == 0):
            self.k.tcgen05.dealloc(self.word[0], 128)
        return self.k.finish()


def start(warps: int = 4, *, count: int = 1) -> Parts:
    k = ScheduleBuilder("case", archs=("sm_100a",))
    k.block(warps)
    word = k.smem_tile("word", (1, 1), "u32")
    a = k.smem_tile("a", (128, 64), "bf16", swizzle=128, stages=2)
    b = k.smem_tile("b", (32, 64), "bf16", swizzle=128)
    acc = k.tmem_tile("acc", columns=32, address=word, stages=4)
    ready = k.mbarriers("ready", count=count, stages=3)
    r = written(k, "r", registers=32)
    with k.elect_thread():
        k.mbarrier.init_all(ready)
        k.fence.mbarrier_init()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 128)
    k.bar.sync()
    return Parts(k, word, acc, a, b, ready, r)


# -- completion --------------------------------------------------------------------------------


def computed(*, commit: bool = True, wait: bool = True, after: bool = True) -> Schedule:
    """mma -> commit -> wait -> fence -> ld, of one warp."""
    p = start()
    with p.k.elect_thread():
        p.mma()
        if commit:
            p.k.tcgen05.commit(p.ready[0])
        else:
            p.k.mbarrier.arrive(p.ready[0])
    if wait:
        p.k.mbarrier.wait(p.ready[0], 0)
    if after:
        p.k.tcgen05.fence_after_thread_sync()
    p.k.tcgen05.ld(p.r.all, p.mine())
    p.k.tcgen05.wait_ld()
    p.k.mbarrier.wait(p.ready[0], 0)
    return p.end()


def test_an_mma_completes_by_its_commit() -> None:
    assert_clean(computed())
    assert_finds(computed(wait=False), Rule.READ_BEFORE_ARRIVAL, "tcgen05.ld acc -> r reads acc")
    assert_finds(computed(after=False), Rule.MISSING_TCGEN05_FENCE, "after_thread_sync")
    result = check(computed(commit=False))
    assert rules(result) == ["READ_BEFORE_ARRIVAL"]
    assert result.findings[0].missing == (
        "a tcgen05.commit by the same thread, and a wait for its mbarrier"
    )


def test_a_commit_by_another_thread_tracks_nothing() -> None:
    p = start()
    with p.k.elect_thread():
        p.mma()
        p.k.tcgen05.fence_before_thread_sync()
    p.k.bar.sync()
    with p.k.when(p.k.warp_in_role == 1), p.k.elect():
        p.k.tcgen05.fence_after_thread_sync()
        p.k.tcgen05.commit(p.ready[0])
    p.k.mbarrier.wait(p.ready[0], 0)
    p.k.tcgen05.fence_after_thread_sync()
    p.k.tcgen05.ld(p.r.all, p.mine())
    p.k.tcgen05.wait_ld()
    assert_finds(p.end(), Rule.READ_BEFORE_ARRIVAL, "without being ordered after tcgen05.mma")


def test_a_later_commit_covers_what_came_before_the_first() -> None:
    """Commits of one thread: a wait on the later barrier is enough."""
    p = start()
    with p.k.elect_thread():
        p.mma()
        p.k.tcgen05.commit(p.ready[0])
        p.k.tcgen05.commit(p.ready[1])
    p.k.mbarrier.wait(p.ready[1], 0)
    p.k.tcgen05.fence_after_thread_sync()
    p.k.tcgen05.ld(p.r.all, p.mine())
    p.k.tcgen05.wait_ld()
    assert_clean(p.end())


def test_a_commit_before_the_mma_does_not_cover_it() -> None:
    p = start()
    with p.k.elect_thread():
        p.k.tcgen05.commit(p.ready[0])
        p.mma()
    p.k.mbarrier.wait(p.ready[0], 0)
    p.k.tcgen05.fence_after_thread_sync()
    p.k.tcgen05.ld(p.r.all, p.mine())
    p.k.tcgen05.wait_ld()
    assert_finds(p.end(), Rule.READ_BEFORE_ARRIVAL)


def loaded_then_stored(*, wait: bool) -> Schedule:
    p = start()
    p.k.tcgen05.st(p.mine(), p.r.all)
    p.k.tcgen05.wait_st()
    p.k.tcgen05.ld(p.r.all, p.mine())
    if wait:
        p.k.tcgen05.wait_ld()
    other = written(p.k, "other", registers=32)
    p.k.tcgen05.st(p.mine(), other.all)
    p.k.tcgen05.wait_st()
    p.k.tcgen05.wait_ld()
    return p.end()


def test_a_store_after_a_load_of_the_same_columns() -> None:
    assert_clean(loaded_then_stored(wait=True))
    assert_finds(loaded_then_stored(wait=False), Rule.WRITE_BEFORE_RELEASE, "tcgen05.st other")


def test_a_load_after_a_store_without_its_wait() -> None:
    p = start()
    p.k.tcgen05.st(p.mine(), p.r.all)
    p.k.tcgen05.wait_ld()  # the wrong kind
    p.k.tcgen05.ld(p.r.all, p.mine())
    p.k.tcgen05.wait_ld()
    p.k.tcgen05.wait_st()
    result = check(p.end())
    assert rules(result) == ["READ_BEFORE_ARRIVAL"]
    assert result.findings[0].missing == "tcgen05.wait::st"


def test_registers_before_wait_ld() -> None:
    p = start()
    out = p.k.global_tensor("out", (128, 32), "f32", output=True)
    p.k.tcgen05.st(p.mine(), p.r.all)
    p.k.tcgen05.wait_st()
    p.k.tcgen05.ld(p.r.all, p.mine())
    p.k.mem.st_global(out.box((p.k.thread_in_role, 0), (1, 32)), p.r.all)
    p.k.tcgen05.wait_ld()
    assert_finds(p.end(), Rule.FRAGMENT_IN_FLIGHT, "r is touched while tcgen05.ld acc -> r may")


# -- fences between threads ----------------------------------------------------------------------


def copied_then_used(*, before: bool, after: bool, relaxed: bool) -> Schedule:
    """tcgen05.cp by one thread, mma by another: a pipeline, which needs no completion."""
    p = start()
    k = p.k
    factors = k.smem_tile("factors", (32, 16), "u8")
    four = k.smem_tile("four", (128, 32), "u8", swizzle=32)
    scale = k.tmem_tile("scale", columns=4, dtype="u8", address=p.word, column=96)
    with k.elect_thread():
        k.tcgen05.cp(scale[0], factors[0], shape="32x128b.warpx4")
        if before:
            k.tcgen05.fence_before_thread_sync()
        k.mbarrier.arrive(p.ready[0], relaxed=relaxed)
    with k.when(k.warp_in_role == 1), k.elect():
        k.mbarrier.wait(p.ready[0], 0, relaxed=relaxed)
        if after:
            k.tcgen05.fence_after_thread_sync()
        k.tcgen05.mma(
            p.acc[0],
            four[0],
            four[0].box((0, 0), (32, 32)),
            kind="mxf4",
            accumulate=0,
            scale_a=scale[0],
            scale_b=scale[0].box((0, 0), (128, 1)),
            scale_vec=2,
        )
        k.tcgen05.commit(p.ready[1])
    k.mbarrier.wait(p.ready[1], 0)
    k.mbarrier.wait(p.ready[0], 0)
    with k.elect_thread():
        k.tcgen05.commit(p.ready[2])
    k.mbarrier.wait(p.ready[2], 0)
    return p.end()


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_pipeline_over_two_threads_needs_both_fences(relaxed: bool) -> None:
    assert_clean(copied_then_used(before=True, after=True, relaxed=relaxed))
    assert_finds(
        copied_then_used(before=False, after=True, relaxed=relaxed),
        Rule.MISSING_TCGEN05_FENCE,
        "before_thread_sync",
    )
    assert_finds(
        copied_then_used(before=True, after=False, relaxed=relaxed),
        Rule.MISSING_TCGEN05_FENCE,
        "after_thread_sync",
    )


def written_by_another_warp(*, edge: bool, before: bool = True, after: bool = True) -> Schedule:
    """Warps 0 and 4 have the same lanes: one stores, the other loads; each waits for its own."""
    p = start(5, count=32)
    k = p.k
    with k.when(k.warp_in_role == 0):
        k.tcgen05.st(p.mine(), p.r.all)
        k.tcgen05.wait_st()
        if before:
            k.tcgen05.fence_before_thread_sync()
        k.mbarrier.arrive(p.ready[0])
    with k.when(k.warp_in_role == 4):
        if edge:
            k.mbarrier.wait(p.ready[0], 0)
        if after:
            k.tcgen05.fence_after_thread_sync()
        k.tcgen05.ld(p.r.all, p.mine())
        k.tcgen05.wait_ld()
    k.mbarrier.wait(p.ready[0], 0)
    return p.end()


def test_completion_is_not_order_between_warps() -> None:
    assert_clean(written_by_another_warp(edge=True))
    assert_finds(written_by_another_warp(edge=False), Rule.READ_BEFORE_ARRIVAL)
    for side in ("before", "after"):
        assert_finds(
            written_by_another_warp(edge=True, before=side != "before", after=side != "after"),
            Rule.MISSING_TCGEN05_FENCE,
            f"tcgen05.fence::{side}_thread_sync",
        )


def test_a_fence_by_one_lane_is_none_of_the_warp() -> None:
    p = start(5, count=32)
    k = p.k
    with k.when(k.warp_in_role == 0):
        k.tcgen05.st(p.mine(), p.r.all)
        k.tcgen05.wait_st()
        k.tcgen05.fence_before_thread_sync()
    k.bar.sync()
    with k.when(k.warp_in_role == 4):
        with k.elect():
            k.tcgen05.fence_after_thread_sync()
        k.tcgen05.ld(p.r.all, p.mine())
        k.tcgen05.wait_ld()
    assert_finds(p.end(), Rule.MISSING_TCGEN05_FENCE, "after_thread_sync")


# -- shared operands -----------------------------------------------------------------------------


def copied(*, wait: bool, then: str) -> Schedule:
    """tcgen05.cp, committed; then a store to its source, or a load of its target."""
    p = start()
    k = p.k
    x = written(k, "x", registers=1, dtype="u32")
    source = k.smem_tile("source", (128, 8), "u32")
    with k.elect_thread():
        k.tcgen05.cp(p.acc[0].box((0, 0), (128, 8)), source[0], shape="128x256b")
        k.tcgen05.commit(p.ready[0])
    if wait:
        k.mbarrier.wait(p.ready[0], 0)
    if then == "store":
        k.fence.proxy_async("shared")
        k.mem.st_shared(source[0].box((k.thread_in_role, 0), (1, 1)), x.all)
    else:
        k.tcgen05.fence_after_thread_sync()
        k.tcgen05.ld(p.r.part(0, 8), p.mine(columns=8))
        k.tcgen05.wait_ld()
    k.mbarrier.wait(p.ready[0], 0)
    return p.end()


def test_a_copy_to_tensor_memory_that_is_not_waited_for() -> None:
    assert_clean(copied(wait=True, then="store"))
    assert_clean(copied(wait=True, then="load"))
    assert_finds(copied(wait=False, then="store"), Rule.OPERAND_IN_FLIGHT, "overwrites source")
    assert_finds(copied(wait=False, then="load"), Rule.READ_BEFORE_ARRIVAL)


def overwritten(*, fence: bool = True, wait: bool = True, first_fence: bool = True) -> Schedule:
    """A generic write of an operand, an mma, and another write after the mma is complete."""
    p = start()
    k = p.k
    x = written(k, "x", registers=64, dtype="bf16")
    mine = p.a[0].box((k.thread_in_role, 0), (1, 64))
    k.mem.st_shared(mine, x.all)
    if first_fence:
        k.fence.proxy_async("shared")
    k.bar.sync()
    with k.elect_thread():
        p.mma()
        k.tcgen05.commit(p.ready[0])
    if wait:
        k.mbarrier.wait(p.ready[0], 0)
    if fence:
        k.fence.proxy_async("shared")
    k.mem.st_shared(mine, x.all)
    k.mbarrier.wait(p.ready[0], 0)
    return p.end()


def test_generic_writes_of_operands() -> None:
    assert_clean(overwritten())
    assert_finds(overwritten(wait=False), Rule.OPERAND_IN_FLIGHT)
    assert_finds(overwritten(first_fence=False), Rule.MISSING_PROXY_FENCE)


def test_the_completion_of_an_mma_contains_no_proxy_fence() -> None:
    """A warning, as after generic reads: production code leaves the fence out."""
    result = check(overwritten(fence=False))
    assert result.verdict is Verdict.CLEAN
    assert [(f.rule, f.severity) for f in result.findings] == [(Rule.PROXY_WAR, Severity.WARNING)]
    assert result.findings[0].message == (
        "a is read by tcgen05.mma acc += a x b through the async proxy and then overwritten by "
        "st.shared x -> a, ordered but not fenced"
    )


def test_scale_factors_that_the_same_thread_overwrites_are_a_warning() -> None:
    """PTX lists cp -> mma, not mma -> cp; block-scaled kernels rely on it."""
    p = start()
    k = p.k
    factors = k.smem_tile("factors", (32, 16), "u8")
    four = k.smem_tile("four", (128, 32), "u8", swizzle=32)
    scale = k.tmem_tile("scale", columns=4, dtype="u8", address=p.word, column=96)
    with k.elect_thread():
        with k.loop(2) as i:
            k.tcgen05.cp(scale[0], factors[0], shape="32x128b.warpx4")
            k.tcgen05.mma(
                p.acc[0],
                four[0],
                four[0].box((0, 0), (32, 32)),
                kind="mxf4",
                accumulate=i,
                scale_a=scale[0],
                scale_b=scale[0].box((0, 0), (128, 1)),
                scale_vec=2,
            )
        k.tcgen05.commit(p.ready[0])
    k.mbarrier.wait(p.ready[0], 0)
    result = check(p.end())
    assert result.verdict is Verdict.CLEAN
    assert [(f.rule, f.severity) for f in result.findings] == [
        (Rule.WRITE_BEFORE_RELEASE, Severity.WARNING)
    ]


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
