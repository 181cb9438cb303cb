"""Named barriers and warpgroup collectives (PTX ISA: barrier, wgmma)."""

from __future__ import annotations

import pytest

from asyncsim.rules import Rule
from asyncsim.sync import NamedBarrierState, SyncFault, WarpgroupCollective


def test_round_completes_with_the_last_warp_and_the_barrier_is_free_again():
    state = NamedBarrierState()
    assert [state.arrive(w, 96) for w in (0, 2, 1)] == [False, False, True]
    assert (state.generation, state.arrived, state.threads, state.warps) == (1, 0, 0, [])
    assert state.arrive(0, 32)
    assert state.generation == 2


def test_threads_are_counted_warp_by_warp():
    state = NamedBarrierState()
    state.arrive(5, 64)
    assert state.arrived == 32


def test_counts_that_differ_in_one_round_are_named():
    state = NamedBarrierState()
    state.arrive(0, 96)
    with pytest.raises(
        SyncFault, match="^128 threads expected by warp 1, 96 by the others$"
    ) as caught:
        state.arrive(1, 128)
    assert caught.value.rule is Rule.NAMED_BARRIER_COUNT


def test_counts_may_differ_from_round_to_round():
    state = NamedBarrierState()
    assert state.arrive(0, 32)
    assert not state.arrive(0, 64)
    assert state.arrive(1, 64)


def test_warp_may_not_arrive_twice_in_one_round():
    state = NamedBarrierState()
    state.arrive(3, 64)
    with pytest.raises(SyncFault, match="^warp 3 arrives twice in one round$") as caught:
        state.arrive(3, 64)
    assert caught.value.rule is Rule.NAMED_BARRIER_OVERRUN


def test_warp_may_arrive_again_in_the_next_round():
    state = NamedBarrierState()
    state.arrive(0, 64)
    assert state.arrive(1, 64)
    assert not state.arrive(0, 64)


def test_collective_starts_when_the_last_of_four_warps_has_issued():
    group = WarpgroupCollective((4, 5, 6, 7))
    assert [group.execute(w) for w in (4, 4, 5, 6)] == [0, 1, 0, 0]
    assert not group.issued(0)
    assert group.complete == 0
    assert group.execute(7) == 0
    assert group.issued(0)
    assert not group.issued(1)
    assert group.complete == 1
