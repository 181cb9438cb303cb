"""What a prediction says: words, shares, stalls, occupancy, and when there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncsim import Machine, Schedule, ScheduleBuilder, check
from asyncsim.errors import ScheduleError, UsageError
from asyncsim.machine.quantity import How
from asyncsim.predict import Verdict, predict
from asyncsim.scenario import Twin
from asyncsim.scenarios.cp_async_multistage import cp_async_multistage
from asyncsim.scenarios.tma_copy import tma_copy
from asyncsim.scenarios.tma_ring import tma_ring
from asyncsim.scenarios.ws_gemm import ws_gemm
from asyncsim.sim import Deadlock, simulate
from asyncsim.sync import SyncFault
from tests.sim.schedules import H200, products, ring, with_numbers


def predicted(schedule, **options):  # type: ignore[no-untyped-def]
    return simulate(schedule, H200, certified=True, **options)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (tma_ring.build({"tiles": 64}), "DRAM ("),
        (ring(stages=8, tiles=200, consumers=1, wrap=8), "fill port ("),
        (products(n=256, groups=60, per_group=8, wait=1), "tensor core ("),
        (ring(stages=4, tiles=60, ffma=500, wrap=8), "compute of consumer ("),
        (ring(stages=1, tiles=60, wrap=8), "latency, too few stages: L2 latency"),
        (ring(stages=2, tiles=60), "latency, too few stages: DRAM latency"),
    ],
)
def test_bound_by_names_the_limit(schedule, words: str) -> None:  # type: ignore[no-untyped-def]
    warm = "DRAM" not in words
    result = predicted(schedule, l2="warm" if warm else "cold")
    assert result.bound_by.startswith(words), result.bound_by


def test_hand_overs_of_two_warps_are_bound_by_barriers() -> None:
    k = ScheduleBuilder("pingpong", archs=("sm_90a",))
    there, back = k.mbarriers("there", count=1), k.mbarriers("back", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(there, back)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        for name, mine, other, first in (("ping", there, back, True), ("pong", back, there, False)):
            with k.role(name, warps=1):
                state = k.pipeline_state(1, name=name)
                with k.loop(50, name=f"i_{name}"):
                    if first:
                        with k.elect():
                            k.mbarrier.arrive(mine[0])
                    k.mbarrier.wait(other[0], state.phase)
                    if not first:
                        with k.elect():
                            k.mbarrier.arrive(mine[0])
                    state.advance()
    assert predicted(k.finish()).bound_by.startswith("barriers: synchronisation")


@pytest.mark.parametrize(
    "schedule",
    [
        tma_ring.build({"tiles": 20}),
        tma_ring.build({"tiles": 20, "stages": 1, "ctas": 300}),
        cp_async_multistage.build({"tiles": 20}),
        ws_gemm.build({"m": 1024, "n": 1024, "k": 512}),
        ws_gemm.build({"m": 2048, "n": 2048, "k": 128, "stages": 2}),
    ],
)
def test_the_critical_path_covers_the_run(schedule) -> None:  # type: ignore[no-untyped-def]
    from asyncsim.sim.path import walk
    from asyncsim.sim.simulate import Options, run

    model = run(schedule, H200, Options(certified=True))
    shares, _ = walk(model.end_cause)
    assert sum(shares.values()) == model.end
    assert min(shares.values()) >= 0
    result = predicted(schedule)
    assert sum(result.path.values()) == pytest.approx(1)
    assert all(0 < use <= 1 for use in result.engines.values())


def test_saturated_engines_are_named_beside_the_limit() -> None:
    """Load and products take equally long: the path names one, the words name both."""
    from asyncsim.sim.path import bound_by

    use = {"tensor core": 0.99, "DRAM": 0.98}
    text = bound_by({"tensor core": 0.95, "launch": 0.05}, 0, 1, use)
    assert text == "tensor core (95 % of the critical path); also saturated: DRAM"


def test_stalls_are_means_over_warps_and_ctas() -> None:
    result = predicted(ring(stages=1, tiles=30, wrap=8), l2="warm")
    full = next(s for s in result.stalls if s.what == "mbarrier wait full")
    assert (full.role, full.count) == ("consumer", 30)
    assert 0 < full.cycles < result.cycles
    assert full.where.startswith("schedules.py:")
    assert list(result.stalls) == sorted(result.stalls, key=lambda s: (-s.cycles, s.role, s.op_id))


@pytest.mark.parametrize(
    ("params", "ctas", "limit"),
    [
        ({"stages": 4}, 3, "shared memory"),  # 65,600 bytes and 1,024 reserved, of 233,472
        ({"stages": 1, "tile_bytes": 1024}, 12, "threads"),
        ({"stages": 6, "tile_bytes": 32768}, 1, "shared memory"),
    ],
)
def test_occupancy(params: dict[str, int], ctas: int, limit: str) -> None:
    occupancy = predicted(tma_ring.build({"tiles": 2, **params})).occupancy
    assert (occupancy.ctas_per_sm, occupancy.limited_by) == (ctas, limit)


def test_registers_limit_the_ctas_of_an_sm() -> None:
    small = ws_gemm.build({"m": 256, "n": 256, "k": 128, "stages": 2})
    occupancy = predicted(small).occupancy
    assert occupancy.ctas_per_sm == 2
    assert occupancy.limited_by.startswith("registers, about 154")


def test_a_warm_start_is_faster_and_a_slow_clock_is_longer() -> None:
    schedule = tma_ring.build({"tiles": 16, "ctas": 8})
    assert predicted(schedule, l2="warm").cycles < predicted(schedule).cycles
    slow, fast = (predicted(schedule, l2="warm", clock_mhz=mhz) for mhz in (990.0, 1980.0))
    assert slow.cycles < fast.cycles
    assert fast.time_us < slow.time_us < 2 * fast.time_us


def test_what_passes_by_the_clocks_of_l2_and_dram_takes_fewer_cycles_of_a_slow_sm() -> None:
    """One stage, so that a tile is a latency: half the clock saves half of what is beyond an SM."""
    size, beyond = 16384, H200.l2.beyond_cycles
    hit = H200.tma.latency_l2_cycles + size / H200.tma.fill_bytes_per_cycle
    ring = {"stages": 1, "ctas": 1, "ffma": 0, "tile_bytes": size}
    miss = beyond + H200.tma.landing_dram_cycles.at(size) - hit
    for l2, passed in (("warm", beyond), ("cold", miss)):
        fast, slow = (
            predicted(tma_ring.build({**ring, "tiles": 32}), l2=l2, clock_mhz=mhz).cycles
            - predicted(tma_ring.build({**ring, "tiles": 16}), l2=l2, clock_mhz=mhz).cycles
            for mhz in (1980.0, 990.0)
        )
        assert (fast - slow) / 16 == pytest.approx(float(passed) / 2, abs=0.1)


def test_another_state_of_l2_is_refused() -> None:
    schedule = tma_ring.build({"tiles": 16, "ctas": 8})
    with pytest.raises(ValueError, match="l2 = 'hot'; use 'cold' or 'warm'"):
        predicted(schedule, l2="hot")


def test_the_trace_changes_no_number() -> None:
    schedule = ws_gemm.build({"m": 256, "n": 256, "k": 512})
    plain, traced = predicted(schedule), predicted(schedule, keep_trace=True)
    assert traced.trace is not None
    assert plain.trace is None
    assert (plain.cycles, plain.path, plain.stalls) == (traced.cycles, traced.path, traced.stalls)


def test_the_order_of_ties_decides_little_and_is_reported() -> None:
    from asyncsim.sim.engine import ReversedTies
    from asyncsim.sim.simulate import Options, run

    schedule = cp_async_multistage.build({"tiles": 24, "stages": 2})
    one, other = (
        run(schedule, H200, Options(certified=True, **way)).end  # type: ignore[arg-type]
        for way in ({}, {"clock": ReversedTies})
    )
    spread = predicted(schedule).spread_pct
    assert spread == pytest.approx(50 * abs(one - other) / one)
    assert spread < 1
    alone = predicted(schedule, ties=False)
    assert (alone.spread_pct, alone.cycles) == (0, one / 64)


def test_a_deadlock_has_no_total() -> None:
    schedule = tma_ring.build({"tiles": 4, "ctas": 1}, twin="producer_phase")
    with pytest.raises(Deadlock, match="producer of CTA 0 at MbarrierWait"):
        simulate(schedule, H200, certified=False)
    result, prediction = predict(schedule)
    assert result.verdict is Verdict.FINDINGS
    assert prediction is None


def test_a_part_of_an_election_that_waits_for_the_other_is_refused() -> None:
    """It is clean, and simulate runs one part after the other: no silent lack of a prediction."""
    k = ScheduleBuilder("parts")
    barrier = k.mbarriers("barrier", count=31)
    with k.elect_thread():
        k.mbarrier.init_all(barrier)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.wait(barrier[0], 0)
    with k.others():
        k.mbarrier.arrive(barrier[0])
    schedule = k.finish()
    assert check(schedule).verdict is Verdict.CLEAN
    with pytest.raises(ScheduleError) as caught:
        predict(schedule)
    assert caught.value.message.startswith(
        "simulate runs the two parts of an election one after the other, and the first waits: "
        "block of CTA 0 at MbarrierWait (test_prediction.py:"
    )
    assert caught.value.fix == "let it wait behind the election for what the other part does"


def test_a_wait_of_one_warp_of_four_counts() -> None:
    """tma_copy: one thread waits for its store; the mean over the warps is not 0 waits."""
    _, prediction = predict(tma_copy.build({"m": 16, "n": 32}))
    assert prediction is not None
    (stall,) = [s for s in prediction.stalls if s.what == "bulk.wait_group 0"]
    assert stall.count == 1 and 0 < stall.cycles < 60


def test_undefined_behaviour_has_no_total() -> None:
    k = ScheduleBuilder("overflow", archs=("sm_90a",))
    barrier = k.mbarriers("barrier", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(barrier)
        k.mbarrier.arrive(barrier[0], count=2)
    schedule = k.finish()
    with pytest.raises(SyncFault, match="2 arrivals where 1 of 1 are pending"):
        simulate(schedule, H200, certified=False)
    assert predict(schedule)[1] is None


@pytest.mark.parametrize("twin", ws_gemm.twins, ids=lambda t: t.name)
def test_a_schedule_with_findings_is_predicted_with_its_verdict(twin: Twin) -> None:
    params = {"m": 128, "n": 128, "k": 512, **twin.params}
    result, prediction = predict(ws_gemm.build(params, twin=twin.name))
    assert result.verdict is Verdict.FINDINGS
    assert prediction is None or prediction.cycles > 0


def test_a_machine_of_another_architecture_is_refused() -> None:
    from dataclasses import replace

    other = replace(H200, name="b200", architecture="sm_100a")
    with pytest.raises(UsageError, match="ws_gemm is written for sm_90a, machine b200 is sm_100a"):
        predict(ws_gemm.build({"m": 128, "n": 128, "k": 64}), other)


def test_no_tiles_is_a_short_run() -> None:
    assert 0 < predicted(tma_ring.build({"tiles": 0})).cycles < 2000


def test_the_next_cta_starts_after_the_replacement_time() -> None:
    one, two = (
        predicted(tma_ring.build({"tiles": 8, "ctas": n, "stages": 6, "tile_bytes": 32768}))
        for n in (132, 264)
    )
    assert two.cycles > 1.8 * one.cycles
    slow = with_numbers(H200, launch={"replacement_cycles": 5000})
    schedule = tma_ring.build({"tiles": 8, "ctas": 264, "stages": 6, "tile_bytes": 32768})
    assert simulate(schedule, slow, certified=True).cycles > two.cycles + 4000


def all_known(how: How) -> Machine:
    kinds = {key: replace(origin, how=how) for key, origin in H200.provenance.items()}
    return replace(H200, provenance=kinds)


def share(machine: Machine | str, schedule: Schedule) -> float | None:
    _, prediction = predict(schedule, machine)
    assert prediction is not None
    return prediction.assumed_share


def test_all_cycles_rest_on_numbers() -> None:
    """A run is a tenth longer if everything is a tenth slower; so the shares add up to 1."""
    schedule = tma_ring.build({"tiles": 8, "ctas": 132})
    assert share(all_known("assumed"), schedule) == pytest.approx(1, abs=0.02)
    assert share(all_known("published"), schedule) is None
    assert share(H200, schedule) is None  # one of its numbers is assumed


def test_what_published_bandwidth_bounds_rests_on_few_assumptions() -> None:
    bound, alone = (tma_ring.build({"tiles": 64, "ctas": ctas}) for ctas in (132, 1))
    assert share("h100", bound) == pytest.approx(0.02, abs=0.02)
    lone = share("h100", alone)
    assert lone is not None and lone > 0.97
