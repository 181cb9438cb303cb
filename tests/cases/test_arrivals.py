"""Arrival counts, named barriers, roles that disagree, roles that wait for each other."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder, ScheduleError
from asyncsim.ir.schedule import Schedule
from tests.cases.parts import Case, found
from tests.check.written import written


def loaders(*, threads: int, warps: int = 4, rounds: int = 2) -> Schedule:
    """Load warps arrive on a named barrier, an epilogue warp syncs; the count is ``threads``."""
    k = ScheduleBuilder("loaders")
    ready = k.named_barrier("ready", id=1, threads=threads)
    back = k.named_barrier("back", id=2, threads=(warps + 1) * 32)
    with k.specialize():
        with k.role("load", warps=warps), k.loop(rounds):
            k.bar.arrive(ready)
            k.bar.sync(back)
        with k.role("epilogue", warps=1), k.loop(rounds):
            k.bar.sync(ready)
            k.bar.sync(back)
    return k.finish()


def test_a_named_barrier_for_fewer_warps_than_arrive() -> None:
    assert found(loaders(threads=160)) == []
    assert found(loaders(threads=64)) == ["DEADLOCK"]
    assert found(loaders(threads=96)) == ["DEADLOCK"]


def released_to(*, count: int, both: bool, tiles: int = 4) -> Schedule:
    """Rank 0 copies every tile to both CTAs of a pair; consumers release to it, or each to itself.

    ``count``: arrivals that the empty barriers expect.
    """
    k = ScheduleBuilder("released")
    k.grid(2)
    k.cluster(2)
    source = k.global_tensor("source", (tiles, 32), "f32")
    row = k.tensor_map("row", source, box=(1, 32))
    slot = k.smem_tile("slot", (1, 32), "f32")
    full, empty = k.mbarriers("full", count=1), k.mbarriers("empty", count=count)
    x = written(k, "x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.cluster_barrier.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            with k.loop(tiles) as t:
                k.mbarrier.wait(full[0], t & 1)
                k.mem.ld_shared(x.all, slot[0].box((0, k.lane), (1, 1)))
                k.fence.proxy_async("shared::cluster")
                k.bar.warp_sync()
                with k.elect():
                    if both:
                        for rank in range(2):
                            at = k.mbarrier.at(empty[0], rank)
                            k.mbarrier.arrive(at, scope="cluster")
                    else:
                        k.mbarrier.arrive(empty[0], scope="cluster")
            k.cluster_barrier.sync()
        with k.role("producer", warps=1):
            with k.elect(), k.loop(tiles) as t:
                k.mbarrier.wait(empty[0], (t & 1) ^ 1, scope="cluster")
                k.mbarrier.arrive_expect_tx(full[0], 128)
                with k.when(k.cta_rank == 0):
                    k.tma.load(slot[0], row, (t, 0), full[0], multicast=3)
            k.cluster_barrier.sync()
    return k.finish()


def test_releases_to_both_ctas_of_a_multicast_slot_that_one_producer_fills() -> None:
    """Rank 1's empty barrier may count the releases of two rounds in another order, harmlessly."""
    assert found(released_to(count=2, both=True)) == []


def test_an_empty_barrier_of_a_multicast_slot_counts_both_ctas() -> None:
    assert found(released_to(count=2, both=False)) == ["ARRIVAL_SHORTFALL"]
    assert found(released_to(count=1, both=False)) == ["WRITE_BEFORE_RELEASE"]


def empty_tiles(*, sync: bool, tiles: int = 3) -> Schedule:
    """Compute warps have nothing to do for empty tiles: they only arrive, or they sync."""
    k = ScheduleBuilder("empty_tiles")
    epilogue = k.named_barrier("epilogue", id=1, threads=96)
    with k.specialize():
        with k.role("compute", warps=2), k.loop(tiles):
            if sync:
                k.bar.sync(epilogue)
            else:
                k.bar.arrive(epilogue)
        with k.role("load", warps=1), k.loop(tiles):
            k.bar.sync(epilogue)
    return k.finish()


def test_arrivals_for_empty_tiles_that_nobody_holds_back() -> None:
    assert found(empty_tiles(sync=True)) == []
    assert found(empty_tiles(sync=False)) == ["NAMED_BARRIER_OVERRUN"]


def two_purposes(*, ids: tuple[int, int], rounds: int = 2) -> Schedule:
    """Two warpgroups reduce on their own, each with a named barrier of 128 threads."""
    k = ScheduleBuilder("two_purposes")
    bars = [k.named_barrier(f"b{i}", id=id, threads=128) for i, id in enumerate(ids)]
    cell = k.smem_tile("cell", (1, 128), "f32", stages=2)
    x = written(k, "x", registers=1)
    with k.specialize():
        for g, bar in enumerate(bars):
            with k.role(f"g{g}", warps=4), k.loop(rounds):
                k.mem.st_shared(cell[g].box((0, k.thread_in_role), (1, 1)), x.all)
                k.bar.sync(bar)
                k.mem.ld_shared(x.all, cell[g].box((0, 127 - k.thread_in_role), (1, 1)))
                k.bar.sync(bar)
    return k.finish()


