"""Barriers of the block and named ones: rounds, counts, cycles with other barriers."""

from __future__ import annotations

import pytest

from asyncsim import AccessMode, ComputeDef, ComputeOperand, ScheduleBuilder, Work
from asyncsim.check import check
from asyncsim.evaluate import evaluate
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.cases.parts import Case, found
from tests.check.written import written, written_tile

TAIL = ComputeDef(
    name="tail",
    operands=(ComputeOperand(name="x", kind="fragment", mode=AccessMode.READ),),
    work=lambda: Work(alu=4),
    cuda="",
    numpy=lambda **kw: None,
)


def crossed(*, reverse: bool) -> Schedule:
    """Each warp meets at a named barrier and with the cluster, in the same order or in reverse."""
    k = ScheduleBuilder("crossed")
    k.grid(2)
    k.cluster(2)
    meet = k.named_barrier("meet", id=2, threads=64)
    with k.specialize():
        with k.role("a", warps=1):
            k.bar.sync(meet)
            k.cluster_barrier.sync()
        with k.role("b", warps=1):
            if reverse:
                k.cluster_barrier.sync()
            k.bar.sync(meet)
            if not reverse:
                k.cluster_barrier.sync()
    return k.finish()


def test_two_barriers_in_opposite_order() -> None:
    assert found(crossed(reverse=False)) == []
    assert found(crossed(reverse=True)) == ["DEADLOCK"]


def arrivals(*, a: int, b: int, syncs: int, threads: int = 64) -> Schedule:
    """Warps that only arrive, so many times, and one that syncs so many times."""
    k = ScheduleBuilder("arrivals")
    meet = k.named_barrier("meet", id=1, threads=threads)
    with k.specialize():
        for name, times in (("a", a), ("b", b)):
            with k.role(name, warps=1):
                for _ in range(times):
                    k.bar.arrive(meet)
        with k.role("c", warps=1):
            for _ in range(syncs):
                k.bar.sync(meet)
    return k.finish()


def test_arrivals_that_nobody_waits_for() -> None:
    """Two arrivals make a whole round that nobody syncs on; one arrival leaves a round open."""
    assert found(arrivals(a=1, b=0, syncs=1)) == []
    assert found(arrivals(a=1, b=1, syncs=0)) == ["NAMED_BARRIER_COUNT warning"]
    assert found(arrivals(a=1, b=0, syncs=0)) == ["NAMED_BARRIER_COUNT warning"]


def test_a_warp_that_arrives_again_before_its_round_is_known_to_be_over() -> None:
    assert found(arrivals(a=2, b=0, syncs=2)) == ["NAMED_BARRIER_OVERRUN"]


def counts(*, first: int, second: int) -> Schedule:
    k = ScheduleBuilder("counts")
    bars = [k.named_barrier(f"b{n}", id=1, threads=n) for n in dict.fromkeys((first, second))]
    with k.specialize():
        for name, bar in (("a", bars[0]), ("b", bars[-1])):
            with k.role(name, warps=1):
                k.bar.sync(bar)
        with k.role("rest", warps=2):
            k.bar.warp_sync()
    return k.finish()


def test_participants_of_a_round_agree_on_its_count() -> None:
    assert found(counts(first=64, second=64)) == []
    assert found(counts(first=96, second=128)) == ["NAMED_BARRIER_COUNT"]


def same_barrier(*, warps: int, rounds: int, sites: int) -> Schedule:
    """Block barriers of one id, from several places in the text, in loops; data through each."""
    k = ScheduleBuilder("same")
    k.block(warps)
    cells = k.smem_tile("cells", (1, 32 * warps), "f32")
    x = written(k, "x", registers=1)
    me = k.thread_in_role
    with k.loop(rounds):
        for _ in range(sites):
            k.mem.st_shared(cells[0].box((0, me), (1, 1)), x.all)
            k.bar.sync()
            k.mem.ld_shared(x.all, cells[0].box((0, 32 * warps - 1 - me), (1, 1)))
            k.bar.sync()
    return k.finish()


@pytest.mark.parametrize(("warps", "rounds", "sites"), [(2, 3, 2), (32, 2, 1), (3, 4, 3)])
def test_one_barrier_from_several_places(warps: int, rounds: int, sites: int) -> None:
    assert found(same_barrier(warps=warps, rounds=rounds, sites=sites)) == []


def per_warpgroup(*, ids: tuple[int, int, int]) -> Schedule:
    """Three warpgroups, each with its own barrier of 128, skewed by their trip counts."""
    k = ScheduleBuilder("per_warpgroup")
    bars = [k.named_barrier(f"b{i}", id=id, threads=128) for i, id in enumerate(ids)]
    with k.specialize():
        for g, bar in enumerate(bars):
            with k.role(f"g{g}", warps=4), k.loop(2 + g):
                k.bar.sync(bar)
    return k.finish()


