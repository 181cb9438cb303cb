"""Tiles that a counter or the hardware hands out: verdicts for every assignment to clusters."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from tests.check.test_clc import Persistent, persistent
from tests.check.written import written

ROW = (1, 32)


@dataclass(frozen=True, kw_only=True)
class Atomic:
    """A warp takes tiles from a counter ahead; another one loads each, a third one stores it."""

    tiles: int = 4
    slots: int = 2
    release: bool = True  # a slot is free when all have read it
    last: bool = True  # "no more" is read by everybody
    meant: int = 0  # how many tiles further on the data is that the reader means
    overlap: bool = False  # a tile writes half of the next one's row
    depends: bool = False  # a tile decides which stage it uses


def atomic(form: Atomic) -> Schedule:
    k = ScheduleBuilder("atomic")
    k.grid(2)
    tiles = k.arg("tiles", form.tiles)
    counter = k.global_tensor("counter", (1,), "u32", output=True)
    source = k.global_tensor("source", (form.tiles + 1, 32), "u32")
    out = k.global_tensor("out", (form.tiles + 1, 32), "u32", output=True)
    source_map = k.tensor_map("source_map", source, box=ROW)
    slot = k.smem_tile("slot", (1, 1), "u32", stages=form.slots)
    data = k.smem_tile("data", ROW, "u32", stages=2)
    told = k.mbarriers("told", count=1, stages=form.slots)
    read = k.mbarriers("read", count=2, stages=form.slots)
    full = k.mbarriers("full", count=1, stages=2)
    empty = k.mbarriers("empty", count=1, stages=2)
    ticket, x = (
        written(k, "ticket", registers=1, dtype="u32"),
        written(k, "x", registers=1, dtype="u32"),
    )
    with k.elect_thread():
        k.mbarrier.init_all(told, read, full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()

    def ask(state) -> None:  # type: ignore[no-untyped-def]
        if form.release:
            k.mbarrier.wait(read[state.stage], state.phase)
        k.mem.atom_add(ticket.all, counter.box((0,), (1,)))
        k.mem.st_shared(slot[state.stage], ticket.all)
        k.mbarrier.arrive(told[state.stage])
        state.advance()

    def hear(state) -> None:  # type: ignore[no-untyped-def]
        k.mbarrier.wait(told[state.stage], state.phase)
        k.mem.ld_shared(ticket.all, slot[state.stage])
        k.bar.warp_sync()
        with k.elect():
            k.mbarrier.arrive(read[state.stage])
        state.advance()

    with k.specialize():
        with k.role("scheduler", warps=1), k.elect():
            state = k.pipeline_state(form.slots, producer=True)
            with k.loop(tiles, assigned=True):
                ask(state)
            ask(state)
        with k.role("loads", warps=1):
            tile_state, state = k.pipeline_state(form.slots), k.pipeline_state(2, producer=True)
            with k.loop(tiles, assigned=True) as tile:
                hear(tile_state)
                with k.elect():
                    k.mbarrier.wait(empty[state.stage], state.phase)
                    k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                    where = data[state.stage]
                    k.tma.load(where, source_map, (tile, 0), full[state.stage])
                state.advance()
            hear(tile_state)
        with k.role("stores", warps=1):
            tile_state, state = k.pipeline_state(form.slots), k.pipeline_state(2)
            with k.loop(tiles, assigned=True) as tile:
                hear(tile_state)
                k.mbarrier.wait(full[state.stage], state.phase)
                stage = tile % 2 if form.depends else state.stage
                meant = source.box((tile + form.meant, 0), ROW)
                k.mem.ld_shared(x.all, data[stage].expecting(meant).box((0, k.lane), (1, 1)))
                k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(empty[state.stage])
                column = k.lane % 16 if form.overlap else k.lane
                row = tile + (k.lane >= 16) if form.overlap else tile
                k.mem.st_global(out.box((row, column), (1, 1)), x.all)
                state.advance()
            if form.last:
                hear(tile_state)
    return k.finish()


@pytest.mark.parametrize("tiles", [0, 1, 2, 4])
@pytest.mark.parametrize("slots", [1, 2])
def test_every_assignment_of_few_tiles(tiles: int, slots: int) -> None:
    result = check(atomic(Atomic(tiles=tiles, slots=slots)))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())
    assert result.stats["assignments"] == 1 + min(2**tiles, 2 * (tiles + 1))


@pytest.mark.parametrize("tiles", [9, 64, 4096, 2**30])
def test_every_assignment_of_many_tiles(tiles: int) -> None:
    """Sets of each size by two of them; what is proven of larger trip counts ends the list."""
    result = check(atomic(Atomic(tiles=tiles)))
    assert (result.verdict, result.findings) == (Verdict.CLEAN, ())
    assert result.stats["assignments"] <= 1 + 2 * 33


def test_more_tiles_than_can_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["asyncsim.check.assignments"], "MAX_COUNTS", 2)
    result = check(atomic(Atomic(tiles=9)))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.note == "clusters that are given more than 2 of 9 tiles"


def errors(form: Atomic) -> set[Rule]:
    result = check(atomic(form))
    assert result.verdict is Verdict.FINDINGS, result.note
    return {f.rule for f in result.findings if f.severity.value == "error"}


def test_a_slot_that_is_told_again_before_it_was_read() -> None:
    found = check(atomic(Atomic(slots=1, release=False))).findings
    assert found[0].rule is Rule.READ_BEFORE_ARRIVAL
    assert found[0].detail[-1] == "where 4 clusters are given one tile each"


def test_one_warp_that_does_not_hear_of_the_end() -> None:
    """With one slot, and an even number of tiles, nobody waits for it: the others are the ones."""
    assert check(atomic(Atomic(last=False))).verdict is Verdict.CLEAN  # a last arrival, unread


@pytest.mark.parametrize("tiles", [3, 8])
def test_data_of_the_next_tile_is_that_of_another_cluster(tiles: int) -> None:
    assert errors(Atomic(tiles=tiles, meant=1)) == {Rule.WRONG_TILE}


@pytest.mark.parametrize("tiles", [3, 8])
def test_tiles_that_overlap(tiles: int) -> None:
    assert errors(Atomic(tiles=tiles, overlap=True)) == {Rule.GLOBAL_WRITE_OVERLAP}


def test_a_tile_that_decides_a_stage() -> None:
    """The set (1) uses stage 1 first. Of many tiles only small sets are executed."""
    (found,) = check(atomic(Atomic(tiles=2, depends=True))).findings
    assert found.rule is Rule.READ_BEFORE_ARRIVAL
    assert found.detail[-1] == "where 2 clusters are given one tile each"


def decided(*, tiles: int) -> Schedule:
    """Odd tiles take another way: of many tiles only the first few are executed in every set."""
    k = ScheduleBuilder("decided")
    k.block(1)
    out = k.global_tensor("out", (tiles, 32), "u32", output=True)
    x = written(k, "x", registers=1, dtype="u32")
    with k.loop(tiles, assigned=True) as tile:
        with k.when(tile % 2 == 1):
            k.bar.warp_sync()
        k.mem.st_global(out.box((tile, k.lane), (1, 1)), x.all)
    return k.finish()


def test_a_tile_that_decides_what_is_executed() -> None:
    assert check(decided(tiles=6)).verdict is Verdict.CLEAN
    result = check(decided(tiles=7))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.note == (
        "clusters that are given tiles beyond the first 6 of 7: a tile decides more than where "
        "data lies, or not all moves alike with it"
    )


def rounds(form: str, *, tiles: int, rows: int = 64) -> Schedule:
    """What a cluster does for a tile depends on how many came before it, in one place."""
    k = ScheduleBuilder("rounds")
    k.block(1)
    k.grid(2)
    source = k.global_tensor("source", (rows, 32), "u32")
    out = k.global_tensor("out", (64, 32), "u32", output=True)
    x = written(k, "x", registers=1, dtype="u32")
    before = k.var("before", 0)
    known = k.var("known", 0)

    def store(row) -> None:  # type: ignore[no-untyped-def]
        k.mem.st_global(out.box((row, k.lane), (1, 1)), x.all)

    with k.loop(tiles, assigned=True) as tile:
        if form == "place":
            store(tile + before)
        elif form == "condition":
            with k.when(before == 0):
                store(tile)
            with k.when(before != 0):
                store(tile + 1)
        elif form == "another variable":
            known.set(before * 2)
            store(tile + known)
        elif form == "bounds":
            k.mem.ld_global(x.all, source.box((before, k.lane), (1, 1)))
        elif form == "sometimes":
            with k.when(before == 1):
                k.mem.ld_global(x.all, source.box((tile + 1, k.lane), (1, 1)))
        else:
            here = k.var("here", tile * 1)
            here.set(here + 1)
            store(here)
        before.set(before + 1)
    if form == "after":
        with k.when(before >= 2):
            store(0)
    return k.finish()


@pytest.mark.parametrize("tiles", [3, 5, 12])
@pytest.mark.parametrize("form", ["place", "condition", "another variable", "after"])
def test_tiles_that_meet_only_after_others(form: str, tiles: int) -> None:
    """The tile 1 of a cluster that had 0 before lies where the tile 2 of another one does."""
    result = check(rounds(form, tiles=tiles))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.note.startswith("StGlobal of out at test_assignments.py:")
    assert result.note.endswith(" depends on the tiles that its cluster was given before")


@pytest.mark.parametrize("form", ["bounds", "sometimes"])
def test_what_leaves_a_tensor_only_after_others(form: str) -> None:
    """Of few tiles all sets are executed, and show it."""
    (found,) = check(rounds(form, tiles=4, rows=3 if form == "bounds" else 4)).findings
    assert found.rule is Rule.OUT_OF_BOUNDS
    assert check(rounds(form, tiles=4, rows=5)).verdict is Verdict.CLEAN
    result = check(rounds(form, tiles=20, rows=20))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.note.startswith("LdGlobal of source at test_assignments.py:")


def test_a_variable_of_one_tile_says_nothing_of_others() -> None:
    assert check(rounds("fresh", tiles=4)).verdict is Verdict.CLEAN
    assert check(rounds("place", tiles=1)).verdict is Verdict.CLEAN


@pytest.mark.parametrize("tiles", [0, 1])
def test_clusters_that_are_given_no_tile(tiles: int) -> None:
    """They do what stands outside the loop, too."""

    def outside(clusters: int) -> Schedule:
        k = ScheduleBuilder("outside")
        k.block(1)
        k.grid(clusters)
        out = k.global_tensor("out", (2, 32), "u32", output=True)
        x = written(k, "x", registers=1, dtype="u32")
        with k.loop(tiles, assigned=True) as tile:
            k.mem.st_global(out.box((tile, k.lane), (1, 1)), x.all)
        k.mem.st_global(out.box((1, k.lane), (1, 1)), x.all)
        return k.finish()

    assert check(outside(1)).verdict is Verdict.CLEAN
    (found,) = check(outside(3)).findings
    assert found.rule is Rule.GLOBAL_WRITE_OVERLAP
    assert found.detail[-1] == f"where {tiles or 'none'} of 2 clusters is given a tile"


@pytest.mark.parametrize("tiles", [3, 12])
@pytest.mark.parametrize("peers", [1, 2])
def test_cluster_launch_control(tiles: int, peers: int) -> None:
    result = check(persistent(Persistent(tiles=tiles, peers=peers, assigned=True)))
    assert (result.verdict, result.findings) == (Verdict.CLEAN, ())
    broken = Persistent(tiles=tiles, peers=peers, assigned=True, wait=False)
    assert check(persistent(broken)).verdict is Verdict.FINDINGS


def refused(build) -> tuple[str, str]:  # type: ignore[no-untyped-def]
    k = ScheduleBuilder("refused")
    k.block(1)
    with pytest.raises(ScheduleError) as error:
        build(k)
        k.finish()
    return error.value.message, error.value.fix


def test_what_loops_over_tiles_are_refused() -> None:
    def different(k):  # type: ignore[no-untyped-def]
        for n in (4, 5):
            with k.loop(n, assigned=True):
                k.bar.warp_sync()

    def inside(k):  # type: ignore[no-untyped-def]
        with k.loop(2), k.loop(4, assigned=True):
            k.bar.warp_sync()

    def by_block(k):  # type: ignore[no-untyped-def]
        with k.loop(4, assigned=True), k.when(k.block_idx == 0):
            k.bar.warp_sync()

    def by_warp(k):  # type: ignore[no-untyped-def]
        with k.loop(4 + k.warp_in_role, assigned=True):
            k.bar.warp_sync()

    assert refused(different) == (
        "loops over different numbers of tiles that are handed out",
        "give all loops with assigned=True the same trip count",
    )
    assert refused(inside) == (
        "a loop over tiles that are handed out inside another loop",
        "each warp goes through them once",
    )
    assert refused(by_block) == (
        "the block index beside tiles that are handed out",
        "use the tile, or k.cta_rank in a cluster",
    )
    assert refused(by_warp) == (
        "the number of tiles that are handed out differs from thread to thread",
        "make it of numbers and arguments",
    )


def test_what_counters_are_refused() -> None:
    def counter(k, *, dtype="u32", output=True, shape=(1,), lanes=False, load=False):  # type: ignore[no-untyped-def]
        c = k.global_tensor("c", (4,), dtype, output=output)
        x = k.fragment("x", registers=1, dtype=dtype)
        if lanes:
            k.mem.atom_add(x.all, c.box((0,), shape))
        else:
            with k.elect():
                k.mem.atom_add(x.all, c.box((0,), shape))
        if load:
            k.mem.ld_global(x.all, c.box((0,), (1,)))

    def said(**how):  # type: ignore[no-untyped-def]
        return refused(lambda k: counter(k, **how))[0]

    assert said(lanes=True) == "atom.global.add by several lanes"
    assert said(shape=(2,)) == "atom.global.add of several elements"
    assert said(dtype="f32") == "atom.global.add of f32"
    assert said(output=False) == "atom.global.add to 'c', an input"
    assert said(load=True) == "LdGlobal of 'c', to which atom.global.add adds"
