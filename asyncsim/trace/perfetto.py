"""Writes traces as a Perfetto file (.pftrace), which https://ui.perfetto.dev opens.

One process per trace ("predicted", "measured"), in it a group per CTA, in that a track per warp,
engine and buffer stage, and a counter per barrier and group queue. One cycle is shown as 1 us.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asyncsim.trace.files import write_whole
from asyncsim.trace.model import SHARED, Counter, Span, Trace
from asyncsim.trace.perfetto_schema import (
    COUNTER,
    EXPLICIT_ORDER,
    SEQ_INCREMENTAL_STATE_CLEARED,
    SLICE_BEGIN,
    SLICE_END,
    UNIT_COUNT,
    message_class,
)
from asyncsim.trace.tracks import by_cta, lanes, natural, ordered_tracks

NANOSECONDS_PER_CYCLE = 1000


def write_pftrace(path: str | Path, traces: Sequence[Trace]) -> None:
    """Write the traces to ``path``; a reader never sees half a file."""
    write_whole(path, pftrace_bytes(traces))


def pftrace_bytes(traces: Sequence[Trace]) -> bytes:
    """The content of a trace file: equal traces give equal bytes."""
    writer = _Writer()
    for index, trace in enumerate(traces):
        writer.trace(trace, index + 1)
    data: bytes = writer.root.SerializeToString(deterministic=True)
    return data


class _Writer:
    def __init__(self) -> None:
        self.root = message_class("Trace")()
        self._last_uuid = 0

    def trace(self, trace: Trace, pid: int) -> None:
        """A process: everything of one trace."""
        partial = "" if trace.complete else ", first part"
        name = f"{trace.source}: {trace.schedule} (1 us = 1 SM cycle{partial})"
        process = self._track(process={"pid": pid, "process_name": name})
        for rank, ((sm, cta), (spans, counters)) in enumerate(by_cta(trace).items()):
            group = self._track(
                name=f"SM {sm}, shared" if cta == SHARED else f"CTA {cta} on SM {sm}",
                parent_uuid=process,
                child_ordering=EXPLICIT_ORDER,
                sibling_order_rank=rank,
            )
            self._cta(group, spans, counters)

    def _cta(self, group: int, spans: list[Span], counters: list[Counter]) -> None:
        rank = 0
        for name, track in ordered_tracks(spans).items():
            for lane in lanes(track):
                uuid = self._track(name=name, parent_uuid=group, sibling_order_rank=rank)
                rank += 1
                for span in lane:
                    self._slice(uuid, span)
        by_track: dict[str, list[Counter]] = {}
        for counter in counters:
            by_track.setdefault(counter.track, []).append(counter)
        for name in sorted(by_track, key=natural):
            uuid = self._track(
                name=name,
                parent_uuid=group,
                sibling_order_rank=rank,
                counter={"unit": UNIT_COUNT},
            )
            rank += 1
            for counter in sorted(by_track[name], key=lambda c: c.time):
                self._event(
                    counter.time, type=COUNTER, track_uuid=uuid, counter_value=counter.value
                )

    def _track(self, **fields: Any) -> int:
        self._last_uuid += 1
        packet = self.root.packet.add(trusted_packet_sequence_id=1)
        if self._last_uuid == 1:
            packet.sequence_flags = SEQ_INCREMENTAL_STATE_CLEARED
        packet.track_descriptor.CopyFrom(
            message_class("TrackDescriptor")(uuid=self._last_uuid, **fields)
        )
        return self._last_uuid

    def _slice(self, track: int, span: Span) -> None:
        self._event(
            span.start,
            type=SLICE_BEGIN,
            track_uuid=track,
            name=span.name,
            categories=[span.kind.value],
            debug_annotations=list(_annotations(span)),
        )
        self._event(span.end, type=SLICE_END, track_uuid=track)

    def _event(self, time: float, **fields: Any) -> None:
        self.root.packet.add(
            timestamp=round(time * NANOSECONDS_PER_CYCLE),
            trusted_packet_sequence_id=1,
            track_event=message_class("TrackEvent")(**fields),
        )


def _annotations(span: Span) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if span.op_id >= 0:
        found.append({"name": "op", "int_value": span.op_id})
    if span.indices:
        found.append({"name": "indices", "string_value": ",".join(map(str, span.indices))})
    if span.note:
        found.append({"name": "note", "string_value": span.note})
    if span.inferred:
        found.append({"name": "inferred", "bool_value": True})
    return found
