"""Bytes that a barrier expects and gets, and what an arrival is."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import Case, found
from tests.check.written import written


def box_of(rows: int, *, expected_rows: int) -> Schedule:
    """A box of so many rows of 64 bf16, and the bytes of as many as the kernel thinks there are."""
    k = ScheduleBuilder("box")
    source = k.global_tensor("source", (64, 64), "bf16")
    boxes = k.tensor_map("boxes", source, box=(rows, 64))
    tile = k.smem_tile("tile", (rows, 64), "bf16")
    full = k.mbarriers("full", count=1)
    x = written(k, "x", registers=1, dtype="bf16")
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("load", warps=1), k.elect():
            k.mbarrier.arrive_expect_tx(full[0], expected_rows * 64 * 2)
            k.tma.load(tile[0], boxes, (0, 0), full[0])
        with k.role("mma", warps=1):
            k.mbarrier.wait(full[0], 0)
            k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
    return k.finish()


def test_a_tile_that_is_clamped_and_a_box_that_is_not() -> None:
    assert found(box_of(8, expected_rows=8)) == []
    assert found(box_of(16, expected_rows=8)) == ["TX_BYTES_MISMATCH"]


def halves(*, expected: int, ranks: int = 2) -> Schedule:
    """The two CTAs of a pair each load their half of B; the leader's barrier counts both."""
    k = ScheduleBuilder("halves", archs=("sm_100a",))
    k.grid(ranks)
    k.cluster(ranks)
    source = k.global_tensor("source", (ranks * 128, 64), "bf16")
    half = k.tensor_map("half", source, box=(128, 64), swizzle=128)
    tile = k.smem_tile("tile", (128, 64), "bf16", swizzle=128)
    full = k.mbarriers("full", count=1)
    x = written(k, "x", registers=1, dtype="bf16")
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    leader = k.cta_rank // 2 * 2
    with k.specialize():
        with k.role("load", warps=1):
            with k.elect():
                with k.when(k.cta_rank == leader):
                    k.mbarrier.arrive_expect_tx(full[0], expected)
                at = k.mbarrier.at(full[0], leader)
                k.tma.load(tile[0], half, (k.cta_rank * 128, 0), at)
            k.cluster_barrier.sync()
        with k.role("mma", warps=1):
            with k.when(k.cta_rank == leader):
                k.mbarrier.wait(full[0], 0, scope="cluster")
                k.mem.ld_shared(x.all, tile[0].box((k.lane, 0), (1, 1)))
            k.cluster_barrier.sync()
    return k.finish()


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_both_ctas_of_a_pair_bring(ranks: int) -> None:
    """16 KB from each: not a whole B tile each, and not once for each CTA of the cluster."""
    assert found(halves(expected=2 * 16384, ranks=ranks)) == []
    assert found(halves(expected=2 * 32768, ranks=ranks)) == ["TX_BYTES_MISMATCH"]
    assert found(halves(expected=16384, ranks=ranks)) == ["TX_BYTES_MISMATCH"]


def test_an_expect_on_another_barrier_than_the_copy() -> None:
    def indexed(expect: int, complete: int) -> Schedule:
        c = Case()
        k = c.k
        bars = c.bars("bars", stages=2)
        c.start()
        with k.specialize():
            with c.thread("load"):
                k.mbarrier.arrive_expect_tx(bars[expect], 16)
                c.copy(bars[complete], 0)
            with c.thread("use"):
                k.mbarrier.wait(bars[expect], 0)
                c.read(0)
        return k.finish()

    assert found(indexed(1, 1)) == []
    assert found(indexed(0, 1)) == ["TX_BYTES_MISMATCH"]


