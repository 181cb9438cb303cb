"""What a release at cluster scope waits for, and how long."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from asyncsim.machine import load_machine
from asyncsim.sim import simulate

H200 = load_machine("h200")
FENCE = float(H200.fence.gpu_cycles)


def releases(count: int, *, scope: str, loads: int = 0) -> Schedule:
    """One thread arrives ``count`` times beside a warp that has asked for ``loads`` tiles."""
    k = ScheduleBuilder("releases", archs=("sm_90a",))
    source = k.global_tensor("source", (1024, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(256, 32))
    tile = k.smem_tile("tile", (256, 32), "f32", stages=4)
    full, bar = k.mbarriers("full", count=1, stages=4), k.mbarriers("bar", count=count + 1)
    k.cluster(1)
    with k.elect_thread():
        k.mbarrier.init_all(full, bar)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("loader", warps=1), k.elect():
            for i in range(loads):
                k.mbarrier.arrive_expect_tx(full[i], 32768)
                k.tma.load(tile[i], source_map, (256 * i, 0), full[i])
            for i in range(loads):
                k.mbarrier.wait(full[i], 0)
        with k.role("releaser", warps=1), k.elect():
            with k.loop(3):  # the loads have been asked for by then
                k.fence.proxy_async()
            for _ in range(count):
                k.mbarrier.arrive(bar[0], scope=scope)
    return k.finish()


def cycles(schedule: Schedule, *, certified: bool = True) -> float:
    return simulate(schedule, H200, certified=certified, l2="warm").cycles


def test_a_release_at_cluster_scope_takes_a_fence() -> None:
    four, eight = (cycles(releases(n, scope="cluster")) for n in (4, 8))
    assert eight - four == pytest.approx(4 * FENCE, rel=0.03)
    assert cycles(releases(8, scope="cta")) < cycles(releases(1, scope="cluster"))


@pytest.mark.parametrize("certified", [True, False])
def test_it_waits_for_a_load_of_another_warp_too(certified: bool) -> None:
    """Then only the fence is left."""
    alone = cycles(releases(1, scope="cluster"), certified=certified)
    near = cycles(releases(1, scope="cta", loads=1), certified=certified)
    beside = cycles(releases(1, scope="cluster", loads=1), certified=certified)
    assert alone < near + FENCE / 2  # the load lands after the release has begun
    assert beside == pytest.approx(near + FENCE, abs=80)
