"""Schedules that ``check`` calls clean and that are not, one per defect: the reason says why.

False accusations, what stays undecided, and names and repairs that mislead are in
test_attacks_verdicts.py and test_attacks_naming.py.
"""

from __future__ import annotations

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, ScheduleError, Work
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from tests.check.written import written

USE = ComputeDef(
    name="use",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.READ),),
    work=lambda: Work(alu=4),
    cuda="",
    numpy=lambda **kw: None,
)


def rules(schedule: Schedule) -> list[str]:
    """The errors, or the verdict if there are none."""
    result = check(schedule, max_states=2000)
    errors = [f.rule.name for f in result.findings if f.severity.value == "error"]
    return errors or [result.verdict.value]


def false_clean(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=f"false clean: {reason}")


@pytest.mark.parametrize("stray", [False, True])
def test_a_warning_does_not_replace_an_error(stray: bool) -> None:
    k = ScheduleBuilder("masked")
    k.block(2)
    data = k.global_tensor("data", (64, 32), "f32", output=True)
    tile = k.smem_tile("tile", (2, 32), "f32")
    reg = written(k, "reg", registers=1)
    row = k.warp_in_role
    k.mem.st_global(data.box((row, k.lane), (1, 1)), reg.all)
    k.mem.ld_global(reg.all, data.box(((row + 1) % 2, k.lane), (1, 1)))
    if stray:
        there = data.box((16 + row, k.lane), (1, 1))
        k.cp_async.copy(tile[0].box((row, k.lane), (1, 1)), there, bytes=4)
    assert rules(k.finish()) == ["READ_BEFORE_ARRIVAL"]


@pytest.mark.parametrize("same_warp", [True, False])
def test_inval_comes_after_the_end_of_every_wait(same_warp: bool) -> None:
    k = ScheduleBuilder("inval")
    bar = k.mbarriers("bar", count=1)
    k.block(1 if same_warp else 2)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive(bar[0])
    k.mbarrier.wait(bar[0], 0)
    with k.elect_thread():
        k.mbarrier.inval(bar[0])
    assert rules(k.finish()) == ["USE_BEFORE_INIT"]


@pytest.mark.parametrize("ordered", [True, False])
def test_inval_is_ordered_before_the_next_init(ordered: bool) -> None:
    k = ScheduleBuilder("inval_init")
    bar = k.mbarriers("bar", count=1)
    k.block(2)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.mbarrier.inval(bar[0])
    if ordered:
        k.bar.sync()
    with k.when(k.warp_in_role == 1), k.elect():
        k.mbarrier.init_all(bar)
    assert (rules(k.finish()) == ["clean"]) is ordered


def test_an_init_fenced_by_one_of_two_warps_only() -> None:
    """The warning for the initialising thread does not stand for the error of the other warp."""
    k = ScheduleBuilder("two_users")
    k.block(2)
    source = k.global_tensor("source", (2, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32", stages=2)
    bar = k.mbarriers("bar", count=2)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.bar.sync()
    with k.elect():
        k.mbarrier.arrive_expect_tx(bar[0], 128)
        k.tma.load(tile[k.warp_in_role], rows, (k.warp_in_role, 0), bar[0])
    k.mbarrier.wait(bar[0], 0)
    assert rules(k.finish()) == ["MISSING_INIT_FENCE"]


@pytest.mark.parametrize("published", [True, False])
def test_a_second_init_has_to_be_published_again(published: bool) -> None:
    k = ScheduleBuilder("second_init")
    bar = k.mbarriers("bar", count=1)
    k.block(2)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.arrive(bar[0])
    k.mbarrier.wait(bar[0], 0)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.inval(bar[0])
        k.mbarrier.init_all(bar)
    if published:
        k.bar.sync()
    for _ in range(6):  # time for the reference to run the init first
        k.fence.proxy_async()
    with k.when(k.warp_in_role == 1), k.elect():
        k.mbarrier.arrive(bar[0])
    k.mbarrier.wait(bar[0], 0)
    assert rules(k.finish()) == (["clean"] if published else ["USE_BEFORE_INIT"])


def second_life(what: str) -> Schedule:
    """A tile by TMA, inval, init, and a second tile on the same mbarrier."""
    k = ScheduleBuilder("second_life")
    k.block(2)
    source = k.global_tensor("source", (2, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32")
    reg = written(k, "reg", registers=1)
    bar = k.mbarriers("bar", count=1)

    def load(row: int, warp: int) -> None:
        with k.when(k.warp_in_role == warp), k.elect():
            k.mbarrier.arrive_expect_tx(bar[0], 128)
            k.tma.load(tile[0], rows, (row, 0), bar[0])

    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
    k.bar.sync()
    load(0, 0)
    k.mbarrier.wait(bar[0], 0)
    k.bar.sync()
    with k.elect_thread():
        k.mbarrier.inval(bar[0])
        k.mbarrier.init_all(bar)
        if what != "no init fence":
            k.fence.mbarrier_init()
    k.bar.sync()
    load(1, int(what == "no init fence"))
    if what != "no wait before the read" and what != "no wait":
        k.mbarrier.wait(bar[0], 0)
    if what != "no wait":
        meant = source.box((1, k.lane), (1, 1))
        k.mem.ld_shared(reg.all, tile[0].box((0, k.lane), (1, 1)).expecting(meant))
    if what == "no wait before the read":
        k.mbarrier.wait(bar[0], 0)
    return k.finish()


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("ok", "clean"),
        ("no wait before the read", "READ_BEFORE_ARRIVAL"),
        ("no wait", "OUTSTANDING_AT_EXIT"),
        ("no init fence", "MISSING_INIT_FENCE"),
    ],
)
def test_the_second_life_of_an_mbarrier(what: str, expected: str) -> None:
    assert rules(second_life(what)) == [expected]


@pytest.mark.parametrize("permuted", ["", "copy", "read", "copy, whole read"])
def test_every_lane_brings_and_means_its_own_data(permuted: str) -> None:
    k = ScheduleBuilder("lanes")
    source = k.global_tensor("source", (32, 4), "f32")
    tile = k.smem_tile("tile", (32, 4), "f32")
    reg = written(k, "reg", registers=4)
    other = k.lane * 3 % 32
    box = source.box((other if "copy" in permuted else k.lane, 0), (1, 4))
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 4)), box)
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.bar.warp_sync()
    if "whole" in permuted:
        k.mem.compute(USE, tile[0].expecting(source.box((0, 0), (32, 4))))
    else:
        row = other if permuted == "read" else k.lane
        meant = source.box((k.lane, 0), (1, 4))
        k.mem.ld_shared(reg.all, tile[0].box((row, 0), (1, 4)).expecting(meant))
    assert rules(k.finish()) == (["WRONG_TILE"] if permuted else ["clean"])


