"""A witness is an execution: each warp's steps stand in its own order."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.catalog import find_scenario
from asyncsim.check import check
from asyncsim.rules import Finding


def finding(name: str, twin: str, **params: int) -> Finding:
    return check(find_scenario(name).build(params, twin=twin)).findings[0]


def told(found: Finding) -> list[str]:
    return [f"{step.text}: {step.then}" if step.then else step.text for step in found.witness]


def test_the_reader_of_a_race_has_done_nothing_after_its_read() -> None:
    """The release that came too early is told, what the reader did afterwards is not."""
    assert told(finding("tma_ring", "early_release", tiles=8, stages=2, consumers=1))[-8:] == [
        "consumer warp 0, elected lane [0]: mbarrier.arrive empty[0]",
        "producer warp 0, elected lane [1]: mbarrier.arrive.expect_tx full[1] 16384 bytes",
        "producer warp 0, elected lane [1]: TMA load source -> ring on full[1]",
        "producer warp 0, elected lane [1]: TMA load source -> ring on full[1]: the copy lands",
        "producer warp 0, elected lane [2]: mbarrier wait empty[0] parity 0",
        "producer warp 0, elected lane [2]: mbarrier.arrive.expect_tx full[0] 16384 bytes",
        "consumer warp 0 [0]: compute tile_hash",
        "producer warp 0, elected lane [2]: TMA load source -> ring on full[0]",
    ]


def test_a_copy_that_has_landed_stands_before_its_landing() -> None:
    assert told(finding("tma_ring", "wrong_tile", tiles=4))[-4:] == [
        "producer warp 0, elected lane [0]: TMA load source -> ring on full[0]",
        "producer warp 0, elected lane [0]: TMA load source -> ring on full[0]: the copy lands",
        "consumer warp 0 [0]: mbarrier wait full[0] parity 0",
        "consumer warp 0 [0]: compute tile_hash",
    ]


def test_what_is_ordered_but_not_fenced_stands_first() -> None:
    steps = told(finding("tma_ring", "no_proxy_fence", tiles=8))
    assert steps[0] == "consumer warp 0 [0]: compute tile_hash"
    assert steps[-1] == "producer warp 0, elected lane [4]: TMA load source -> ring on full[0]"


def test_the_wait_of_one_lane_does_not_cover_the_copy_of_another() -> None:
    k = ScheduleBuilder("neighbour")
    source = k.global_tensor("source", (1, 32), "f32")
    tile = k.smem_tile("tile", (1, 32), "f32")[0]
    r = k.fragment("r", registers=1)
    k.cp_async.copy(tile.box((0, k.lane), (1, 1)), source.box((0, k.lane), (1, 1)), bytes=4)
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.mem.ld_shared(r.all, tile.box((0, 31 - k.lane), (1, 1)))
    assert told(check(k.finish()).findings[0]) == [
        "block warp 0: cp_async.commit_group",
        "block warp 0, elected lane: cp_async.wait_group 0",
        "block warp 0: cp.async source -> tile",
        "block warp 0: ld.shared tile -> r",
    ]


@pytest.mark.parametrize(
    ("name", "twin", "params"),
    [
        ("tma_ring", "early_release", {"tiles": 6, "stages": 3}),
        ("tma_ring", "no_full_wait", {"tiles": 6}),
        ("sync_copy", "no_second_barrier", {"tiles": 4}),
        ("cp_async_multistage", "refill_same_stage", {"tiles": 6, "stages": 3}),
    ],
)
def test_no_step_of_the_first_access_s_warp_is_of_a_later_round(
    name: str, twin: str, params: dict[str, int]
) -> None:
    found = finding(name, twin, **params)
    *before, first, _ = found.witness
    warp = first.place.who.partition(",")[0]
    own = [s.place.indices for s in before if s.place.who.partition(",")[0] == warp]
    assert all(at <= first.place.indices for at in own)
