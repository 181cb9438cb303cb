"""Which CTAs have the most to do, and that some of them are simulated."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.machine import load_machine
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim import simulate
from asyncsim.sim.placement import place
from asyncsim.sim.rounds import longest

H200 = load_machine("h200")
CUBE = {"m": 4096, "n": 4096, "k": 256}


def test_those_with_one_tile_more() -> None:
    assert longest(cooperative_gemm.build(CUBE)) == frozenset(range(512 - 3 * 132))
    clusters = {"cluster_n": 2, "ctas": 120}  # 128 blocks of tiles for 30 clusters
    assert longest(multicast_gemm.build(CUBE | clusters)) == frozenset(range(8))
    assert longest(cooperative_gemm.build(CUBE | {"ctas": 128})) == frozenset()
    assert longest(ws_gemm.build({})) == frozenset()


def test_one_of_them_is_simulated_however_few_they_are() -> None:
    for ctas in (100, 120, 124):
        schedule = multicast_gemm.build(CUBE | {"cluster_n": 2, "ctas": ctas})
        sampled = place(schedule, H200, exact=False).queue
        assert longest(schedule) & {cta // 4 for cta in sampled}


def test_a_sample_stands_for_all_sms() -> None:
    for schedule in (cooperative_gemm.build(CUBE), multicast_gemm.build(CUBE)):
        sms = place(schedule, H200, exact=False).sms
        assert len(sms) < 20
        assert sum(sm.stands_for for sm in sms) == 132


@pytest.mark.parametrize(
    ("clusters", "parts"), [((2, 1), (1, 2)), ((1, 2), (2, 1)), ((2, 2), (2, 2)), ((4, 1), (1, 4))]
)
def test_bytes_that_a_multicast_asks_l2_for(
    clusters: tuple[int, int], parts: tuple[int, int]
) -> None:
    """A tile of A is shared by the columns of a cluster, one of B by its rows."""
    params = CUBE | {"cluster_m": clusters[0], "cluster_n": clusters[1], "ctas": 120, "narrow": 1}
    result = simulate(multicast_gemm.build(params), H200, certified=True)
    steps = 32 * 16 * (256 // 64)
    assert result.l2_read_bytes == steps * (16384 // parts[0] + 32768 // parts[1])


def test_a_division_by_zero_is_left_to_the_streams() -> None:
    k = ScheduleBuilder("divided")
    n = k.arg("n", 0)
    k.grid(4)
    with k.loop(k.block_idx // n):
        k.bar.warp_sync()
    assert longest(k.finish()) == frozenset()