def test_barriers_of_warpgroups_that_run_apart() -> None:
    assert found(per_warpgroup(ids=(6, 7, 8))) == []
    assert found(per_warpgroup(ids=(6, 7, 7))) != []


def skewed(*, rounds: int = 4) -> Schedule:
    """Producer and consumer warps a round apart: arrive on one barrier, sync on the other."""
    k = ScheduleBuilder("skewed")
    full = k.named_barrier("full", id=1, threads=64)
    empty = k.named_barrier("empty", id=2, threads=64)
    cell, x = k.smem_tile("cell", (1, 32), "f32"), written(k, "x", registers=1)
    with k.specialize():
        with k.role("producer", warps=1), k.loop(rounds):
            k.bar.sync(empty)
            k.mem.st_shared(cell[0].box((0, k.lane), (1, 1)), x.all)
            k.bar.arrive(full)
        with k.role("consumer", warps=1):
            k.bar.arrive(empty)
            with k.loop(rounds) as i:
                k.bar.sync(full)
                k.mem.ld_shared(x.all, cell[0].box((0, 31 - k.lane), (1, 1)))
                with k.when(i + 1 < rounds):
                    k.bar.arrive(empty)
    return k.finish()


def test_a_ring_of_named_barriers() -> None:
    assert found(skewed()) == []


def three_actors(*, distances: tuple[int, int, int], rounds: int = 25, depth: int = 6) -> Schedule:
    """A cycle of groups of 2, 2 and 8 warps: A -> B -> C -> A, each ahead by a distance."""
    k = ScheduleBuilder("three_actors")
    ab = k.mbarriers("ab", count=1, stages=depth)
    bc = k.mbarriers("bc", count=32, stages=depth)
    ca = k.mbarriers("ca", count=64, stages=depth)
    groups = [k.named_barrier(f"g{i}", id=1 + i, threads=32 * w) for i, w in enumerate((2, 2, 8))]
    with k.elect_thread():
        k.mbarrier.init_all(ab, bc, ca)
    k.bar.sync()

    def wait(bars, i, distance: int) -> None:  # type: ignore[no-untyped-def]
        with k.when(i >= distance):
            g = i - distance
            k.mbarrier.wait(bars[g % depth], g // depth % 2)

    with k.specialize():
        with k.role("a", warps=2), k.loop(rounds) as i:
            wait(ca, i, distances[2])
            k.bar.sync(groups[0])
            with k.elect_thread():
                k.mbarrier.arrive(ab[i % depth])
        with k.role("b", warps=2), k.loop(rounds) as i:
            wait(ab, i, distances[0] - 1)
            k.bar.sync(groups[1])
            with k.when(k.warp_in_role == 0):
                k.mbarrier.arrive(bc[i % depth])
        with k.role("c", warps=8), k.loop(rounds) as i:
            wait(bc, i, distances[1] - 2)
            k.bar.sync(groups[2])
            with k.when(k.warp_in_role < 2):
                k.mbarrier.arrive(ca[i % depth])
    return k.finish()


def test_a_cycle_of_three_groups() -> None:
    assert found(three_actors(distances=(1, 2, 3))) == []


def test_a_wait_for_the_parity_that_passes_once() -> None:
    """Parity 1 on a fresh barrier passes, unless the arrival came first."""
    c = Case()
    bar = c.bars("bar")
    c.start()
    with c.k.specialize():
        with c.thread("waits"):
            c.k.mbarrier.wait(bar[0], 1)
        with c.thread("arrives"):
            c.k.mbarrier.arrive(bar[0])
    assert found(c.k.finish()) == ["LAPPED_WAITER"]


def held_up(*, arrivals: int, copy: bool) -> list[str]:
    """All roles wait; a barrier may lack an arrival, or only bytes that are on their way."""
    c = Case()
    k = c.k
    bars = c.bars("bars", count=2, stages=2)
    data = c.bars("data")
    c.start()
    with k.specialize():
        with c.thread("a"):
            if copy:
                c.load(data[0], 0)
                k.mbarrier.wait(data[0], 0)
            k.mbarrier.arrive(bars[0])
            k.mbarrier.wait(bars[1], 0)
        with c.thread("b"):
            for _ in range(arrivals):
                k.mbarrier.arrive(bars[1], 2)
            if copy:
                k.mbarrier.wait(data[0], 0)
            k.mbarrier.arrive(bars[0])
            k.mbarrier.wait(bars[0], 0)
    return found(k.finish())


def test_all_wait_and_a_copy_lets_them_go_on() -> None:
    assert held_up(arrivals=1, copy=True) == []
    assert held_up(arrivals=1, copy=False) == []
    assert held_up(arrivals=0, copy=False) == ["DEADLOCK"]


def padded(*, leaves: bool) -> Schedule:
    """Three partitions meet at a barrier of three, and one of them returns instead."""
    k = ScheduleBuilder("padded")
    meet = k.mbarriers("meet", count=3)
    with k.elect_thread():
        k.mbarrier.init_all(meet)
    k.bar.sync()
    with k.specialize():
        for i in range(3):
            with k.role(f"p{i}", warps=1), k.elect(), k.when(int(not (leaves and i == 2))):
                k.mbarrier.arrive(meet[0])
                k.mbarrier.wait(meet[0], 0)
    return k.finish()


def test_a_partition_that_returns() -> None:
    assert found(padded(leaves=False)) == []
    assert found(padded(leaves=True)) == ["ARRIVAL_SHORTFALL"]


def under(*, arrivals: int) -> Schedule:
    """Two threads, two barriers of two; each arrives so many times on the other's, then waits."""
    c = Case()
    k = c.k
    bars = c.bars("bars", count=2, stages=2)
    c.start()
    with k.specialize():
        for i in range(2):
            with c.thread(f"t{i}"):
                k.mbarrier.arrive(bars[1 - i], arrivals)
                k.mbarrier.wait(bars[i], 0)
    return k.finish()


def test_one_arrival_where_two_are_expected() -> None:
    assert found(under(arrivals=2)) == []
    assert found(under(arrivals=1)) == ["ARRIVAL_SHORTFALL"]


def leavers(*, ends: int, stays: int, count: bool = False) -> Schedule:
    """A warp meets the others a few times and ends; they meet more often."""
    k = ScheduleBuilder("leavers")
    meet = k.named_barrier("meet", id=1, threads=96) if count else None
    with k.specialize():
        for name, warps, times in (("ends", 1, ends), ("stays", 2, stays)):
            with k.role(name, warps=warps):
                for _ in range(times):
                    k.bar.sync(meet)
    return k.finish()


@pytest.mark.parametrize(("ends", "stays"), [(0, 1), (0, 3), (1, 2), (2, 4), (3, 1), (2, 2)])
def test_a_block_barrier_does_not_wait_for_warps_that_have_ended(ends: int, stays: int) -> None:
    """PTX ISA, exit. A barrier with a count waits for ever."""
    result = check(leavers(ends=ends, stays=stays))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())
    evaluate(leavers(ends=ends, stays=stays), {})
    counted = [] if ends == stays else ["DEADLOCK"]
    assert found(leavers(ends=ends, stays=stays, count=True)) == counted