def block_scope_copy(*, announced: bool) -> Schedule:
    """One thread announces and copies, 32 threads arrive and wait on a barrier of 32."""
    k = ScheduleBuilder("block_copy")
    k.block(1)
    source = k.global_tensor("source", (1, 32), "f32")
    rows = k.tensor_map("rows", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32")
    full = k.mbarriers("full", count=32)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.elect_thread():
        if announced:
            k.mbarrier.expect_tx(full[0], 128)
        k.tma.load(tile[0], rows, (0, 0), full[0])
    k.mbarrier.arrive(full[0])
    k.mbarrier.wait(full[0], 0)
    k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
    return k.finish()


def test_a_bulk_copy_by_one_thread_on_a_barrier_of_the_block() -> None:
    assert found(block_scope_copy(announced=True)) == []
    assert found(block_scope_copy(announced=False)) == ["TX_BYTES_MISMATCH"]


def test_two_copies_are_not_two_arrivals() -> None:
    def two(bytes: int) -> Schedule:
        c = Case(cells=2)
        k = c.k
        full = c.bars("full")
        c.start()
        with k.specialize():
            with c.thread("load"):
                k.mbarrier.arrive_expect_tx(full[0], bytes)
                c.copy(full[0], 0, 0)
                c.copy(full[0], 1, 1)
            with c.thread("use"):
                k.mbarrier.wait(full[0], 0)
                c.read(0, 0)
                c.read(1, 1)
        return k.finish()

    assert found(two(32)) == []
    assert found(two(16)) == ["TX_BYTES_MISMATCH"]
    assert found(two(48)) == ["TX_BYTES_MISMATCH"]


def transient(*, then: str) -> Schedule:
    """The copy of phase 1 is issued, and may land, before phase 0 ends and phase 1 is armed."""
    c = Case()
    k = c.k
    bar = c.bars("bar")
    c.start()
    with k.specialize(), c.thread("t"):
        if then == "late copy":
            k.mbarrier.arrive(bar[0])
            k.mbarrier.wait(bar[0], 0)
            c.copy(bar[0], 0)
        else:
            k.mbarrier.arrive(bar[0])
            c.copy(bar[0], 0)
            k.mbarrier.wait(bar[0], 0)
        k.mbarrier.arrive_expect_tx(bar[0], 16 if then != "too few" else 0)
        k.mbarrier.wait(bar[0], 1)
        c.read(0)
    return k.finish()


def test_bytes_that_land_before_they_are_expected() -> None:
    assert found(transient(then="late copy")) == []
    assert found(transient(then="early copy")) == []
    assert found(transient(then="too few")) == ["TX_BYTES_MISMATCH"]


@pytest.mark.parametrize("expected", [0, 16, 32])
def test_over_and_under_delivery(expected: int) -> None:
    c = Case()
    k = c.k
    bar = c.bars("bar")
    c.start()
    with k.specialize(), c.thread("t"):
        c.copy(bar[0], 0)
        k.mbarrier.arrive_expect_tx(bar[0], expected)
        k.mbarrier.wait(bar[0], 0)
        c.read(0)
    assert found(k.finish()) == ([] if expected == 16 else ["TX_BYTES_MISMATCH"])


def announced(how: str, *, stages: int = 2, rounds: int = 5) -> list[str]:
    """A ring whose producer announces bytes, arrives and copies in some order."""
    c = Case(cells=stages)
    k = c.k
    full, empty = c.bars("full", stages=stages), c.bars("empty", stages=stages)
    c.start()
    with k.specialize():
        with c.thread("consumer"), k.loop(rounds) as i:
            k.mbarrier.wait(full[i % stages], i // stages % 2)
            c.read(i, i % stages)
            c.release(empty[i % stages])
        with c.thread("producer"), k.loop(rounds) as i:
            k.mbarrier.wait(empty[i % stages], (i // stages + 1) % 2)
            for step in how:
                if step == "a":
                    k.mbarrier.arrive(full[i % stages])
                elif step == "e":
                    k.mbarrier.expect_tx(full[i % stages], 16)
                elif step == "x":
                    k.mbarrier.arrive_expect_tx(full[i % stages], 16)
                else:
                    c.copy(full[i % stages], i, i % stages)
    return found(k.finish())


@pytest.mark.parametrize(
    ("how", "rules"),
    [
        ("xc", []),
        ("cx", []),
        ("eca", []),
        ("aec", ["EARLY_COMPLETION", "READ_BEFORE_ARRIVAL"]),
        ("xca", ["READ_BEFORE_ARRIVAL", "EARLY_COMPLETION"]),
        ("ec", ["DEADLOCK"]),
        ("c", ["DEADLOCK"]),
        ("xcc", ["TX_BYTES_MISMATCH"]),
        ("x", ["TX_BYTES_MISMATCH"]),
    ],
)
def test_what_a_producer_forgets_or_does_twice(how: str, rules: list[str]) -> None:
    assert announced(how) == rules
