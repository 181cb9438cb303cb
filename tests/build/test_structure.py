"""Loops, conditions, roles, election: what is refused and what is built."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from asyncsim import ScheduleError
from asyncsim.build import builder as builder_module
from asyncsim.ir.expr import text
from asyncsim.ir.op import Scope
from asyncsim.ir.stmt import Elect, For, Set, When
from tests.build.refused import expect, new


def test_elect_inside_elect():
    def build(k):
        with k.elect(), k.elect_thread():
            pass

    expect(build, "elect inside elect: one lane is running already", "drop the inner one")


@pytest.mark.parametrize("before", ["nothing", "an op", "others", "another block"])
def test_others_follow_an_election(before):
    def build(k):
        match before:
            case "an op":
                with k.elect():
                    pass
                k.bar.sync()
            case "others":
                with k.elect():
                    pass
                with k.others():
                    k.bulk.commit_group()
            case "another block":
                with k.elect():
                    pass
                with k.loop(2), k.others():
                    pass
            case _:
                pass
        with k.others():
            pass

    expect(
        build,
        "others() does not follow an election",
        "write it right after `with k.elect():` or `with k.elect_thread():`",
    )


@pytest.mark.parametrize("of_role", [False, True])
def test_others_are_the_second_part_of_the_election(of_role):
    k = new()
    full = k.mbarriers("full", count=32)
    with k.elect_thread() if of_role else k.elect():
        k.mbarrier.init_all(full)
    with k.others(), k.loop(2):
        k.mbarrier.arrive(full[0])
    k.mbarrier.arrive(full[0])
    elect, last = k.finish().body
    assert isinstance(elect, Elect) and elect.of_role is of_role
    assert [op.scope for op in elect.body] == [Scope.ELECTED]
    (loop,) = elect.others
    assert isinstance(loop, For) and [op.scope for op in loop.body] == [Scope.OTHERS]
    assert last.scope is Scope.ALL_LANES


def test_elect_inside_others():
    def build(k):
        with k.elect():
            pass
        with k.others(), k.elect():
            pass

    expect(build, "elect inside elect: one lane is running already", "drop the inner one")


def test_a_var_of_the_warp_is_not_set_by_one_lane():
    def build(k):
        phase = k.var("phase", 0)
        with k.elect():
            phase.set(phase ^ 1)

    expect(
        build,
        "var 'phase' is set inside elect but lives outside: lanes would disagree",
        "declare the var inside elect, or set it outside",
    )


def test_a_var_of_one_lane_is_set_by_it():
    k = new()
    with k.elect():
        phase = k.var("phase", 0)
        phase.set(phase ^ 1)
    (elect,) = k.finish().body
    assert isinstance(elect, Elect)
    assert [(s.var, text(s.value), s.declare) for s in elect.body] == [
        ("phase", "0", True),
        ("phase", "phase ^ 1", False),
    ]


LANES = "this value differs from lane to lane; control and vars must be the same in a warp"
LANES_FIX = "use warp_in_role, or elect for one lane"


@pytest.mark.parametrize("what", ["loop", "when", "var", "set"])
def test_control_is_the_same_in_all_lanes(what):
    def build(k):
        v = k.var("v", 0)
        match what:
            case "loop":
                with k.loop(k.lane):
                    pass
            case "when":
                with k.when(k.thread_in_role == 0):
                    pass
            case "var":
                k.var("w", k.lane)
            case "set":
                v.set(k.lane + 1)

    expect(build, LANES, LANES_FIX)


def test_whole_warps_execute_collectives():
    def build(k):
        with k.elect():
            k.bar.sync()

    expect(build, "BarSync is executed by whole warps, not by one lane", "move it out of elect")

    def by_some(k):
        with k.elect():
            pass
        with k.others():
            k.bar.warp_sync()

    expect(
        by_some,
        "BarWarpSync is executed by whole warps, not by some lanes",
        "move it out of others",
    )
    k = new()
    with pytest.raises(ScheduleError, match="^WgmmaFence is executed by whole warps"), k.elect():
        k.wgmma.fence()


def test_scopes_of_ops():
    k = new()
    bar = k.mbarriers("bar", count=1)
    with k.elect_thread():
        k.mbarrier.init_all(bar)
    k.mbarrier.arrive(bar[0])
    k.bar.warp_sync()
    k.block(4)
    k.wgmma.fence()
    assert [op.scope for op in k.finish().ops()] == [
        Scope.ELECTED,
        Scope.ALL_LANES,
        Scope.WARP,
        Scope.WARPGROUP,
    ]


def test_specialize_stands_once_at_the_top():
    def twice(k):
        with k.specialize():
            pass
        with k.specialize():
            pass

    def nested(k):
        with k.loop(2), k.specialize():
            pass

    for build in (twice, nested):
        expect(
            build,
            "specialize stands once, at the top level of a schedule",
            "merge the roles into one specialize block",
        )


def test_specialize_holds_roles_only():
    def op(k):
        with k.specialize():
            k.bar.sync()

    def wrapped(k):
        with k.specialize(), k.when(k.block_idx == 0), k.role("r", warps=1):
            pass

    for build in (op, wrapped):
        expect(
            build,
            "a statement inside specialize and outside its roles belongs to no warp",
            "put it into a role, or before specialize",
        )


def test_nothing_is_added_to_a_finished_schedule():
    def build(k):
        k.finish()
        k.bar.sync()

    expect(build, "the schedule is finished", "call finish() last")


def test_unroll_is_at_least_1():
    def build(k):
        with k.loop(4, unroll=0):
            pass

    expect(build, "unroll = 0", "give at least 1")


def test_roles():
    def outside(k):
        with k.role("r", warps=1):
            pass

    def empty(k):
        with k.specialize(), k.role("r", warps=0):
            pass

    expect(outside, "role 'r' outside specialize", "write `with k.specialize():` around roles")
    expect(empty, "role 'r' has 0 warps", "give at least 1")


def test_roles_own_warps_in_order_and_size_the_block():
    k = new()
    with k.specialize():
        with k.role("a", warps=4):
            pass
        with k.role("b", warps=1):
            pass
    s = k.finish()
    assert [(r.name, r.first_warp, r.warps) for r in s.roles()] == [("a", 0, 4), ("b", 4, 1)]
    assert (s.warps, s.threads) == (5, 160)
    assert s.role_of(4).name == "b"


def test_statements_have_a_limit(monkeypatch):
    monkeypatch.setattr(builder_module, "MAX_STATEMENTS", 10)

    def build(k):
        for _ in range(11):
            k.bar.sync()

    expect(build, "more than 10 statements were traced", "use k.loop instead of a Python loop")


def test_finish_once():
    k = new()
    k.finish()
    with pytest.raises(ScheduleError, match=r"^finish\(\) was called twice; build a new"):
        k.finish()


def test_grid_has_ctas():
    expect(lambda k: k.grid(4, 0), "grid (4, 0, 1) has no CTAs", "give at least 1 per dimension")


def test_pipeline_state_flips_its_phase_on_the_wrap():
    k = new()
    state = k.pipeline_state(3, producer=True, name="p")
    state.advance()
    stage, phase, step, wrap = k.finish().body
    assert (stage.var, text(stage.value)) == ("p_stage", "0")
    assert (phase.var, text(phase.value)) == ("p_phase", "1")
    assert isinstance(step, Set)
    assert text(step.value) == "p_stage + 1"
    assert isinstance(wrap, When)
    assert text(wrap.condition) == "p_stage == 3"
    assert [text(s.value) for s in wrap.body] == ["0", "p_phase ^ 1"]


def test_pipeline_state_starts_at_the_stage_asked_for():
    k = new()
    k.pipeline_state(3, start=2)
    stage, phase = k.finish().body
    assert (text(stage.value), text(phase.value)) == ("2", "0")
    for start in (-1, 3):
        expect(
            lambda k, start=start: k.pipeline_state(3, start=start),
            f"a pipeline state of 3 stages starts at {start}",
            "start at 0 to 2",
        )


def test_a_ring_of_one_stage_flips_every_time_unless_told_not_to():
    k = new()
    state = k.pipeline_state(1)
    state.advance()
    state.advance(flip=False)
    assert [s.var for s in k.finish().body] == ["stage", "phase", "phase"]


def test_a_pipeline_state_skips_stages():
    k = new()
    state = k.pipeline_state(3)
    state.skip(7)
    *_, ahead, phase, stage = k.finish().body
    assert (ahead.var, text(ahead.value)) == ("stage_ahead", "stage + 7")
    assert (phase.var, text(phase.value)) == ("phase", "phase ^ stage_ahead // 3 & 1")
    assert (stage.var, text(stage.value)) == ("stage", "stage_ahead % 3")


def test_pipeline_verbs_are_barrier_ops():
    k = new()
    full, empty = k.mbarriers("full", count=1, stages=2), k.mbarriers("empty", count=1, stages=2)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        pipe, state = k.pipeline(full, empty), k.pipeline_state(2, producer=True)
        pipe.producer_acquire(state)
        pipe.producer_commit(state, 64)
        pipe.consumer_wait(state)
        pipe.consumer_release(state)
        pipe.producer_tail(state)
    ops = [(type(op).__name__, op.mbarrier.name) for op in k.finish().ops()][4:]
    assert ops == [
        ("MbarrierWait", "empty"),
        ("MbarrierArriveExpectTx", "full"),
        ("MbarrierWait", "full"),
        ("MbarrierArrive", "empty"),
        ("MbarrierWait", "empty"),
        ("MbarrierWait", "empty"),
    ]


def test_a_loop_keeps_its_count_unroll_and_line():
    k = new()
    with k.loop(k.arg("n", 3), name="step", unroll=4) as i:
        k.var("v", i)
    (loop,) = k.finish().body
    assert isinstance(loop, For)
    assert (loop.var, text(loop.trip_count), loop.unroll) == ("step", "n", 4)
    assert text(loop.body[0].value) == "step"
    assert loop.loc.line == loop.body[0].loc.line - 1


@pytest.mark.parametrize(
    "block",
    [
        lambda k: [k.loop(2)],
        lambda k: [k.when(k.block_idx == 0)],
        lambda k: [k.elect()],
        lambda k: [k.specialize()],
        lambda k: [k.specialize(), k.role("a", warps=1)],
    ],
)
def test_finish_inside_a_block_does_not_lose_it(block):
    def build(k):
        with ExitStack() as stack:
            for opened in block(k):
                stack.enter_context(opened)
            k.finish()

    expect(build, "finish() inside a block", "call it last")


@pytest.mark.parametrize(
    ("name", "forgotten"),
    [
        ("loop", lambda k: k.loop(2)),
        ("when", lambda k: k.when(k.block_idx == 0)),
        ("elect", lambda k: k.elect()),
        ("elect_thread", lambda k: k.elect_thread()),
        ("others", lambda k: k.others()),
        ("specialize", lambda k: k.specialize()),
        ("role", lambda k: k.role("a", warps=1)),
    ],
)
def test_a_block_without_with_is_missed(name, forgotten):
    def build(k):
        forgotten(k)
        k.bar.sync()
        k.finish()

    what = f"k.{name}(...) is not entered: it does nothing by itself"
    expect(build, what, f"write `with k.{name}(...):` and indent its body")
