"""Decode a record buffer to a measured Trace.

Measured are issue and return of every stamped op. Landings of copies and completions of matrix
operations are inferred: not later than the first wait that covers them returned. The clocks are
each SM's own; globaltimer anchors the CTAs to each other (32 ns steps).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from asyncsim.hw.launch.prepare import Stamps
from asyncsim.hw.launch.protocol import RunReply
from asyncsim.hw.render.model import STAMP_BYTES
from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, Op
from asyncsim.ir.schedule import Schedule
from asyncsim.stream import BarrierKey, Dyn, Program
from asyncsim.trace import Span, SpanKind, Trace

_WRAP = 1 << 32
_WAITS = (ops.MbarrierWait, ops.WaitGroup, ops.BarSync, ops.BarWarpSync)
_FLIGHT_TRACK = {GroupKind.CP_ASYNC: "cp_async", GroupKind.BULK: "tma", GroupKind.WGMMA: "tensor"}


@dataclass(frozen=True, slots=True)
class Record:
    """One stamped op; its issue and return in cycles from the first CTA's start."""

    dyn: Dyn
    indices: tuple[int, ...]
    warp: int
    issue: float
    back: float


def decode(schedule: Schedule, data: bytes, reply: RunReply, stamps: Stamps) -> Trace:
    """The trace of the stamped CTAs; ``complete`` is False if a warp had more ops than room."""
    trace = Trace(source="measured", schedule=schedule.name)
    origin = min((ns for ns, _ in reply.starts), default=0)
    for cta in range(min(stamps.ctas, schedule.ctas)):
        ns, start_cycles = reply.starts[cta]
        shift = (ns - origin) * reply.clock_ghz[-1]
        records = []
        for warp in range(schedule.warps):
            row = (cta * schedule.warps + warp) * stamps.capacity * STAMP_BYTES
            words = memoryview(data)[row : row + stamps.capacity * STAMP_BYTES].cast("I")
            found = list(_records(schedule, cta, warp, words, start_cycles, shift))
            if len(found) == stamps.capacity:
                trace.complete = False
            records += found
        trace.spans += [_op_span(schedule, cta, r) for r in records]
        trace.spans += _flights(cta, records)
    return trace


def _records(
    schedule: Schedule, cta: int, warp: int, words: memoryview, start: int, shift: float
) -> Iterator[Record]:
    """Records joined with the warp's op stream: both are in program order."""
    stream = Program(schedule).stream(_block(schedule, cta), warp)
    for at, (dyn, indices) in zip(range(0, len(words), 4), stream, strict=False):
        op, issue, back = words[at], words[at + 1], words[at + 2]
        if op == 0:
            return
        if op - 1 != dyn.op.id:
            raise ValueError(
                f"stamp {at // 4} of warp {warp} is of op #{op - 1}, the stream says #{dyn.op.id}"
            )
        yield Record(
            dyn, indices, warp, shift + (issue - start) % _WRAP, shift + (back - start) % _WRAP
        )


def _block(schedule: Schedule, cta: int) -> tuple[int, int, int]:
    x, y, _ = schedule.grid
    return cta % x, cta // x % y, cta // (x * y)


def _op_span(schedule: Schedule, cta: int, r: Record) -> Span:
    role = schedule.role_of(r.warp)
    name = role.name if role else "block"
    place = r.warp - (role.first_warp if role else 0)
    op = r.dyn.op
    return Span(
        sm=cta,
        cta=cta,
        track=f"{name}/{place}",
        name=_name(r.dyn),
        start=r.issue,
        end=r.back,
        kind=SpanKind.STALL if isinstance(op, _WAITS) else SpanKind.OP,
        op_id=op.id,
        indices=r.indices,
    )


def _name(dyn: Dyn) -> str:
    op = dyn.op
    if isinstance(op, ops.Compute):
        return op.defn.name
    text = type(op).__name__
    return f"{text} {dyn.barrier}" if dyn.barrier is not None else text


@dataclass(slots=True)
class _Pending:
    """What one CTA has in flight: loads by barrier, groups by issuer."""

    loads: dict[BarrierKey, list[Record]] = field(default_factory=dict)
    open: dict[tuple[int, GroupKind], list[Record]] = field(default_factory=dict)
    groups: dict[tuple[int, GroupKind], list[list[Record]]] = field(default_factory=dict)


def _flights(cta: int, records: list[Record]) -> list[Span]:
    """In-flight spans, ended by the first wait that covers them."""
    pending = _Pending()
    spans: list[Span] = []
    events = [(r.issue, 0, i, r) for i, r in enumerate(records)]
    events += [
        (r.back, 1, i, r)
        for i, r in enumerate(records)
        if isinstance(r.dyn.op, ops.MbarrierWait | ops.WaitGroup)
    ]
    for _, returned, _, r in sorted(events, key=lambda e: e[:3]):
        landed = _returned(pending, r) if returned else _issued(pending, r)
        spans += [_flight(cta, f, r.back) for f in landed]
    return spans


def _issued(pending: _Pending, r: Record) -> list[Record]:
    match r.dyn.op:
        case ops.TmaLoad():
            assert r.dyn.barrier is not None
            pending.loads.setdefault(r.dyn.barrier, []).append(r)
        case ops.CpAsync():
            pending.open.setdefault((r.warp, GroupKind.CP_ASYNC), []).append(r)
        case ops.TmaStore():
            pending.open.setdefault((r.warp, GroupKind.BULK), []).append(r)
        case ops.WgmmaMmaAsync():
            pending.open.setdefault((r.warp, GroupKind.WGMMA), []).append(r)
        case ops.CommitGroup(kind=kind):
            members = pending.open.pop((r.warp, kind), [])
            pending.groups.setdefault((r.warp, kind), []).append(members)
        case _:
            pass
    return []


def _returned(pending: _Pending, r: Record) -> list[Record]:
    op: Op = r.dyn.op
    if isinstance(op, ops.MbarrierWait):
        assert r.dyn.barrier is not None
        loads = pending.loads.get(r.dyn.barrier, [])
        done = [f for f in loads if f.back <= r.back]
        pending.loads[r.dyn.barrier] = [f for f in loads if f.back > r.back]
        return done
    assert isinstance(op, ops.WaitGroup)
    groups = pending.groups.get((r.warp, op.kind), [])
    covered = groups[: max(0, len(groups) - op.n)]
    del groups[: len(covered)]
    return [f for group in covered for f in group]


def _flight(cta: int, f: Record, landed_by: float) -> Span:
    op = f.dyn.op
    track = "tma"
    if isinstance(op, ops.CpAsync):
        track = _FLIGHT_TRACK[GroupKind.CP_ASYNC]
    elif isinstance(op, ops.WgmmaMmaAsync):
        track = _FLIGHT_TRACK[GroupKind.WGMMA]
    return Span(
        sm=cta,
        cta=cta,
        track=f"{track} in flight",
        name=_name(f.dyn),
        start=f.issue,
        end=landed_by,
        kind=SpanKind.FLIGHT,
        op_id=op.id,
        indices=f.indices,
        note="the landing is not measured: not later than the wait that covers it",
        inferred=True,
    )
