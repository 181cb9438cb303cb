"""What a stamped run does not measure, inferred: landings, completions, contents of stages.

A copy has landed, and a matrix operation is complete, at the latest when the first wait that covers
it returns. So these spans end at upper bounds; they are marked ``inferred``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import SmemRegion
from asyncsim.stream import BarrierKey, Dyn
from asyncsim.trace import Span, SpanKind

_NOTE = "the landing is not measured: it is not later than the wait that covers it"


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


@dataclass(frozen=True, slots=True)
class Flight:
    """An asynchronous op and the time by which it is complete."""

    record: Record
    done_by: float


@dataclass(slots=True)
class _Pending:
    """What one CTA has in flight: loads by barrier, groups by issuer."""

    loads: dict[BarrierKey, list[Record]] = field(default_factory=dict)
    open: dict[tuple[int, GroupKind], list[Record]] = field(default_factory=dict)
    groups: dict[tuple[int, GroupKind], list[list[Record]]] = field(default_factory=dict)


def inferred_spans(schedule: Schedule, cta: int, records: list[Record]) -> list[Span]:
    """FLIGHT spans of asynchronous ops and STAGE spans of what shared tiles hold."""
    flights = list(_flights(records))
    end = max((r.back for r in records), default=0.0)
    return [
        *(_flight_span(schedule, cta, f) for f in flights),
        *_stage_spans(schedule, cta, flights, end),
    ]


def warp_track(schedule: Schedule, warp: int) -> str:
    role = schedule.role_of(warp)
    return f"{role.name}/{warp - role.first_warp}" if role else f"block/{warp}"


def op_name(dyn: Dyn) -> str:
    op = dyn.op
    if isinstance(op, ops.Compute):
        return op.defn.name
    text = type(op).__name__
    return f"{text} {dyn.barrier}" if dyn.barrier is not None else text


def _flights(records: list[Record]) -> Iterator[Flight]:
    """Waits act when they return, everything else when it is issued."""
    events = []
    for i, r in enumerate(records):
        waits = isinstance(r.dyn.op, ops.MbarrierWaitOp | ops.WaitGroup)
        events.append((r.back, 1, i, r) if waits else (r.issue, 0, i, r))
    pending = _Pending()
    for time, waited, _, r in sorted(events, key=lambda e: e[:3]):
        if waited:
            yield from (Flight(done, time) for done in _returned(pending, r))
        else:
            _issued(pending, r)


def _issued(pending: _Pending, r: Record) -> None:
    match r.dyn.op:
        case ops.TmaLoad():
            assert r.dyn.barrier is not None
            pending.loads.setdefault(r.dyn.barrier, []).append(r)
        case ops.CpAsync():
            pending.open.setdefault((r.warp, GroupKind.CP_ASYNC), []).append(r)
        case ops.CpAsyncMbarrierArrive():
            assert r.dyn.barrier is not None
            copies = pending.open.pop((r.warp, GroupKind.CP_ASYNC), [])
            pending.loads.setdefault(r.dyn.barrier, []).extend(copies)
        case ops.TmaStore():
            pending.open.setdefault((r.warp, GroupKind.BULK), []).append(r)
        case ops.WgmmaMmaAsync():
            pending.open.setdefault((r.warp, GroupKind.WGMMA), []).append(r)
        case ops.CommitGroup(kind=kind):
            members = pending.open.pop((r.warp, kind), [])
            pending.groups.setdefault((r.warp, kind), []).append(members)
        case _:
            pass


def _returned(pending: _Pending, r: Record) -> list[Record]:
    op: OpBase = r.dyn.op
    if isinstance(op, ops.MbarrierWaitOp):
        assert r.dyn.barrier is not None
        loads = pending.loads.get(r.dyn.barrier, [])
        pending.loads[r.dyn.barrier] = [f for f in loads if f.issue >= r.back]
        return [f for f in loads if f.issue < r.back]
    assert isinstance(op, ops.WaitGroup)
    groups = pending.groups.get((r.warp, op.kind), [])
    covered = groups[: max(0, len(groups) - op.n)]
    del groups[: len(covered)]
    return [f for group in covered for f in group]


def _flight_span(schedule: Schedule, cta: int, f: Flight) -> Span:
    op = f.record.dyn.op
    what = "wgmma" if isinstance(op, ops.WgmmaMmaAsync) else "copies"
    return Span(
        sm=cta,
        cta=cta,
        track=f"{what} of {warp_track(schedule, f.record.warp)}",
        name=op_name(f.record.dyn),
        start=f.record.issue,
        end=f.done_by,
        kind=SpanKind.FLIGHT,
        op_id=op.id,
        indices=f.record.indices,
        note=_NOTE,
        inferred=True,
    )


def _stage_spans(
    schedule: Schedule, cta: int, flights: Iterable[Flight], end: float
) -> Iterator[Span]:
    """A stage holds data from the landing of its copies to the issue of the next ones."""
    held: dict[str, tuple[Flight, float]] = {}
    for f in sorted(flights, key=lambda f: f.record.issue):
        stage = _stage(schedule, f.record.dyn)
        if stage is None:
            continue
        before = held.get(stage)
        if before is not None and before[0].record.indices == f.record.indices:
            held[stage] = (before[0], max(before[1], f.done_by))  # one more copy of the same tile
            continue
        if before is not None:
            yield _stage_span(cta, stage, *before, f.record.issue)
        held[stage] = (f, f.done_by)
    for stage, last in held.items():
        yield _stage_span(cta, stage, *last, end)


def _stage(schedule: Schedule, dyn: Dyn) -> str | None:
    """The tile and stage that a load fills."""
    if not isinstance(dyn.op, ops.TmaLoad | ops.CpAsync):
        return None
    tile = schedule.tile(dyn.op.dst.tile)
    region = next(a.region for a in dyn.accesses if a.write)
    assert isinstance(region, SmemRegion)
    return f"{tile.name}[{(region.low - tile.offset) // tile.stage_stride}]"


def _stage_span(cta: int, stage: str, f: Flight, landed: float, end: float) -> Span:
    indices = f.record.indices
    return Span(
        sm=cta,
        cta=cta,
        track=stage,
        name="t" + ",".join(map(str, indices)) if indices else op_name(f.record.dyn),
        start=min(landed, end),
        end=end,
        kind=SpanKind.STAGE,
        op_id=f.record.dyn.op.id,
        indices=indices,
        note=_NOTE,
        inferred=True,
    )
