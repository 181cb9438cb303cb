"""Proven repairs, what can be left out, and whether a finding shows under the predicted timing."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder, check, load_machine, predict
from asyncsim.catalog import find_scenario
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.manifest import showing
from asyncsim.predict.result import Verdict
from asyncsim.repair import omissions, removable, repairs

H200 = load_machine("h200")
SMALL = {"tiles": 6, "ctas": 1, "tile_bytes": 2048, "m": 64, "n": 64, "k": 256}
# The change that undoes each twin, in words; the file says where.
MEANT = [
    ("tma_ring", "producer_phase", "start phase at 1 instead of 0"),
    ("tma_ring", "expect_short", "announce 2048 bytes"),
    ("tma_ring", "no_proxy_fence", 'add k.fence.proxy_async("shared") after it'),
    ("tma_ring", "no_init_fence", "add k.fence.mbarrier_init() after it"),
    ("tma_ring", "no_full_wait", "wait for full with phase before it"),
    ("tma_ring", "all_lanes_arrive", "count of empty 4 -> 128"),
    ("cp_async_multistage", "wait_too_loose", "wait_group 3 -> 2"),
    ("cp_async_multistage", "commit_if_copied", "move it 1 statement down"),
    ("cp_async_multistage", "no_barrier", "add k.bar.sync() after it"),
    ("tma_copy", "no_store_fence", 'add k.fence.proxy_async("shared") before it'),
    ("tma_copy", "no_exit_wait", "add k.bulk.wait_group(0) after it"),
    ("tma_copy", "no_commit", "add k.bulk.commit_group() after it"),
    ("tma_copy", "count_one", "count of full 1 -> 128"),
    ("sync_copy", "no_first_barrier", "add k.bar.sync() before it"),
]


def built(name: str, twin: str = "") -> Schedule:
    scenario = find_scenario(name)
    params = {n: v for n, v in SMALL.items() if n in scenario.params}
    return scenario.build(params, twin)


@pytest.mark.parametrize(("name", "twin", "meant"), MEANT, ids=lambda v: str(v))
def test_the_change_that_undoes_a_twin_is_found_and_proven(
    name: str, twin: str, meant: str
) -> None:
    schedule = built(name, twin)
    result = check(schedule)
    found = repairs(schedule, result, result.findings[0], wanted=8)
    assert meant in [r.edit.what for r in found]
    for repair in found:
        assert check(repair.edit.schedule).verdict is Verdict.CLEAN
        assert repair.clean and repair.edit.loc is not None
        assert repair.edit.loc.file.endswith(f"{name}.py")


def test_repairs_are_priced_and_the_fastest_stands_first() -> None:
    schedule = built("cp_async_multistage", "wait_too_loose")
    result = check(schedule)
    found = repairs(schedule, result, result.findings[0], H200)
    assert found[0].edit.what == "wait_group 3 -> 2"
    cycles = [r.cycles for r in found]
    assert cycles == sorted(cycles) and len(cycles) == 3
    assert all(r.cost is not None and r.cost > 0 for r in found)


def test_nothing_is_proposed_that_is_not_proven() -> None:
    """The read means another tile than is loaded: no single change to the order mends that."""
    schedule = built("tma_ring", "wrong_tile")
    result = check(schedule)
    assert repairs(schedule, result, result.findings[0]) == []


def test_a_second_defect_stays_and_is_said_to() -> None:
    k = ScheduleBuilder("two")
    data = k.global_tensor("data", (64, 32), "f32")
    out = k.global_tensor("out", (2, 32), "f32", output=True)
    ring = k.smem_tile("ring", (8, 32), "f32", stages=2)
    x = k.fragment("x", registers=1)
    k.cp_async.copy_tile(ring[0], data, (0, 0), threads=32)
    k.cp_async.commit_group()
    k.cp_async.wait_group(1)
    k.bar.warp_sync()
    k.mem.ld_shared(x.all, ring[0].box((0, k.lane), (1, 1)))
    k.mem.st_global(out.box((0, k.lane), (1, 1)), x.all)
    k.mem.st_global(out.box((k.arg("row", 2), k.lane), (1, 1)), x.all)
    schedule = k.finish()
    result = check(schedule)
    assert {f.rule for f in result.findings} == {Rule.WAIT_GROUP_TOO_LOOSE, Rule.OUT_OF_BOUNDS}
    loose = next(f for f in result.findings if f.rule is Rule.WAIT_GROUP_TOO_LOOSE)
    found = repairs(schedule, result, loose)
    assert [r.edit.what for r in found][:1] == ["wait_group 1 -> 0"]
    assert not any(r.clean for r in found)


def test_a_tight_ring_needs_all_of_it() -> None:
    schedule = built("tma_ring")
    assert len(omissions(schedule)) == 6
    assert list(removable(schedule, check(schedule))) == []


def test_what_a_clean_schedule_does_not_need_is_found_with_its_price() -> None:
    k = ScheduleBuilder("careful")
    data = k.global_tensor("data", (8, 32), "f32")
    out = k.global_tensor("out", (8, 32), "f32", output=True)
    x = k.fragment("x", registers=1)
    k.mem.ld_global(x.all, data.box((0, k.lane), (1, 1)))
    k.bar.sync()
    k.fence.proxy_async()
    k.mem.st_global(out.box((0, k.lane), (1, 1)), x.all)
    schedule = k.finish()
    found = list(removable(schedule, check(schedule), H200))
    assert [r.edit.what for r in found] == ["without BarSync", "without FenceProxyAsync"]
    assert all(r.cost is not None and r.cost < 0 for r in found)


def test_a_latent_race_has_slack_and_a_hang_none() -> None:
    schedule = built("cp_async_multistage", "refill_same_stage")
    result, prediction = predict(schedule, H200)
    shown = showing(result.findings[0], prediction)
    assert shown is not None and not shown.manifest
    assert shown.slack is not None and 0 < shown.slack < 2000
    assert str(shown).startswith(f"latent: {shown.slack:,.0f} cycles of slack in the predicted run")
    hang = built("tma_ring", "producer_phase")
    result, prediction = predict(hang, H200)
    assert str(showing(result.findings[0], prediction)) == (
        "manifest: the predicted run does not end"
    )


def test_a_read_before_its_copy_is_manifest() -> None:
    """The reader does not wait: it reads before the copy from global memory lands."""
    k = ScheduleBuilder("early")
    data = k.global_tensor("data", (8, 32), "f32")
    out = k.global_tensor("out", (1, 32), "f32", output=True)
    data_map = k.tensor_map("data_map", data, box=(8, 32))
    tile = k.smem_tile("tile", (8, 32), "f32")[0]
    full = k.mbarriers("full", count=1)
    x = k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(full[0], 1024)
        k.tma.load(tile, data_map, (0, 0), full[0])
    k.mem.ld_shared(x.all, tile.box((0, k.lane), (1, 1)))
    k.mbarrier.wait(full[0], 0)
    k.mem.st_global(out.box((0, k.lane), (1, 1)), x.all)
    result, prediction = predict(k.finish(), H200)
    assert result.findings[0].rule is Rule.READ_BEFORE_ARRIVAL
    shown = showing(result.findings[0], prediction)
    assert shown is not None and shown.manifest and shown.slack is not None
    assert shown.slack < -200
    assert str(shown).startswith(f"manifest: {-shown.slack:,.0f} cycles too early in the predicted")
