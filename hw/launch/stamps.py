"""Decode a record buffer to a measured Trace.

Measured is the clock after every stamped op; an op begins where the one before it ended. Landings
of copies and completions of matrix operations are inferred: not later than the first wait that
covers them returned. The clocks are each SM's own; globaltimer anchors the CTAs to each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from asyncsim.hw.launch.prepare import Stamps
from asyncsim.hw.launch.protocol import RunReply
from asyncsim.hw.render.hooks import END_WORD, is_stamped
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
    """One op. ``issue`` and ``back`` in cycles from the first CTA's start: its own if it was
    stamped, else those of the stamped op after it, in whose span it falls."""

    dyn: Dyn
    indices: tuple[int, ...]
    warp: int
    issue: float
    back: float
    stamped: bool
    first: str = ""  # what the span begins with, if not with this op


def decode(schedule: Schedule, data: bytes, reply: RunReply, stamps: Stamps) -> Trace:
    """The trace of the stamped CTAs; ``complete`` is False if a warp had more ops than room."""
    trace = Trace(source="measured", schedule=schedule.name)
    origin = min((ns for ns, _ in reply.starts), default=0)
    for cta in range(min(stamps.ctas, schedule.ctas)):
        ns, start_cycles = reply.starts[cta]
        shift = (ns - origin) * reply.clock_ghz[-1]
        records: list[Record] = []
        for warp in range(schedule.warps):
            row = (cta * schedule.warps + warp) * stamps.capacity * STAMP_BYTES
            words = memoryview(data)[row : row + stamps.capacity * STAMP_BYTES].cast("I")
            if words[-2]:  # no room left, and no END
                trace.complete = trace.complete and words[-2] == END_WORD
            records += _records(schedule, cta, warp, words, start_cycles, shift)
        trace.spans += [_op_span(schedule, cta, r) for r in records if r.stamped]
        trace.spans += _flights(cta, records)
    return trace


def _records(
    schedule: Schedule, cta: int, warp: int, words: memoryview, start: int, shift: float
) -> Iterator[Record]:
    """Records joined with the warp's op stream: both are in program order."""
    stream = Program(schedule).stream(_block(schedule, cta), warp)
    issue = shift
    for at in range(0, len(words), 2):
        word, clock = words[at], words[at + 1]
        if word == 0:
            return
        back = shift + (clock - start) % _WRAP
        group: list[tuple[Dyn, tuple[int, ...]]] = []
        for event in stream:
            group.append(event)
            if is_stamped(event[0].op):
                break
        if not group:
            return
        last = group[-1][0]
        if word != (last.op.id + 1 if is_stamped(last.op) else END_WORD):
            raise ValueError(
                f"stamp {at // 2} of warp {warp} is {word}, the stream is at op #{last.op.id}"
            )
        first = type(group[0][0].op).__name__ if len(group) > 1 else ""
        for i, (dyn, indices) in enumerate(group, 1):
            yield Record(dyn, indices, warp, issue, back, i == len(group), first)
        issue = back


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
        name=f"{r.first}..{_name(r.dyn)}" if r.first else _name(r.dyn),
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
    events = []
    for i, r in enumerate(records):
        waits = isinstance(r.dyn.op, ops.MbarrierWait | ops.WaitGroup)
        events.append((r.back, 1, i, r) if waits else (r.issue, 0, i, r))
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
        done = [f for f in loads if f.issue < r.back]
        pending.loads[r.dyn.barrier] = [f for f in loads if f.issue >= r.back]
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
