"""Cluster launch control: responses, their slots, and persistent loops of any number of tiles."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict


@dataclass(frozen=True, kw_only=True)
class Persistent:
    """A warp asks for tiles ahead; another one reads each response and stores its tile."""

    tiles: int = 3  # that the CTA gets, its first one included
    slots: int = 2
    bytes: int = 16
    wait: bool = True
    release: bool = True
    fence: bool = True
    peers: int = 1
    started: bool = True
    armed: bool = True
    left: bool = True  # the CTAs leave together
    assigned: bool = False  # the tiles are those that the hardware hands out


def persistent(form: Persistent) -> Schedule:
    k = ScheduleBuilder("persistent", archs=("sm_100a",))
    k.grid(form.peers)
    k.cluster(form.peers)
    k.block(2)
    tiles = k.arg("tiles", form.tiles)
    out = k.global_tensor("out", (form.tiles * form.peers, 32), "u32", output=True)
    response = k.smem_tile("response", (1, 4), "u32", stages=form.slots)
    full = k.mbarriers("full", count=1, stages=form.slots)
    empty = k.mbarriers("empty", count=form.peers, stages=form.slots)
    r = k.fragment("r", registers=1, dtype="u32")
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    if form.started:
        k.cluster_barrier.sync()
    k.bar.sync()
    several = form.peers > 1
    with k.specialize():
        with k.role("scheduler", warps=1):
            with k.elect():
                state = k.pipeline_state(form.slots, producer=True)
                with k.loop(tiles, assigned=form.assigned):
                    with k.when(k.cta_rank == 0):
                        if form.release:
                            k.mbarrier.wait(empty[state.stage], state.phase, scope="cluster")
                    if form.armed or not several:
                        k.mbarrier.arrive_expect_tx(full[state.stage], form.bytes)
                    else:
                        k.mbarrier.arrive(full[state.stage])
                    if several:
                        with k.when(k.cta_rank == 0):
                            slot = response[state.stage]
                            k.clc.try_cancel(slot, full[state.stage], multicast=True)
                        k.mbarrier.wait(full[state.stage], state.phase ^ 1)
                    else:
                        k.clc.try_cancel(response[state.stage], full[state.stage])
                    state.advance()
            if several and form.left:
                k.cluster_barrier.sync()
        with k.role("worker", warps=1):
            state = k.pipeline_state(form.slots)
            with k.loop(tiles, assigned=form.assigned) as i:
                if form.wait:
                    k.mbarrier.wait(full[state.stage], state.phase)
                k.clc.query_cancel(r.all, response[state.stage])
                if form.fence:
                    k.fence.proxy_async("shared" if not several else "all")
                row = k.cta_rank * tiles if form.assigned else k.block_idx * tiles
                k.mem.st_global(out.box((row + i, k.lane), (1, 1)), r.all)
                k.bar.warp_sync()
                with k.elect():
                    free = k.mbarrier.at(empty[state.stage], 0) if several else empty[state.stage]
                    k.mbarrier.arrive(free, scope="cluster")
                state.advance()
            if several and form.left:
                k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("tiles", range(6))
def test_every_number_of_tiles_that_a_cta_may_get(tiles: int, slots: int) -> None:
    """CTAs do nothing to each other, so that a number of tiles stands for an assignment."""
    if tiles == 0:
        tiles = 9
    result = check(persistent(Persistent(tiles=tiles, slots=slots)))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        (Persistent(bytes=32), Rule.TX_BYTES_MISMATCH),
        (Persistent(wait=False), Rule.READ_BEFORE_ARRIVAL),
        (Persistent(release=False, slots=1), Rule.EARLY_COMPLETION),
    ],
    ids=str,
)
def test_responses_that_are_read_or_asked_for_too_early(form: Persistent, rule: Rule) -> None:
    result = check(persistent(form))
    assert result.verdict is Verdict.FINDINGS
    assert rule in {f.rule for f in result.findings if f.severity.value == "error"}


@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_a_response_for_all_ctas_of_a_cluster(tiles: int) -> None:
    result = check(persistent(Persistent(peers=2, tiles=tiles)))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        (Persistent(peers=2, started=False), Rule.PEER_NOT_STARTED),
        (Persistent(peers=2, left=False), Rule.PEER_EXITED),
        (Persistent(peers=2, armed=False), Rule.TX_BYTES_MISMATCH),
    ],
    ids=str,
)
def test_a_response_for_ctas_that_are_not_there_or_not_armed(form: Persistent, rule: Rule) -> None:
    result = check(persistent(form))
    assert rule in {f.rule for f in result.findings if f.severity.value == "error"}


def test_a_slot_that_is_used_again_is_fenced() -> None:
    result = check(persistent(Persistent(fence=False)))
    assert [(f.rule, f.severity.value) for f in result.findings] == [(Rule.PROXY_WAR, "warning")]


def refused(*, shape: tuple[int, int] = (1, 4), lanes: bool = False) -> tuple[Rule | None, str]:
    k = ScheduleBuilder("refused", archs=("sm_100a",))
    k.block(1)
    response = k.smem_tile("response", (1, 8), "u32")
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    slot = response[0].box((0, 0), shape)
    with pytest.raises(ScheduleError) as error:
        if lanes:
            k.clc.try_cancel(slot, full[0])
        else:
            with k.elect():
                k.clc.try_cancel(slot, full[0])
        k.finish()
    return error.value.rule, error.value.message


def test_responses_have_16_bytes_and_one_lane_asks() -> None:
    size = "ClcTryCancel: 32 bytes of 'response' (u32) for a response"
    assert refused(shape=(1, 8)) == (Rule.ALIGNMENT, size)
    several = "clusterlaunchcontrol.try_cancel by several lanes"
    assert refused(lanes=True) == (None, several)
