"""Peeks: mbarrier.test_wait, whose token lets a later wait on the same phase be skipped."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError
from asyncsim.check import check
from asyncsim.check.peeks import Peeks, peeks_of
from asyncsim.ir.op import Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.predict.result import Verdict
from asyncsim.stream.program import Program

BYTES = 32 * 4


@dataclass(frozen=True, kw_only=True)
class Ring:
    """CUTLASS's main loop: the wait for a stage is tried one step ahead."""

    stages: int = 2
    trips: int = 5
    peeks: bool = True
    producer_peeks: bool = True
    advance_first: bool = True  # the peek is at the next stage, not at the one just consumed
    waits: bool = True
    lead: int = 0  # a peek so many phases early
    twice: bool = False  # a token serves two waits


def ring(form: Ring) -> Schedule:
    k = ScheduleBuilder("peeking")
    source = k.global_tensor("source", (form.trips, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32", stages=form.stages)
    full = k.mbarriers("full", count=1, stages=form.stages)
    empty = k.mbarriers("empty", count=32, stages=form.stages)
    x, token = k.fragment("x", registers=1), k.mbarrier_token("token")
    pipe = k.pipeline(full, empty)
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(form.stages)
            if form.peeks:
                pipe.consumer_try_wait(state, token)
            with k.loop(form.trips) as i:
                if form.waits:
                    pipe.consumer_wait(state, token if form.peeks else None)
                view = tile[state.stage].expecting(source.box((i, 0), (1, 32)))
                k.mem.ld_shared(x.all, view.box((0, k.lane), (1, 1)))
                k.fence.proxy_async("shared")
                pipe.consumer_release(state)
                if form.advance_first:
                    state.advance()
                if form.peeks:
                    with k.when(i + 1 < form.trips):
                        pipe.consumer_try_wait(state, token)
                if not form.advance_first:
                    state.advance()
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(form.stages, producer=True)
            ready = k.mbarrier_token("ready")
            if form.producer_peeks:
                pipe.producer_try_acquire(state, ready)
            with k.loop(form.trips) as i:
                pipe.producer_acquire(state, ready if form.producer_peeks else None)
                pipe.producer_commit(state, BYTES)
                k.tma.load(tile[state.stage], source_map, (i, 0), full[state.stage])
                state.advance()
                if form.producer_peeks:
                    pipe.producer_try_acquire(state, ready)
    return k.finish()


def errors(schedule: Schedule) -> list[tuple[Rule, str]]:
    result = check(schedule)
    assert result.verdict is Verdict.FINDINGS, result.note
    return [(f.rule, f.message) for f in result.findings if f.severity.value == "error"]


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("trips", [1, 2, 7])
@pytest.mark.parametrize("producer_peeks", [False, True])
def test_the_main_loop_of_cutlass(stages: int, trips: int, producer_peeks: bool) -> None:
    result = check(ring(Ring(stages=stages, trips=trips, producer_peeks=producer_peeks)))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


def test_a_peek_alone_orders_nothing() -> None:
    assert errors(ring(Ring(waits=False)))[0][0] is Rule.READ_BEFORE_ARRIVAL


def test_a_token_of_another_stage() -> None:
    assert errors(ring(Ring(advance_first=False))) == [
        (
            Rule.FOREIGN_STATE,
            "if the peek at full[0] parity 0 has passed, nobody waits for full[1] parity 0",
        )
    ]


def pair(waiter: str, *, count: int = 1) -> Schedule:
    """A lane advances an mbarrier phase by phase, as another one lets it."""
    k = ScheduleBuilder("pair")
    k.block(2)
    bars, back = k.mbarriers("bar", count=count), k.mbarriers("back", count=1)
    token = k.mbarrier_token("token")
    tile = k.smem_tile("tile", (3, 1), "f32")
    x = k.fragment("x", registers=1)
    zero = k.global_tensor("zero", (1, 1), "f32")
    k.mem.ld_global(x.all, zero.box((0, 0), (1, 1)))
    with k.elect_thread():
        k.mbarrier.init_all(bars, back)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("writer", warps=1), k.elect(), k.loop(3) as i:
            k.mem.st_shared(tile[0].box((i, 0), (1, 1)), x.all)
            k.mbarrier.arrive(bars[0])
            k.mbarrier.wait(back[0], i % 2)
        with k.role("reader", warps=1), k.elect(), k.loop(3) as i:
            row = tile[0].box((i, 0), (1, 1))
            if waiter == "peek each":
                k.mbarrier.peek(bars[0], i % 2, token)
            if waiter == "peek before the last release":
                # asks for a phase whose predecessor it has not waited for yet
                with k.when(i == 0):
                    k.mbarrier.peek(bars[0], 1, token)
                    k.mbarrier.wait(bars[0], 0)
                with k.when(i == 1):
                    k.mbarrier.wait(bars[0], 1, peek=token)
                with k.when(i == 2):
                    k.mbarrier.wait(bars[0], 0)
            elif waiter == "one peek":
                with k.when(i == 0):
                    k.mbarrier.peek(bars[0], 0, token)
                with k.when(i == 1):
                    k.mbarrier.wait(bars[0], 1)
                with k.when(i != 1):
                    k.mbarrier.wait(bars[0], 0, peek=token)
            else:
                k.mbarrier.wait(bars[0], i % 2, peek=token)
            k.mem.ld_shared(x.all, row)
            k.mbarrier.arrive(back[0])
    return k.finish()


def test_peeks_of_arrivals() -> None:
    result = check(pair("peek each"))
    assert (result.verdict, result.certified, result.findings) == (Verdict.CLEAN, True, ())


@pytest.mark.parametrize(
    ("waiter", "rule"),
    [
        ("one peek", Rule.READ_BEFORE_ARRIVAL),
        ("peek before the last release", Rule.VACUOUS_WAIT),  # the reader laps the writer's waits
    ],
)
def test_a_peek_that_passes_on_an_older_phase(waiter: str, rule: Rule) -> None:
    """The token is of the phase before the last one of the same parity: the wait is skipped."""
    assert [found for found, _ in errors(pair(waiter))] == [rule]


@pytest.mark.parametrize("trips", [2, 3])
def test_what_a_spectator_peeks_is_left_to_the_search(trips: int) -> None:
    k = ScheduleBuilder("spectator")
    k.block(2)
    bars, token = k.mbarriers("bar", count=1), k.mbarrier_token("token")
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.bar.sync()
    with k.specialize():
        with k.role("ahead", warps=1), k.elect(), k.loop(trips):
            k.mbarrier.arrive(bars[0])
        with k.role("looks", warps=1), k.elect():
            k.mbarrier.peek(bars[0], 0, token)
            k.mbarrier.wait(bars[0], 0, peek=token)
    result = check(k.finish())
    if trips == 3:  # it sees phase 0 or phase 2, and nothing depends on which
        assert (result.verdict, result.certified) == (Verdict.CLEAN, False)
    else:
        assert {f.rule for f in result.findings if f.severity.value == "error"} == {
            Rule.DEADLOCK  # it looks when both phases are over
        }


def test_a_token_that_no_peek_writes() -> None:
    k = ScheduleBuilder("unwritten")
    k.block(1)
    bars, token = k.mbarriers("bar", count=1, stages=2), k.mbarrier_token("token")
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    k.mbarrier.wait(bars[0], 1, peek=token)
    with pytest.raises(ScheduleError) as error:
        k.finish()
    assert error.value.rule is Rule.FOREIGN_STATE
    assert error.value.message == "no peek at 'bar' writes the token 'token'"


def test_a_peek_before_the_init_is_known() -> None:
    k = ScheduleBuilder("early")
    k.block(2)
    bars, token = k.mbarriers("bar", count=1), k.mbarrier_token("token")
    with k.elect_thread():
        k.mbarrier.init_all(bars)
    with k.when(k.warp_in_role == 1), k.elect():
        k.mbarrier.peek(bars[0], 1, token)
    k.bar.sync()
    with k.when(k.warp_in_role == 1), k.elect():
        k.mbarrier.wait(bars[0], 1, peek=token)
    assert {rule for rule, _ in errors(k.finish())} == {Rule.USE_BEFORE_INIT}


def test_a_peek_that_always_passes_is_a_wait() -> None:
    """On a fresh mbarrier the phase before the first is over: the token lets the wait be skipped,
    although by then it would block for ever."""
    k = ScheduleBuilder("fresh")
    k.block(1)
    bars, token = k.mbarriers("bar", count=1), k.mbarrier_token("token")
    with k.elect_thread():
        k.mbarrier.init_all(bars)
        k.mbarrier.peek(bars[0], 1, token)
        k.mbarrier.arrive(bars[0])
        k.mbarrier.wait(bars[0], 1, peek=token)
    assert check(k.finish()).verdict is Verdict.CLEAN


def searched(*, between: bool, steps: int = 4) -> Schedule:
    """A ring that only a search decides: the consumer also peeks at the phase that it has left,
    which nothing keeps from being over twice. ``between``: it reads before it waits."""
    k = ScheduleBuilder("searched")
    source = k.global_tensor("source", (steps, 32), "f32")
    source_map = k.tensor_map("source_map", source, box=(1, 32))
    tile = k.smem_tile("tile", (1, 32), "f32")
    full, empty = k.mbarriers("full", count=1), k.mbarriers("empty", count=1)
    x, token, ready = k.fragment("x", registers=1), k.mbarrier_token("t"), k.mbarrier_token("r")
    with k.elect_thread():
        k.mbarrier.init_all(full, empty)
        k.fence.mbarrier_init()
    k.bar.sync()
    with k.specialize():
        with k.role("consumer", warps=1):
            state = k.pipeline_state(1)
            k.mbarrier.peek(full[0], state.phase ^ 1, token)
            with k.loop(steps):
                k.mbarrier.peek(full[0], state.phase, token)
                if between:
                    k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
                k.mbarrier.wait(full[0], state.phase, peek=token)
                k.mem.ld_shared(x.all, tile[0].box((0, k.lane), (1, 1)))
                k.fence.proxy_async("shared")
                k.bar.warp_sync()
                with k.elect():
                    k.mbarrier.arrive(empty[0])
                state.advance()
                k.mbarrier.peek(full[0], state.phase, token)
        with k.role("producer", warps=1), k.elect():
            state = k.pipeline_state(1, producer=True)
            k.mbarrier.peek(empty[0], state.phase, ready)
            with k.loop(steps) as i:
                k.mbarrier.wait(empty[0], state.phase, peek=ready)
                k.mbarrier.arrive_expect_tx(full[0], BYTES)
                k.tma.load(tile[0], source_map, (i, 0), full[0])
                state.advance()
                k.mbarrier.peek(empty[0], state.phase, ready)
    return k.finish()


def test_peeks_whose_outcome_changes_nothing_are_no_states() -> None:
    result = check(searched(between=False), max_states=10_000)
    assert (result.verdict, result.certified) == (Verdict.CLEAN, False)
    assert result.stats["states"] > 0


def test_a_peek_that_passes_does_not_hide_the_race_of_one_that_does_not() -> None:
    assert {rule for rule, _ in errors(searched(between=True, steps=2))} == {Rule.VACUOUS_WAIT}


def test_what_peeks_can_change() -> None:
    k = ScheduleBuilder("positions")
    k.block(1)
    bars, t, u = k.mbarriers("bar", count=32), k.mbarrier_token("t"), k.mbarrier_token("u")
    k.mbarrier.init(bars[0], 32)
    k.mbarrier.peek(bars[0], 0, t)  # 0
    k.mbarrier.peek(bars[0], 1, t)  # 1: overwrites it
    k.mbarrier.peek(bars[0], 1, u)  # 2
    k.mbarrier.wait(bars[0], 1, peek=t)  # 3
    k.mbarrier.wait(bars[0], 1, peek=t)  # 4: by the same token
    k.mbarrier.arrive(bars[0])  # 5
    k.mbarrier.wait(bars[0], 1, peek=u)  # 6
    with k.elect():
        k.mbarrier.peek(bars[0], 0, u)  # 7
    stream = list(Program(k.finish()).stream((0, 0, 0), 0))[1:]
    others = Peeks(quiet={1}, unused={0}, last={4, 6})
    assert peeks_of(stream, Scope.OTHERS) == others
    assert peeks_of(stream, Scope.ELECTED) == replace(others, unused={0, 7})
