"""Tiles that are handed out in simulated time: who asks first gets the next one."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest

from asyncsim import predict
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import load_machine
from asyncsim.scenarios.bw_gemm import bw_gemm
from asyncsim.scenarios.bw_persistent_clc import bw_persistent_clc
from asyncsim.sim.simulate import Options, run, simulate
from tests.tile_schedules import cancelled, counted

H200, B200 = load_machine("h200"), load_machine("b200")


def tiles_of(schedule: Schedule, *, certified: bool = True) -> dict[int, list[int]]:
    """By cluster, where all SMs are simulated."""
    machine = B200 if schedule.archs == ("sm_100a",) else H200
    model = run(schedule, machine, Options(certified=certified, exact=True))
    return dict(sorted(model.handed_out.tiles.items()))


@pytest.mark.parametrize("certified", [True, False])
def test_a_counter_gives_every_tile_once(certified: bool) -> None:
    found = tiles_of(counted(23, 4), certified=certified)
    assert sorted(chain(*found.values())) == list(range(23))
    assert all(own[0] == c and own == sorted(own) for c, own in found.items())
    assert {len(own) for own in found.values()} == {5, 6}


def test_clusters_without_a_tile() -> None:
    assert tiles_of(counted(2, 4)) == {0: [0], 1: [1], 2: [], 3: []}


@pytest.mark.parametrize("peers", [1, 2])
def test_clusters_that_wait_for_a_place_are_taken_over(peers: int) -> None:
    schedule = replace(cancelled(400, peers=peers), smem_bytes=120_000)  # a CTA an SM
    found = tiles_of(schedule)
    assert sorted(chain(*found.values())) == list(range(400))
    assert all(own[0] == c for c, own in found.items())
    assert 100 < len(found) * peers <= 148


def test_what_is_not_launched_is_not_taken_over() -> None:
    """All clusters have a place: each does its own tile, and no other."""
    assert tiles_of(cancelled(5)) == {c: [c] for c in range(5)}


def test_a_sample_of_the_sms_has_its_share() -> None:
    schedule = counted(1320, 132)
    model = run(schedule, H200, Options(certified=True))
    clusters = set(model.placement.queue)
    assert sorted(chain(*model.handed_out.tiles.values())) == sorted(
        t for t in range(1320) if t % 132 in clusters
    )


def test_a_persistent_gemm_by_cluster_launch_control() -> None:
    """As fast as a static order, and faster than a CTA for each tile."""
    sizes = {"m": 4096, "n": 4096, "k": 512}
    kinds = (
        bw_persistent_clc.build(sizes),
        bw_gemm.build(sizes),
        bw_gemm.build(sizes | {"ctas": 0}),
    )
    asked, dealt, each = (simulate(s, B200, certified=True).cycles for s in kinds)
    assert abs(asked - dealt) < 0.03 * dealt and asked < 0.9 * each


def test_the_way_to_the_counter_counts() -> None:
    """One slot: each round waits for the atomic of its own, L2 latency on the path."""
    _, prediction = predict(counted(40, 1, slots=1), "h200")
    assert prediction is not None and prediction.path["L2 latency"] > 0
