"""mbarrier: contents, lifecycle, phases (PTX ISA, Parallel Synchronization: mbarrier)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncsim.rules import Rule
from asyncsim.sync import MbarrierState, SyncFault
from asyncsim.sync.mbarrier import COUNT_LIMIT, TX_LIMIT


def barrier(count: int) -> MbarrierState:
    state = MbarrierState()
    state.init(count)
    return state


def contents(state: MbarrierState) -> tuple[int, int, int, int]:
    return state.generation, state.pending, state.count, state.tx


def test_init_starts_phase_0_with_all_arrivals_pending_and_no_bytes():
    assert contents(barrier(3)) == (0, 3, 3, 0)


@pytest.mark.parametrize("count", [0, -1, COUNT_LIMIT + 1])
def test_init_refuses_counts_outside_1_to_2_20_minus_1(count):
    with pytest.raises(SyncFault, match=f"^init with count {count}; 1..1048575$") as caught:
        MbarrierState().init(count)
    assert caught.value.rule is Rule.ARRIVAL_OVERFLOW


def test_init_takes_the_largest_count():
    assert barrier(COUNT_LIMIT).pending == 1048575


def test_fresh_barrier_passes_parity_1_and_blocks_parity_0():
    state = barrier(1)
    assert state.passes(1)
    assert not state.passes(0)


def test_parity_alternates_with_the_phases():
    state = barrier(1)
    seen = []
    for _ in range(4):
        state.arrive()
        seen.append((state.generation, state.passes(0), state.passes(1)))
    assert seen == [(1, True, False), (2, False, True), (3, True, False), (4, False, True)]


def test_waiter_two_phases_behind_sees_the_parity_of_the_next_phase():
    """The aliasing bug: parity 0 passes after phase 0, blocks after phase 1, passes after 2."""
    state = barrier(1)
    state.arrive()
    assert state.passes(0)
    state.arrive()
    assert not state.passes(0)


def test_phase_completes_at_the_last_arrival_and_reloads_the_count():
    state = barrier(3)
    assert [state.arrive(), state.arrive(), state.arrive()] == [False, False, True]
    assert contents(state) == (1, 3, 3, 0)


def test_arrive_with_a_count_is_that_many_arrivals():
    state = barrier(4)
    assert not state.arrive(3)
    assert state.arrive(1)


def test_arrivals_over_the_pending_ones_overflow():
    state = barrier(4)
    state.arrive(3)
    with pytest.raises(SyncFault, match="^2 arrivals where 1 of 4 are pending$") as caught:
        state.arrive(2)
    assert caught.value.rule is Rule.ARRIVAL_OVERFLOW
    assert contents(state) == (0, 1, 4, 0)


def test_phase_waits_for_its_bytes():
    state = barrier(1)
    assert not state.arrive_expect_tx(1024)
    assert not state.complete_tx(1000)
    assert state.complete_tx(24)
    assert contents(state) == (1, 1, 1, 0)


def test_phase_waits_for_its_arrivals_after_the_bytes_have_landed():
    state = barrier(1)
    state.expect_tx(64)
    assert not state.complete_tx(64)
    assert state.arrive()


def test_transaction_count_is_negative_while_bytes_land_before_they_are_expected():
    state = barrier(1)
    assert not state.complete_tx(16)
    assert state.tx == -16
    assert state.arrive_expect_tx(16)
    assert contents(state) == (1, 1, 1, 0)


def test_expect_after_the_copy_and_after_an_arrive_counts_while_an_arrival_is_pending():
    state = barrier(2)
    state.complete_tx(32)
    assert not state.arrive()
    state.expect_tx(32)
    assert state.generation == 0
    assert state.arrive()


def test_expect_alone_never_completes_a_phase():
    state = barrier(1)
    state.complete_tx(16)
    state.expect_tx(16)
    assert contents(state) == (0, 1, 1, 0)


def test_arrive_expect_tx_announces_before_it_arrives():
    """Expecting first, the arrive cannot complete the phase without the bytes."""
    state = barrier(1)
    assert not state.arrive_expect_tx(16)
    assert contents(state) == (0, 0, 1, 16)


def test_separate_expect_after_the_last_arrive_belongs_to_the_next_phase():
    state = barrier(1)
    assert state.arrive()
    state.expect_tx(16)
    assert contents(state) == (1, 1, 1, 16)


@pytest.mark.parametrize("sign", [1, -1])
def test_transaction_count_stays_within_its_range(sign):
    state = barrier(1)
    move = state.expect_tx if sign > 0 else state.complete_tx
    move(TX_LIMIT)
    with pytest.raises(SyncFault) as caught:
        move(1)
    assert caught.value.rule is Rule.TX_RANGE
    assert caught.value.message == (f"transaction count {sign * 1048576} out of +-1048575")


def test_arrive_drop_lowers_the_count_of_later_phases():
    state = barrier(3)
    assert not state.arrive_drop()
    assert not state.arrive()
    assert state.arrive()
    assert contents(state) == (1, 2, 2, 0)
    assert [state.arrive(), state.arrive()] == [False, True]


def test_arrive_drop_below_zero_is_an_overflow():
    state = barrier(1)
    state.arrive_drop()
    with pytest.raises(SyncFault, match="^arrive_drop below an expected count of 0$") as caught:
        state.arrive_drop()
    assert caught.value.rule is Rule.ARRIVAL_OVERFLOW


def test_cp_async_arrive_without_noinc_changes_the_needed_arrivals_by_nothing():
    """Pending rises by one at issue and falls when the thread's copies are done."""
    state = barrier(1)
    state.add_pending()
    assert state.pending == 2
    assert not state.arrive()
    assert state.arrive()
    assert contents(state) == (1, 1, 1, 0)


