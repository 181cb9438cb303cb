"""Draws a trace as text: one row per warp, engine and stage, one column per so many cycles.

Plain ASCII unless asked otherwise, so that it reads the same in a log. A span is drawn from the
column it starts in; ``|`` marks its start and its name stands in it where there is room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from textwrap import wrap

from asyncsim.trace.model import Span, SpanKind, Trace
from asyncsim.trace.tracks import ordered_tracks, spans_of_cta

MAX_NOTES = 12
_STEP_COLUMNS = 6  # columns that a step of the pipeline should have, so that names can be read
_LABEL_COLUMNS = (12, 24)
_STEPS = (1, 2, 3, 4, 5, 6, 8)


@dataclass(frozen=True, slots=True)
class Glyphs:
    """How each kind of span is filled; ``drawn``: one that was inferred, not measured."""

    op: str = "#"
    stall: str = "."
    engine: str = "="
    stage: str = "-"
    drawn: str = "~"


_WARP_KINDS = (SpanKind.OP, SpanKind.STALL)
ASCII = Glyphs()
BLOCKS = Glyphs(op="█", stall="░", engine="▓", stage="▒", drawn="╌")


def draw_timeline(
    trace: Trace,
    *,
    width: int = 80,
    other: Trace | None = None,
    cta: int | None = None,
    window: tuple[float, float] | None = None,
    glyphs: Glyphs = ASCII,
) -> str:
    """The timeline of one CTA, at most ``width`` columns wide, without a final newline.

    ``other`` is drawn under it row by row (measured under predicted). ``cta`` is the one to draw,
    the first if None. ``window`` (cycles) is the part to draw; None draws all of it if its spans
    are wide enough to read, else its start and its end. Waits for groups are listed below with
    what was pending and what had landed.
    """
    sources = [_of_cta(trace, cta)] + ([_of_cta(other, None)] if other is not None else [])
    spans = [span for source in sources for span in source.spans]
    if not spans:
        return f"{trace.schedule}, {trace.source}: nothing to draw"
    rows = _rows(sources)
    label = min(max(_LABEL_COLUMNS[0], *(len(r.label) for r in rows)), _LABEL_COLUMNS[1])
    columns = max(10, width - label - 1)
    panels = _panels(spans, columns, window)
    lines = wrap(_title(sources, panels), width, subsequent_indent="  ")
    for start, step in panels:
        lines += ["", *_panel(rows, label, columns, start, step, glyphs)]
    lines += ["", *_legend(rows, glyphs, width), *_notes(sources, width)]
    return "\n".join(line.rstrip() for line in lines)


@dataclass(slots=True)
class _Row:
    label: str
    spans: list[Span]


def _of_cta(trace: Trace, cta: int | None) -> Trace:
    """The trace of one CTA: the given one, or the first on the first SM."""
    kept = spans_of_cta(trace, cta)
    return Trace(trace.source, trace.schedule, kept, complete=trace.complete)


def _rows(sources: Sequence[Trace]) -> list[_Row]:
    """One row a track; with two traces, the second's under the first's. Equal neighbours merge."""
    tracks = [ordered_tracks(source.spans) for source in sources]
    names = ordered_tracks([span for source in sources for span in source.spans])
    rows: list[_Row] = []
    for name in names:
        for source, found in zip(sources, tracks, strict=True):
            mark = f" {source.source[0]}" if len(sources) > 1 else ""
            if name in found:
                rows.append(_Row(name + mark, found[name]))
    return rows if len(sources) > 1 else [_merged(list(g)) for _, g in groupby(rows, _likeness)]


def _likeness(row: _Row) -> tuple[str, object]:
    role, slash, _ = row.label.partition("/")
    key = [(s.name, s.start, s.end, s.kind) for s in row.spans] if slash else row.label
    return role, key


def _merged(rows: list[_Row]) -> _Row:
    if len(rows) == 1:
        return rows[0]
    last = rows[-1].label.rpartition("/")[2]
    return _Row(f"{rows[0].label}..{last}", rows[0].spans)


def _panels(
    spans: Sequence[Span], columns: int, window: tuple[float, float] | None
) -> list[tuple[float, float]]:
    """(first cycle, cycles a column) of each part that is drawn."""
    first, last = min(s.start for s in spans), max(s.end for s in spans)
    if window is not None:
        first, last = window
        return [(first, _nice((last - first) / columns))]
    whole = _nice((last - first) / columns)
    fine = _nice((_step_length(spans) or last - first) / _STEP_COLUMNS)
    if whole <= 2 * fine:
        return [(first, whole)]
    start_of_end = last - columns * fine
    return [(first, fine), (fine * (start_of_end // fine + 1), fine)]


def _step_length(spans: Sequence[Span]) -> float:
    """Cycles from one fill of a buffer to the next; without stages, a length that three of four
    waits and busy times exceed. 0 if nothing tells."""
    fills: dict[str, set[float]] = {}
    for span in spans:
        if span.kind is SpanKind.STAGE:
            fills.setdefault(span.track.partition("[")[0], set()).add(span.start)
    gaps = sorted(b - a for starts in fills.values() for a, b in pairwise(sorted(starts)))
    if gaps:
        return gaps[len(gaps) // 2]
    lengths = sorted(
        s.end - s.start for s in spans if s.end > s.start and s.kind is not SpanKind.OP
    )
    return lengths[len(lengths) // 4] if lengths else 0.0


def _nice(step: float) -> float:
    """The smallest number of one digit and zeros that is at least ``step``."""
    scale = 1
    while True:
        for digit in _STEPS:
            if digit * scale >= step:
                return digit * scale
        scale *= 10


def _title(sources: Sequence[Trace], panels: Sequence[tuple[float, float]]) -> str:
    names = " over ".join(_place_of(s) for s in sources)
    end = max(span.end for source in sources for span in source.spans)
    partial = "" if all(s.complete for s in sources) else " (first part)"
    parts = "" if len(panels) == 1 else "; its start and its end"
    return (
        f"{sources[0].schedule}: {names}; {end:,.0f} cycles{partial}, "
        f"{panels[0][1]:g} a column{parts}"
    )


def _place_of(source: Trace) -> str:
    if not source.spans:
        return source.source
    span = max(source.spans, key=lambda s: s.cta)  # not one of a shared unit
    return f"{source.source}, CTA {span.cta} on SM {span.sm}"


def _panel(
    rows: Sequence[_Row], label: int, columns: int, start: float, step: float, glyphs: Glyphs
) -> Iterator[str]:
    yield " " * (label + 1) + _ruler(start, step, columns)
    previous: SpanKind | None = None
    for row in rows:
        kind = _group(row.spans[0].kind)
        draw = _flight_cells if kind is SpanKind.FLIGHT else _cells
        cells = draw(row.spans, columns, start, step, glyphs)
        if kind is SpanKind.ENGINE and not cells.strip():
            continue  # a unit that is not used here; an empty stage does say something
        if previous is not None and kind is not previous:
            yield ""
        previous = kind
        name = row.label if len(row.label) <= label else row.label[: label - 2] + ".."
        yield f"{name:<{label}} {cells}"


def _group(kind: SpanKind) -> SpanKind:
    return SpanKind.OP if kind is SpanKind.STALL else kind


def _ruler(start: float, step: float, columns: int) -> str:
    """Cycle numbers every ten columns or more, each over its column."""
    text = ""
    for column in range(0, columns, 10):
        mark = f"|{start + column * step:,.0f}"
        if column >= len(text) and column + len(mark) <= columns:
            text = f"{text:<{column}}{mark}"
    return text


def _cells(spans: Sequence[Span], columns: int, start: float, step: float, glyphs: Glyphs) -> str:
    """A row: each column shows the span that takes most of it."""
    owner: list[Span | None] = [None] * columns
    most = [0.0] * columns
    for span in spans:
        first = max(0, int((span.start - start) // step))
        last = min(columns - 1, int((span.end - start) // step))
        for column in range(first, last + 1):
            left = start + column * step
            covered = min(span.end, left + step) - max(span.start, left)
            if covered > most[column]:
                owner[column], most[column] = span, covered
    text = ""
    for _, group in groupby(owner, key=id):
        cells = list(group)
        text += _span_cells(cells[0], len(cells), glyphs)
    return text


def _span_cells(span: Span | None, columns: int, glyphs: Glyphs) -> str:
    if span is None:
        return " " * columns
    fill = _fill(span, glyphs)
    if columns == 1:
        return fill
    text = "|" + span.name if len(span.name) < columns else "|"
    return text + fill * (columns - len(text))


def _fill(span: Span, glyphs: Glyphs) -> str:
    if span.inferred:
        return glyphs.drawn
    match span.kind:
        case SpanKind.OP:
            return glyphs.op
        case SpanKind.STALL:
            return glyphs.stall
        case SpanKind.ENGINE | SpanKind.FLIGHT:
            return glyphs.engine
        case SpanKind.STAGE:
            return glyphs.stage


def _flight_cells(
    spans: Sequence[Span], columns: int, start: float, step: float, glyphs: Glyphs
) -> str:
    """How many are in flight at the middle of each column; ``+`` for ten or more."""
    text = ""
    for column in range(columns):
        middle = start + (column + 0.5) * step
        n = sum(span.start <= middle < span.end for span in spans)
        text += " " if n == 0 else str(n) if n < 10 else "+"
    return text


def _legend(rows: Sequence[_Row], glyphs: Glyphs, width: int) -> Iterator[str]:
    """What the fills mean, for those that occur."""
    kinds = {span.kind for row in rows for span in row.spans if not span.inferred}
    words = [
        (SpanKind.OP, f"{glyphs.op} works"),
        (SpanKind.STALL, f"{glyphs.stall} waits"),
        (SpanKind.ENGINE, f"{glyphs.engine} unit busy"),
        (SpanKind.FLIGHT, "1..9 in flight"),
        (SpanKind.STAGE, f"{glyphs.stage} stage holds"),
    ]
    text = [word for kind, word in words if kind in kinds]
    if any(span.inferred for row in rows for span in row.spans):
        text.append(f"{glyphs.drawn} inferred")
    line = ""
    for word in text:
        if line and len(line) + 3 + len(word) > width:
            yield line
            line = ""
        line += ("   " if line else "") + word
    yield line


def _notes(sources: Sequence[Trace], width: int) -> Iterator[str]:
    """Waits with a note: when, who, what was pending and what had landed."""
    noted: dict[tuple[float, str, str, str], list[int]] = {}
    for source in sources:
        mark = f" {source.source[0]}" if len(sources) > 1 else ""
        for span in source.spans:
            if span.note and span.kind in _WARP_KINDS:
                role, _, warp = span.track.partition("/")
                key = (span.start, role, mark, span.note)
                noted.setdefault(key, []).append(int(warp) if warp.isdigit() else 0)
    if not noted:
        return
    yield ""
    for (start, role, mark, note), warps in sorted(noted.items())[:MAX_NOTES]:
        last = f"..{max(warps)}" if len(warps) > 1 else ""
        line = f"{start:>10,.0f}  {role}/{min(warps)}{last}{mark}  {note}"
        yield line if len(line) <= width else line[: width - 2] + ".."
    if len(noted) > MAX_NOTES:
        yield f"{'...':>10}  and {len(noted) - MAX_NOTES} more"
