"""The shortest witness: nothing of it can be left out, and what it must say of small schedules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from asyncsim import Rule, ScheduleBuilder
from asyncsim.catalog import find_scenario
from asyncsim.check import check, cta
from asyncsim.check.shortest import Bounds, Shortening
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding
from tests.check.written import written


def told(finding: Finding) -> list[str]:
    return [f"{step.text}: {step.then}" if step.then else step.text for step in finding.witness]


def scenario(name: str, twin: str, **params: int) -> Callable[[], Schedule]:
    return lambda: find_scenario(name).build(params, twin=twin)


def both_wait_first() -> Schedule:
    """Two warps that each wait for what the other does after its own wait; a third idles along."""
    k = ScheduleBuilder("both_wait_first")
    a, b = k.mbarriers("a", count=1), k.mbarriers("b", count=1)
    idle = k.mbarriers("idle", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(a, b, idle)
    k.bar.sync()
    with k.specialize():
        for name, mine, other in (("left", a, b), ("right", b, a)):
            with k.role(name, warps=1), k.elect():
                k.mbarrier.wait(mine[0], 0)
                k.mbarrier.arrive(other[0])
        with k.role("third", warps=1), k.elect(), k.loop(3):
            k.mbarrier.arrive(idle[0])
    return k.finish()


def lapped() -> Schedule:
    """One waits for the first phase of three."""
    k = ScheduleBuilder("lapped")
    a = k.mbarriers("a", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(a)
    k.bar.sync()
    with k.specialize():
        with k.role("waits", warps=1), k.elect():
            k.mbarrier.wait(a[0], 0)
        with k.role("arrives", warps=1), k.elect(), k.loop(4):
            k.mbarrier.arrive(a[0])
    return k.finish()


def too_many() -> Schedule:
    """Three arrivals where two fit, among others that do not matter."""
    k = ScheduleBuilder("too_many")
    a = k.mbarriers("a", count=2)
    x = written(k, "x", registers=1)
    cell = k.smem_tile("cell", (3, 32), "f32")[0]
    with k.elect_thread():
        k.mbarrier.init_all(a)
    k.bar.sync()
    with k.specialize():
        for i in range(3):
            with k.role(f"r{i}", warps=1):
                k.mem.st_shared(cell.box((i, k.lane), (1, 1)), x.all)
                with k.elect():
                    k.mbarrier.arrive(a[0], 2 if i == 2 else 1)
    return k.finish()


def left() -> Schedule:
    """A store that nobody waits for, among warps that go on without it."""
    k = ScheduleBuilder("left")
    out = k.global_tensor("out", (4, 32), "f32", output=True)
    rows, tile = k.tensor_map("rows", out, box=(1, 32)), k.smem_tile("tile", (1, 32), "f32")
    idle = k.mbarriers("idle", count=1)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(idle)
    k.bar.sync()
    with k.specialize():
        with k.role("stores", warps=1):
            k.mem.st_shared(tile[0].box((0, k.lane), (1, 1)), x.all)
            k.fence.proxy_async("shared")
            k.bar.warp_sync()
            with k.elect():
                k.tma.store(rows, (0, 0), tile[0])
                k.bulk.commit_group()
        with k.role("other", warps=1), k.elect(), k.loop(3) as i:
            k.mbarrier.arrive(idle[0])
            k.mbarrier.wait(idle[0], i % 2)
    return k.finish()


FAMILIES = {
    "race": scenario("tma_ring", "early_release", tiles=8, stages=2, consumers=2),
    "group": scenario("cp_async_multistage", "commit_if_copied", tiles=6, ctas=1, tile_bytes=2048),
    "tile": scenario("tma_ring", "wrong_tile", tiles=4),
    "deadlock": both_wait_first,
    "phase": lapped,
    "count": too_many,
    "exit": left,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_of_a_witness_can_go(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Shortening] = []

    class Kept(Shortening):
        def witness(self):  # type: ignore[no-untyped-def]
            kept.append(self)
            return super().witness()

    monkeypatch.setattr(cta, "Shortening", Kept)
    result = check(FAMILIES[family](), witnesses=True)
    assert len(kept) == len(result.findings) > 0
    for shortening in kept:
        found: Bounds = shortening.bounds
        assert shortening.log
        assert shortening.holds(found)
        assert not any(map(shortening.holds, shortening.shorter()))


def steps_of(schedule: Schedule, rule: Rule) -> list[str]:
    (finding,) = check(schedule, witnesses=True).findings
    assert finding.rule is rule
    return told(finding)


def test_who_is_not_part_of_a_deadlock_does_nothing() -> None:
    assert steps_of(both_wait_first(), Rule.DEADLOCK) == [
        "left warp 0, elected lane: mbarrier.init a[0] count 1",
        "left warp 0, elected lane: mbarrier.init b[0] count 1",
        "left warp 0, elected lane: mbarrier.init idle[0] count 1",
        "left warp 0: block barrier",
        "right warp 0: block barrier",
        "third warp 0: block barrier",
        "left warp 0, elected lane: mbarrier wait a[0] parity 0",
        "right warp 0, elected lane: mbarrier wait b[0] parity 0",
    ]


def test_a_lapped_waiter_needs_two_phases() -> None:
    assert steps_of(lapped(), Rule.LAPPED_WAITER) == [
        "waits warp 0, elected lane: mbarrier.init a[0] count 1",
        "waits warp 0: block barrier",
        "arrives warp 0: block barrier",
        "arrives warp 0, elected lane [0]: mbarrier.arrive a[0]",
        "arrives warp 0, elected lane [1]: mbarrier.arrive a[0]",
        "waits warp 0, elected lane: mbarrier wait a[0] parity 0",
    ]


def test_an_overflow_needs_no_more_than_fills_the_barrier() -> None:
    assert steps_of(too_many(), Rule.ARRIVAL_OVERFLOW) == [
        "r0 warp 0, elected lane: mbarrier.init a[0] count 2",
        "r0 warp 0: block barrier",
        "r1 warp 0: block barrier",
        "r2 warp 0: block barrier",
        "r0 warp 0, elected lane: mbarrier.arrive a[0]",
        "r2 warp 0, elected lane: mbarrier.arrive a[0] x2",
    ]


def test_what_is_left_at_the_end_is_begun_by_its_warp() -> None:
    """The others are at the block barrier; how they go on from there is no matter."""
    assert steps_of(left(), Rule.OUTSTANDING_AT_EXIT) == [
        "stores warp 0, elected lane: mbarrier.init idle[0] count 1",
        "stores warp 0: block barrier",
        "other warp 0: block barrier",
        "stores warp 0: fence.proxy.async (shared)",
        "stores warp 0, elected lane: TMA store tile -> out",
    ]


def test_a_copy_stands_before_its_landing() -> None:
    (finding,) = check(FAMILIES["tile"](), witnesses=True).findings
    assert told(finding)[-4:] == [
        "producer warp 0, elected lane [0]: TMA load source -> ring on full[0]",
        "producer warp 0, elected lane [0]: TMA load source -> ring on full[0]: the copy lands",
        "consumer warp 0 [0]: mbarrier wait full[0] parity 0",
        "consumer warp 0 [0]: compute tile_hash",
    ]


def test_lanes_that_are_held_have_done_nothing_after_their_access() -> None:
    """Without bar.warp_sync the elected lane may store the tile that the others still write."""
    k = ScheduleBuilder("held")
    out = k.global_tensor("out", (1, 32), "f32", output=True)
    rows, tile = k.tensor_map("rows", out, box=(1, 32)), k.smem_tile("tile", (1, 32), "f32")
    x = written(k, "x", registers=1)
    k.mem.st_shared(tile[0].box((0, k.lane), (1, 1)), x.all)
    k.fence.proxy_async("shared")
    with k.elect():
        k.tma.store(rows, (0, 0), tile[0])
        k.bulk.commit_group()
        k.bulk.wait_group(0)
    assert steps_of(k.finish(), Rule.READ_BEFORE_ARRIVAL) == [
        "block warp 0, elected lane: fence.proxy.async (shared)",
        "block warp 0, other lanes: st.shared x -> tile",
        "block warp 0, elected lane: TMA store tile -> out",
    ]
