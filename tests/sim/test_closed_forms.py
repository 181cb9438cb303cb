"""Times that can be computed by hand, and bounds that no run may break."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim import simulate
from asyncsim.sim.simulate import Options, run
from asyncsim.trace import SpanKind
from tests.sim.schedules import H200, products, ring, with_numbers

BOX = 16384


def slope(first: int, last: int, **params: int | bool) -> float:
    """Ticks of one more tile."""
    ends = [
        run(ring(tiles=n, wrap=8, **params), H200, Options(certified=True, warm=True)).end  # type: ignore[arg-type]
        for n in (first, last)
    ]
    return (ends[1] - ends[0]) / (last - first)


def wake(warps: int) -> int:
    return ticks(H200.mbarrier.wake_by_warps_cycles.at(warps))


def test_one_stage_is_the_sum_of_its_parts() -> None:
    """Hand-over, elect, expect, copy, landing, loads, warp barrier, elect, arrive."""
    m = H200
    parts = (
        ticks(m.barrier.elect_cycles)
        + ticks(m.mbarrier.expect_tx_cycles)
        + ticks(m.tma.latency_l2_cycles)
        + BOX / (m.tma.fill_bytes_per_cycle / TICKS_PER_CYCLE)
        + ticks(m.smem.load_latency_cycles)
        + ticks(m.barrier.syncwarp_cycles)
        + ticks(m.barrier.elect_cycles)
        + wake(1)
    )
    found = slope(40, 60, stages=1, consumers=1, converged_producer=True)
    assert found == pytest.approx(float(parts), abs=1)


def test_enough_stages_reach_the_fill_port() -> None:
    port = BOX / (H200.tma.fill_bytes_per_cycle / TICKS_PER_CYCLE)
    assert slope(80, 160, stages=8, consumers=1) == pytest.approx(float(port), abs=1)


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("ffma", [0, 40, 200])
def test_ring_is_the_largest_of_its_limits(stages: int, ffma: int) -> None:
    """max(port, producer turn, consumer turn, chain / stages) in a converged ring."""
    m = H200
    port = float(BOX / (m.tma.fill_bytes_per_cycle / TICKS_PER_CYCLE))
    elect, sync = ticks(m.barrier.elect_cycles), ticks(m.barrier.syncwarp_cycles)
    arrive, wait = ticks(m.mbarrier.arrive_cycles), ticks(m.mbarrier.try_wait_cycles)
    loads = ticks(m.smem.load_latency_cycles)
    chain_alu = m.alu.alu_latency_cycles
    rest = ticks(m.smem.load_latency_cycles + chain_alu + ffma * m.alu.ffma_latency_cycles) - loads
    release = loads + sync + elect
    consumer = wait + release + arrive + rest + ticks(m.code.consumer_cycles)
    producer = (
        wait
        + elect
        + ticks(m.mbarrier.expect_tx_cycles)
        + ticks(m.tma.issue_cycles)
        + ticks(m.code.producer_all_lanes_cycles)
    )
    chain = (
        elect
        + ticks(m.mbarrier.expect_tx_cycles)
        + ticks(m.tma.latency_l2_cycles)
        + port
        + release
        + wake(1)
    )
    expected = max(port, producer, consumer, chain / stages)
    found = slope(60, 120, stages=stages, consumers=1, ffma=ffma, converged_producer=True)
    assert found == pytest.approx(expected, rel=0.003)


@pytest.mark.parametrize("n", [8, 16, 32, 64, 96, 128, 192, 256])
def test_wgmma_stream_reaches_the_interval_law(n: int) -> None:
    interval = max(n * Fraction(1, 2), 16 + n * Fraction(1, 4))
    ends = [
        run(products(n=n, groups=g, per_group=8, wait=1), H200, Options(certified=True)).end
        for g in (20, 40)
    ]
    assert (ends[1] - ends[0]) / 160 == pytest.approx(float(interval) * 64, abs=1.5)


def test_an_instruction_that_finds_the_queue_full_is_issued_after_the_oldest() -> None:
    """Of 12 of N = 128 seven are in flight; the eighth finds the first through, the next four wait
    28 cycles from the end of that seven before them."""
    once = products(n=128, groups=1, per_group=12, wait=0)
    trace = simulate(once, H200, certified=True, keep_trace=True, ties=False).trace
    assert trace is not None
    through = [s.end for s in trace.spans if s.track == "tensor"]
    name = "WgmmaMmaAsync m64n128k16"
    waited = [s for s in trace.spans if s.name == name and s.kind is SpanKind.STALL]
    issued = [s.end for s in waited if s.track == "math0/0"]
    assert issued == [end + 28 for end in through[1:5]]


@pytest.mark.parametrize("n", [64, 128, 256])
def test_drained_groups_pay_the_tail(n: int) -> None:
    """interval * D + tail + the code of a turn, which nothing hides."""
    ends = [
        run(products(n=n, groups=g, per_group=4, wait=0), H200, Options(certified=True)).end
        for g in (20, 40)
    ]
    beside = (ends[1] - ends[0]) / 20 / 64 - 4 * n / 2
    code = float(H200.code.wgmma_consumer_cycles)
    assert beside == pytest.approx(73 + code, abs=3)


@pytest.mark.parametrize("warpgroups", [2, 3])
def test_warpgroups_share_the_tensor_core_without_loss(warpgroups: int) -> None:
    ends = [
        run(
            products(n=128, groups=g, per_group=4, wait=0, warpgroups=warpgroups),
            H200,
            Options(certified=True),
        ).end
        for g in (20, 40)
    ]
    each = (ends[1] - ends[0]) / (20 * 4 * warpgroups) / 64
    assert each == pytest.approx(64, rel=0.03)


def test_block_barrier_takes_its_time_by_warps() -> None:
    def cycles(barriers: int, warps: int) -> float:
        k = ScheduleBuilder("barriers", archs=("sm_90a",))
        k.block(warps)
        for _ in range(barriers):
            k.bar.sync()
        return run(k.finish(), H200, Options(certified=True)).end / 64

    for warps in (1, 4, 16, 32):
        each = float(H200.barrier.sync_cycles + warps * H200.barrier.sync_per_warp_cycles)
        assert cycles(5, warps) - cycles(4, warps) == pytest.approx(each, abs=warps / 64)


@pytest.mark.parametrize("stages", [1, 2, 4, 8])
@pytest.mark.parametrize("ctas", [1, 40, 132, 264])
def test_no_run_beats_dram_or_the_port(stages: int, ctas: int) -> None:
    schedule = tma_ring.build({"stages": stages, "tiles": 24, "ctas": ctas, "ffma": 0})
    cycles = simulate(schedule, H200, certified=True).cycles
    total = ctas * 24 * BOX
    assert cycles >= total / H200.dram.read_bytes_per_cycle * Fraction(98, 100)
    assert cycles >= -(-ctas // 132) * 24 * BOX / H200.tma.fill_bytes_per_cycle


def test_no_product_beats_the_tensor_core() -> None:
    schedule = ws_gemm.build({"m": 2048, "n": 2048, "k": 512})
    cycles = simulate(schedule, H200, certified=True).cycles
    assert cycles >= 2 * (512 // 16) * 2 * 64  # two waves of CTAs on some SMs


def test_more_stages_are_never_slower_for_one_cta() -> None:
    ends = [
        simulate(tma_ring.build({"stages": s, "tiles": 40, "ctas": 1}), H200, certified=True).cycles
        for s in range(1, 7)
    ]
    assert all(later <= earlier * 1.002 for earlier, later in pairwise(ends))


def test_a_slower_number_makes_a_slower_prediction() -> None:
    schedule = tma_ring.build({"tiles": 32, "ctas": 1, "stages": 2})
    base = simulate(schedule, H200, certified=True, l2="warm").cycles
    changes = (
        {"tma": {"latency_l2_cycles": 600}},
        {"tma": {"fill_bytes_per_cycle": 40}},
        {"mbarrier": {"arrive_cycles": 200}},
        {"alu": {"ffma_latency_cycles": 9}},
        {"code": {"consumer_cycles": 300}},
    )
    for change in changes:
        slower = simulate(schedule, with_numbers(H200, **change), certified=True, l2="warm").cycles
        assert slower > base * 1.02, change
