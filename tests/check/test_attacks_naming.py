"""Defects by name: the rule, the number of findings, the repair."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding
from tests.check.written import written, written_tile


def findings(schedule: Schedule) -> list[Finding]:
    return [f for f in check(schedule).findings if f.severity.value == "error"]


def rules(schedule: Schedule) -> list[str]:
    return [f.rule.name for f in findings(schedule)]


def ring(
    *, acquire: bool = True, restart: str = "", stages: int = 2, steps: int = 3, tiles: int = 3
) -> Schedule:
    """A TMA ring over ``tiles`` runs of ``steps`` steps; the phases restart per run if asked."""
    k = ScheduleBuilder("ring")
    source = k.global_tensor("source", (steps * tiles, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32", stages=stages)
    reg = written(k, "reg", registers=1)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(stages, name="c")
            with k.loop(tiles, name="t") as t:
                if "consumer" in restart:
                    state.reset(phase=0)
                with k.loop(steps) as i:
                    k.mbarrier.wait(full[state.stage], state.phase)
                    meant = source.box((t * steps + i, k.lane), (1, 1))
                    view = tile[state.stage].box((0, k.lane), (1, 1))
                    k.mem.ld_shared(reg.all, view.expecting(meant))
                    k.fence.proxy_async("shared")
                    k.bar.warp_sync()
                    with k.elect():
                        k.mbarrier.arrive(empty[state.stage])
                    state.advance()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, name="p", producer=True)
            with k.loop(tiles, name="u") as t:
                if "producer" in restart:
                    state.reset(phase=1)
                with k.loop(steps, name="j") as i:
                    if acquire:
                        k.mbarrier.wait(empty[state.stage], state.phase)
                    k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                    k.tma.load(tile[state.stage], rows, (t * steps + i, 0), full[state.stage])
                    state.advance()
    return k.finish()


def test_the_ring_itself_is_clean() -> None:
    assert rules(ring()) == []


def test_a_producer_that_does_not_wait_for_the_release() -> None:
    assert rules(ring(acquire=False)) == ["WRITE_BEFORE_RELEASE"]


def test_the_consumer_restarts_its_phase() -> None:
    assert len(rules(ring(restart="consumer"))) == 1


def test_both_roles_restart_their_phases() -> None:
    assert rules(ring(restart="consumer, producer")) == ["VACUOUS_WAIT"]


def test_every_warp_of_the_warpgroup_releases_a_stage_of_count_1() -> None:
    k = ScheduleBuilder("release")
    stages, steps = 2, 6
    a = k.global_tensor("a", (64, 16 * steps), "bf16")
    a_map = k.tensor_map("a_map", a, box=(64, 16), swizzle=32)
    tile = k.smem_tile("tile", (64, 16), "bf16", stages=stages, swizzle=32)
    acc = k.accumulator("acc", n=64)
    full = k.mbarriers("full", count=1, stages=stages)
    empty = k.mbarriers("empty", count=1, stages=stages)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("math", warps=4):
            state = k.pipeline_state(stages, name="m")
            with k.loop(steps) as i:
                k.mbarrier.wait(full[state.stage], state.phase)
                k.wgmma.fence()
                k.wgmma.mma(acc, tile[state.stage], tile[state.stage], accumulate=i != 0)
                k.wgmma.commit_group()
                k.wgmma.wait_group(0)
                with k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                state.advance()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(stages, name="p", producer=True)
            with k.loop(steps, name="j") as i:
                k.mbarrier.wait(empty[state.stage], state.phase)
                k.mbarrier.arrive_expect_tx(full[state.stage], 2048)
                k.tma.load(tile[state.stage], a_map, (0, 16 * i), full[state.stage])
                state.advance()
    (found,) = rules(k.finish())
    assert found in ("ARRIVAL_OVERFLOW", "EARLY_COMPLETION")


def test_two_copies_of_one_group_to_one_place() -> None:
    k = ScheduleBuilder("one_group")
    source = k.global_tensor("source", (64, 4), "f32")
    there = k.smem_tile("tile", (32, 4), "f32")[0].box((k.lane, 0), (1, 4))
    k.cp_async.copy(there, source.box((k.lane, 0), (1, 4)))
    k.cp_async.copy(there, source.box((k.lane + 32, 0), (1, 4)))
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    assert rules(k.finish()) == ["WRITE_WRITE_RACE"]


@pytest.mark.parametrize("kind", ["cp.async", "store"])
def test_a_wait_by_a_thread_that_did_not_issue(kind: str) -> None:
    k = ScheduleBuilder("non_issuer")
    k.block(2)
    source = k.global_tensor("source", (32, 4), "f32")
    out = k.global_tensor("out", (32, 4), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(32, 4))
    tile, reg = k.smem_tile("tile", (32, 4), "f32"), written(k, "reg", registers=4)
    mine = tile[0].box((k.lane, 0), (1, 4))
    if kind == "cp.async":  # 32 lanes copy, the elected one waits
        with k.when(k.warp_in_role == 0):
            k.cp_async.copy(mine, source.box((k.lane, 0), (1, 4)))
            k.cp_async.commit_group()
            with k.elect():
                k.cp_async.wait_group(0)
            k.bar.warp_sync()
            k.mem.ld_shared(reg.all, mine)
    else:  # warp 0 stores, warp 1 waits; warp 0 overwrites
        with k.elect_thread():
            k.tma.store(out_map, (0, 0), tile[0])
            k.bulk.commit_group()
        with k.when(k.warp_in_role == 1), k.elect():
            k.bulk.wait_group(0, read=True)
        k.bar.sync()
        with k.when(k.warp_in_role == 0):
            k.mem.st_shared(mine, reg.all)
        with k.elect_thread():
            k.bulk.wait_group(0, read=True)
    assert rules(k.finish()) == ["WAIT_BY_NON_ISSUER"]


@pytest.mark.parametrize("apart", [False, True])
def test_bytes_announced_after_the_arrival(apart: bool) -> None:
    k = ScheduleBuilder("late_expect")
    source = k.global_tensor("source", (1, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile, reg = k.smem_tile("tile", (1, 32), "f32"), written(k, "reg", registers=1)
    full = k.mbarriers("full", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("producer", warps=1), k.elect():
            if not apart:
                k.mbarrier.arrive(full[0])
            k.mbarrier.expect_tx(full[0], 128)
            k.tma.load(tile[0], rows, (0, 0), full[0])
        with k.role("helper", warps=1), k.elect():
            if apart:
                k.mbarrier.arrive(full[0])
        with k.role("consumer", warps=1):
            k.mbarrier.wait(full[0], 0)
            meant = source.box((0, k.lane), (1, 1))
            k.mem.ld_shared(reg.all, tile[0].box((0, k.lane), (1, 1)).expecting(meant))
    (found,) = findings(k.finish())
    assert found.rule.name == "EARLY_COMPLETION" or "announce" in found.repair


def test_the_repair_of_a_wgmma_in_flight_at_the_end() -> None:
    k = ScheduleBuilder("wgmma_exit")
    tile = written_tile(k, k.smem_tile("tile", (64, 16), "bf16", swizzle=32))
    acc = k.accumulator("acc", n=64)
    with k.specialize(), k.role("math", warps=4):
        k.wgmma.fence()
        k.wgmma.mma(acc, tile[0], tile[0], accumulate=0)
        k.wgmma.commit_group()
    (found,) = findings(k.finish())
    assert found.rule.name == "OUTSTANDING_AT_EXIT"
    assert "wgmma.wait_group" in found.repair


def test_a_wait_that_comes_too_late() -> None:
    k = ScheduleBuilder("late_wait")
    k.block(2)
    out = k.global_tensor("out", (1, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 32))
    tile = written_tile(k, k.smem_tile("tile", (1, 32), "f32"))
    reg = written(k, "reg", registers=1)
    with k.elect_thread():
        k.tma.store(out_map, (0, 0), tile[0])
        k.bulk.commit_group()
    k.bar.sync()
    with k.when(k.warp_in_role == 1):
        k.mem.ld_global(reg.all, out.box((0, k.lane), (1, 1)))
    with k.elect_thread():
        k.bulk.wait_group(0)
    assert rules(k.finish()) == ["READ_BEFORE_ARRIVAL"]


def test_three_warps_on_a_barrier_of_two() -> None:
    k = ScheduleBuilder("three")
    k.block(3)
    k.bar.sync(k.named_barrier("pair", id=1, threads=64))
    (found,) = findings(k.finish())
    assert found.rule.name in ("DEADLOCK", "NAMED_BARRIER_COUNT")


def test_a_wgmma_fence_by_one_warp_of_four() -> None:
    k = ScheduleBuilder("one_fence")
    tile = written_tile(k, k.smem_tile("tile", (64, 16), "bf16", swizzle=32))
    acc = k.accumulator("acc", n=64)
    with k.specialize(), k.role("math", warps=4):
        with k.when(k.warp_in_role == 0):
            k.wgmma.fence()
        k.wgmma.mma(acc, tile[0], tile[0], accumulate=0)
        k.wgmma.commit_group()
        k.wgmma.wait_group(0)
    assert len(rules(k.finish())) == 1
