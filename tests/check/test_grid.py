"""All CTAs from one: bounds of plain accesses, disjoint writes, CTAs that differ."""

from __future__ import annotations

import sys

import pytest

from asyncsim import ScheduleBuilder, ScheduleError, minimum
from asyncsim.check import check
from asyncsim.check.affine import block_use
from asyncsim.check.grid import overlapping_deltas
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from tests.check.written import written


def store(
    *, step_x: int, step_y: int = 0, grid: tuple[int, int] = (4, 1), columns: int = 64
) -> Schedule:
    """Each lane stores one element: row blockIdx.y, column step * blockIdx + lane."""
    k = ScheduleBuilder("store")
    out = k.global_tensor("out", (8, columns), "f32", output=True)
    reg = written(k, "reg", registers=1)
    k.grid(*grid)
    col = k.block_idx * step_x + k.block_idx_y * step_y + k.lane
    row = k.block_idx_y if step_y == 0 else 0
    k.mem.st_global(out.box((row, col), (1, 1)), reg.all)
    return k.finish()


@pytest.mark.parametrize(("step", "rules"), [(4, []), (2, ["ALIGNMENT"]), (6, ["ALIGNMENT"])])
@pytest.mark.parametrize("ctas", [1, 4])
def test_copies_of_every_cta_are_aligned(step: int, rules: list[str], ctas: int) -> None:
    """The first CTA's always are."""
    k = ScheduleBuilder("aligned")
    k.grid(ctas)
    source = k.global_tensor("source", (32, 64), "f32")
    tile = k.smem_tile("tile", (32, 4), "f32")[0]
    box = source.box((k.lane, k.block_idx * step), (1, 4))
    k.cp_async.copy(tile.box((k.lane, 0), (1, 4)), box, bytes=16)
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    result = check(k.finish())
    assert found(result) == (rules if ctas > 1 else [])
    if ctas > 1 and rules:
        assert result.findings[0].message == (
            f"the next CTA in x moves the start in source by {4 * step} bytes, no multiple of 16"
        )


def found(result: CheckResult) -> list[str]:
    return [f.rule.name for f in result.findings]


@pytest.mark.parametrize(
    ("step", "expected"),
    [(32, []), (31, ["GLOBAL_WRITE_OVERLAP"]), (0, ["GLOBAL_WRITE_OVERLAP"])],
)
def test_writes_of_neighbours(step: int, expected: list[str]) -> None:
    assert found(check(store(step_x=step, columns=256))) == expected


def test_the_axes_are_taken_together() -> None:
    """Apart along x and along y, but (2, -1) meets."""
    apart = store(step_x=64, step_y=32 * 4, grid=(2, 2), columns=512)
    meets = store(step_x=64, step_y=128, grid=(3, 2), columns=512)
    assert found(check(apart)) == []
    result = check(meets)
    assert found(result) == ["GLOBAL_WRITE_OVERLAP"]
    assert "(2, -1, 0)" in result.findings[0].message


@pytest.mark.parametrize(("grid", "expected"), [(2, []), (3, ["OUT_OF_BOUNDS"])])
def test_the_last_cta_leaves_the_tensor(grid: int, expected: list[str]) -> None:
    result = check(store(step_x=32, grid=(grid, 1), columns=64))
    assert found(result) == expected
    if expected:
        assert result.findings[0].message == "out[0:1, 64:65] leaves the tensor of shape (8, 64)"


