"""Blackwell GEMMs: load -> tcgen05.mma -> epilogue, of one CTA and of a pair, and their twins."""

from __future__ import annotations

import pytest

from asyncsim import Rule, check
from asyncsim.predict.result import Verdict
from asyncsim.repair import removable, repairs
from tests.check.tcgen05_schedules import gemm, multicast_ring, pair
from tests.check.test_clusters import assert_clean, assert_finds, rules


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("slots", [1, 2])
def test_a_double_buffered_accumulator(stages: int, slots: int) -> None:
    assert_clean(gemm(stages=stages, slots=slots, tiles=3, steps=2))


def test_it_is_certified_from_one_execution() -> None:
    result = check(gemm())
    assert (result.certified, result.stats["states"]) == (True, 0)


@pytest.mark.parametrize(
    ("bug", "rule", "message"),
    [
        (
            "no_commit",
            Rule.READ_BEFORE_ARRIVAL,
            "reads acc without being ordered after tcgen05.mma",
        ),
        (
            "one_slot",
            Rule.WRITE_BEFORE_RELEASE,
            "tcgen05.mma acc += a_tile x b_tile overwrites acc",
        ),
        ("release_before_ld", Rule.WRITE_BEFORE_RELEASE, "while tcgen05.ld acc -> r may still"),
        ("wrong_slot", Rule.LAPPED_WAITER, "mbarrier wait free[1]"),
        ("leak", Rule.TMEM_LEAK, "tcgen05.alloc word, 128 columns is never freed"),
        ("no_after_fence", Rule.MISSING_TCGEN05_FENCE, "tcgen05.fence::after_thread_sync"),
        ("no_after_fence_mma", Rule.MISSING_TCGEN05_FENCE, "tcgen05.fence::after_thread_sync"),
        ("no_before_fence", Rule.MISSING_TCGEN05_FENCE, "tcgen05.fence::before_thread_sync"),
        ("early_dealloc", Rule.TMEM_DEALLOC, "frees acc while tcgen05.ld acc -> r may still use"),
        ("no_wait_ld", Rule.FRAGMENT_IN_FLIGHT, "r is touched while tcgen05.ld acc -> r"),
        ("wrong_lanes", Rule.TMEM_LANES, "warp 0 of the block accesses lanes 96..127 of 'acc'"),
        ("never_overwritten", Rule.READ_BEFORE_ARRIVAL, "reads acc where nothing has been written"),
        ("no_barrier_after_alloc", Rule.TMEM_ALLOC, "without being ordered after tcgen05.alloc"),
    ],
)
def test_twins_of_one_cta(bug: str, rule: Rule, message: str) -> None:
    assert_finds(gemm(bug=bug), rule, message)


def test_each_wait_commit_and_fence_is_needed() -> None:
    s = gemm(tiles=3, steps=2)
    assert list(removable(s, check(s))) == []


@pytest.mark.parametrize(
    ("bug", "what"),
    [
        ("no_after_fence", "add k.tcgen05.fence_after_thread_sync() before it"),
        ("no_before_fence", "add k.tcgen05.fence_before_thread_sync() after it"),
        ("no_wait_ld", "add k.tcgen05.wait_ld() after it"),
    ],
)
def test_what_is_missing_is_found_and_proven(bug: str, what: str) -> None:
    s = gemm(bug=bug, tiles=3, steps=2)
    result = check(s)
    (finding,) = result.findings
    (repair,) = repairs(s, result, finding, wanted=1)
    assert (repair.edit.what, repair.clean) == (what, True)


def test_a_stage_that_is_released_without_a_commit() -> None:
    result = check(gemm(bug="early_release"))
    assert rules(result) == ["OPERAND_IN_FLIGHT", "OPERAND_IN_FLIGHT"]  # a_tile and b_tile
    assert result.findings[0].missing == (
        "a wait for the mbarrier of the commit that covers it, before the overwrite"
    )


def test_a_pair_of_ctas() -> None:
    assert_clean(pair())


@pytest.mark.parametrize(
    ("bug", "rule", "message"),
    [
        ("hang", Rule.DEADLOCK, "epilogue warp 0 at tcgen05.dealloc word"),
        ("one_frees", Rule.DEADLOCK, "the peer CTA never comes to it"),
        ("no_last_sync", Rule.PEER_EXITED, "CTA 0 may have exited when mbarrier.arrive free[0]"),
    ],
)
def test_twins_of_a_pair(bug: str, rule: Rule, message: str) -> None:
    assert_finds(pair(bug=bug), rule, message)


def test_commits_arrive_before_the_peer_exits() -> None:
    """Another commit of the thread, later and waited for, says nothing about them."""
    result = check(pair(bug="no_tail"))
    assert rules(result) == ["PEER_EXITED"]
    finding = result.findings[0]
    assert finding.message == (
        "CTA 1 may have exited when tcgen05.commit to empty[0], empty[0] of CTA 1 reaches its"
        " shared memory"
    )
    assert finding.missing == (
        "a wait for the phase that the commit completes, before its CTA exits"
    )


def test_a_commit_that_the_peer_does_not_see() -> None:
    found = rules(check(pair(bug="no_multicast")))
    assert found == ["OPERAND_IN_FLIGHT", "OPERAND_IN_FLIGHT", "DEADLOCK"]


@pytest.mark.parametrize("ranks", [2, 4])
def test_stages_that_all_ctas_of_a_cluster_read(ranks: int) -> None:
    """A commit that stays at home lets a CTA overwrite what its peers still read."""
    assert_clean(multicast_ring(multicast=True, ranks=ranks))
    overwrite = "TMA load a -> ring on full[0] overwrites ring while tcgen05.mma"
    assert_finds(multicast_ring(multicast=False, ranks=ranks), Rule.OPERAND_IN_FLIGHT, overwrite)


def test_a_pair_allocates_after_both_run() -> None:
    result = check(pair(bug="no_cluster_sync"))
    assert result.verdict is Verdict.FINDINGS
    assert set(rules(result)) == {"PEER_NOT_STARTED"}
    assert result.findings[0].message == (
        "tcgen05.alloc word, 512 columns reaches CTA 1, which may not have started"
    )
