"""Reads back a Chrome trace that ``chrome.py`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from asyncsim.trace.chrome import DIGITS, FORMAT
from asyncsim.trace.model import Counter, Span, SpanKind, Trace


def load_chrome(path: str | Path) -> list[Trace]:
    """The traces of a file, times to a thousandth of a cycle. ValueError for another's file."""
    return parse_chrome(Path(path).read_bytes())


def parse_chrome(data: bytes) -> list[Trace]:
    """The traces in the content of a file."""
    try:
        document = json.loads(data)
        head = document["otherData"]
        if head["format"] != FORMAT:
            raise ValueError(f"format {head['format']!r}, not {FORMAT!r}")
        traces = [Trace(t["source"], t["schedule"], complete=t["complete"]) for t in head["traces"]]
        _fill(traces, document["traceEvents"])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"not a trace of asyncsim: {type(error).__name__}: {error}") from None
    return traces


def _fill(traces: list[Trace], events: list[dict[str, Any]]) -> None:
    places: dict[int, tuple[Trace, int, int]] = {}
    tracks: dict[tuple[int, int], str] = {}
    for event in events:
        pid, args = event["pid"], event["args"]
        match event["ph"], event["name"]:
            case "M", "process_name":
                places[pid] = traces[args["trace"]], args["sm"], args["cta"]
            case "M", "thread_name":
                tracks[pid, event["tid"]] = args["name"]
            case "X", _:
                trace, sm, cta = places[pid]
                trace.spans.append(_span(event, sm, cta, tracks[pid, event["tid"]]))
            case "C", name:
                trace, sm, cta = places[pid]
                trace.counters.append(
                    Counter(sm=sm, cta=cta, track=name, time=event["ts"], value=args["value"])
                )


def _span(event: dict[str, Any], sm: int, cta: int, track: str) -> Span:
    args = event["args"]
    return Span(
        sm=sm,
        cta=cta,
        track=track,
        name=event["name"],
        start=event["ts"],
        end=round(event["ts"] + event["dur"], DIGITS),
        kind=SpanKind(event["cat"]),
        op_id=args.get("op", -1),
        indices=tuple(args.get("indices", ())),
        note=args.get("note", ""),
        inferred=args.get("inferred", False),
    )
