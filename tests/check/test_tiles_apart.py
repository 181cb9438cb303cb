"""Persistent CTAs whose tiles lie at quotients and remainders: one walk of tiles that are taken to
have nothing in common says what walks of every CTA say, and never more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncsim import ScheduleBuilder, Value
from asyncsim.check import check, tiles_apart
from asyncsim.check.affine import block_use
from asyncsim.check.ctas import survey
from asyncsim.check.tiles_apart import with_tiles_apart
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import CheckResult, Verdict
from asyncsim.rules import Rule
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.multicast_gemm import multicast_gemm
from asyncsim.scenarios.pingpong_gemm import pingpong_gemm
from asyncsim.scenarios.ws_gemm import ws_gemm

Place = Callable[[Value], Value]
"""The row of a tile, by its number."""

ROWS = 24


def across(tile: Value) -> Value:
    return tile % 12 // 3 * 3 + tile // 12 * 12 + tile % 3


def rows(
    *,
    brought: Place = across,
    meant: Place = across,
    stored: Place = across,
    ctas: int = 3,
    steps: int = 2,
    by_all: bool = False,
    again: bool = False,
    columns: tuple[int, int] = (0, 0),
) -> Schedule:
    """CTA c takes the tiles c, c + ``ctas``, ... of 24: steps through a ring, and a row stored.

    ``by_all``: each warp of the consumer stores the row. ``again``: the first tile is brought
    twice, so that all others come a tile late. ``columns``: boxes that the CTA's index
    adds to where one is brought from, and to the one that is meant.
    """
    k = ScheduleBuilder("rows")
    source = k.global_tensor("source", (2 * ROWS, (steps + 2 * ctas) * 32), "f32")
    out = k.global_tensor("out", (2 * ROWS, 32), "f32", output=True)
    boxes = k.tensor_map("boxes", source, box=(1, 32))
    lines = k.tensor_map("lines", out, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32", stages=2)
    line = k.smem_tile("line", (1, 32), "f32")
    full, empty = (k.mbarriers(n, count=1, stages=2) for n in ("full", "empty"))
    k.grid(ctas)
    own = (ROWS - k.block_idx + (ctas - 1)) // ctas
    x = k.fragment("x", registers=1)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=2 if by_all else 1):
            state = k.pipeline_state(2)
            with k.loop(own) as t:
                number = k.block_idx + t * ctas
                row = meant(number)
                with k.loop(steps, name="s") as s:
                    k.mbarrier.wait(full[state.stage], state.phase)
                    means = source.box((row, 32 * (s + columns[1] * k.block_idx)), (1, 32))
                    view = tile[state.stage].expecting(means)
                    k.mem.ld_shared(x.all, view.box((0, k.lane), (1, 1)))
                    k.fence.proxy_async("shared")
                    k.bar.warp_sync()
                    with k.when(k.warp_in_role == 0), k.elect():
                        k.mbarrier.arrive(empty[state.stage])
                    state.advance()
                with k.when(k.warp_in_role == 0):
                    k.mem.st_shared(line[0].box((0, k.lane), (1, 1)), x.all)
                    k.fence.proxy_async("shared")
                    k.bar.warp_sync()
                with k.when(1 if by_all else k.warp_in_role == 0), k.elect():
                    k.tma.store(lines, (stored(number), 0), line[0])
                    k.bulk.commit_group()
                    k.bulk.wait_group(0, read=True)
                k.bar.warp_sync()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(2, producer=True, name="p")
            with k.loop(own - again, name="u") as u, k.loop(1 + again * (u == 0), name="w"):
                row = brought(k.block_idx + u * ctas)
                with k.loop(steps, name="v") as v:
                    k.mbarrier.wait(empty[state.stage], state.phase)
                    k.mbarrier.arrive_expect_tx(full[state.stage], 128)
                    column = 32 * (v + columns[0] * k.block_idx)
                    k.tma.load(tile[state.stage], boxes, (row, column), full[state.stage])
                    state.advance()
    return k.finish()


def compared(schedule: Schedule) -> CheckResult:
    """The result, which is that of walks of every kind of CTA, in full."""
    short, full = check(schedule, max_states=1_000), check(schedule, max_states=1_000, jump=False)
    assert replace(short, stats={}) == replace(full, stats={})
    assert short.stats["ops"] == full.stats["ops"]
    return short


def apart(schedule: Schedule) -> Schedule | None:
    found = survey(schedule, block_use(schedule))
    return with_tiles_apart(schedule, found.once)


def test_tiles_are_passed_over() -> None:
    stats = compared(rows(steps=40, ctas=2)).stats
    assert stats["passed"] > stats["ops"] * 3 // 4
    assert apart(rows()) is not None


def test_ctas_that_differ_in_data_alone_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = cooperative_gemm.build({"m": 8192, "n": 8192, "k": 64})
    found = survey(schedule, block_use(schedule))
    assert len(found.blocks) > len(set(found.shapes.values()))
    walked: list[object] = []
    plain = check.__globals__["clean_at_once"]

    def noted(program: object, block: object, bounds: object) -> object:
        walked.append(block)
        return plain(program, block, bounds)

    monkeypatch.setitem(check.__globals__, "clean_at_once", noted)
    monkeypatch.setitem(check.__globals__, "check_cta", None)  # no CTA is walked as it is
    result = check(schedule)
    assert (result.verdict, result.certified) == (Verdict.CLEAN, True)
    assert len(walked) == len(set(found.shapes.values()))
    assert result.stats["ctas"] == len(found.blocks)


def test_equal_rows_of_unlike_terms_are_not_taken_to_be_apart() -> None:
    """Clean only because two ways to find a row come to the same: shown by the CTAs as they are."""

    def otherwise(tile: Value) -> Value:
        return tile % 12 // 3 * 3 + tile // 12 * 12 + tile % 12 % 3

    assert compared(rows(meant=otherwise)).verdict is Verdict.CLEAN


def test_a_row_of_another_tile() -> None:
    for schedule in (rows(brought=lambda tile: across(tile + (tile == 23))), rows(again=True)):
        assert [f.rule for f in compared(schedule).findings] == [Rule.WRONG_TILE]


def test_data_that_are_one_in_the_first_cta_alone() -> None:
    for columns, verdict in ((1, 1), Verdict.CLEAN), ((1, 2), Verdict.FINDINGS):
        assert compared(rows(columns=columns)).verdict is verdict
    assert apart(rows(columns=(1, 1))) is not None and apart(rows(columns=(1, 2))) is None


def test_tiles_in_turns_and_of_clusters() -> None:
    """The number of a tile is found in two ways, and where it lies in one."""
    params = {"m": 512, "n": 1280, "k": 640, "ctas": 6, "band": 3}
    for schedule in (pingpong_gemm.build(params), multicast_gemm.build({**params, "cluster_n": 2})):
        assert apart(schedule) is not None
        result = compared(schedule)
        assert (result.verdict, result.certified) == (Verdict.CLEAN, True)


@pytest.mark.parametrize("twin", ["rows_ahead", "tile_twice", "ring_restarts", "read_too_loose"])
def test_twins(twin: str) -> None:
    params = {"m": 512, "n": 1280, "k": 128, "ctas": 3, "band": 2, "block_n": 128}
    assert compared(cooperative_gemm.build(params, twin)).verdict is Verdict.FINDINGS


def test_a_tile_that_is_stored_twice_by_one_cta() -> None:
    """Tiles 0 and 12 of CTA 0: the places of what is written are left as they are."""
    result = compared(rows(stored=lambda tile: tile % 12))
    assert result.verdict is Verdict.FINDINGS


def test_a_tile_that_each_warp_stores() -> None:
    schedule = rows(by_all=True)
    assert "out" not in survey(schedule, block_use(schedule)).once
    assert compared(schedule).verdict is Verdict.FINDINGS


def test_what_is_left_as_it_is() -> None:
    assert apart(rows(brought=lambda t: t, meant=lambda t: t, stored=lambda t: t)) is None
    assert apart(ws_gemm.build({"m": 512, "n": 512, "k": 64})) is None


# -- random places ----------------------------------------------------------------------------


def any_place(rng: Random) -> Place:
    """A row of 0..47; few such functions take no row twice."""
    a, b, c, d = rng.choice([2, 3, 4]), rng.choice([6, 12]), rng.choice([1, 2, 3]), rng.randrange(3)

    def place(tile: Value) -> Value:
        rest = tile % b
        return rest // a * a + tile // b * b + rest % min(a, c + 1) + d

    return place


def agrees(seed: int) -> CheckResult:
    rng = Random(seed)
    own = any_place(rng)
    other = any_place(rng) if rng.random() < 0.4 else own
    stored = own if rng.random() < 0.5 else any_place(rng)
    ctas, steps = rng.choice([2, 3, 5]), rng.choice([1, 2, 5])
    return compared(rows(brought=own, meant=other, stored=stored, ctas=ctas, steps=steps))


@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 30))
def test_random_places(seed: int) -> None:
    agrees(seed)


def test_tiles_in_one_place_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no step from tile to tile, reads of another tile's data pass: these tests see it."""
    monkeypatch.setattr(tiles_apart, "STEP", 0)
    monkeypatch.setattr(tiles_apart, "START", 0)
    with pytest.raises(AssertionError):
        compared(rows(again=True))
