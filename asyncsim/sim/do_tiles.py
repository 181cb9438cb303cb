"""Handlers of what asks for tiles: an atomic on a counter in L2, and cluster launch control."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from asyncsim.ir import op as ops
from asyncsim.machine import ticks
from asyncsim.sim.do_compute import local
from asyncsim.sim.do_copy import land_in
from asyncsim.sim.path import LATENCY_L2, LAUNCH, after
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values

RESPONSE_BYTES = 16


def tile_maker(b: Bound, op: ops.TileOp) -> Maker:
    """work = (latency,)"""
    numbers = b.model.numbers
    issue, latency = numbers.exact("smem.load_issue"), numbers.exact("smem.load_latency")
    match op:
        case ops.AtomAdd():
            step = b.step(atom_add, ticks(issue))
            step.work = (numbers.ticks("l2.atomic_latency"),)
            return b.constant(step)
        case ops.ClcTryCancel(mbarrier=ref, multicast=multicast):
            index, answer = b.barrier(ref), numbers.ticks("launch.cancel")
            peers = tuple(range(b.model.schedule.cluster_ctas)) if multicast else ()

            def build(values: Values) -> Step:
                asks = b.step(try_cancel, numbers.ticks("smem.store_issue"))
                asks.barrier, asks.amount = index(values), RESPONSE_BYTES
                asks.peers, asks.work = peers, (answer,)
                return asks

            return b.table(index, build)
        case ops.ClcQueryCancel():
            return b.constant(b.step(local, ticks(issue + latency)))
        case _ as unreachable:
            assert_never(unreachable)


def atom_add(a: Agent, s: Step) -> bool:
    a.model.clock.post(a.t, a.key, _counted, a)
    return False


def _counted(a: Agent) -> None:
    """In the order of simulated time; how many atomics on one address L2 does is no limit."""
    s, cause, start = a.blocked, a.cause(), a.t
    assert s is not None
    _ask(a)
    a.t += s.cost
    back = start + s.work[0]
    if back > a.t:
        a.enabled(s, back, after(cause, back, LATENCY_L2))
    a.advance()
    a.model.drain()


def try_cancel(a: Agent, s: Step) -> bool:
    a.model.clock.post(a.t, a.key, _cancelled, a)
    return False


def _cancelled(a: Agent) -> None:
    """The response comes to the own CTA, or to all of its cluster."""
    s, cause = a.blocked, a.cause()
    assert s is not None
    _ask(a)
    landing = a.t + s.work[0]
    why = after(cause, landing, LAUNCH)
    for to in [a.cta.cluster.cta(rank) for rank in s.peers] or [a.cta]:
        land_in(a, to, s, landing, why)
    a.t += s.cost
    a.advance()
    a.model.drain()


def _ask(a: Agent) -> None:
    model = a.model
    model.handed_out.ask(a.cta.number // model.schedule.cluster_ctas)
