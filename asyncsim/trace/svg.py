"""Draws predicted over measured as an SVG picture, for a README or a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

from asyncsim.trace.model import Span, SpanKind, Trace
from asyncsim.trace.tracks import ordered_tracks, spans_of_cta

_LEFT, _RIGHT, _TOP, _BOTTOM = 160, 16, 46, 34
_BAR, _GAP, _ROW_GAP = 15, 2, 9
_FONT = "font-family='ui-monospace, Menlo, Consolas, monospace'"
_CHARACTER = 6.3  # width of a character at 10.5 px
_FILL = {
    SpanKind.OP: "#2f6fb3",
    SpanKind.STALL: "#e6e3dc",
    SpanKind.ENGINE: "#c8741f",
    SpanKind.FLIGHT: "#e7b073",
    SpanKind.STAGE: "#6fa06a",
}
_WORDS = {
    SpanKind.OP: "works",
    SpanKind.STALL: "waits",
    SpanKind.ENGINE: "unit busy",
    SpanKind.FLIGHT: "in flight",
    SpanKind.STAGE: "stage holds data",
}
_ON_DARK = frozenset({SpanKind.OP, SpanKind.ENGINE, SpanKind.STAGE})


@dataclass(frozen=True, slots=True)
class _Scale:
    start: float
    end: float
    width: int

    def x(self, time: float) -> float:
        inside = min(max(time, self.start), self.end)
        share = (inside - self.start) / (self.end - self.start)
        return _LEFT + share * (self.width - _LEFT - _RIGHT)


def draw_svg(
    predicted: Trace,
    measured: Trace | None = None,
    *,
    width: int = 960,
    title: str = "",
    window: tuple[float, float] | None = None,
) -> str:
    """An SVG document: a row per track of the first CTA, predicted above measured.

    ``window``: first and last cycle to draw, everything if None. Spans that were inferred are
    hatched by an outline. Equal traces give equal text.
    """
    sources = [spans_of_cta(t) for t in (predicted, measured) if t is not None]
    spans = [span for source in sources for span in source]
    if not spans:
        raise ValueError(f"trace of {predicted.schedule} has no spans to draw")
    start, end = window or (min(s.start for s in spans), max(s.end for s in spans))
    sources = [[s for s in source if s.end > start and s.start < end] for source in sources]
    spans = [span for source in sources for span in source]
    scale = _Scale(start, max(end, start + 1), width)
    names = list(ordered_tracks(spans))
    row = len(sources) * (_BAR + _GAP) + _ROW_GAP
    height = _TOP + row * len(names) + _BOTTOM
    heading = title or f"{predicted.schedule}: " + (
        "predicted above, measured below" if measured is not None else "predicted"
    )
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' {_FONT} font-size='10.5'>",
        f"<rect width='{width}' height='{height}' fill='#ffffff'/>",
        f"<text x='12' y='20' font-size='13' fill='#1c1c1c'>{escape(heading)}</text>",
        *_legend({s.kind for s in spans}, any(s.inferred for s in spans)),
        *_axis(scale, height - _BOTTOM),
    ]
    tracks = [ordered_tracks(source) for source in sources]
    for index, name in enumerate(names):
        y = _TOP + row * index
        parts.append(
            f"<text x='{_LEFT - 8}' y='{y + row / 2}' text-anchor='end' fill='#1c1c1c'>"
            f"{escape(name)}</text>"
        )
        for line, found in enumerate(tracks):
            parts += _bars(found.get(name, []), scale, y + line * (_BAR + _GAP))
    return "\n".join([*parts, "</svg>", ""])


def _bars(spans: Sequence[Span], scale: _Scale, y: float) -> Iterator[str]:
    for span in spans:
        left, right = scale.x(span.start), scale.x(span.end)
        style = f"fill='{_FILL[span.kind]}'"
        if span.inferred:
            style += " fill-opacity='0.45' stroke='#444444' stroke-width='0.6' stroke-dasharray='2'"
        elif span.kind is SpanKind.FLIGHT:
            style += " fill-opacity='0.5'"
        tip = f"{span.name}: {span.start:,.0f} to {span.end:,.0f}"
        yield (
            f"<rect x='{left:.1f}' y='{y:.1f}' width='{max(right - left - 0.6, 0.6):.1f}' "
            f"height='{_BAR}' {style}><title>{escape(tip)}</title></rect>"
        )
        if len(span.name) * _CHARACTER + 6 <= right - left and span.kind is not SpanKind.FLIGHT:
            dark = span.kind in _ON_DARK and not span.inferred
            yield (
                f"<text x='{left + 3:.1f}' y='{y + 11:.1f}' "
                f"fill='{'#ffffff' if dark else '#3a3a3a'}'>{escape(span.name)}</text>"
            )


def _legend(kinds: set[SpanKind], inferred: bool) -> Iterator[str]:
    x = float(_LEFT)
    entries = [(_FILL[k], _WORDS[k], "") for k in SpanKind if k in kinds]
    if inferred:
        entries.append(("#ffffff", "dashed: inferred", " stroke='#444444' stroke-dasharray='2'"))
    for fill, word, stroke in entries:
        yield f"<rect x='{x:.1f}' y='28' width='10' height='10' fill='{fill}'{stroke}/>"
        yield f"<text x='{x + 14:.1f}' y='37' fill='#3a3a3a'>{word}</text>"
        x += 14 + len(word) * _CHARACTER + 18


def _axis(scale: _Scale, bottom: float) -> Iterator[str]:
    """Vertical lines at round cycles, with their numbers below."""
    step = _round_step((scale.end - scale.start) / 8)
    time = ceil(scale.start / step) * step
    while time <= scale.end:
        x = scale.x(time)
        yield (
            f"<line x1='{x:.1f}' y1='{_TOP - 4}' x2='{x:.1f}' y2='{bottom}' "
            "stroke='#d9d9d9' stroke-width='1'/>"
        )
        yield (
            f"<text x='{x:.1f}' y='{bottom + 14}' text-anchor='middle' fill='#5a5a5a'>"
            f"{time:,.0f}</text>"
        )
        time += step
    yield (
        f"<text x='{scale.width - _RIGHT}' y='{bottom + 28}' text-anchor='end' "
        "fill='#5a5a5a'>SM cycles</text>"
    )


def _round_step(step: float) -> float:
    scale = 1.0
    while True:
        for digit in (1, 2, 5):
            if digit * scale >= step:
                return digit * scale
        scale *= 10
