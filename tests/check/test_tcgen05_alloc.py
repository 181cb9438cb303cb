"""Tensor memory: allocated before it is used, freed after, by the same address and size."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, Severity, check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.test_clusters import assert_clean, assert_finds, rules
from tests.check.written import written, written_tile


def builder(warps: int = 1, words: int = 1):  # type: ignore[no-untyped-def]
    k = ScheduleBuilder("allocations", archs=("sm_100a",))
    k.block(warps)
    return k, [k.smem_tile(f"word{i}", (1, 1), "u32") for i in range(words)]


def test_allocate_free_relinquish() -> None:
    k, (word,) = builder()
    k.tcgen05.alloc(word[0], 64)
    k.tcgen05.dealloc(word[0], 64)
    k.tcgen05.relinquish_alloc_permit()
    assert_clean(k.finish())


@pytest.mark.parametrize(
    ("columns", "offset", "message"),
    [
        (32, 0, "tcgen05.dealloc word0 of 32 columns of an allocation of 64"),
        (64, 32, "of 64 columns at 32 columns after the address of the allocation"),
    ],
)
def test_another_size_or_address(columns: int, offset: int, message: str) -> None:
    k, (word,) = builder()
    k.tcgen05.alloc(word[0], 64)
    k.tcgen05.dealloc(word[0], columns, offset=offset)
    result = check(k.finish())
    assert rules(result) == ["TMEM_DEALLOC"]
    assert message in result.findings[0].message


def test_free_twice_and_free_nothing() -> None:
    k, (word, other) = builder(words=2)
    k.tcgen05.alloc(word[0], 64)
    k.tcgen05.dealloc(word[0], 64)
    k.tcgen05.dealloc(word[0], 64)
    k.tcgen05.dealloc(other[0], 64)
    result = check(k.finish())
    assert [f.message for f in result.findings] == [
        "tcgen05.dealloc word0 of 64 columns which has been freed before",
        "tcgen05.dealloc word1 of 64 columns whose address no tcgen05.alloc has written to word1",
    ]


def two_warps(*, words: int, synced: bool, columns: int = 256) -> Schedule:
    """Each of two warps allocates and frees; with one word, the second address hides the first."""
    k, names = builder(warps=2, words=words)
    for warp in range(2):
        with k.when(k.warp_in_role == warp):
            k.tcgen05.alloc(names[warp % words][0], columns)
        if synced:
            k.bar.sync()
    k.bar.sync()
    for warp in range(2):
        with k.when(k.warp_in_role == warp):
            k.tcgen05.dealloc(names[warp % words][0], columns)
        if synced:
            k.bar.sync()
    return k.finish()


@pytest.mark.parametrize(("synced", "columns"), [(False, 256), (True, 32)])
def test_two_allocations_and_one_address(synced: bool, columns: int) -> None:
    """With a word for each they are freed by their own address, whatever the order."""
    assert_clean(two_warps(words=2, synced=synced, columns=columns))
    result = check(two_warps(words=1, synced=synced, columns=columns))
    expected = {"TMEM_DEALLOC"} | (set() if synced else {"WRITE_WRITE_RACE"})
    assert set(rules(result)) == expected


def test_a_dealloc_that_another_warp_gates() -> None:
    k, (word,) = builder(warps=2)
    gate = k.mbarriers("gate", count=32)
    with k.elect_thread():
        k.mbarrier.init_all(gate)
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 32)
    k.bar.sync()
    with k.when(k.warp_in_role == 1):
        k.mbarrier.arrive(gate[0])
    with k.when(k.warp_in_role == 0):
        k.mbarrier.wait(gate[0], 0)
        k.tcgen05.dealloc(word[0], 32)
    assert_clean(k.finish())


def test_alloc_after_relinquish() -> None:
    k, (word,) = builder()
    k.tcgen05.relinquish_alloc_permit()
    k.tcgen05.alloc(word[0], 32)
    k.tcgen05.dealloc(word[0], 32)
    assert_finds(k.finish(), Rule.TMEM_ALLOC, "comes after tcgen05.relinquish_alloc_permit")


def test_relinquish_that_may_come_first() -> None:
    k, (word,) = builder(warps=2)
    with k.when(k.warp_in_role == 0):
        k.tcgen05.alloc(word[0], 32)
    with k.when(k.warp_in_role == 1):
        k.tcgen05.relinquish_alloc_permit()
    k.bar.sync()
    with k.when(k.warp_in_role == 0):
        k.tcgen05.dealloc(word[0], 32)
    assert_finds(k.finish(), Rule.TMEM_ALLOC, "may come before tcgen05.alloc")


def used(*, alloc: bool = True, columns: int = 32, column: int = 0) -> Schedule:
    k, (word,) = builder()
    acc = k.tmem_tile("acc", columns=32, address=word, column=column)
    r = written(k, "r", registers=32)
    if alloc:
        k.tcgen05.alloc(word[0], columns)
    k.tcgen05.st(acc[0].box((0, 0), (32, 32)), r.all)
    k.tcgen05.wait_st()
    if alloc:
        k.tcgen05.dealloc(word[0], columns)
    return k.finish()


def test_use_of_what_is_not_allocated() -> None:
    assert_clean(used())
    assert_finds(used(alloc=False), Rule.TMEM_ALLOC, "no tcgen05.alloc has written word0")
    assert_finds(used(column=16), Rule.OUT_OF_BOUNDS, "acc[columns 16..47] of an allocation of 32")
    assert_clean(used(columns=64, column=16))


def test_successive_allocations_may_not_grow() -> None:
    k, (word, other) = builder(words=2)
    k.tcgen05.alloc(word[0], 32)
    k.tcgen05.alloc(other[0], 64)
    k.tcgen05.dealloc(word[0], 32)
    k.tcgen05.dealloc(other[0], 64)
    result = check(k.finish())
    assert result.verdict is Verdict.CLEAN
    assert [(f.rule, f.severity) for f in result.findings] == [
        (Rule.TMEM_ALLOC_ORDER, Severity.WARNING)
    ]


def test_one_word_for_one_allocation_after_the_other() -> None:
    k, (word,) = builder()
    acc = k.tmem_tile("acc", columns=32, address=word)
    r = written(k, "r", registers=32)
    with k.loop(3):
        k.tcgen05.alloc(word[0], 512)
        k.tcgen05.st(acc[0].box((0, 0), (32, 32)), r.all)
        k.tcgen05.wait_st()
        k.tcgen05.dealloc(word[0], 512)
    assert_clean(k.finish())


def test_columns_that_another_warp_has_to_free_first() -> None:
    """In some order the second alloc waits: not proven, and no execution fails."""
    k, (word, other) = builder(warps=2, words=2)
    for warp, name in enumerate((word, other)):
        with k.when(k.warp_in_role == warp):
            k.tcgen05.alloc(name[0], 512)
            k.tcgen05.dealloc(name[0], 512)
    result = check(k.finish())
    assert result.verdict is Verdict.INCOMPLETE
    assert "may find 512 columns taken, and has to wait" in result.note


def test_columns_that_are_never_freed_in_time() -> None:
    k, (word, other) = builder(words=2)
    k.tcgen05.alloc(word[0], 512)
    k.tcgen05.alloc(other[0], 32)
    k.tcgen05.dealloc(other[0], 32)
    k.tcgen05.dealloc(word[0], 512)
    assert_finds(
        k.finish(), Rule.TMEM_CAPACITY, "512 of 512 columns are taken, and nobody frees any"
    )


@pytest.mark.parametrize(("columns", "warned"), [(256, False), (512, True)])
def test_ctas_of_one_sm_share_the_columns(columns: int, warned: bool) -> None:
    k, (word,) = builder()
    k.grid(4)
    k.launch_bounds(2)
    k.block(1, ctas_per_sm=2)
    k.tcgen05.alloc(word[0], columns)
    k.tcgen05.dealloc(word[0], columns)
    result = check(k.finish())
    assert result.verdict is Verdict.CLEAN
    assert rules(result) == (["TMEM_CAPACITY"] if warned else [])
    if warned:
        assert result.findings[0].message == (
            "2 CTAs of an SM want 512 columns each, of 512: the later ones wait in tcgen05.alloc "
            "until an earlier one has freed its own"
        )


def pair_allocates(*, second: bool) -> Schedule:
    """Rank 0 uses its peer's columns; the alloc of the pair is one."""
    k, (word,) = builder()
    k.grid(2)
    k.cluster(2)
    a = written_tile(k, k.smem_tile("a", (128, 16), "bf16", swizzle=32))
    b = written_tile(k, k.smem_tile("b", (16, 16), "bf16", swizzle=32))
    acc = k.tmem_tile("acc", columns=32, address=word)
    done = k.mbarriers("done", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(done)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    k.tcgen05.alloc(word[0], 32, cta_group=2)
    with k.when(k.cta_rank == 0), k.elect():
        k.tcgen05.mma(acc[0], a[0], b[0], accumulate=0, cta_group=2)
        k.tcgen05.commit(done[0], multicast=3, cta_group=2)
    if second:
        k.mbarrier.wait(done[0], 0)
    with k.when(k.cta_rank == 0):
        k.mbarrier.wait(done[0], 0)
    k.tcgen05.dealloc(word[0], 32, cta_group=2)
    k.cluster_barrier.sync()
    return k.finish()


def test_the_peer_frees_after_the_pair_is_done() -> None:
    assert_clean(pair_allocates(second=True))
    assert_finds(pair_allocates(second=False), Rule.TMEM_DEALLOC, "tcgen05.mma acc += a x b")