@pytest.mark.parametrize("filled", ["all", "half", "lanes"])
def test_zero_fill_is_not_the_data_that_a_read_means(filled: str) -> None:
    k = ScheduleBuilder("fill")
    source = k.global_tensor("source", (32, 4), "f32")
    tile = k.smem_tile("tile", (32, 4), "f32")
    reg = written(k, "reg", registers=4)
    size = {"all": 0, "half": 8, "lanes": (k.lane < 16) * 16}[filled]
    mine = source.box((k.lane, 0), (1, 4))
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 4)), mine, src_bytes=size)
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.mem.ld_shared(reg.all, tile[0].box((k.lane, 0), (1, 4)).expecting(mine))
    assert rules(k.finish()) == ["WRONG_TILE"]


@pytest.mark.parametrize("where", ["shared", "shared, by one", "global", "global, by one", "copy"])
def test_lanes_of_one_store_write_disjoint_bytes(where: str) -> None:
    k = ScheduleBuilder("lanes_store")
    source = k.global_tensor("source", (1, 128), "f32")
    out = k.global_tensor("out", (1, 128), "f32", output=True)
    tile = k.smem_tile("tile", (1, 128), "f32")
    reg = written(k, "reg", registers=2)
    col = k.lane if "by one" in where else k.lane * 0
    if "shared" in where:
        k.mem.st_shared(tile[0].box((0, col), (1, 2)), reg.all)
    elif "global" in where:
        k.mem.st_global(out.box((0, col), (1, 2)), reg.all)
    else:
        there = tile[0].box((0, k.lane // 2 * 4), (1, 4))
        k.cp_async.copy(there, source.box((0, k.lane * 4), (1, 4)))
        k.cp_async.commit_group()
        k.cp_async.wait_group(0)
    assert rules(k.finish()) == ["WRITE_WRITE_RACE"]


@pytest.mark.parametrize("strides", [(0, 1), (16, 1)])
def test_outputs_whose_strides_alias(strides: tuple[int, int]) -> None:
    k = ScheduleBuilder("aliased")
    k.grid(2)
    try:
        out = k.global_tensor("out", (2, 32), "f32", strides=strides, output=True)
        reg = written(k, "reg", registers=1)
        k.mem.st_global(out.box((k.block_idx, k.lane), (1, 1)), reg.all)
        found = rules(k.finish())
    except ScheduleError:
        return  # refused: as good
    assert found == ["GLOBAL_WRITE_OVERLAP"]


def test_a_negative_byte_count_from_an_argument() -> None:
    k = ScheduleBuilder("negative")
    amount = k.arg("amount", -128)
    source = k.global_tensor("source", (1, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32")
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
        k.mbarrier.expect_tx(bar[0], 256)
        k.mbarrier.arrive_expect_tx(bar[0], amount)
        k.tma.load(tile[0], rows, (0, 0), bar[0])
        k.mbarrier.wait(bar[0], 0)
    assert rules(k.finish()) == ["TX_RANGE"]


def test_the_elected_lane_need_not_be_lane_0() -> None:
    k = ScheduleBuilder("elected")
    source = k.global_tensor("source", (32, 4), "f32")
    tile = k.smem_tile("tile", (32, 4), "f32")
    reg = written(k, "reg", registers=4)
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 4)), source.box((k.lane, 0), (1, 4)))
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    with k.elect():
        k.mem.ld_shared(reg.all, tile[0].box((0, 0), (1, 4)))
    assert rules(k.finish()) == ["MISSING_BLOCK_BARRIER"]
