"""Statements, expressions and lanes: exact messages."""

from __future__ import annotations

import pytest

from asyncsim import ScheduleBuilder
from tests.ir.wellformed import barrier, error_of, expect


def test_loops_nest_at_most_16_deep():
    def nest(k, depth):
        if depth:
            with k.loop(1):
                nest(k, depth - 1)

    k = ScheduleBuilder("deep")
    nest(k, 16)
    k.finish()
    expect(lambda k: nest(k, 17), "17 loops inside each other", "nest at most 16")


def test_blocks_nest_at_most_64_deep():
    def nest(k, depth):
        if depth:
            with k.when(k.block_idx == 0):
                nest(k, depth - 1)

    k = ScheduleBuilder("deep")
    nest(k, 64)
    k.finish()
    expect(lambda k: nest(k, 65), "65 blocks inside each other", "nest at most 64")


def test_expressions_of_64_levels_stream_and_deeper_ones_are_refused():
    def deep(k, levels):
        value = k.block_idx
        for _ in range(levels - 1):
            value = value + k.warp_in_role
        k.mbarrier.arrive(barrier(k, stages=2)[value % 2])

    from asyncsim.stream import Program

    k = ScheduleBuilder("deep")
    deep(k, 63)
    assert len(list(Program(k.finish()).stream((0, 0, 0), 0))) == 3
    expect(
        lambda k: deep(k, 64),
        "an expression of more than 64 levels or 4096 terms",
        "keep a part of it in k.var",
    )


@pytest.mark.parametrize("doublings", [13, 60, 100_000])
def test_an_expression_that_doubles_is_refused_at_once(doublings):
    def build(k):
        value = k.block_idx
        for _ in range(doublings):
            value = value + value
        k.var("v", value)

    assert error_of(build).message == "an expression of more than 64 levels or 4096 terms"


@pytest.mark.parametrize("where", ["loop", "when", "elect", "role", "set"])
def test_a_variable_is_used_where_it_is_known(where):
    def build(k):
        bar = barrier(k, stages=4)
        match where:
            case "loop":
                with k.loop(4) as x:
                    k.mbarrier.arrive(bar[x])
                k.mbarrier.arrive(bar[x])
            case "when":
                with k.when(k.block_idx == 0):
                    x = k.var("i", 0)
                k.mbarrier.arrive(bar[x])
            case "elect":
                with k.elect():
                    x = k.var("i", 0)
                k.mbarrier.arrive(bar[x])
            case "role":
                with k.specialize():
                    with k.role("a", warps=1):
                        x = k.var("i", 0)
                    with k.role("b", warps=1):
                        k.mbarrier.arrive(bar[x])
            case "set":
                with k.when(k.block_idx == 0):
                    x = k.var("i", 0)
                x.set(1)

    expect(
        build,
        "variable 'i' is used outside the loop, block or role that it belongs to",
        "declare it with k.var before the block",
    )


LANES = (
    "lanes may differ in where they access, not in stages, counts, parities, bytes and integers of "
    "a compute"
)


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("MbarrierArrive", lambda k, b: k.mbarrier.arrive(b[k.lane])),
        ("MbarrierWait", lambda k, b: k.mbarrier.wait(b[0], k.lane % 2)),
        ("MbarrierExpectTx", lambda k, b: k.mbarrier.expect_tx(b[0], k.thread_in_role * 16)),
    ],
)
def test_lanes_agree_on_barriers(name, act):
    expect(
        lambda k: act(k, barrier(k, stages=32)),
        f"{name}: this operand differs from lane to lane",
        LANES,
    )


def test_a_lane_varying_stage_of_a_tile_is_refused_and_a_start_is_not():
    def build(k, view):
        x = k.fragment("x", registers=1)
        k.mem.ld_shared(x.all, view(k, k.smem_tile("t", (32, 1), "f32", stages=32)))

    expect(
        lambda k: build(k, lambda k, t: t[k.lane].box((0, 0), (1, 1))),
        "LdShared: this operand differs from lane to lane",
        LANES,
    )
    k = ScheduleBuilder("good")
    build(k, lambda k, t: t[0].box((k.lane, 0), (1, 1)))
    k.finish()


def test_a_compute_gets_one_view_for_the_warp():
    from tests.ir.every_op import FOLD

    def build(k):
        t, x = k.smem_tile("t", (64, 32), "f32"), k.fragment("x", registers=1)
        k.mem.compute(FOLD, x.all, t[0].box((k.lane, 0), (1, 32)), 1)

    expect(
        build,
        "Compute: a shared-memory operand starts elsewhere in each lane",
        "pass one view for the warp; a compute body can index it by lane",
    )


def test_what_an_elected_lane_runs_does_not_depend_on_the_lane():
    def store(k, start):
        out = k.global_tensor("out", (32,), "f32", output=True)
        x = k.fragment("x", registers=1)
        with k.elect():
            k.mem.st_global(out.box((start(k),), (1,)), x.all)

    k = ScheduleBuilder("one")
    store(k, lambda k: k.warp_in_role)
    k.finish()
    expect(
        lambda k: store(k, lambda k: k.lane),
        "StGlobal: an operand depends on the lane, and elect may pick any lane",
        "use warp_in_role, or move it out of elect",
    )

    def by_others(k):
        out = k.global_tensor("out", (32,), "f32", output=True)
        x = k.fragment("x", registers=1)
        with k.elect_thread():
            pass
        with k.others():
            k.mem.ld_global(x.all, out.box((k.thread_in_role,), (1,)))

    expect(
        by_others,
        "LdGlobal: an operand depends on the lane, and elect may pick any lane",
        "use warp_in_role, or move it out of elect",
    )
