"""mbarriers and hardware barriers: exact messages."""

from __future__ import annotations

import pytest

from asyncsim import Rule
from tests.ir.wellformed import barrier, expect


@pytest.mark.parametrize("threads", [0, 48, 96])
def test_named_barrier_counts_warps_of_the_block(threads):
    expect(
        lambda k: (k.block(2), k.named_barrier("b", id=1, threads=threads)),
        f"named barrier 'b' counts {threads} threads of 64",
        "use a multiple of 32, at most the block",
    )


def test_mbarrier_that_is_never_initialised():
    expect(
        lambda k: k.mbarriers("full", count=1),
        "mbarrier 'full' is never initialised",
        "add k.mbarrier.init_all(...) in an elected thread before the block barrier",
        Rule.USE_BEFORE_INIT,
    )


def test_stage_outside_the_array():
    expect(
        lambda k: k.mbarrier.arrive(barrier(k, stages=4)[4]),
        "mbarrier full[4] of 4",
        "the stage must be 0..3",
        Rule.OUT_OF_BOUNDS,
    )


@pytest.mark.parametrize("count", [0, 1 << 20])
def test_counts_of_init_and_arrive(count):
    for name, act in (
        ("MbarrierInit", lambda k: k.mbarrier.init(barrier(k)[0], count)),
        ("MbarrierArrive", lambda k: k.mbarrier.arrive(barrier(k)[0], count)),
    ):
        expect(
            act,
            f"{name} with count {count}",
            "a count is 1 to 1048575",
            Rule.ARRIVAL_OVERFLOW,
        )


def test_a_state_comes_from_an_arrive_on_the_same_array():
    def wait(k):
        full, state = barrier(k), k.mbarrier_state("state")
        other = k.mbarriers("other", count=1)
        k.mbarrier.init(other[0], 1)
        k.mbarrier.arrive(other[0], state=state)
        k.mbarrier.arrive_expect_tx(full[0], 16)
        k.mbarrier.wait_state(full[0], state)

    expect(
        wait,
        "no arrive on 'full' writes the state 'state'",
        "pass state=state to the arrive whose phase is waited for",
        Rule.FOREIGN_STATE,
    )


def test_an_arrive_on_another_cta_returns_no_state():
    def arrive(k):
        k.cluster(2)
        k.grid(2)
        full, state = barrier(k), k.mbarrier_state("state")
        k.mbarrier.arrive(k.mbarrier.at(full[0], 1), state=state)

    expect(
        arrive,
        "an arrive on 'full' of another CTA returns no state",
        "wait by parity in the CTA that owns it",
    )


@pytest.mark.parametrize("parity", [2, -1])
def test_parity_is_a_bit(parity):
    expect(
        lambda k: k.mbarrier.wait(barrier(k)[0], parity),
        f"wait on parity {parity} of 'full'",
        "a parity is 0 or 1: the phase number modulo 2",
        Rule.PARITY_OUT_OF_RANGE,
    )


@pytest.mark.parametrize("amount", [-16, 1 << 20])
def test_announced_bytes_fit_the_transaction_count(amount):
    expect(
        lambda k: k.mbarrier.expect_tx(barrier(k)[0], amount),
        f"{amount} bytes announced on 'full'",
        "a transaction count is 0 to 1048575",
        Rule.TX_RANGE,
    )


def test_announced_bytes_are_multiples_of_16():
    expect(
        lambda k: k.mbarrier.arrive_expect_tx(barrier(k)[0], 100),
        "100 bytes announced on 'full'; bulk copies move multiples of 16",
        "announce exactly the bytes of the boxes",
        Rule.TX_BYTES_MISMATCH,
    )
