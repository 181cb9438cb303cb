"""A law as a picture: measured points, its curve, and below what it misses.  SVG by itself: equal
numbers give equal text.  See docs/machine.md.
"""

__all__ = ["draw"]

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log2, log10

import numpy as np

from .numbers import FittedLaw

_WIDTH, _LEFT, _RIGHT, _TOP = 640, 70, 16, 34
_MAIN, _GAP, _REST, _BOTTOM = 240, 22, 80, 40
_COLOURS = ("#2f6fb3", "#c8741f", "#6fa06a", "#8d5fa8", "#7a7a7a")
_FONT = "font-family='ui-monospace, Menlo, Consolas, monospace' font-size='11'"
_HALF_OUT = 0.5  # points with less weight are drawn hollow


@dataclass(frozen=True, slots=True)
class _Axis:
    """From values to places; ``log``: by powers of two."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        a, b, v = (log2(max(t, 1e-12)) if self.log else t for t in (self.low, self.high, value))
        return self.start + (v - a) / ((b - a) or 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values within."""
        if self.log:
            powers = range(ceil(log2(self.low)), floor(log2(self.high)) + 1)
            return [2.0**p for p in powers][:: 1 + len(powers) // 9]
        span = (self.high - self.low) or 1.0
        step = 10 ** floor(log10(span / 4))
        step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= 6)
        first = ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, floor(self.high / step + 1e-9) + 1)]


def draw(fitted: FittedLaw) -> str:
    """An SVG document."""
    law = fitted.law
    xs = _places(fitted)
    ys = [p.y for p in fitted.points]
    log = min(xs) > 0 and max(xs) / min(xs) > 16
    across = _Axis(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT, log)
    up = _Axis(0.0, max(ys) * 1.05, _TOP + _MAIN, _TOP)
    most = max(max(map(abs, fitted.solution.residuals)), 1e-9) * 1.1
    top = _TOP + _MAIN + _GAP
    rest = _Axis(-most, most, top + _REST, top)
    height = top + _REST + _BOTTOM
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' {_FONT}>",
        f"<rect width='{_WIDTH}' height='{height}' fill='white'/>",
        f"<text x='{_LEFT}' y='14'>{escape(law.formula)}</text>",
        *_frame(across, up, _TOP, _MAIN, law.unit.replace("_", " ")),
        *_frame(across, rest, top, _REST, "missed"),
        *_labels(across, top + _REST + 14),
        f"<text x='{_LEFT}' y='{height - 8}'>{escape(law.label)}</text>",
        *_legend(sorted({p.series for p in fitted.points})),
    ]
    for colour, series in _coloured(fitted):
        lines.append(_curve(fitted, series, across, up, colour))
        for i, point in enumerate(fitted.points):
            if point.series != series:
                continue
            hollow = fitted.solution.kept[i] < _HALF_OUT
            x = across(xs[i])
            lines.append(_dot(x, up(point.y), colour, hollow))
            lines.append(_dot(x, rest(fitted.solution.residuals[i]), colour, hollow))
    return "\n".join([*lines, "</svg>", ""])


def _places(fitted: FittedLaw) -> list[float]:
    """Of the points across: a column of x, or what the law says."""
    if fitted.law.across_law:
        missed = zip(fitted.points, fitted.solution.residuals, strict=True)
        return [p.y - residual for p, residual in missed]
    return [p.x[fitted.law.axis] for p in fitted.points]


def _coloured(fitted: FittedLaw) -> Iterator[tuple[str, str]]:
    series = sorted({p.series for p in fitted.points})
    return ((_COLOURS[i % len(_COLOURS)], name) for i, name in enumerate(series))


def _frame(across: _Axis, up: _Axis, top: float, height: float, title: str) -> Iterator[str]:
    yield (
        f"<rect x='{_LEFT}' y='{top}' width='{across.end - _LEFT:g}' height='{height}' "
        "fill='none' stroke='#999'/>"
    )
    for value in up.ticks():
        y = up(value)
        yield f"<path d='M{_LEFT} {y:.1f}H{across.end:g}' stroke='#e6e3dc'/>"
        yield f"<text x='{_LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{value:.6g}</text>"
    yield f"<text x='{_LEFT + 6}' y='{top + 14}' fill='#666'>{escape(title)}</text>"


def _labels(across: _Axis, y: float) -> Iterator[str]:
    for value in across.ticks():
        x = across(value)
        yield f"<text x='{x:.1f}' y='{y}' text-anchor='middle'>{value:.6g}</text>"


def _legend(series: Sequence[str]) -> Iterator[str]:
    for i, name in enumerate(s for s in series if s):
        y = _TOP + 30 + 15 * i
        yield _dot(_LEFT + 12, y - 4, _COLOURS[i % len(_COLOURS)], hollow=False)
        yield f"<text x='{_LEFT + 22}' y='{y}'>{escape(name)}</text>"


def _curve(fitted: FittedLaw, series: str, across: _Axis, up: _Axis, colour: str) -> str:
    """The law along its axis; between points the other columns of x go straight."""
    if fitted.law.across_law:
        ends = (across.low, across.high)
        return (
            "<path d='M"
            + "L".join(f"{across(v):.1f} {up(v):.1f}" for v in ends)
            + ("' fill='none' stroke='#7a7a7a'/>")
        )
    axis = fitted.law.axis
    own = sorted(p.x for p in fitted.points if p.series == series)
    columns = np.array(own, dtype=float)
    low, high = columns[0, axis], columns[-1, axis]
    if low == high:
        return ""
    grid = np.geomspace(low, high, 160) if across.log else np.linspace(low, high, 160)
    x = np.array([[np.interp(g, columns[:, axis], c) for c in columns.T] for g in grid])
    x[:, axis] = grid
    values = fitted.law.model(np.array(fitted.solution.values), x)
    path = "L".join(f"{across(g):.1f} {up(v):.1f}" for g, v in zip(grid, values, strict=True))
    return f"<path d='M{path}' fill='none' stroke='{colour}'/>"


def _dot(x: float, y: float, colour: str, hollow: bool) -> str:
    fill = "white" if hollow else colour
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{fill}' stroke='{colour}'/>"
