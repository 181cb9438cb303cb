"""Search and counting behind a failing condition, in clusters: what is decided, what is open."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder, check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.cases.parts import found
from tests.check.written import written


def spectator(*, phases: int, wait: int, split: bool = False) -> Schedule:
    """The CTAs of a pair arrive on a barrier of rank 0 round by round; a thread looks once.

    ``split``: a block barrier stands between the arrive and the wait of the cluster's.
    """
    k = ScheduleBuilder("spectator")
    k.grid(2)
    k.cluster(2)
    bar = k.mbarriers("bar", count=2)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("rounds", warps=1):
            with k.loop(phases):
                with k.elect():
                    k.mbarrier.arrive(k.mbarrier.at(bar[0], 0), scope="cluster")
                k.cluster_barrier.arrive()
                if split:
                    k.bar.sync()
                k.cluster_barrier.wait()
            k.cluster_barrier.sync()
        with k.role("looks", warps=1):
            with k.elect(), k.when(k.cta_rank == 0):
                k.mbarrier.wait(bar[0], wait)
            with k.loop(phases):
                k.cluster_barrier.arrive()
                if split:
                    k.bar.sync()
                k.cluster_barrier.wait()
            k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("split", [False, True])
def test_a_wait_that_the_rounds_wait_for(split: bool) -> None:
    """The thread takes part in the rounds, so that phase 1 begins after it has passed phase 0."""
    assert found(spectator(phases=1, wait=0, split=split)) == []
    assert found(spectator(phases=1, wait=1, split=split)) != []


def free_running(*, phases: int, wait: int) -> Schedule:
    """Rank 1 completes phases of a barrier of rank 0 alone, where a thread looks once."""
    k = ScheduleBuilder("free")
    k.grid(2)
    k.cluster(2)
    k.block(1)
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.elect():
        with k.when(k.cta_rank == 1), k.loop(phases):
            k.mbarrier.arrive(k.mbarrier.at(bar[0], 0), scope="cluster")
        with k.when(k.cta_rank == 0):
            k.mbarrier.wait(bar[0], wait)
    k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize(
    ("phases", "wait", "clean"),
    [(1, 0, True), (3, 0, True), (2, 1, True), (2, 0, False), (1, 1, False), (3, 1, False)],
)
def test_a_thread_that_looks_once(phases: int, wait: int, clean: bool) -> None:
    """Clean where the last phase has the parity: whenever it looks, it passes in the end."""
    result = check(free_running(phases=phases, wait=wait))
    assert result.verdict is (Verdict.CLEAN if clean else Verdict.FINDINGS)


def leaves_early(*, early: bool) -> Schedule:
    """The same, with a warp that ends before the last round of the cluster's barrier."""
    k = ScheduleBuilder("early")
    k.grid(2)
    k.cluster(2)
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("arrives", warps=1):
            with k.elect(), k.when(k.cta_rank == 1), k.loop(3):
                k.mbarrier.arrive(k.mbarrier.at(bar[0], 0), scope="cluster")
            k.cluster_barrier.sync()
        with k.role("looks", warps=1):
            with k.elect(), k.when(k.cta_rank == 0):
                k.mbarrier.wait(bar[0], 0)
            k.cluster_barrier.sync()
        with k.role("ends", warps=1):
            if early:
                k.bar.warp_sync()
            else:
                k.cluster_barrier.sync()
    return k.finish()


def test_warps_that_end_early_are_left_open() -> None:
    """A round goes on without them from then on, which the search does not know."""
    assert check(leaves_early(early=False)).verdict is Verdict.CLEAN
    assert check(leaves_early(early=True)).verdict is Verdict.INCOMPLETE


def shared_releases(*, scope: str, rounds: int) -> Schedule:
    """Each CTA of a pair waits for the releases of both, which may come in two orders."""
    k = ScheduleBuilder("releases")
    k.grid(2)
    k.cluster(2)
    go, back = k.mbarriers("go", count=1), k.mbarriers("back", count=2)
    cell, x = k.smem_tile("cell", (1, 1), "f32"), written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(go, back)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("reader", warps=1):
            with k.elect(), k.loop(rounds) as i:
                k.mbarrier.wait(go[0], i % 2, scope="cluster")
                k.mem.ld_shared(x.all, cell[0])
                for rank in range(2):
                    k.mbarrier.arrive(k.mbarrier.at(back[0], rank), scope=scope)
            k.cluster_barrier.sync()
        with k.role("writer", warps=1):
            with k.elect(), k.when(k.cta_rank == 0), k.loop(rounds) as i:
                k.mbarrier.wait(back[0], (i + 1) % 2, scope="cluster")
                for rank in range(2):
                    k.mem.st_shared(cell[0].at(rank), x.all)
                for rank in range(2):
                    k.mbarrier.arrive(k.mbarrier.at(go[0], rank), scope="cluster")
            k.cluster_barrier.sync()
    return k.finish()


def test_counting_decides_releases_of_two_ctas() -> None:
    """The barrier of rank 1, for which nobody waits, counts in whatever order they come."""
    result = check(shared_releases(scope="cluster", rounds=40))
    assert (result.verdict, result.stats["states"]) == (Verdict.CLEAN, 0)
    assert {f.severity.value for f in result.findings} <= {"warning"}


def test_counting_leaves_narrow_releases_to_the_search() -> None:
    result = check(shared_releases(scope="cta", rounds=2))
    assert result.stats["states"] > 0
