"""More schedules with the verdict that each must get: small changes around common patterns."""

from __future__ import annotations

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written

FILL = ComputeDef(
    name="fill",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=4),
    cuda="",
    numpy=lambda **kw: None,
)


def rules(schedule: Schedule) -> list[str]:
    """The findings, a warning with its severity; [] is clean."""
    result = check(schedule)
    assert result.verdict is not Verdict.INCOMPLETE, result.note
    return [
        f.rule.name + (" warning" if f.severity.value == "warning" else "") for f in result.findings
    ]


def tma(steps: str, count: int = 1) -> list[str]:
    """One elected thread: c copies 128 bytes, a arrives, eN announces N copies, xN does both.

    Two warps wait for phase 0 and read what was copied.
    """
    k = ScheduleBuilder("tma")
    k.block(2)
    source = k.global_tensor("source", (2, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32", stages=2)
    reg, full = written(k, "reg", registers=1), k.mbarriers("full", count=count)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    copies = 0
    with k.elect_thread():
        for step in steps.split():
            if step == "c":
                k.tma.load(tile[copies], rows, (copies, 0), full[0])
                copies += 1
            elif step == "a":
                k.mbarrier.arrive(full[0])
            elif step[0] == "e":
                k.mbarrier.expect_tx(full[0], 128 * int(step[1:]))
            else:
                k.mbarrier.arrive_expect_tx(full[0], 128 * int(step[1:]))
    k.mbarrier.wait(full[0], 0)
    for i in range(copies):
        meant = source.box((i, k.lane), (1, 1))
        k.mem.ld_shared(reg.all, tile[i].box((0, k.lane), (1, 1)).expecting(meant))
    return rules(k.finish())


@pytest.mark.parametrize(
    "steps",
    [
        "x1 c",
        "c x1",
        "e1 c a",
        "c e1 a",
        "x2 c c",
        "c c x2",
        "c x2 c",
        "e1 c e1 c a",
        "e1 x1 c c",
        "x1 e1 c c",
        "c e1 c e1 a",
        "a",
        "x0",
        "e1 a c",
    ],
)
def test_orders_of_expect_copy_and_arrival_that_are_right(steps: str) -> None:
    assert tma(steps) == []


@pytest.mark.parametrize(
    "steps", ["x1 c a", "c a x1", "a c x1", "a x1 c", "x1 c x1 c", "x1 x1 c c"]
)
def test_orders_with_two_arrivals_that_are_right(steps: str) -> None:
    assert tma(steps, count=2) == []


@pytest.mark.parametrize("steps", ["c a", "c a e1", "x2 c", "x1 c c", "x1", "c x1 c"])
def test_bytes_that_do_not_add_up(steps: str) -> None:
    assert tma(steps) == ["TX_BYTES_MISMATCH"]


def copy_and_read(
    *,
    shift: int = 0,
    sync: str = "",
    commit: str = "all",
    wait: bool = True,
    elect_reads: bool = False,
) -> list[str]:
    """Each lane copies a row by cp.async; each lane (or one) reads the row ``shift`` further."""
    k = ScheduleBuilder("copy_and_read")
    source = k.global_tensor("source", (32, 4), "f32")
    tile, reg = k.smem_tile("tile", (32, 4), "f32"), written(k, "reg", registers=4)
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 4)), source.box((k.lane, 0), (1, 4)))
    if commit == "all":
        k.cp_async.commit_group()
    elif commit == "elected":
        with k.elect():
            k.cp_async.commit_group()
    if wait:
        k.cp_async.wait_group(0)
    if sync:
        k.bar.warp_sync()
    if elect_reads:
        with k.elect():
            k.mem.ld_shared(reg.all, tile[0].box((shift, 0), (1, 4)))
    else:
        k.mem.ld_shared(reg.all, tile[0].box(((k.lane + shift) % 32, 0), (1, 4)))
    return rules(k.finish())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"shift": 1}, ["MISSING_BLOCK_BARRIER"]),
        ({"shift": 1, "sync": "warp"}, []),
        ({"shift": 5, "elect_reads": True}, ["MISSING_BLOCK_BARRIER"]),
        ({"shift": 5, "elect_reads": True, "sync": "warp"}, []),
        ({"sync": "warp", "commit": "elected"}, ["UNCOMMITTED_COPY"]),
        ({"sync": "warp", "commit": "none"}, ["UNCOMMITTED_COPY"]),
        ({"wait": False}, ["READ_BEFORE_ARRIVAL"]),
    ],
)
def test_cp_async_inside_a_warp(change: dict[str, object], expected: list[str]) -> None:
    assert copy_and_read(**change) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("waiters", "hand_over", "expected"),
    [
        (4, "block", []),
        (3, "block", ["WAIT_BY_NON_ISSUER"]),
        (4, "lanes arrive", []),
        (3, "lanes arrive", ["WAIT_BY_NON_ISSUER"]),
        (4, "warp barrier, one arrives", []),
        (4, "one arrives", ["MISSING_BLOCK_BARRIER"]),
        (4, "nothing", ["MISSING_BLOCK_BARRIER"]),
    ],
)
def test_cp_async_handed_to_other_warps(waiters: int, hand_over: str, expected: list[str]) -> None:
    k = ScheduleBuilder("hand_over")
    k.block(4)
    source = k.global_tensor("source", (128, 4), "f32")
    tile, reg = k.smem_tile("tile", (128, 4), "f32"), written(k, "reg", registers=4)
    ready = k.mbarriers("ready", count=128 if hand_over == "lanes arrive" else 4)
    with k.elect_thread():
        k.mbarrier.init_all(ready)
    k.bar.sync()
    mine, other = k.thread_in_role, (k.thread_in_role + 37) % 128
    k.cp_async.copy(tile[0].box((mine, 0), (1, 4)), source.box((mine, 0), (1, 4)))
    k.cp_async.commit_group()
    with k.when(k.warp_in_role < waiters):
        k.cp_async.wait_group(0)
    if hand_over == "block":
        k.bar.sync()
    elif hand_over == "lanes arrive":
        k.mbarrier.arrive(ready[0])
        k.mbarrier.wait(ready[0], 0)
    elif "one arrives" in hand_over:
        if "barrier" in hand_over:
            k.bar.warp_sync()
        with k.elect():
            k.mbarrier.arrive(ready[0])
        k.mbarrier.wait(ready[0], 0)
    meant = source.box((other, 0), (1, 4))
    k.mem.ld_shared(reg.all, tile[0].box((other, 0), (1, 4)).expecting(meant))
    assert rules(k.finish()) == expected