def test_a_copy_of_no_bytes_may_point_outside() -> None:
    k = ScheduleBuilder("fill", archs=("sm_80",))
    source = k.global_tensor("source", (1, 64), "f32")
    cell = k.smem_tile("cell", (1, 128), "f32")
    inside = minimum(1, (64 - k.lane * 4 + 3) // 4 * 4 // 4)
    k.cp_async.copy(
        cell[0].box((0, k.lane * 4), (1, 4)),
        source.box((0, k.lane * 4), (1, 4)),
        src_bytes=inside * (k.lane < 16) * 16,
    )
    k.cp_async.commit_group()
    k.cp_async.wait_group(0)
    assert found(check(k.finish())) == []


def test_a_tensor_map_box_may_lie_outside() -> None:
    k = ScheduleBuilder("edge")
    source = k.global_tensor("source", (2, 4), "f32")
    source_map = k.tensor_map("source_map", source, box=(4, 4))
    cell = k.smem_tile("cell", (4, 4), "f32")
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(bar[0], 64)
        k.tma.load(cell[0], source_map, (0, 0), bar[0])
        k.mbarrier.wait(bar[0], 0)
    assert found(check(k.finish())) == []


def branching(ctas: int, *, bug_in: int) -> Schedule:
    """CTA ``bug_in`` takes another path, with a wait that nobody ends."""
    k = ScheduleBuilder("branching")
    out = k.global_tensor("out", (ctas, 32), "f32", output=True)
    bar = k.mbarriers("bar", count=1)
    reg = written(k, "reg", registers=1)
    k.grid(ctas)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.bar.sync()
    with k.when(k.block_idx == bug_in):
        k.mbarrier.wait(bar[0], 0)
    k.mem.st_global(out.box((k.block_idx, k.lane), (1, 1)), reg.all)
    return k.finish()


def test_ctas_that_differ_are_all_looked_at() -> None:
    schedule = branching(6, bug_in=4)
    assert not block_use(schedule).uniform
    result = check(schedule)
    assert found(result) == ["DEADLOCK"]
    assert result.stats["ctas"] == 2
    assert found(check(branching(6, bug_in=6))) == []


def test_too_many_ctas_that_differ_are_not_called_clean() -> None:
    """And nobody waits for that: the first of them tell how many ops all would be."""
    k = ScheduleBuilder("many")
    out = k.global_tensor("out", (200_000, 32), "f32", output=True)
    reg = written(k, "reg", registers=1)
    k.grid(200_000)
    with k.loop(4) as i, k.when(k.block_idx >= i):
        k.mem.st_global(out.box((k.block_idx, k.lane), (1, 1)), reg.all)
    result = check(k.finish())
    assert result.verdict is Verdict.INCOMPLETE
    assert result.note == (
        "the block index decides what each of 200000 CTAs executes; not all of them were looked at"
    )


def test_the_limit_of_ops_over_all_ctas(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, verdict in ((219, Verdict.INCOMPLETE), (220, Verdict.FINDINGS)):
        monkeypatch.setattr(sys.modules["asyncsim.check.ctas"], "EVENT_LIMIT", limit)
        assert check(branching(20, bug_in=19)).verdict is verdict


@pytest.mark.parametrize("step", [4, 8])
def test_copy_and_read_that_move_differently_with_the_block(step: int) -> None:
    """CTA 0 reads what it means; the others do not, unless both move alike."""
    k = ScheduleBuilder("move")
    source = k.global_tensor("source", (64, 4), "f32")
    source_map = k.tensor_map("source_map", source, box=(4, 4))
    cell = k.smem_tile("cell", (4, 4), "f32")
    bar = k.mbarriers("bar", count=1)
    reg = written(k, "reg", registers=16)
    k.grid(3)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.fence.mbarrier_init()
        k.mbarrier.arrive_expect_tx(bar[0], 64)
        k.tma.load(cell[0], source_map, (k.block_idx * 4, 0), bar[0])
        k.mbarrier.wait(bar[0], 0)
        k.mem.ld_shared(reg.all, cell[0].expecting(source.box((k.block_idx * step, 0), (4, 4))))
    assert found(check(k.finish())) == ([] if step == 4 else ["WRONG_TILE"])


def test_persistent_tiles_are_enumerated() -> None:
    """Tiles dealt out by block index: trip counts differ, rows come from a division."""
    k = ScheduleBuilder("persistent")
    tiles, ctas = 10, 4
    out = k.global_tensor("out", (5, 64), "f32", output=True)
    reg = written(k, "reg", registers=1)
    k.grid(ctas)
    with k.loop((tiles - k.block_idx + ctas - 1) // ctas) as i:
        tile = k.block_idx + i * ctas
        k.mem.st_global(out.box((tile // 2, tile % 2 * 32 + k.lane), (1, 1)), reg.all)
    result = check(k.finish())
    assert (result.verdict, result.findings) == (Verdict.CLEAN, ())
    assert result.stats["ctas"] == 2


def test_overlapping_deltas_answers_exactly() -> None:
    rows = {("t", (0, 0)): 0b1001}
    along = ((0, 0, 0), (1, 0, 0))
    assert overlapping_deltas(rows, rows, along, (3, 1, 1)) is None
    assert overlapping_deltas(rows, rows, along, (4, 1, 1)) == (3, 0, 0)


@pytest.mark.parametrize(("apart", "expected"), [(0, []), (32, ["GLOBAL_WRITE_OVERLAP"])])
def test_a_cta_reads_what_its_neighbour_writes(apart: int, expected: list[str]) -> None:
    k = ScheduleBuilder("neighbours")
    out = k.global_tensor("out", (1, 256), "f32", output=True)
    reg = written(k, "reg", registers=1)
    k.grid(4)
    at = k.block_idx * 32 + k.lane
    k.mem.ld_global(reg.all, out.box((0, at + apart), (1, 1)))
    k.mem.st_global(out.box((0, at), (1, 1)), reg.all)
    result = check(k.finish())
    assert found(result) == expected
    if expected:
        assert result.findings[0].message == (
            "of two CTAs whose indices differ by (1, 0, 0), one writes elements of out that "
            "the other touches"
        )


def test_an_expression_that_fails_is_no_schedule() -> None:
    k = ScheduleBuilder("divide")
    zero = k.arg("zero", 0)
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        k.mbarrier.expect_tx(bar[0], 16 // zero)
    with pytest.raises(ScheduleError, match="division by zero"):
        check(k.finish())