def test_cp_async_arrive_with_noinc_is_counted_in_init():
    state = barrier(32 + 1)
    for _ in range(32):
        assert not state.arrive()
    assert state.arrive()


def test_pending_count_stays_within_its_range():
    state = barrier(COUNT_LIMIT)
    with pytest.raises(SyncFault, match="^pending count over 1048575$") as caught:
        state.add_pending()
    assert caught.value.rule is Rule.ARRIVAL_OVERFLOW


@pytest.mark.parametrize(
    ("what", "act"),
    [
        ("arrive", lambda s: s.arrive()),
        ("arrive_drop", lambda s: s.arrive_drop()),
        ("expect_tx", lambda s: s.expect_tx(16)),
        ("expect_tx", lambda s: s.arrive_expect_tx(16)),
        ("complete_tx", lambda s: s.complete_tx(16)),
        ("cp.async.mbarrier.arrive", lambda s: s.add_pending()),
        ("wait", lambda s: s.passes(0)),
        ("inval", lambda s: s.inval()),
    ],
)
@pytest.mark.parametrize("invalidated", [False, True])
def test_every_operation_but_init_needs_a_live_barrier(what, act, invalidated):
    state = MbarrierState()
    if invalidated:
        state.init(1)
        state.inval()
    with pytest.raises(
        SyncFault, match=f"^{what} on an mbarrier that is not initialised$"
    ) as caught:
        act(state)
    assert caught.value.rule is Rule.USE_BEFORE_INIT


def test_init_of_a_live_barrier_needs_inval_first():
    state = barrier(2)
    with pytest.raises(SyncFault, match="^init of a live mbarrier$") as caught:
        state.init(2)
    assert caught.value.rule is Rule.REINIT_WITHOUT_INVAL
    state.arrive()
    state.inval()
    state.init(5)
    assert contents(state) == (0, 5, 5, 0)


@given(st.integers(1, 5), st.permutations([("a", 1)] * 5 + [("e", 16)] * 4 + [("c", 16)] * 4))
def test_balanced_operations_in_any_order_end_with_balanced_bytes(count, order):
    """Arrivals of whole phases and equal bytes both ways: tx ends at 0 and pending adds up."""
    state = barrier(count)
    arrived = 0
    for what, amount in order:
        if what == "a":
            state.arrive()
            arrived += 1
        elif what == "e":
            state.expect_tx(amount)
        else:
            state.complete_tx(amount)
        assert state.generation * count + (count - state.pending) == arrived
        if state.pending == 0:
            break  # one more arrival would overflow: the phase still waits for its bytes
    else:
        assert state.tx == 0


def test_a_state_is_tested_until_the_phase_after_its_own_completes():
    state = barrier(2)
    first = state.arrive_state()
    state.arrive()
    assert state.arrive_state() == first  # both arrivals count in phase 0
    assert not state.passes_state(first)
    state.arrive()
    second = state.arrive_state()
    assert state.passes_state(first) and not state.passes_state(second)
    assert not state.passes_state(first, second)  # lanes that wait together: the latest decides
    state.arrive(2)
    assert state.passes_state(second) and state.passes_state(first, second)
    with pytest.raises(SyncFault, match="^the state is of phase 0, and 2 phases have comp") as late:
        state.passes_state(first)
    assert late.value.rule is Rule.LAPPED_WAITER


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("none", "no arrive has written the state that is tested"),
        ("another", "the state that is tested comes from another mbarrier"),
        ("older", "the state that is tested is older than the last inval"),
    ],
)
def test_states_that_no_arrive_on_the_barrier_returned(what, message):
    state = barrier(1)
    held = {"none": None, "another": barrier(1).arrive_state(), "older": state.arrive_state()}[what]
    state.inval()
    with pytest.raises(SyncFault, match="^wait on an mbarrier that is not initialised$"):
        state.passes_state(held)
    state.init(1)
    with pytest.raises(SyncFault, match=f"^{message}$") as caught:
        state.passes_state(held)
    assert caught.value.rule is Rule.FOREIGN_STATE
