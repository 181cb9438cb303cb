"""Handlers of TMA stores and reductions."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.machine import TICKS_PER_CYCLE, ticks
from asyncsim.sim.do_copy import engine_name, rows, sliced
from asyncsim.sim.path import LATENCY_L2, after
from asyncsim.sim.rows import Rows
from asyncsim.sim.steps import Bound, Maker, Step

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import SmState
    from asyncsim.sim.numbers import Numbers
    from asyncsim.sim.role import Agent
    from asyncsim.stream.operands import Values

CROWDED = 8192  # bytes of reductions of which the machine file says how much longer they take


def tma_store_maker(b: Bound, op: ops.StoreOp) -> Maker:
    """work = (engine occupancy, latency beside it, bytes as L2 counts those of a store); value: 1
    for a reduction. How the rows of the first execution lie in lines stands for all."""
    numbers, amount, box = b.model.numbers, b.lane_bytes(op.src), b.box(op.dst)
    tiled = isinstance(op, ops.TmaStore)
    inner = amount // prod(op.src.shape[: -1 - sliced(b, op)]) if tiled else amount
    latency = numbers.ticks("tma.store_latency" if tiled else "tma.bulk_store_latency")
    made: list[Step] = []

    def build(values: Values) -> Step:
        if not made:
            lie = rows(b, op, op.dst, inner, amount, box(values)[1])
            step = b.step(tma_store, numbers.ticks("tma.store_issue") * b.lanes)
            if op.reduce is None:
                counted = amount + _of_odd_rows(numbers, lie)
                occupancy = counted / numbers.rate("tma.store")
            else:
                counted, occupancy = _reduced(b, op, amount, lie)
                step.value = 1
            step.work = (ticks(occupancy / TICKS_PER_CYCLE), latency, counted)
            step.amount, step.count, step.name = amount, b.times, engine_name(op)
            made.append(step)
        return made[0]

    return build


def _of_odd_rows(numbers: Numbers, lie: Rows) -> int:
    """What rows that begin in the middle of a sector count beside their bytes."""
    return lie.odd * lie.pieces * numbers.bytes("tma.store_odd_row") if lie.odd else 0


def _reduced(b: Bound, op: ops.StoreOp, amount: int, lie: Rows) -> tuple[int, Fraction]:
    """Bytes of a reduction as L2 counts those of a store, and ticks of the engine."""
    numbers, tensor = b.model.numbers, b.model.schedule.tensor(op.dst.tensor)
    # the lines of a small tensor are unevenly spread over L2, and the fullest part decides
    crowded = numbers.curve("tma.reduce_crowded").at(prod(tensor.shape) * tensor.dtype.bytes)
    further = lie.further + lie.odd
    counted = amount + (further * numbers.bytes("tma.reduce_line") if further else 0)
    taken = counted / numbers.rate("tma.reduce_device") + amount * Fraction(ticks(crowded), CROWDED)
    return int(taken * numbers.rate("l2.write")), counted / numbers.rate("tma.reduce")


def tma_store(a: Agent, s: Step) -> bool:
    a.model.clock.post(a.t, a.key, _store_issued, a)
    return False


def _reading(sm: SmState, time: int, work: int) -> int:
    """Ticks for a store that takes the engine so many: shared memory is read in the cycles that
    operand reads of wgmma leave. Copies behind it do not wait for that."""
    if sm.tensor.free <= time or not sm.operand_ticks:
        return work
    n = sm.model.numbers
    left = 1 - Fraction(sm.operand_bytes, sm.operand_ticks) / n.rate("smem.port")
    least = n.rate("tma.store_starved") / n.rate("tma.store")
    return int(work / max(left, least))


def _store_issued(a: Agent) -> None:
    s, sm, model = a.blocked, a.cta.sm, a.model
    assert s is not None
    cause, now = a.cause(), a.t
    occupancy, latency, counted = s.work
    for _ in range(s.count):
        accepted, why = sm.accept(now, cause)
        if accepted > now:
            a.enabled(s, accepted, why)
            now, cause = accepted, a.cause()
        start, end, link = sm.tma.serve(now, occupancy, cause)
        sm.starts.append((start, link))
        _, read, _ = sm.reader.serve(start, _reading(sm, start, occupancy), link)
        if s.value:
            sent, why = model.memory.reduce(a.cta, now, counted, cause)
        else:
            sent, why = model.memory.write(a.cta, now, counted, s.amount, cause)
        sm.tma.hold(sent)
        if sm.rec is not None:
            sm.rec.engine(sm, "tma", s.name, start, max(end, sent))
        done = max(end, sent, read) + latency
        last = sm.reader.last if read > max(end, sent) else why if sent > end else sm.tma.last
        assert last is not None
        a.bulk.issue((done, after(last, done, LATENCY_L2)))
        if a.rec is not None:
            a.rec.flight(a, s, a.indices, start, done)
    a.t = now + s.cost
    a.advance()
    model.drain()
