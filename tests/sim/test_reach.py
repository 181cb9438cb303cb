"""Loads that go over the same boxes from different first ones: who fetches what."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from asyncsim.ir import op as ops
from asyncsim.machine import load_machine
from asyncsim.scenarios.cooperative_gemm import cooperative_gemm
from asyncsim.scenarios.flash_attention import flash_attention
from asyncsim.sim.placement import place
from asyncsim.sim.reach import Reach, ReachedWave, Touch, segments
from asyncsim.sim.sharing import Sharing

H200 = load_machine("h200")


def touch(first: int, turns: int, *, down: bool = False, line: int = 0) -> Touch:
    last = first + (turns - 1) * (-64 if down else 64)
    return Touch("k", (line, first), (line, last), (1, 64), turns, 128)


def test_who_begins_nearest_before_a_box_fetches_it() -> None:
    """Going down from 3, 2 and 1 blocks: each fetches its first block, the last one the rest."""
    wave = ReachedWave({(c, 0): touch(64 * c, c + 1, down=True) for c in (3, 2, 1)})
    assert [wave.part(c, 0) for c in (3, 2, 1)] == [Fraction(1, 4), Fraction(1, 3), 1]
    (line,) = wave.lines
    assert wave.spans(line) == [(-256, 0)]
    assert wave.bytes(line) == 4 * 128


def test_those_that_begin_together_share_what_they_all_go_over() -> None:
    wave = ReachedWave({(0, 0): touch(0, 2), (1, 0): touch(0, 4)})
    assert wave.part(0, 0) == Fraction(1, 2)
    assert wave.part(1, 0) == Fraction(64 + 128, 256)
    assert (wave.first(0, 0), wave.first(1, 0)) == (1, 1)  # and all of them wait for DRAM


def test_loads_of_a_cta_are_one_reach() -> None:
    """A first box of its own op, then a loop: nobody else has begun nearer."""
    loads = {(0, 0): touch(192, 1), (0, 1): touch(128, 3, down=True)}
    loads[1, 1] = touch(192, 4, down=True)
    wave = ReachedWave(loads)
    assert [wave.part(*at) for at in loads] == [Fraction(1, 2)] * 3


def test_other_lines_and_other_ways_are_apart() -> None:
    two = {(0, 0): touch(0, 4), (1, 0): touch(0, 4, line=1)}
    assert {ReachedWave(two).part(c, 0) for c in (0, 1)} == {Fraction(1)}
    strided = Touch("k", (0, 0), (0, 512), (1, 64), 2, 128)
    assert ReachedWave({(0, 0): strided}).part(0, 0) is None
    assert ReachedWave({(0, 0): touch(0, 1)}).part(0, 0) is None  # no loop says which way


reaches = st.builds(
    lambda start, length: Reach(start, start + length), st.integers(0, 12), st.integers(1, 12)
)


@settings(max_examples=200, deadline=None)
@given(st.lists(reaches, min_size=1, max_size=8))
def test_segments_agree_with_going_over_every_element(found: list[Reach]) -> None:
    touched: dict[int, list[int]] = defaultdict(list)
    for r in found:
        for at in range(r.start, r.end):
            touched[at].append(r.start)
    expected = {at: (max(began), began.count(max(began))) for at, began in touched.items()}
    told = {at: (s.began, s.ties) for s in segments(found) for at in range(s.start, s.end)}
    assert told == expected


def test_ctas_with_one_tile_each_share_as_if_all_made_the_same_turns() -> None:
    """A persistent loop says that trip counts depend on the block; here they are all 1."""
    schedule = cooperative_gemm.build({"m": 1024, "n": 1024, "k": 512})
    sharing = Sharing(
        schedule, place(schedule, H200, exact=True), 54_000_000, Fraction(1), warm=False
    )
    loads = [op.id for op in schedule.ops() if isinstance(op, ops.TmaLoad)]
    for load in loads:
        share = sharing.of(0, load)
        assert share.miss
        assert 0 < Fraction(*share.dram) <= Fraction(1, 4)


def test_keys_under_a_causal_mask_come_from_dram_once() -> None:
    schedule = flash_attention.build({"seq": 2048, "heads": 64, "causal": 1})
    sharing = Sharing(
        schedule, place(schedule, H200, exact=True), 54_000_000, Fraction(1), warm=False
    )
    first, later, *_ = [
        op.id for op in schedule.ops() if isinstance(op, ops.TmaLoad) and op.src.tensor == "k"
    ]
    assert sharing.of(0, first).dram == (1, 1)  # the longest row begins with a block of its own
    assert not sharing.of(0, later).miss  # and goes on with those that others began with
    assert sharing.of(15, first).dram == (1, 1)
    visits = {cta: 16 - cta % 16 for cta in range(132)}
    fetched = sum(
        Fraction(*sharing.of(cta, first).dram)
        + (Fraction(*sharing.of(cta, later).dram) * (turns - 1) if turns > 1 else 0)
        for cta, turns in visits.items()
    )
    assert fetched == 9 * 16  # blocks of eight heads, and of the one that the wave begins
