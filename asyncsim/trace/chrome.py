"""Writes traces as Chrome trace-event JSON, which chrome://tracing, Perfetto and speedscope open.

The same tracks as in a .pftrace file. The format knows processes and threads only, so there is a
process per CTA of each trace and a thread per track. One cycle is shown as 1 us.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from asyncsim.trace.files import write_whole
from asyncsim.trace.model import SHARED, Counter, Span, Trace
from asyncsim.trace.tracks import by_cta, lanes, natural, ordered_tracks

FORMAT = "asyncsim 1"
DIGITS = 3  # times are kept to a thousandth of a cycle

Event = dict[str, Any]


def write_chrome(path: str | Path, traces: Sequence[Trace]) -> None:
    """Write the traces to ``path``; a reader never sees half a file."""
    write_whole(path, chrome_bytes(traces))


def chrome_bytes(traces: Sequence[Trace]) -> bytes:
    """The content of a file, one event a line: equal traces give equal bytes."""
    head = {
        "format": FORMAT,
        "unit": "1 us = 1 SM cycle",
        "traces": [
            {"source": t.source, "schedule": t.schedule, "complete": t.complete} for t in traces
        ],
    }
    events = ",\n".join(json.dumps(e, allow_nan=False) for e in _events(traces))
    text = f'{{"displayTimeUnit": "ns",\n"otherData": {json.dumps(head)},\n"traceEvents": [\n'
    return f"{text}{events}\n]}}\n".encode()


def _events(traces: Sequence[Trace]) -> Iterator[Event]:
    pid = 0
    for index, trace in enumerate(traces):
        for (sm, cta), (spans, counters) in by_cta(trace).items():
            pid += 1
            yield from _process(pid, index, trace, sm, cta)
            yield from _threads(pid, spans)
            yield from _counters(pid, counters)


def _process(pid: int, index: int, trace: Trace, sm: int, cta: int) -> Iterator[Event]:
    where = f"SM {sm}, shared" if cta == SHARED else f"CTA {cta} on SM {sm}"
    partial = "" if trace.complete else ", first part"
    name = f"{trace.source}: {trace.schedule}, {where} (1 us = 1 SM cycle{partial})"
    args = {"name": name, "trace": index, "sm": sm, "cta": cta}
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": args}
    yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}


def _threads(pid: int, spans: list[Span]) -> Iterator[Event]:
    tid = 0
    for name, track in ordered_tracks(spans).items():
        for lane in lanes(track):
            tid += 1
            at = {"pid": pid, "tid": tid}
            yield {"ph": "M", **at, "name": "thread_name", "args": {"name": name}}
            yield {"ph": "M", **at, "name": "thread_sort_index", "args": {"sort_index": tid}}
            for span in lane:
                yield {"ph": "X", **at, **_slice(span)}


def _slice(span: Span) -> Event:
    start, end = round(span.start, DIGITS), round(span.end, DIGITS)
    args: Event = {}
    if span.op_id >= 0:
        args["op"] = span.op_id
    if span.indices:
        args["indices"] = list(span.indices)
    if span.note:
        args["note"] = span.note
    if span.inferred:
        args["inferred"] = True
    event = {"name": span.name, "cat": span.kind.value, "ts": start}
    return {**event, "dur": round(end - start, DIGITS), "args": args}


def _counters(pid: int, counters: list[Counter]) -> Iterator[Event]:
    for c in sorted(counters, key=lambda c: (natural(c.track), c.time)):
        time = round(c.time, DIGITS)
        yield {"ph": "C", "pid": pid, "name": c.track, "ts": time, "args": {"value": c.value}}
