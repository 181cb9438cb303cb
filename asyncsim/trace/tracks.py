"""The order in which the tracks of a CTA are shown: warps, engines, flights, stages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from asyncsim.trace.model import Span, SpanKind

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
