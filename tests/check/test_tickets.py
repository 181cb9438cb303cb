"""Loops over tiles whose next one is in a register, and tiles at rows and columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.check.stand_ins import with_stand_ins
from asyncsim.ir.expr import Const, Var, binary
from asyncsim.ir.given import given, substituted
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.text import schedule_text
from asyncsim.ir.validate import validate
from asyncsim.predict.result import Verdict
from tests.check.test_assignments import ROW, decided, refused
from tests.tile_schedules import cancelled, counted


@pytest.mark.parametrize("tiles", [4, 60])
@pytest.mark.parametrize("how", [counted, cancelled])
def test_rounds_that_take_the_next_tile_from_a_register(how, tiles: int) -> None:  # type: ignore[no-untyped-def]
    result = check(how(tiles))
    assert (result.verdict, result.findings) == (Verdict.CLEAN, ())


def in_places(*, tiles: int, ahead: int = 0, meet: bool = False) -> Schedule:
    """A tile is at a row and a column of a matrix; ``ahead``: loads are those of a later tile;
    ``meet``: the columns of two tiles overlap."""
    k = ScheduleBuilder("in_places")
    k.grid(2)
    k.block(1)
    source = k.global_tensor("source", (-(-tiles // 4), 4 * 32), "u32")
    out = k.global_tensor("out", (-(-tiles // 4), 4 * 32), "u32", output=True)
    source_map = k.tensor_map("source_map", source, box=ROW)
    data, full = k.smem_tile("data", ROW, "u32"), k.mbarriers("full", count=1)
    x = k.fragment("x", registers=1, dtype="u32")
    with k.elect():
        k.mbarrier.init_all(full)
        k.fence.mbarrier_init()
    k.bar.warp_sync()
    state = k.pipeline_state(1)
    with k.loop(tiles, assigned=True) as tile:
        with k.elect():
            k.mbarrier.arrive_expect_tx(full[0], 128)
            there = tile + ahead
            k.tma.load(data[0], source_map, (there // 4, there % 4 * 32), full[0])
        k.mbarrier.wait(full[0], state.phase)
        here = source.box((tile // 4, tile % 4 * 32), ROW)
        k.mem.ld_shared(x.all, data[0].expecting(here).box((0, k.lane), (1, 1)))
        k.fence.proxy_async("shared")
        k.bar.warp_sync()
        column = tile % 4 * (16 if meet else 32)
        k.mem.st_global(out.box((tile // 4, column + k.lane), (1, 1)), x.all)
        state.advance()
    return k.finish()


@pytest.mark.parametrize("tiles", [5, 40])
def test_tiles_at_rows_and_columns(tiles: int) -> None:
    result = check(in_places(tiles=tiles))
    assert (result.verdict, result.findings) == (Verdict.CLEAN, ())
    assert errors_of(in_places(tiles=tiles, ahead=1)) == {Rule.WRONG_TILE}
    assert errors_of(in_places(tiles=tiles, meet=True)) == {Rule.GLOBAL_WRITE_OVERLAP}


def test_places_are_replaced_as_a_whole() -> None:
    """Sums part by part, so that strips of one tile move alike; equal places stay equal."""
    text = schedule_text(with_stand_ins(in_places(tiles=40)))
    assert text.count("i * 3 + 10007") == 3 and text.count("(i * 5 + 20014) * 32") == 3


def errors_of(schedule: Schedule) -> set[Rule]:
    result = check(schedule)
    assert result.verdict is Verdict.FINDINGS, result.note
    return {f.rule for f in result.findings if f.severity.value == "error"}


TICKET = (
    "let the lanes that go through the loop get it by one atom_add, query_cancel or ld_shared, "
)


def test_what_tickets_are_refused() -> None:
    def ticket(k, *, dtype="u32", twice=False, lanes=False, unsaid=False, ways=1):  # type: ignore[no-untyped-def]
        c = k.global_tensor("c", (4,), "u32", output=True)
        x = k.fragment("x", registers=1, dtype=dtype)
        told = k.smem_tile("told", (1, 4), "u32" if dtype == "f32" else dtype)
        with k.elect(), k.loop(4, ticket=x.all):
            for _ in range((not lanes and not unsaid) + twice):
                k.mem.ld_shared(x.all, told[0].box((0, 0), (1, 1)))
        if lanes:
            with k.loop(4, ticket=x.all), k.elect():
                k.mem.ld_shared(x.all, told[0].box((0, 0), (1, 1)))
        y = k.fragment("y", registers=1, dtype="u32")
        for i in range(ways):
            with k.elect():
                k.mem.atom_add(y.all, c.box((i,), (1,)))

    def said(**how):  # type: ignore[no-untyped-def]
        return refused(lambda k: ticket(k, **how))

    assert said(dtype="i32")[0] == "the ticket of a loop over tiles is 1 registers of i32"
    for how in ({"twice": True}, {"unsaid": True}, {"lanes": True}):
        message, fix = said(**how)
        assert message.endswith(" ops of each round tell the ticket 'x'")
        assert fix == TICKET + "outside when and inner loops"
    assert said(ways=2)[0] == "2 ways to hand out tiles"
    assert said(ways=0)[0] == "0 ways to hand out tiles"


def test_a_grid_that_has_no_cluster_for_each_tile() -> None:
    with pytest.raises(ScheduleError) as error:
        validate(replace(cancelled(5, peers=2), grid=(4, 1, 1)))
    assert error.value.message == "cluster launch control hands out 5 tiles to a grid of (4, 1, 1)"
    assert error.value.fix == "launch a cluster for each: k.grid(10, 1, 1)"


def test_one_way_to_hand_them_out() -> None:
    s = given(decided(tiles=4), Const(2), lambda i: binary("*", i, Const(3)))
    assert not s.assigned and s.grid == (1, 1, 1)
    assert "out[i * 3:+1, lane:+1]" in schedule_text(s) and "range(2)" in schedule_text(s)
    assert substituted(binary("+", Var("i"), Const(1)), Var("i"), Const(2)) == Const(3)
