"""ldmatrix, stmatrix and mma.sync: what is ordered, what is meant, what registers hold."""

from __future__ import annotations

import pytest

from asyncsim import Rule, ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding
from tests.hw.matrix_scenarios import CLEAR


def findings(schedule: Schedule) -> list[Finding]:
    return list(check(schedule).findings)


def copied(*, barrier: str = "warp", wait: bool = True, column: int = 0) -> Schedule:
    """Each lane copies a row of 16 bytes; then the warp loads four matrices of them."""
    k = ScheduleBuilder("copied")
    source = k.global_tensor("source", (32, 16), "bf16")
    tile, frag = k.smem_tile("tile", (32, 8), "bf16"), k.matrices("frag", 4, "bf16")
    row = tile[0].box((k.lane, 0), (1, 8))
    k.cp_async.copy(row, source.box((k.lane, 0), (1, 8)))
    k.cp_async.commit_group()
    if wait:
        k.cp_async.wait_group(0)
    if barrier == "warp":
        k.bar.warp_sync()
    k.ldmatrix(frag.all, row.expecting(source.box((k.lane, column), (1, 8))))
    return k.finish()


def test_a_wait_and_a_warp_barrier_order_the_copies_of_all_lanes() -> None:
    assert findings(copied()) == []


def test_a_wait_alone_is_about_the_copies_of_its_own_lane() -> None:
    """Each lane holds parts of rows that other lanes have copied."""
    found = findings(copied(barrier=""))
    assert {f.rule for f in found} == {Rule.MISSING_BLOCK_BARRIER}
    assert "ldmatrix.x4 tile -> frag" in found[0].message


def test_without_a_wait() -> None:
    assert {f.rule for f in findings(copied(wait=False))} == {Rule.READ_BEFORE_ARRIVAL}


def test_other_data_than_meant() -> None:
    (finding,) = findings(copied(column=8))
    assert finding.rule is Rule.WRONG_TILE


def exchange(*, synced: bool) -> Schedule:
    """A warp stores matrices as their transposes, and loads the rows."""
    k = ScheduleBuilder("exchange")
    source = k.global_tensor("source", (32, 8), "bf16")
    tiles = [k.smem_tile(name, (32, 8), "bf16") for name in ("first", "second")]
    frag = k.matrices("frag", 4, "bf16")
    rows = [tile[0].box((k.lane, 0), (1, 8)) for tile in tiles]
    k.cp_async.copy(rows[0], source.box((k.lane, 0), (1, 8)))
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.bar.warp_sync()
    k.ldmatrix(frag.all, rows[0])
    k.stmatrix(rows[1], frag.all, trans=True)
    if synced:
        k.bar.warp_sync()
    k.ldmatrix(frag.all, rows[1])
    return k.finish()


def test_rows_that_a_warp_stores_are_in_no_order_with_its_loads() -> None:
    assert findings(exchange(synced=True)) == []
    found = findings(exchange(synced=False))
    assert found and {f.rule for f in found} == {Rule.READ_BEFORE_ARRIVAL}


@pytest.mark.parametrize(("start", "have"), [(8, 128), (16, 256)])
def test_rows_that_are_stored_twice(start: int, have: int) -> None:
    k = ScheduleBuilder("twice")
    tile, frag = k.smem_tile("tile", (32, 8), "bf16"), k.matrices("frag", 4, "bf16")
    k.mem.compute(CLEAR, frag.all)
    k.stmatrix(tile[0].box((k.lane % start, 0), (1, 8)), frag.all)
    (finding,) = findings(k.finish())
    assert finding.rule is Rule.WRITE_WRITE_RACE
    assert finding.message == (
        f"StMatrix: 32 rows of 16 bytes go to {have} bytes of 'tile': which stays is open"
    )


def test_rows_that_are_loaded_twice_are_none_of_anybodys_business() -> None:
    k = ScheduleBuilder("again")
    source = k.global_tensor("source", (32, 8), "bf16")
    tile, frag = k.smem_tile("tile", (32, 8), "bf16"), k.matrices("frag", 4, "bf16")
    k.cp_async.copy(tile[0].box((k.lane, 0), (1, 8)), source.box((k.lane, 0), (1, 8)))
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    k.bar.warp_sync()
    k.ldmatrix(frag.all, tile[0].box((k.lane % 8, 0), (1, 8)))
    k.ldmatrix(frag.all, tile[0].box((5, 0), (1, 8)))
    assert findings(k.finish()) == []


def test_sums_that_hold_nothing() -> None:
    k = ScheduleBuilder("sums")
    a, b = k.matrices("a", 4, "bf16"), k.matrices("b", 2, "bf16")
    acc = k.fragment("acc", registers=8)
    for frag in (a, b):
        k.mem.compute(CLEAR, frag.all)
    k.mem.compute(CLEAR, acc.part(0, 4))
    k.mma.sync(acc.part(4, 4), a.all, b.all, acc.part(0, 4))
    k.mma.sync(acc.part(4, 4), a.all, b.all)
    assert findings(k.finish()) == []
    k = ScheduleBuilder("nothing")
    a, b = k.matrices("a", 4, "bf16"), k.matrices("b", 2, "bf16")
    acc = k.fragment("acc", registers=4)
    for frag in (a, b):
        k.mem.compute(CLEAR, frag.all)
    k.mma.sync(acc.all, a.all, b.all)
    (finding,) = findings(k.finish())
    assert finding.rule is Rule.USE_BEFORE_INIT
    assert finding.message == "mma.sync acc += a x b reads acc, which nothing has written"
