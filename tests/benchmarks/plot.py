"""How check grows: ``python -m tests.benchmarks --check | python -m tests.benchmarks.plot OUT``.

Panels with logarithmic axes, CPU time over ops and over warps, with jumps and without. The same of
``--simulate``: over the rounds of two loops; and of ``--growth``: time and memory of a prediction
over rounds and CTAs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

GROWTH = re.compile(r"ring of (\d+) warps, (\d+) rounds, (.+?)\s+([\d,]+)\s+[\d,]+\s+([\d,.]+)")
LOOPS = re.compile(r"(ring on one SM|GEMM on 8 SMs), (\d+) rounds, (.+?): ([\d,.]+) ms")
GROWN = re.compile(
    r"(.+), (\d+): check ([\d.]+) s, simulate ([\d.]+) s, (\d+) MB resident, ([\d.]+) MB traced"
)
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 230, 52, 34, 40
COLOURS = {"with jumps": "#1f6f8b", "full walk": "#b4540a", "every tick": "#b4540a"}
OTHERS = ("#1f6f8b", "#b4540a", "#4a7c2c")

Series = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis from power ``low`` to power ``high`` of ten, over ``length`` pixels."""

    low: int
    high: int
    length: float

    @classmethod
    def over(cls, values: list[float], length: float) -> Axis:
        low, high = floor(log10(min(values))), ceil(log10(max(values)))
        return cls(low, max(high, low + 1), length)

    def at(self, value: float) -> float:
        return (log10(value) - self.low) / (self.high - self.low) * self.length

    def ticks(self) -> list[int]:
        return [10**power for power in range(self.low, self.high + 1)]


def points(text: str) -> tuple[Series, Series]:
    """ms over ops (16 warps, more rounds), and over warps (128 rounds)."""
    ops: Series = {}
    warps: Series = {}
    for n, rounds, how, executed, ms in GROWTH.findall(text):
        took = float(ms.replace(",", ""))
        if n == "16":
            ops.setdefault(how, []).append((float(executed.replace(",", "")), took))
        if rounds == "128":
            warps.setdefault(how, []).append((float(n), took))
    return ({h: sorted(set(p)) for h, p in s.items()} for s in (ops, warps))  # type: ignore[return-value]


def loops(text: str) -> Iterator[tuple[str, str, Series]]:
    """Of each loop that was simulated: title, unit, ms over rounds."""
    found: dict[str, Series] = {}
    for name, rounds, how, ms in LOOPS.findall(text):
        point = float(rounds), float(ms.replace(",", ""))
        found.setdefault(name, {}).setdefault(how, []).append(point)
    for name, series in found.items():
        yield f"ms over rounds, {name}", "rounds", series


def grown(text: str) -> Iterator[tuple[str, str, Series]]:
    """ms of simulate over rounds and over CTAs, and MB over rounds."""
    times: dict[str, Series] = {"rounds": {}, "CTAs": {}}
    memory: Series = {}
    for name, x, _, simulating, _, traced in GROWN.findall(text):
        over = "CTAs" if name.endswith(("sampled", "exact")) else "rounds"
        times[over].setdefault(name, []).append((float(x), 1e3 * float(simulating)))
        if over == "rounds" and float(traced):
            memory.setdefault(name, []).append((float(x), float(traced)))
    if memory:
        yield "ms of simulate over rounds", "rounds", times["rounds"]
        yield "ms of simulate over CTAs", "CTAs", times["CTAs"]
        yield "MB of simulate over rounds", "rounds", memory


def panel(left: float, title: str, unit: str, series: Series) -> Iterator[str]:
    """One diagram as SVG elements."""
    xs = [x for line in series.values() for x, _ in line]
    ys = [y for line in series.values() for _, y in line]
    across = Axis.over(xs, WIDTH - LEFT - 16)
    up = Axis.over(ys, HEIGHT - TOP - BOTTOM)
    base = HEIGHT - BOTTOM
    yield f'<text x="{left + LEFT}" y="18" font-weight="bold">{title}</text>'
    for value in up.ticks():
        y = base - up.at(value)
        right = left + LEFT + across.length
        yield f'<path d="M{left + LEFT} {y:.1f}H{right:.1f}" stroke="#ccc"/>'
        yield f'<text x="{left + LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:,}</text>'
    for value in across.ticks():
        x = left + LEFT + across.at(value)
        yield f'<path d="M{x:.1f} {TOP}V{base}" stroke="#eee"/>'
        yield f'<text x="{x:.1f}" y="{base + 15}" text-anchor="middle">{value:,}</text>'
    middle = left + LEFT + across.length / 2
    yield f'<text x="{middle:.1f}" y="{base + 31}" text-anchor="middle">{unit}</text>'
    for (how, line), other in zip(series.items(), OTHERS, strict=False):
        colour = COLOURS.get(how, other)
        at = [(left + LEFT + across.at(x), base - up.at(y)) for x, y in line]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at)
        x, y = at[-1]
        beside = 36 if how == "with jumps" else -8
        place = f'x="{x - 2:.1f}" y="{y + beside:.1f}" text-anchor="end" fill="{colour}"'
        yield f"<text {place}>{how}</text>"


def drawing(text: str) -> str:
    """The SVG of what ``python -m tests.benchmarks --check``, or ``--simulate``, printed."""
    panels = list(grown(text)) or list(loops(text))
    if not panels:
        over_ops, over_warps = points(text)
        panels = [
            ("ms over ops, ring of 16 warps", "ops", over_ops),
            ("ms over warps, ring of 128 rounds", "warps", over_warps),
        ]
    parts = [part for i, of in enumerate(panels) for part in panel(i * WIDTH, *of)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(panels) * WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawing(sys.stdin.read()), encoding="utf-8")
