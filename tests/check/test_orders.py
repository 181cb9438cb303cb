"""Three orders: control, memory, and what is fenced for the async proxy."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.written import written


def rules(schedule: Schedule) -> list[tuple[str, str]]:
    result = check(schedule)
    assert result.verdict is not Verdict.INCOMPLETE, result.note
    return [(f.rule.name, f.severity.value) for f in result.findings]


class Bench:
    """Two cells, two mbarriers of count 1, a source and a result tensor with maps."""

    def __init__(self) -> None:
        self.k = k = ScheduleBuilder("orders")
        self.source = k.global_tensor("source", (4, 4), "f32")
        self.result = k.global_tensor("result", (4, 4), "f32", output=True)
        self.load_map = k.tensor_map("load_map", self.source, box=(1, 4))
        self.store_map = k.tensor_map("store_map", self.result, box=(1, 4))
        self.cell = k.smem_tile("cell", (1, 4), "f32", stages=2)
        self.bars = k.mbarriers("bar", count=1, stages=2)
        self.reg = written(k, "reg", registers=4)
        with k.elect_thread():
            k.mbarrier.init_all(self.bars)
            k.fence.mbarrier_init()
        k.bar.sync()

    def write(self, i: int = 0) -> None:
        self.k.mem.st_shared(self.cell[i], self.reg.all)

    def read(self, i: int = 0) -> None:
        self.k.mem.ld_shared(self.reg.all, self.cell[i])

    def load(self, i: int = 0, bar: int = 0) -> None:
        self.k.tma.load(self.cell[i], self.load_map, (i, 0), self.bars[bar])

    def store(self, i: int = 0) -> None:
        self.k.tma.store(self.store_map, (i, 0), self.cell[i])
        self.k.bulk.commit_group()
        self.k.bulk.wait_group(0)


@pytest.mark.parametrize("release", [False, True])
def test_a_landing_publishes_its_bytes_and_not_the_issuers_writes(release: bool) -> None:
    """The write comes before the copy and after the arrival: only the arrival releases it."""
    b = Bench()
    k = b.k
    with k.specialize():
        with k.role("producer", warps=1), k.elect():
            if release:
                b.write(1)
            k.mbarrier.arrive_expect_tx(b.bars[0], 16)
            if not release:
                b.write(1)
            b.load(0)
        with k.role("consumer", warps=1), k.elect():
            k.mbarrier.wait(b.bars[0], 0)
            b.read(0)
            b.read(1)
    expected = [] if release else [("READ_BEFORE_ARRIVAL", "error")]
    assert rules(k.finish()) == expected


@pytest.mark.parametrize("release", [False, True])
def test_expect_tx_alone_orders_phases_and_no_data(release: bool) -> None:
    """The write always precedes the completion of the phase; only an arrival makes it visible."""
    b = Bench()
    k = b.k
    with k.specialize():
        with k.role("writer", warps=1), k.elect():
            if release:
                b.write(1)
            k.mbarrier.expect_tx(b.bars[0], 16)
            k.mbarrier.arrive(b.bars[1])
            if not release:
                b.write(1)
            b.load(0)
        with k.role("other", warps=1), k.elect():
            k.mbarrier.wait(b.bars[1], 0)
            k.mbarrier.arrive(b.bars[0])
        with k.role("reader", warps=1), k.elect():
            k.mbarrier.wait(b.bars[0], 0)
            b.read(0)
            b.read(1)
    expected = [] if release else [("READ_BEFORE_ARRIVAL", "error")]
    assert rules(k.finish()) == expected


@pytest.mark.parametrize(
    ("place", "space", "expected"),
    [
        ("writer", "shared", []),
        ("writer", "all", []),
        ("issuer", "shared", []),
        ("writer", "global", [("MISSING_PROXY_FENCE", "error")]),
        ("before the write", "shared", [("MISSING_PROXY_FENCE", "error")]),
        ("nowhere", "shared", [("MISSING_PROXY_FENCE", "error")]),
    ],
)
def test_generic_write_then_bulk_store(
    place: str, space: str, expected: list[tuple[str, str]]
) -> None:
    """The fence stands between write and store, in whichever thread, and covers the space."""
    b = Bench()
    k = b.k
    with k.specialize():
        with k.role("writer", warps=1), k.elect():
            if place == "before the write":
                k.fence.proxy_async(space)
            b.write()
            if place == "writer":
                k.fence.proxy_async(space)
            k.mbarrier.arrive(b.bars[0])
        with k.role("issuer", warps=1), k.elect():
            k.mbarrier.wait(b.bars[0], 0)
            if place == "issuer":
                k.fence.proxy_async(space)
            b.store()
    assert rules(k.finish()) == expected


@pytest.mark.parametrize("fence", [False, True])
def test_generic_read_then_async_overwrite_is_a_warning(fence: bool) -> None:
    b = Bench()
    k = b.k
    with k.elect_thread():
        b.write()
        k.fence.proxy_async("shared")
        b.read()
        if fence:
            k.fence.proxy_async("shared")
        k.mbarrier.arrive_expect_tx(b.bars[0], 16)
        b.load()
        k.mbarrier.wait(b.bars[0], 0)
    assert rules(k.finish()) == ([] if fence else [("PROXY_WAR", "warning")])


def test_after_an_observed_landing_no_fence_is_needed() -> None:
    b = Bench()
    k = b.k
    with k.elect_thread():
        k.mbarrier.arrive_expect_tx(b.bars[0], 16)
        b.load()
        k.mbarrier.wait(b.bars[0], 0)
        b.read()
        b.write()
    assert rules(k.finish()) == []


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ("none", [("SMEM_REUSED_BEFORE_STORE_READ", "error")]),
        ("loose", [("WAIT_GROUP_TOO_LOOSE", "error")]),
        ("read", []),
        ("full", []),
    ],
)
def test_source_of_a_bulk_store_overwritten(wait: str, expected: list[tuple[str, str]]) -> None:
    b = Bench()
    k = b.k
    with k.elect_thread():
        b.write()
        k.fence.proxy_async("shared")
        k.tma.store(b.store_map, (0, 0), b.cell[0])
        k.bulk.commit_group()
        if wait == "loose":
            k.bulk.wait_group(1, read=True)
        elif wait != "none":
            k.bulk.wait_group(0, read=wait == "read")
        b.write()
        k.bulk.wait_group(0)
    assert rules(k.finish()) == expected


@pytest.mark.parametrize(("read", "found"), [(True, True), (False, False)])
def test_the_destination_of_a_store_needs_the_full_wait(read: bool, found: bool) -> None:
    """wait_group.read says that the source was read, not that the result is there."""
    b = Bench()
    k = b.k
    with k.elect_thread():
        b.write()
        k.fence.proxy_async("shared")
        k.tma.store(b.store_map, (0, 0), b.cell[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0, read=read)
        k.mem.ld_global(b.reg.all, b.result.box((0, 0), (1, 4)))
        k.bulk.wait_group(0)
    assert bool(rules(k.finish())) is found


def test_a_wait_by_a_thread_that_issued_nothing() -> None:
    b = Bench()
    k = b.k
    with k.specialize():
        with k.role("issuer", warps=1), k.elect():
            b.write()
            k.fence.proxy_async("shared")
            k.tma.store(b.store_map, (0, 0), b.cell[0])
            k.bulk.commit_group()
            k.mbarrier.arrive(b.bars[0])
        with k.role("other", warps=1), k.elect():
            k.mbarrier.wait(b.bars[0], 0)
            k.bulk.wait_group(0, read=True)
            b.write()
    assert rules(k.finish()) == [("WAIT_BY_NON_ISSUER", "error")]


@pytest.mark.parametrize(
    ("fence", "expected"),
    [
        ("none", [("MISSING_INIT_FENCE", "error")]),
        ("init", []),
        ("proxy", []),
        ("too late", [("MISSING_INIT_FENCE", "error")]),
    ],
)
def test_init_fence_stands_before_the_barrier_that_publishes(
    fence: str, expected: list[tuple[str, str]]
) -> None:
    k = ScheduleBuilder("init_fence")
    source = k.global_tensor("source", (1, 4), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 4))
    cell = k.smem_tile("cell", (1, 4), "f32")
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
        if fence == "init":
            k.fence.mbarrier_init()
        if fence == "proxy":
            k.fence.proxy_async("shared")
    k.bar.sync()
    with k.specialize():
        with k.role("first", warps=1), k.elect():
            if fence == "too late":
                k.fence.mbarrier_init()
        with k.role("issuer", warps=1), k.elect():
            k.mbarrier.arrive_expect_tx(bar[0], 16)
            k.tma.load(cell[0], source_map, (0, 0), bar[0])
            k.mbarrier.wait(bar[0], 0)
    assert rules(k.finish()) == expected
