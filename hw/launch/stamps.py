"""Decode a record buffer to a measured Trace.

Measured is the clock after every stamped op; an op begins where the one before it ended. Landings
of copies and completions of matrix operations are inferred: not later than the first wait that
covers them returned. The clocks are each SM's own; globaltimer anchors the CTAs to each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.hw.launch.inferred import Record, inferred_spans, op_name, warp_track
from asyncsim.hw.launch.prepare import Stamps
from asyncsim.hw.launch.protocol import RunReply
from asyncsim.hw.render.hooks import END_WORD
from asyncsim.hw.render.model import STAMP_BYTES
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import leaves_stamp
from asyncsim.stream import Dyn, Program
from asyncsim.trace import Span, SpanKind, Trace

_WRAP = 1 << 32
_WAITS = (ops.MbarrierWait, ops.MbarrierWaitState, ops.WaitGroup, ops.BarSync, ops.BarWarpSync)


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
        trace.spans += inferred_spans(schedule, cta, records)
    trace.spans.sort(key=lambda s: (s.start, s.end, s.track))
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
            if leaves_stamp(event[0].op):
                break
        if not group:
            return
        last = group[-1][0]
        if word != (last.op.id + 1 if leaves_stamp(last.op) else END_WORD):
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
    name = op_name(r.dyn)
    return Span(
        sm=cta,
        cta=cta,
        track=warp_track(schedule, r.warp),
        name=f"{r.first}..{name}" if r.first else name,
        start=r.issue,
        end=r.back,
        kind=SpanKind.STALL if isinstance(r.dyn.op, _WAITS) else SpanKind.OP,
        op_id=r.dyn.op.id,
        indices=r.indices,
    )