@pytest.mark.parametrize(
    ("fence", "space", "clean"),
    [
        ("none", "shared", False),
        ("before the write", "shared", False),
        ("writer", "shared", True),
        ("writer", "all", True),
        ("writer", "global", False),
        ("writer's elected lane", "shared", False),
        ("writer's elected lane after a warp barrier", "shared", True),
        ("reader", "shared", True),
        ("reader", "global", False),
        ("after the copy", "shared", False),
        ("bystander", "shared", False),
    ],
)
@pytest.mark.parametrize("by_mbarrier", [False, True])
def test_proxy_fence_placement(fence: str, space: str, clean: bool, by_mbarrier: bool) -> None:
    """Warp 0 writes, warp 1 stores by TMA."""
    k = ScheduleBuilder("fence")
    k.block(3)
    out = k.global_tensor("out", (1, 32), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 32))
    tile, reg = k.smem_tile("tile", (1, 32), "f32"), written(k, "reg", registers=1)
    ready = k.mbarriers("ready", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(ready)
    k.bar.sync()
    if fence == "before the write":
        k.fence.proxy_async(space)
    with k.when(k.warp_in_role == 0):
        k.mem.st_shared(tile[0].box((0, k.lane), (1, 1)), reg.all)
        if fence == "writer":
            k.fence.proxy_async(space)
        if fence.startswith("writer's"):
            if "barrier" in fence:
                k.bar.warp_sync()
            with k.elect():
                k.fence.proxy_async(space)
        if by_mbarrier:
            k.bar.warp_sync()
            with k.elect():
                k.mbarrier.arrive(ready[0])
    if not by_mbarrier:
        k.bar.sync()
    if fence == "bystander":
        with k.when(k.warp_in_role == 2):
            k.fence.proxy_async(space)
    with k.when(k.warp_in_role == 1):
        if by_mbarrier:
            k.mbarrier.wait(ready[0], 0)
        with k.elect():
            if fence == "reader":
                k.fence.proxy_async(space)
            k.tma.store(out_map, (0, 0), tile[0])
            if fence == "after the copy":
                k.fence.proxy_async(space)
            k.bulk.commit_group()
            k.bulk.wait_group(0, read=True)
    assert rules(k.finish()) == ([] if clean else ["MISSING_PROXY_FENCE"])


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 6])
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("", ""),
        ("loose", "WAIT_GROUP_TOO_LOOSE"),
        ("no wait", "SMEM_REUSED_BEFORE_STORE_READ"),
        ("no barrier", "MISSING_BLOCK_BARRIER"),
        ("no commit", "UNCOMMITTED_COPY"),
    ],
)
def test_a_ring_of_bulk_stores(stages: int, steps: int, change: str, rule: str) -> None:
    k = ScheduleBuilder("stores")
    k.block(2)
    out = k.global_tensor("out", (max(1, steps), 64), "f32", output=True)
    out_map = k.tensor_map("out_map", out, box=(1, 64))
    tile = k.smem_tile("tile", (1, 64), "f32", stages=stages)
    reg, stage = written(k, "reg", registers=1), k.var("stage", 0)
    with k.loop(steps) as i:
        if change != "no wait":
            with k.elect_thread():
                k.bulk.wait_group(stages if change == "loose" else stages - 1, read=True)
        if change != "no barrier":
            k.bar.sync()
        k.mem.st_shared(tile[stage].box((0, k.thread_in_role), (1, 1)), reg.all)
        k.fence.proxy_async("shared")
        k.bar.sync()
        with k.elect_thread():
            k.tma.store(out_map, (i, 0), tile[stage])
            if change != "no commit":
                k.bulk.commit_group()
        stage.set((stage + 1) % stages)
    with k.elect_thread():
        k.bulk.wait_group(0, read=True)
    shows = steps > (0 if change == "no commit" else stages)
    assert rules(k.finish()) == ([rule] if rule and shows else [])


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("primed", [False, True])
def test_two_warpgroups_in_turns(rounds: int, primed: bool) -> None:
    k = ScheduleBuilder("turns")
    mine, yours = (k.named_barrier(f"b{i}", id=i, threads=256) for i in (1, 2))
    tile = k.smem_tile("tile", (1, 32), "f32")
    with k.specialize():
        with k.role("first", warps=4), k.loop(rounds):
            k.bar.sync(mine)
            with k.when(k.warp_in_role == 0):
                k.mem.compute(FILL, tile[0])
            k.bar.arrive(yours)
        with k.role("second", warps=4):
            if primed:
                k.bar.arrive(mine)
            with k.loop(rounds, name="j") as j:
                k.bar.sync(yours)
                with k.when(k.warp_in_role == 0):
                    k.mem.compute(FILL, tile[0])
                with k.when(j + 1 < rounds):
                    k.bar.arrive(mine)
    assert rules(k.finish()) == ([] if primed else ["DEADLOCK"])


