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
from tests.check.written import written, written_tile


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
    a = written_tile(k, k.smem_tile("a", (128, 64), "bf16", swizzle=128, stages=2))
    b = written_tile(k, k.smem_tile("b", (32, 64), "bf16", swizzle=128))
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
    factors = written_tile(k, k.smem_tile("factors", (32, 16), "u8"))
    four = written_tile(k, k.smem_tile("four", (128, 32), "u8", swizzle=32))
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
    source = written_tile(k, k.smem_tile("source", (128, 8), "u32", swizzle=32))
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
    factors = written_tile(k, k.smem_tile("factors", (32, 16), "u8"))
    four = written_tile(k, k.smem_tile("four", (128, 32), "u8", swizzle=32))
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
