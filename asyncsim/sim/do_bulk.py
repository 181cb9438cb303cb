"""Handlers of bulk copies without a tensor map, of red.async, and of prefetches."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from asyncsim.ir import op as ops
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.sim.do_cluster import remote_store_maker
from asyncsim.sim.do_copy import land_in, tma_load_maker
from asyncsim.sim.do_store import tma_store_maker
from asyncsim.sim.path import LATENCY_PEER, after
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values


def bulk_maker(b: Bound, op: ops.BulkOp) -> Maker:
    match op:
        case ops.BulkLoad():
            return tma_load_maker(b, op)
        case ops.BulkStore():
            return tma_store_maker(b, op)
        case ops.BulkSend():
            return _send_maker(b, op)
        case ops.RedAsync(mbarrier=ref, src=src):
            return remote_store_maker(b, ref, src)
        case ops.BulkPrefetch() | ops.TmaPrefetch():
            return _prefetch_maker(b, op)
        case ops.PrefetchTensorMap(tensor_map=name):
            step = b.step(prefetch_map, b.model.numbers.ticks("tma.issue") * b.lanes)
            step.name = name
            return b.constant(step)
        case _ as unreachable:
            assert_never(unreachable)


# -- shared memory to that of another CTA ------------------------------------------------------


def _send_maker(b: Bound, op: ops.BulkSend) -> Maker:
    """work = (engine occupancy, latency beside it)"""
    numbers, place = b.model.numbers, b.place(op.mbarrier)
    amount = b.lane_bytes(op.src)
    cost = numbers.ticks("tma.store_issue") * b.lanes
    moving = amount / numbers.rate("tma.send") / TICKS_PER_CYCLE
    occupancy = ticks(max(numbers.exact("tma.min_send"), moving))
    work = (occupancy, numbers.ticks("tma.send_latency"))

    def build(values: Values) -> Step:
        step = b.step(send, cost)
        step.rank, step.barrier = place(values)
        step.amount, step.count, step.work, step.name = amount, b.times, work, op.src.tile
        return step

    return b.table(place, build)


def send(a: Agent, s: Step) -> bool:
    a.model.clock.post(a.t, a.key, _sent, a)
    return False


def _sent(a: Agent) -> None:
    """The engine reads the source; the bytes arrive through the port of the other SM."""
    s, sm, model = a.blocked, a.cta.sm, a.model
    assert s is not None
    cause, now = a.cause(), a.t
    peer = a.cta if s.rank < 0 else a.cta.cluster.cta(s.rank)
    for _ in range(s.count):
        accepted, why = sm.accept(now, cause)
        if accepted > now:
            a.enabled(s, accepted, why)
            now, cause = accepted, a.cause()
        start, end, link = sm.tma.serve(now, s.work[0], cause)
        sm.starts.append((start, link))
        if sm.rec is not None:
            sm.rec.engine(sm, "tma", s.name, start, end)
        landing = end + s.work[1]
        assert sm.tma.last is not None
        because = after(sm.tma.last, landing, LATENCY_PEER)
        at, because = model.memory.deliver(
            peer.sm, start, s.amount, landing, s.work[1], because, LATENCY_PEER
        )
        if a.rec is not None:
            a.rec.flight(a, s, a.indices, start, at)
        land_in(a, peer, s, at, because)
    a.t = now + s.cost
    a.advance()
    model.drain()


# -- prefetches --------------------------------------------------------------------------------


def _prefetch_maker(b: Bound, op: ops.BulkPrefetch | ops.TmaPrefetch) -> Maker:
    """work = (engine occupancy,): one request, of which nothing comes back to the SM"""
    numbers = b.model.numbers
    step = b.step(prefetch, numbers.ticks("tma.issue") * b.lanes)
    step.amount, step.count, step.work = b.bytes(op.src), b.times, (numbers.ticks("tma.min_copy"),)
    step.name = op.tensor_map if isinstance(op, ops.TmaPrefetch) else op.src.tensor
    return b.boxed(op.src, lambda values: step)


def prefetch(a: Agent, s: Step) -> bool:
    a.model.clock.post(a.t, a.key, _prefetched, a)
    return False


def _prefetched(a: Agent) -> None:
    s, sm = a.blocked, a.cta.sm
    assert s is not None
    cause, now = a.cause(), a.t
    share, latency = a.cta.share(s.op_id), a.model.tma_latency
    for _ in range(s.count):
        start, _, link = sm.tma.serve(sm.descriptor(s.name, now), s.work[0], cause)
        a.model.memory.prefetch(a.cta, start, s.amount, s.box, share, latency, link)
    a.t = now + s.cost
    a.advance()
    a.model.drain()


def prefetch_map(a: Agent, s: Step) -> bool:
    """From now on the descriptor is on its way to the SM."""
    a.cta.sm.descriptor(s.name, a.t)
    a.t += s.cost
    return True
