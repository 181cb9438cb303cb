"""Columns of tensor memory: allocations never overlap, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsim import Rule
from asyncsim.sync import SyncFault, TmemAllocator
from asyncsim.sync.tmem import TMEM_COLUMNS, is_tmem_size

SIZES = st.sampled_from([32, 64, 128, 256, 512])
ACTIONS = st.lists(st.one_of(SIZES, st.integers(0, 15).map(lambda i: -1 - i)), max_size=60)


def test_sizes_are_powers_of_two_from_32_to_512():
    assert [n for n in range(1025) if is_tmem_size(n)] == [32, 64, 128, 256, 512]


@given(ACTIONS)
def test_live_allocations_are_apart_and_aligned(actions):
    """A number is an alloc of that size; a negative one frees the n-th live allocation."""
    memory = TmemAllocator()
    live: dict[int, int] = {}
    for action in actions:
        if action < 0:
            if live:
                first = sorted(live)[(-1 - action) % len(live)]
                memory.dealloc(0, first, live.pop(first))
        elif (first := memory.alloc(0, action)) is not None:
            assert first % action == 0 and 0 <= first <= TMEM_COLUMNS - action
            taken = {c for a, n in live.items() for c in range(a, a + n)}
            assert not taken & set(range(first, first + action))
            live[first] = action
        else:  # no aligned gap of that size
            taken = {c for a, n in live.items() for c in range(a, a + n)}
            assert all(taken & set(range(a, a + action)) for a in range(0, TMEM_COLUMNS, action))
        assert memory.used == sum(live.values())
    for first, columns in live.items():
        memory.dealloc(0, first, columns)
    assert memory.alloc(0, TMEM_COLUMNS) == 0


@given(st.lists(SIZES, max_size=20))
def test_without_frees_whatever_fits_is_given(sizes):
    memory = TmemAllocator()
    for n in sizes:
        fits = memory.used + n <= TMEM_COLUMNS
        assert (memory.alloc(0, n) is not None) is fits


@given(st.integers(-64, 1100).filter(lambda n: not is_tmem_size(n)))
def test_other_sizes_do_not_exist(columns):
    with pytest.raises(SyncFault, match="a power of two, 32..512") as fault:
        TmemAllocator().alloc(0, columns)
    assert fault.value.rule is Rule.TMEM_ALLOC


@pytest.mark.parametrize(("owner", "first", "columns"), [(0, 0, 32), (0, 32, 64), (1, 0, 64)])
def test_only_an_allocation_is_freed(owner, first, columns):
    memory = TmemAllocator()
    assert memory.alloc(0, 64) == 0
    with pytest.raises(SyncFault) as fault:
        memory.dealloc(owner, first, columns)
    assert fault.value.rule is Rule.TMEM_DEALLOC
    assert memory.used == 64


def test_who_has_relinquished_allocates_no_more():
    memory = TmemAllocator()
    memory.relinquish(0)
    assert memory.alloc(1, 32) == 0
    with pytest.raises(SyncFault, match="alloc after relinquish_alloc_permit") as fault:
        memory.alloc(0, 32)
    assert fault.value.rule is Rule.TMEM_ALLOC
