"""A machine that is slower in what is known in one way."""

from __future__ import annotations

from fractions import Fraction

from asyncsim.machine import Curve, load_machine, slower

H100 = load_machine("h100")


def test_times_are_longer_rates_lower_counts_and_the_rest_stay() -> None:
    slow = slower(H100, "assumed", Fraction(2))
    assert slow.tma is not None and H100.tma is not None
    assert slow.tma.issue_cycles == 2 * H100.tma.issue_cycles
    assert slow.tma.load_bytes_per_cycle == H100.tma.load_bytes_per_cycle / 2
    assert slow.tma.landing_dram_cycles == Curve(
        tuple((x, 2 * y) for x, y in H100.tma.landing_dram_cycles.points)
    )
    assert (slow.tma.queue_depth, slow.tma.row_bytes) == (8, 128)
    assert slow.clock == H100.clock
    assert H100.provenance["dram.read"].how == "published"
    assert slow.dram.read_bytes_per_cycle == H100.dram.read_bytes_per_cycle


def test_what_an_architecture_lacks_stays_none() -> None:
    a100 = load_machine("a100")
    slow = slower(a100, "assumed", Fraction(3, 2))
    assert slow.tma is None and slow.barrier.cluster_cycles is None
    assert slow.barrier.sync_cycles == a100.barrier.sync_cycles * 3 / 2