def test_one_named_barrier_for_two_purposes() -> None:
    assert found(two_purposes(ids=(1, 2))) == []
    assert found(two_purposes(ids=(1, 1))) == ["READ_BEFORE_ARRIVAL"]
    with pytest.raises(ScheduleError, match="id 16"):
        two_purposes(ids=(1, 16))


def whole_warp(*, count: int, elected: bool, rounds: int = 2) -> Schedule:
    """A warp arrives on a barrier of ``count``, by one lane or by all."""
    k = ScheduleBuilder("whole_warp")
    ready, back = k.mbarriers("ready", count=count), k.mbarriers("back", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(ready, back)
    k.bar.sync()
    with k.specialize():
        with k.role("sender", warps=1), k.loop(rounds) as i:
            k.mbarrier.wait(back[0], (i & 1) ^ 1)
            k.bar.warp_sync()
            if elected:
                with k.elect():
                    k.mbarrier.arrive(ready[0])
            else:
                k.mbarrier.arrive(ready[0])
        with k.role("receiver", warps=1), k.elect(), k.loop(rounds) as i:
            k.mbarrier.wait(ready[0], i & 1)
            k.mbarrier.arrive(back[0])
    return k.finish()


def test_all_lanes_arrive_where_one_is_counted() -> None:
    assert found(whole_warp(count=1, elected=True)) == []
    assert found(whole_warp(count=32, elected=False)) == []
    assert found(whole_warp(count=1, elected=False)) == ["ARRIVAL_OVERFLOW"]
    assert found(whole_warp(count=32, elected=True)) == ["ARRIVAL_SHORTFALL"]


def ragged(*, same: bool, rows: int = 3, outer: int = 2, inner: int = 2) -> Schedule:
    """A load that is left out beyond the last row; does the wait have the same condition?"""
    c = Case(cells=outer * inner)
    k = c.k
    full = c.bars("full", stages=outer * inner)
    c.start()
    with k.specialize():
        with c.thread("producer"), k.loop(outer, name="i") as i, k.loop(inner, name="g") as g:
            row = i * inner + g
            with k.when(row < rows):
                c.load(full[row], row, row)
        with c.thread("consumer"), k.loop(outer, name="i") as i, k.loop(inner, name="g") as g:
            row = i * inner + g
            with k.when(row < (rows if same else outer * inner)):
                k.mbarrier.wait(full[row], 0)
                c.read(row, row)
    return k.finish()


def test_a_load_with_a_condition_that_its_wait_has_not() -> None:
    assert found(ragged(same=True)) == []
    assert found(ragged(same=False)) == ["DEADLOCK"]


def released_late(*, early: bool, rounds: int = 3) -> Schedule:
    """K and Q have one slot each; the consumer wants the next Q before it releases K, or after."""
    c = Case(cells=2, rows=2 * 4)
    k = c.k
    full_k, empty_k = c.bars("full_k"), c.bars("empty_k")
    full_q, empty_q = c.bars("full_q"), c.bars("empty_q")
    c.start()
    with k.specialize():
        with c.thread("consumer"):
            k.mbarrier.wait(full_q[0], 0)
            with k.loop(rounds) as i:
                c.read(2 * i + 1, 1)
                c.release(empty_q[0])
                k.mbarrier.wait(full_k[0], i & 1)
                c.read(2 * i, 0)
                if early:
                    c.release(empty_k[0])
                with k.when(i + 1 < rounds):
                    k.mbarrier.wait(full_q[0], (i + 1) & 1)
                if not early:
                    c.release(empty_k[0])
        with c.thread("producer"), k.loop(rounds) as i:
            k.mbarrier.wait(empty_k[0], (i & 1) ^ 1)
            c.load(full_k[0], 2 * i, 0)
            k.mbarrier.wait(empty_q[0], (i & 1) ^ 1)
            c.load(full_q[0], 2 * i + 1, 1)
    return k.finish()


def test_a_slot_that_is_released_after_what_depends_on_it() -> None:
    assert found(released_late(early=True)) == []
    assert found(released_late(early=False)) == ["DEADLOCK"]


def decoded(*, skip: tuple[bool, bool], tiles: int = 4) -> Schedule:
    """Some tiles are not valid; each of the two roles may skip them or not."""
    c = Case()
    k = c.k
    full, empty = c.bars("full"), c.bars("empty")
    c.start()
    with k.specialize():
        with c.thread("compute"):
            state = k.pipeline_state(1)
            with k.loop(tiles) as t, k.when((t != 2) | (not skip[0])):
                k.mbarrier.wait(full[0], state.phase)
                c.read(t)
                c.release(empty[0])
                state.advance()
        with c.thread("copy"):
            state = k.pipeline_state(1, producer=True)
            with k.loop(tiles) as t, k.when((t != 2) | (not skip[1])):
                k.mbarrier.wait(empty[0], state.phase)
                c.load(full[0], t)
                state.advance()
    return k.finish()


def test_roles_that_disagree_on_the_number_of_steps() -> None:
    assert found(decoded(skip=(True, True))) == []
    assert found(decoded(skip=(False, False))) == []
    assert found(decoded(skip=(True, False))) == ["WRONG_TILE"]
    assert found(decoded(skip=(False, True))) == ["WRONG_TILE"]
