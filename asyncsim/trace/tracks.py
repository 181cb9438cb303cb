"""The order in which the tracks of a CTA are shown: warps, engines, flights, stages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from asyncsim.trace.model import SHARED, Counter, Span, SpanKind, Trace

_RANK = {
    SpanKind.OP: 0,
    SpanKind.STALL: 0,
    SpanKind.ENGINE: 1,
    SpanKind.FLIGHT: 2,
    SpanKind.STAGE: 3,
}


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Sort key in which "ring[10]" comes after "ring[9]"."""
    return tuple(
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)
    )


def ordered_tracks(spans: Iterable[Span]) -> dict[str, list[Span]]:
    """The spans of each track, by start; tracks in the order of display."""
    tracks: dict[str, list[Span]] = {}
    rank: dict[str, int] = {}
    for span in spans:
        tracks.setdefault(span.track, []).append(span)
        rank[span.track] = min(rank.get(span.track, 9), _RANK[span.kind])
    for track in tracks.values():
        track.sort(key=lambda s: (s.start, s.end))
    names = sorted(tracks, key=lambda n: (rank[n], natural(n)))
    return {name: tracks[name] for name in names}


def lanes(spans: Iterable[Span]) -> list[list[Span]]:
    """Flights overlap, and slices of one track must not: spread them over as few as possible."""
    found: list[list[Span]] = []
    for span in spans:
        lane = next((lane for lane in found if lane[-1].end <= span.start), None)
        if lane is None:
            found.append([span])
        else:
            lane.append(span)
    return found


def by_cta(trace: Trace) -> dict[tuple[int, int], tuple[list[Span], list[Counter]]]:
    """Spans and counters of each (SM, CTA), in order; SHARED stands for the units of the SM."""
    keys = {(s.sm, s.cta) for s in trace.spans} | {(c.sm, c.cta) for c in trace.counters}
    found: dict[tuple[int, int], tuple[list[Span], list[Counter]]] = {
        key: ([], []) for key in sorted(keys)
    }
    for span in trace.spans:
        found[span.sm, span.cta][0].append(span)
    for counter in trace.counters:
        found[counter.sm, counter.cta][1].append(counter)
    return found


def spans_of_cta(trace: Trace, cta: int | None = None) -> list[Span]:
    """The spans of one CTA, the first on the first SM if None, and of the units of its SM."""
    of_ctas = [s for s in trace.spans if s.cta != SHARED and cta in (None, s.cta)]
    keys = {(s.sm, s.cta) for s in of_ctas} or {(s.sm, s.cta) for s in trace.spans if cta is None}
    if not keys:
        return []
    sm, first = min(keys)
    return [s for s in trace.spans if s.sm == sm and s.cta in (first, SHARED)]
