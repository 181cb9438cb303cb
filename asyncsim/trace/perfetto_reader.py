"""Reads back a trace file that ``perfetto.py`` wrote, and checks one for what a viewer refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from asyncsim.trace.model import SHARED, Counter, Span, SpanKind, Trace
from asyncsim.trace.perfetto import NANOSECONDS_PER_CYCLE
from asyncsim.trace.perfetto_schema import COUNTER, SLICE_BEGIN, SLICE_END, message_class

_PROCESS = re.compile(r"(?P<source>[^:]*): (?P<schedule>.*) \(1 us = 1 SM cycle(?P<part>.*)\)")
_CTA = re.compile(r"CTA (?P<cta>\d+) on SM (?P<sm>\d+)|SM (?P<shared>\d+), shared")


def load_pftrace(path: str | Path) -> list[Trace]:
    """The traces of a file, times to a thousandth of a cycle. ValueError lists its faults."""
    return parse_pftrace(Path(path).read_bytes())


def parse_pftrace(data: bytes) -> list[Trace]:
    """The traces in the content of a file."""
    faults = validate_pftrace(data)
    if faults:
        raise ValueError("not a trace of asyncsim: " + "; ".join(faults))
    return _Reader(_parse(data)).traces


def validate_pftrace(data: bytes) -> list[str]:
    """What is wrong with a trace file, in words: tracks, nesting of slices, order of times."""
    try:
        root = _parse(data)
    except ValueError as error:
        return [str(error)]
    faults: list[str] = []
    tracks: dict[int, Any] = {}
    open_slices: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, packet in enumerate(root.packet):
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.uuid in tracks or track.uuid == 0:
                faults.append(f"packet {number}: track {track.uuid} is described twice or is 0")
            if track.HasField("parent_uuid") and track.parent_uuid not in tracks:
                faults.append(f"packet {number}: track {track.uuid} has an unknown parent")
            tracks[track.uuid] = track
        if packet.HasField("track_event"):
            event = packet.track_event
            uuid = event.track_uuid
            if uuid not in tracks:
                faults.append(f"packet {number}: an event of an unknown track {uuid}")
                continue
            if packet.timestamp < last.get(uuid, 0):
                faults.append(f"packet {number}: track {tracks[uuid].name!r} goes back in time")
            last[uuid] = packet.timestamp
            if (event.type == COUNTER) is not tracks[uuid].HasField("counter"):
                faults.append(f"packet {number}: counter and slices mix on {tracks[uuid].name!r}")
            step = {SLICE_BEGIN: 1, SLICE_END: -1}.get(event.type, 0)
            open_slices[uuid] = open_slices.get(uuid, 0) + step
            if open_slices[uuid] not in (0, 1):
                faults.append(f"packet {number}: slices of {tracks[uuid].name!r} overlap")
    faults += [f"a slice of {tracks[u].name!r} never ends" for u, n in open_slices.items() if n]
    return faults


def _parse(data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    root = message_class("Trace")()
    try:
        root.ParseFromString(data)
    except DecodeError:
        raise ValueError("not a protobuf message") from None
    return root


class _Reader:
    def __init__(self, root: Any) -> None:
        self.traces: list[Trace] = []
        self._trace_of: dict[int, Trace] = {}
        self._cta_of: dict[int, tuple[int, int]] = {}
        self._names: dict[int, str] = {}
        self._begun: dict[int, Any] = {}
        for packet in root.packet:
            if packet.HasField("track_descriptor"):
                self._track(packet.track_descriptor)
            else:
                self._event(packet)

    def _track(self, track: Any) -> None:
        self._names[track.uuid] = track.name
        if track.HasField("process"):
            found = _PROCESS.fullmatch(track.process.process_name)
            if found is None:
                raise ValueError(f"not a trace of asyncsim: process {track.process.process_name!r}")
            trace = Trace(found["source"], found["schedule"], complete=not found["part"])
            self.traces.append(trace)
            self._trace_of[track.uuid] = trace
            return
        self._trace_of[track.uuid] = self._trace_of[track.parent_uuid]
        place = _CTA.fullmatch(track.name)
        if place is None:
            self._cta_of[track.uuid] = self._cta_of[track.parent_uuid]
        elif place["shared"]:
            self._cta_of[track.uuid] = (int(place["shared"]), SHARED)
        else:
            self._cta_of[track.uuid] = (int(place["sm"]), int(place["cta"]))

    def _event(self, packet: Any) -> None:
        event = packet.track_event
        uuid = event.track_uuid
        time = packet.timestamp / NANOSECONDS_PER_CYCLE
        sm, cta = self._cta_of[uuid]
        trace, name = self._trace_of[uuid], self._names[uuid]
        if event.type == COUNTER:
            trace.counters.append(
                Counter(sm=sm, cta=cta, track=name, time=time, value=event.counter_value)
            )
        elif event.type == SLICE_BEGIN:
            self._begun[uuid] = packet
        else:
            trace.spans.append(_span(self._begun.pop(uuid), sm, cta, name, time))


def _span(packet: Any, sm: int, cta: int, track: str, end: float) -> Span:
    event = packet.track_event
    notes = {a.name: a for a in event.debug_annotations}
    indices = notes["indices"].string_value if "indices" in notes else ""
    return Span(
        sm=sm,
        cta=cta,
        track=track,
        name=event.name,
        start=packet.timestamp / NANOSECONDS_PER_CYCLE,
        end=end,
        kind=SpanKind(event.categories[0]),
        op_id=notes["op"].int_value if "op" in notes else -1,
        indices=tuple(int(i) for i in indices.split(",") if i),
        note=notes["note"].string_value if "note" in notes else "",
        inferred="inferred" in notes,
    )
