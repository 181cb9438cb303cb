"""Handlers of barriers and fences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from asyncsim.sim.path import Cause
from asyncsim.sim.steps import Bound, Maker, Run, StateKey, Step

if TYPE_CHECKING:
    from asyncsim.sim.barriers import TimedMbarrier, TimedNamedBarrier
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values


def barrier_step(
    b: Bound,
    place: Callable[[Values], tuple[int, int]],
    run: Run,
    cost: int,
    *,
    count: int = 1,
    value: int = 0,
    light: bool = False,
    states: tuple[StateKey, ...] = (),
    fence: tuple[int, ...] = (),
) -> Maker:
    """Steps that differ only in their barrier."""

    def build(values: Values) -> Step:
        step = b.step(run, cost)
        step.rank, step.barrier = place(values)
        step.count, step.value, step.light, step.states = count, value, light, states
        step.work = fence
        return step

    return b.table(place, build)


def fence(a: Agent, s: Step) -> bool:
    """Fences, bar.warp.sync: an issue cost that counts as synchronisation."""
    a.t += s.cost
    a.sync += s.cost
    return True


def init(a: Agent, s: Step) -> bool:
    a.cta.mbarriers[s.barrier].init(s.value)
    return fence(a, s)


def inval(a: Agent, s: Step) -> bool:
    a.cta.mbarriers[s.barrier].inval()
    return fence(a, s)


def arrive(a: Agent, s: Step) -> bool:
    """Takes effect for a sleeping waiter one hand-over after the arrive was issued."""
    return _far(a) if s.work else _arrive(a, s)


def _arrive(a: Agent, s: Step) -> bool:
    b = a.cta.barrier(s)
    cause = a.cause()
    arrive_all(a, b, s, a.t + _handover(a, s), cause)
    a.t += s.cost
    a.sync += s.cost
    return True


def arrive_drop(a: Agent, s: Step) -> bool:
    return _far(a) if s.work else _arrive_drop(a, s)


def _arrive_drop(a: Agent, s: Step) -> bool:
    b = a.cta.barrier(s)
    cause = a.cause()
    arrive_all(a, b, s, a.t + _handover(a, s), cause, drop=True)
    return fence(a, s)


def complete_tx(a: Agent, s: Step) -> bool:
    """Bytes that a thread says have landed."""
    b = a.cta.barrier(s)
    b.count_in(a.t + _handover(a, s), a.cause())
    if b.complete_tx(s.amount * s.count):
        b.completed()
    return fence(a, s)


def _far(a: Agent) -> bool:
    """A release at cluster scope is a fence before the arrive, in time order with the loads."""
    a.model.clock.post(a.t, a.key, _fenced, a)
    return False


def _fenced(a: Agent) -> None:
    """The fence (MEMBAR.ALL.GPU) waits until all that the SM's copy engine has asked for so far has
    landed, for other warps too, and takes its own time after that; work = (that,)."""
    s, (landing, why) = a.blocked, a.cta.sm.landing
    assert s is not None
    if landing > a.t:
        a.enabled(s, landing, why)
    a.t += s.work[0]
    a.sync += s.work[0]
    if a.model.strict:
        a.model.clock.post(a.t, a.key, _released, a)
    else:
        _released(a)


def _released(a: Agent) -> None:
    s = a.blocked
    assert s is not None
    _AFTER_FENCE[s.run](a, s)
    a.advance()
    a.model.drain()


def _handover(a: Agent, s: Step) -> int:
    """From an arrive to its waiter."""
    return a.model.handover if s.rank < 0 else a.model.remote_handover


def arrive_all(
    a: Agent, b: TimedMbarrier, s: Step, stamp: int, cause: Cause, *, drop: bool = False
) -> None:
    """``count`` lanes arrive ``value`` times each; single arrivals may complete several phases."""
    left = s.count
    while left:
        _keep(a, b, s)
        if s.value == 1 and b.pending:
            lanes = min(left, b.pending)
            b.arrive_at(stamp, lanes, cause, drop=drop)
        else:
            lanes = 1
            b.arrive_at(stamp, s.value, cause, drop=drop)
        left -= lanes


def _keep(a: Agent, b: TimedMbarrier, s: Step) -> None:
    """What an arrive returns now, in the registers of its lanes."""
    for key in s.states:
        a.states[key] = b.arrive_state()


def expect(a: Agent, s: Step) -> bool:
    b = a.cta.barrier(s)
    for _ in range(s.count):
        b.expect_tx(s.amount)
    a.t += s.cost
    a.sync += s.cost
    return True


def arrive_expect(a: Agent, s: Step) -> bool:
    return _far(a) if s.work else _arrive_expect(a, s)


def _arrive_expect(a: Agent, s: Step) -> bool:
    b = a.cta.barrier(s)
    cause, stamp = a.cause(), a.t + _handover(a, s)
    for _ in range(s.count):
        _keep(a, b, s)
        b.expect_tx(s.amount)
        b.arrive_at(stamp, 1, cause)
    a.t += s.cost
    a.sync += s.cost
    return True


_AFTER_FENCE: dict[Run, Run] = {
    arrive: _arrive,
    arrive_drop: _arrive_drop,
    arrive_expect: _arrive_expect,
}


def peek(a: Agent, s: Step) -> bool:
    """What it finds follows from when the phase has completed: the wait looks it up."""
    a.peeks[s.name] = a.t
    return fence(a, s)


def wait(a: Agent, s: Step) -> bool:
    """Parks until the phase of the parity, or of the states that the lanes hold, has completed; no
    event is needed if it has already. Free if it had completed before a peek."""
    b = a.cta.mbarriers[s.barrier]
    if s.name and _passes(a, s, b) and b.done <= a.peeks.get(s.name, -1):
        return True
    a.t += s.cost
    a.sync += s.cost
    if _passes(a, s, b):
        _pass(a, s, b)
        return True
    b.waiters.append(a)
    return False


def _passes(a: Agent, s: Step, b: TimedMbarrier) -> bool:
    if s.states:
        return b.passes_state(*map(a.states.get, s.states))
    return b.passes(s.value)


def pass_time(a: Agent, s: Step, b: TimedMbarrier) -> int:
    """When a waiter that is ready at its local time passes a completed phase."""
    t, done = a.t, b.done
    if not s.polls:
        done += b.extra
        return t if t >= done else done
    if t >= done:
        return t
    poll = a.model.poll
    return t - (t - done) // poll * poll


def _pass(a: Agent, s: Step, b: TimedMbarrier) -> None:
    time = pass_time(a, s, b)
    if b.landed and a.warps.first == a.warps.first_of_role:
        # Products that are still in flight cover a wait.
        group = a.warpgroup
        covered = group.in_flight(a.slot) if group is not None else 0
        a.cta.pace(a).waited(a.t + covered - b.done, max(time, a.t))
    if time > a.t:
        assert b.done_cause is not None
        a.enabled(s, time, b.done_cause)


def released(b: TimedMbarrier) -> None:
    """A phase has completed: its waiters go on (in time order: test again when they wake)."""
    waiters, b.waiters = b.waiters, []
    for a in waiters:
        step = a.blocked
        assert step is not None
        if a.model.strict:
            clock = a.model.clock
            time = max(clock.now, pass_time(a, step, b))
            clock.post(time, a.key, _test_again, (a, b))
        elif _passes(a, step, b):
            _pass(a, step, b)
            a.model.ready.append(a)
        else:
            b.waiters.append(a)


def _test_again(waiting: tuple[Agent, TimedMbarrier]) -> None:
    a, b = waiting
    step = a.blocked
    assert step is not None
    if _passes(a, step, b):
        _pass(a, step, b)
        a.advance()
    else:
        b.waiters.append(a)


# -- named barriers ----------------------------------------------------------------------------


def bar_sync(a: Agent, s: Step) -> bool:
    """The agent's warps wait for the last warp of the round; then the barrier takes its time."""
    b = a.cta.named_barrier(s.barrier)
    complete = b.arrive_at(a.t, a.warps.warps, s.value, a.cause())
    a.t += s.cost
    a.sync += s.cost
    if not complete:
        b.waiters.append(a)
        return False
    _leave(a, *_release(b))
    return True


def _release(b: TimedNamedBarrier) -> tuple[int, Cause]:
    """The round is complete: whoever waits in it goes on. When it was, and by whom."""
    stamp, cause, waiters = b.release()
    for other in waiters:
        _leave(other, stamp, cause)
        other.resume()
    return stamp, cause


def exited(a: Agent) -> None:
    """An agent has ended: no barrier for all threads waits for its warps from now on."""
    for b in a.cta.exited(a.t, len(a.warps.warps), a.cause()):
        _release(b)


def _leave(a: Agent, stamp: int, cause: Cause) -> None:
    step = a.blocked
    assert step is not None
    time = stamp + step.cost
    if time > a.t:
        a.enabled(step, time, cause)


def bar_arrive(a: Agent, s: Step) -> bool:
    b = a.cta.named_barrier(s.barrier)
    complete = b.arrive_at(a.t, a.warps.warps, s.value, a.cause())
    a.t += s.cost
    a.sync += s.cost
    if complete:
        _release(b)
    return True
