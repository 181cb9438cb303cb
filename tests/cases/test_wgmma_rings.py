"""wgmma in rings: when a stage may be released, and by whom it is read."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from asyncsim.build.handles import FragmentHandle
from asyncsim.build.value import Value
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import found
from tests.check.written import written, written_tile

K = 64


class Operands:
    """A tile of A that moves with the step, a tile of B that stays; 64 x 64 bf16."""

    def __init__(self, name: str, *, stages: int, steps: int) -> None:
        self.k = k = ScheduleBuilder(name)
        self.stages, self.steps = stages, steps
        self.source = k.global_tensor("source", (64 * steps, K), "bf16")
        self.map = k.tensor_map("source_map", self.source, box=(64, K), swizzle=128)
        self.a = k.smem_tile("a", (64, K), "bf16", swizzle=128, stages=stages)
        self.full = k.mbarriers("full", count=1, stages=stages)
        self.empty = k.mbarriers("empty", count=1, stages=stages)
        with k.elect_thread():
            k.mbarrier.init_all(self.full, self.empty)
            k.fence.mbarrier_init()
        k.bar.sync()

    def load(self, i: Value | int) -> None:
        k, stage = self.k, i % self.stages
        k.mbarrier.arrive_expect_tx(self.full[stage], 64 * K * 2)
        k.tma.load(self.a[stage], self.map, (i * 64, 0), self.full[stage])

    def multiply(self, acc: FragmentHandle, i: Value) -> None:
        k, stage = self.k, i % self.stages
        k.wgmma.fence()
        tile = self.a[stage].expecting(self.source.box((i * 64, 0), (64, K)))
        k.wgmma.mma_tile(acc, tile, self.a[stage], accumulate_first=i > 0)
        k.wgmma.commit_group()

    def producer(self) -> None:
        k = self.k
        with k.role("producer", warps=1), k.elect(), k.loop(self.steps) as i:
            k.mbarrier.wait(self.empty[i % self.stages], (i // self.stages + 1) % 2)
            self.load(i)


def released(*, when: str, stages: int = 2, steps: int = 5) -> Schedule:
    """A stage is released at once, after a wait for all, or the one before after a wait for it."""
    o = Operands("released", stages=stages, steps=steps)
    k = o.k
    with k.specialize():
        with k.role("math", warps=4):
            acc = k.accumulator("acc", n=64)
            with k.loop(steps) as i:
                k.mbarrier.wait(o.full[i % stages], i // stages % 2)
                o.multiply(acc, i)
                lag = 1 if when == "one later" else 0
                if when != "at once":
                    k.wgmma.wait_group(lag)
                with k.when((k.warp_in_role == 0) & (i >= lag)), k.elect():
                    k.mbarrier.arrive(o.empty[(i + stages - lag) % stages])
            k.wgmma.wait_group(0)
        o.producer()
    return k.finish()


@pytest.mark.parametrize("when", ["after all", "one later"])
@pytest.mark.parametrize("stages", [2, 3])
def test_a_stage_released_when_its_wgmma_is_over(when: str, stages: int) -> None:
    assert found(released(when=when, stages=stages)) == []


def test_a_stage_released_while_wgmma_reads_it() -> None:
    assert found(released(when="at once")) == ["OPERAND_IN_FLIGHT"]


def test_a_lag_needs_more_stages_than_itself() -> None:
    assert found(released(when="after all", stages=1)) == []
    assert found(released(when="one later", stages=1)) == ["DEADLOCK"]


def shared_by_two(*, joined: bool, steps: int = 4) -> Schedule:
    """Two warpgroups read one operand; each waits for its own wgmma, then the first refills."""
    o = Operands("shared_by_two", stages=1, steps=steps)
    k = o.k
    both = k.named_barrier("both", id=1, threads=256)
    with k.specialize():
        for g in range(2):
            with k.role(f"g{g}", warps=4):
                acc = k.accumulator(f"acc{g}", n=64)
                if g == 0:
                    with k.elect_thread():
                        o.load(0)
                with k.loop(steps) as i:
                    k.mbarrier.wait(o.full[0], i % 2)
                    o.multiply(acc, i)
                    k.wgmma.wait_group(0)
                    if joined:
                        k.bar.sync(both)
                    if g == 0:
                        with k.elect_thread(), k.when(i + 1 < steps):
                            o.load(i + 1)
    return k.finish()


def test_an_operand_of_two_warpgroups_that_one_of_them_refills() -> None:
    assert found(shared_by_two(joined=True)) == []
    assert found(shared_by_two(joined=False)) == ["LAPPED_WAITER"]


def stored_by_all(*, joined: bool, steps: int = 3) -> Schedule:
    """Two warpgroups refill a shared operand together with plain stores."""
    k = ScheduleBuilder("stored")
    a = k.smem_tile("a", (64, K), "bf16", swizzle=128)
    both = k.named_barrier("both", id=1, threads=256)
    with k.specialize():
        for g in range(2):
            with k.role(f"g{g}", warps=4):
                acc, x = (
                    k.accumulator(f"acc{g}", n=64),
                    written(k, f"x{g}", registers=16, dtype="bf16"),
                )
                with k.loop(steps) as i:
                    row = k.thread_in_role // 4 + 32 * g
                    k.mem.st_shared(a[0].box((row, k.thread_in_role % 4 * 16), (1, 16)), x.all)
                    k.fence.proxy_async("shared")
                    k.bar.sync(both)
                    k.wgmma.fence()
                    k.wgmma.mma_tile(acc, a[0], a[0], accumulate_first=i > 0)
                    k.wgmma.commit_group()
                    k.wgmma.wait_group(0)
                    if joined:
                        k.bar.sync(both)
    return k.finish()


def test_a_wait_of_one_warpgroup_says_nothing_of_the_other() -> None:
    assert found(stored_by_all(joined=True)) == []
    assert found(stored_by_all(joined=False)) == ["WRITE_BEFORE_RELEASE"]


def twice(*, n: int) -> Schedule:
    """Two wgmma on the same buffers, a wait, then a store to A."""
    k = ScheduleBuilder("twice")
    a = k.smem_tile("a", (64, K), "bf16", swizzle=128)
    with k.specialize(), k.role("math", warps=4):
        acc = k.accumulator("acc", n=64)
        x = written(k, "x", registers=32, dtype="bf16")
        row = (k.thread_in_role // 2, k.thread_in_role % 2 * 32)
        k.mem.st_shared(a[0].box(row, (1, 32)), x.all)
        k.fence.proxy_async("shared")
        k.bar.sync()
        k.wgmma.fence()
        for i in range(2):
            k.wgmma.mma_tile(acc, a[0], a[0], accumulate_first=i)
            k.wgmma.commit_group()
        k.wgmma.wait_group(n)
        k.bar.sync()
        k.mem.st_shared(a[0].box(row, (1, 32)), x.all)
        k.wgmma.wait_group(0)
    return k.finish()


def test_a_store_after_a_wait_that_leaves_a_wgmma_pending() -> None:
    assert found(twice(n=0)) == []
    assert found(twice(n=1)) == ["WAIT_GROUP_TOO_LOOSE"]


def one_ahead(*, stages: int, steps: int = 10) -> Schedule:
    """The load of the next step, a wait for this one, wgmma, at most one of them pending."""
    o = Operands("one_ahead", stages=stages, steps=steps)
    k = o.k
    with k.specialize(), k.role("math", warps=4):
        acc = k.accumulator("acc", n=64)
        with k.elect_thread():
            o.load(0)
        with k.loop(steps) as i:
            with k.elect_thread(), k.when(i + 1 < steps):
                o.load(i + 1)
            k.mbarrier.wait(o.full[i % stages], i // stages % 2)
            o.multiply(acc, i)
            k.wgmma.wait_group(1)
            k.bar.sync()
        k.wgmma.wait_group(0)
    return k.finish()


def test_a_ring_with_one_wgmma_pending() -> None:
    assert found(one_ahead(stages=3)) == []
    assert found(one_ahead(stages=2)) == ["WAIT_GROUP_TOO_LOOSE"]


def split(*, wait: str) -> Schedule:
    """One product in two parts on one accumulator; registers are read after a wait, or before."""
    k = ScheduleBuilder("split")
    a = written_tile(k, k.smem_tile("a", (64, K), "bf16", swizzle=128))
    out = k.global_tensor("out", (64, 64), "f32", output=True)
    with k.specialize(), k.role("math", warps=4):
        acc = k.accumulator("acc", n=64)
        k.wgmma.fence()
        for half in range(2):
            for i in range(2):
                part = a[0].box((0, 32 * half + 16 * i), (64, 16))
                k.wgmma.mma(acc, part, part, accumulate=int(half + i > 0))
            k.wgmma.commit_group()
            if wait == "between":
                k.wgmma.wait_group(0)
        if wait == "at first use":
            k.wgmma.wait_group(0)
        k.mem.store_accumulator(out, (0, 0), acc)
        k.wgmma.wait_group(0)
    return k.finish()


def test_parts_of_one_product_need_no_wait_between_them() -> None:
    assert found(split(wait="between")) == []
    assert found(split(wait="at first use")) == []
    assert found(split(wait="after the use")) == ["FRAGMENT_IN_FLIGHT"]
