"""docs/images/beside.svg: predicted over measured of every GEMM row, a panel for each predictor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log2

from asyncsim.hw.beside.rows import PREDICTORS, Beside
from asyncsim.hw.compare import ComparedRow

WIDTH, LEFT, PANEL, TOP, LINE = 800, 130, 220, 34, 18
LEAST, MOST = 1 / 4, 4.0  # what lies beyond is drawn at the edge
MARKS = (0.25, 0.5, 1, 2, 4)
COLOURS = dict(zip(PREDICTORS, ("#1f6f8b", "#b4540a", "#6b6b6b"), strict=True))


def drawing(of: Beside) -> str:
    """The SVG: a line of dots for each scenario."""
    names = sorted({r.scenario for r in of[PREDICTORS[0]]})
    places = {name: TOP + LINE * (i + 1) for i, name in enumerate(names)}
    base = TOP + LINE * (len(names) + 1)
    parts = [
        f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{name}</text>'
        for name, y in places.items()
    ]
    for i, predictor in enumerate(PREDICTORS):
        parts += _panel(LEFT + i * PANEL, predictor, of[predictor], places, base)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {base + 42}" '
        'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def _panel(
    left: int, name: str, rows: tuple[ComparedRow, ...], places: Mapping[str, int], base: int
) -> Iterator[str]:
    yield f'<text x="{left}" y="18" font-weight="bold">{name}</text>'
    for mark in MARKS:
        x, stroke = left + _across(mark), "#888" if mark == 1 else "#ddd"
        yield f'<path d="M{x:.1f} {TOP}V{base}" stroke="{stroke}"/>'
        yield f'<text x="{x:.1f}" y="{base + 15}" text-anchor="middle">{mark:g}</text>'
    middle = left + _across(1)
    yield f'<text x="{middle:.1f}" y="{base + 31}" text-anchor="middle">predicted / measured</text>'
    for r in rows:
        assert r.predicted is not None
        x, y = left + _across(r.predicted / r.measured), places[r.scenario]
        dot = f'cx="{x:.1f}" cy="{y}" r="3.5" fill="{COLOURS[name]}"'
        yield f'<circle {dot} fill-opacity="0.45"/>'


def _across(ratio: float) -> float:
    """Pixels from the left edge of a panel."""
    inside = min(MOST, max(LEAST, ratio))
    return (log2(inside) - log2(LEAST)) / (log2(MOST) - log2(LEAST)) * (PANEL - 46)