@pytest.mark.parametrize("flip", ["with the work", "every round", "never"])
def test_a_phase_in_a_var_flips_with_the_wait(flip: str) -> None:
    """The consumer works in every other round."""
    k = ScheduleBuilder("phase")
    source = k.global_tensor("source", (4, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile, reg = k.smem_tile("tile", (1, 32), "f32"), written(k, "reg", registers=1)
    full, empty = k.mbarriers("full", count=1), k.mbarriers("empty", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            phase = k.var("phase", 0)
            with k.loop(8) as i:
                with k.when(i % 2 == 0):
                    k.mbarrier.wait(full[0], phase)
                    meant = source.box((i // 2, k.lane), (1, 1))
                    k.mem.ld_shared(reg.all, tile[0].box((0, k.lane), (1, 1)).expecting(meant))
                    k.fence.proxy_async("shared")
                    k.bar.warp_sync()
                    with k.elect():
                        k.mbarrier.arrive(empty[0])
                    if flip == "with the work":
                        phase.set(phase ^ 1)
                if flip == "every round":
                    phase.set(phase ^ 1)
        with k.role("producer", warps=1), k.elect(), k.loop(4, name="j") as j:
            k.mbarrier.wait(empty[0], (j + 1) % 2)
            k.mbarrier.arrive_expect_tx(full[0], 128)
            k.tma.load(tile[0], rows, (j, 0), full[0])
    assert rules(k.finish()) == ([] if flip == "with the work" else ["VACUOUS_WAIT"])


@pytest.mark.parametrize(("past", "expected"), [(0, []), (1, ["OUT_OF_BOUNDS"])])
def test_an_access_in_one_step_of_one_cta(past: int, expected: list[str]) -> None:
    k = ScheduleBuilder("rare")
    k.grid(4)
    out = k.global_tensor("out", (4, 32), "f32", output=True)
    reg = written(k, "reg", registers=1)
    with k.loop(100) as i, k.when((i == 99) & (k.block_idx == 3)):
        k.mem.st_global(out.box((k.block_idx + past, k.lane), (1, 1)), reg.all)
    assert rules(k.finish()) == expected
