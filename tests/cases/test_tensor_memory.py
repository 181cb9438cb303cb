"""Tensor memory: aliased columns inside a role, releases and frees before a load is complete."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import found
from tests.check.test_tcgen05_cases import start
from tests.check.written import written


def chunks(*, joined: bool, waited: bool = True) -> Schedule:
    """Two warps of the same lanes: each loads one chunk of columns and stores over the other's."""
    p = start(8)
    k = p.k
    k.tcgen05.fence_after_thread_sync()
    with k.when(k.warp_in_role < 4):
        for stage in range(2):
            k.tcgen05.st(p.mine(stage), p.r.all)
        k.tcgen05.wait_st()
    k.tcgen05.fence_before_thread_sync()
    k.bar.sync()
    k.tcgen05.fence_after_thread_sync()
    half = k.warp_in_role // 4
    lanes = 32 * (k.warp_in_role % 4)
    k.tcgen05.ld(p.r.all, p.acc[half].box((lanes, 0), (32, 32)))
    if waited:
        k.tcgen05.wait_ld()
    if joined:
        k.tcgen05.fence_before_thread_sync()
        k.bar.sync()
        k.tcgen05.fence_after_thread_sync()
    other = written(k, "other", registers=32)
    k.tcgen05.st(p.acc[1 - half].box((lanes, 0), (32, 32)), other.all)
    k.tcgen05.wait_st()
    k.tcgen05.wait_ld()
    return p.end()


def test_a_store_over_columns_that_a_warp_of_the_same_role_still_reads() -> None:
    assert found(chunks(joined=True)) == []
    assert found(chunks(joined=False)) == ["WRITE_BEFORE_RELEASE"]
    assert found(chunks(joined=True, waited=False)) == ["WRITE_BEFORE_RELEASE"]


def freed(*, waited: bool) -> Schedule:
    """The epilogue loads and tells another warp, which frees the columns."""
    p = start(8, count=128)
    k = p.k
    with k.when(k.warp_in_role < 4):
        k.tcgen05.st(p.mine(), p.r.all)
        k.tcgen05.wait_st()
        k.tcgen05.ld(p.r.all, p.mine())
        if waited:
            k.tcgen05.wait_ld()
        k.tcgen05.fence_before_thread_sync()
        k.mbarrier.arrive(p.ready[0])
        k.tcgen05.wait_ld()
    with k.when(k.warp_in_role == 4):
        k.mbarrier.wait(p.ready[0], 0)
        k.tcgen05.fence_after_thread_sync()
        k.tcgen05.dealloc(p.word[0], 128)
    return k.finish()


def test_a_load_that_is_not_complete_when_its_columns_are_freed() -> None:
    assert found(freed(waited=True)) == []
    assert found(freed(waited=False)) == ["TMEM_DEALLOC"]


def test_a_load_by_one_thread_is_refused() -> None:
    p = start()
    text = "executed by whole warps, not by one lane"
    with pytest.raises(ScheduleError, match=text), p.k.elect_thread():
        p.k.tcgen05.ld(p.r.all, p.mine())


def without_allocation(*, allocates: bool) -> Schedule:
    """Two CTAs of an SM use column 0; does each allocate?"""
    k = ScheduleBuilder("columns", archs=("sm_100a",))
    k.grid(2)
    k.block(4, ctas_per_sm=2)
    word, r = k.smem_tile("word", (1, 1), "u32"), written(k, "r", registers=32)
    acc = k.tmem_tile("acc", columns=32, address=word)
    if allocates:
        with k.when(k.warp_in_role == 0):
            k.tcgen05.alloc(word[0], 32)
            k.tcgen05.relinquish_alloc_permit()
    k.bar.sync()
    k.tcgen05.st(acc[0].box((32 * k.warp_in_role, 0), (32, 32)), r.all)
    k.tcgen05.wait_st()
    k.bar.sync()
    if allocates:
        with k.when(k.warp_in_role == 0):
            k.tcgen05.dealloc(word[0], 32)
    return k.finish()


def test_columns_that_nobody_allocated() -> None:
    assert found(without_allocation(allocates=True)) == []
    assert found(without_allocation(allocates=False)) == ["TMEM_ALLOC"]