@pytest.mark.parametrize("ends", [0, 1, 2])
def test_the_end_of_a_warp_counts_once(ends: int) -> None:
    """Three warps meet; then one ends, one stores what the third one has read."""
    k = ScheduleBuilder("three")
    k.block(3)
    tile, x = k.smem_tile("tile", (1, 32), "f32"), written(k, "x", registers=1)
    mine = written_tile(k, tile)[0].box((0, k.lane), (1, 1))
    k.bar.sync()
    with k.when(k.warp_in_role == (ends + 1) % 3):
        k.bar.sync()
        k.mem.st_shared(mine, x.all)
    with k.when(k.warp_in_role == (ends + 2) % 3):
        k.mem.ld_shared(x.all, mine)
        k.bar.sync()
    result = check(k.finish())
    assert (result.verdict, result.findings) == (Verdict.CLEAN, ())


def last_words(*, meets: bool) -> Schedule:
    """A warp writes and ends; the other one reads after the block barrier."""
    k = ScheduleBuilder("last_words")
    tile, x = k.smem_tile("tile", (1, 32), "f32"), written(k, "x", registers=1)
    with k.specialize():
        with k.role("writes", warps=1):
            k.mem.st_shared(tile[0].box((0, k.lane), (1, 1)), x.all)
            if meets:
                k.bar.sync()
        with k.role("reads", warps=1):
            k.bar.sync()
            k.mem.ld_shared(x.all, tile[0].box((0, 31 - k.lane), (1, 1)))
    return k.finish()


def test_the_end_of_a_warp_orders_no_memory() -> None:
    assert found(last_words(meets=True)) == []
    assert found(last_words(meets=False)) == ["READ_BEFORE_ARRIVAL"]


def searched(*, ends: bool) -> Schedule:
    """A waiter that sees phase 0 or 2 is left to the search, and meets the others afterwards."""
    k = ScheduleBuilder("searched")
    bars, x = k.mbarriers("bar", count=1), written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.bar.sync()
    with k.specialize():
        with k.role("ahead", warps=1):
            with k.elect(), k.loop(3):
                k.mbarrier.arrive(bars[0])
            k.mem.compute(TAIL, x.all)
        with k.role("looks", warps=1):
            with k.elect():
                k.mbarrier.wait(bars[0], 0)
            k.bar.sync()
        with k.role("meets", warps=1):
            k.bar.sync()
            if not ends:
                k.bar.sync()
    return k.finish()


def test_the_search_knows_warps_that_have_ended() -> None:
    for ends in (True, False):
        result = check(searched(ends=ends))
        assert (result.verdict, result.certified) == (Verdict.CLEAN, False)
        assert result.stats["states"] > 0
