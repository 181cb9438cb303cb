"""Handlers of cluster barriers and of stores to the shared memory of other CTAs."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from asyncsim.ir import op as ops
from asyncsim.ir.op import FragmentRef, MbarrierRef
from asyncsim.sim.path import Cause
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.clusters import TimedClusterBarrier
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values


def cluster_maker(b: Bound, op: ops.ClusterOp) -> Maker:
    numbers = b.model.numbers
    match op:
        case ops.BarrierClusterArrive(relaxed=relaxed):
            # What a release adds is a fence that the warp sits through before it arrives.
            fence = numbers.ticks("barrier.cluster_release") - numbers.ticks("barrier.cluster")
            return b.constant(b.step(arrive, 0 if relaxed else fence))
        case ops.BarrierClusterWait():
            return b.constant(b.step(wait, numbers.ticks("barrier.cluster")))
        case ops.StAsync(mbarrier=ref, src=src):
            return remote_store_maker(b, ref, src)
        case _ as unreachable:
            assert_never(unreachable)


def remote_store_maker(b: Bound, ref: MbarrierRef, src: FragmentRef) -> Maker:
    """Registers on their way to another CTA (st.async, red.async), whose bytes ``ref`` counts."""
    numbers, place = b.model.numbers, b.place(ref)
    amount = src.count * b.model.schedule.fragment(src.name).dtype.bytes * b.times
    cost, latency = numbers.ticks("smem.store_issue"), numbers.ticks("mbarrier.remote_wake")

    def build(values: Values) -> Step:
        step = b.step(st_async, cost)
        step.rank, step.barrier = place(values)
        step.amount, step.work = amount, (latency,)
        return step

    return b.table(place, build)


def _warps(a: Agent) -> tuple[object, ...]:
    return tuple([(a.cta.rank, w) for w in a.warps.warps])


def arrive(a: Agent, s: Step) -> bool:
    a.t += s.cost
    a.sync += s.cost
    barrier = a.cta.cluster.barrier
    if barrier.arrive_at(a.t, _warps(a), a.cause()):
        release(barrier)
    return True


def wait(a: Agent, s: Step) -> bool:
    """Parks until every warp of the cluster has arrived; then the barrier takes its time."""
    barrier = a.cta.cluster.barrier
    if not barrier.passes(*_warps(a)):
        barrier.waiters.append(a)
        return False
    _leave(a, barrier)
    return True


def release(barrier: TimedClusterBarrier) -> None:
    """A round is complete: its waiters go on."""
    waiters, barrier.waiters = barrier.waiters, []
    for a in waiters:
        if barrier.passes(*_warps(a)):
            _leave(a, barrier)
            a.resume()
        else:
            barrier.waiters.append(a)


def _leave(a: Agent, barrier: TimedClusterBarrier) -> None:
    step = a.blocked
    assert step is not None and barrier.done_cause is not None
    time = barrier.done + step.cost
    if time > a.t:
        a.enabled(step, time, barrier.done_cause)


def exited(a: Agent) -> None:
    """An agent has ended: its warps count in every round from now on."""
    barrier = a.cta.cluster.barrier
    if barrier.exit_at(a.t, _warps(a), a.cause()):
        release(barrier)


def st_async(a: Agent, s: Step) -> bool:
    """The bytes count on the other CTA's barrier when they have got there."""
    landing, cause = a.t + s.work[0], a.cause()
    model = a.model
    if model.strict:
        model.clock.post(landing, a.key, _land, (a, s, landing, cause))
    else:
        a.cta.barrier(s).land_at(landing, s.amount, cause)
    a.t += s.cost
    return True


def _land(args: tuple[Agent, Step, int, Cause]) -> None:
    a, s, landing, cause = args
    a.cta.barrier(s).land_at(landing, s.amount, cause)
    a.model.drain()
