"""Numbers of a machine file: exact values, units, provenance, and the 1/64-cycle grid.

Imports the standard library only.  See docs/machine.md.
"""

__all__ = [
    "TICKS_PER_CYCLE",
    "Bytes",
    "BytesPerCycle",
    "BytesPerCycleIfAny",
    "Count",
    "Counts",
    "Curve",
    "Cycles",
    "CyclesCurve",
    "CyclesIfAny",
    "How",
    "Mhz",
    "Picojoules",
    "Provenance",
    "Share",
    "Unit",
    "Watts",
    "ticks",
]

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

TICKS_PER_CYCLE = 64

How = Literal["measured", "inferred", "published", "assumed"]


def ticks(cycles: Fraction | int) -> int:
    """Round a number of cycles to the engine's grid of 1/64 cycle (halves go up)."""
    scaled = Fraction(cycles) * TICKS_PER_CYCLE
    return (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)


@dataclass(frozen=True, slots=True)
class Curve:
    """Measured points (x, value) with straight lines between them.

    Below the first point the first value holds; beyond the last the last slope goes on, but never
    falls below the last value.
    """

    points: tuple[tuple[int, Fraction], ...]

    def at(self, x: int) -> Fraction:
        points = self.points
        index = bisect_right(points, x, key=lambda point: point[0])
        if index == 0:
            return points[0][1]
        if len(points) == 1:
            return points[0][1]
        index = min(index, len(points) - 1)
        (x0, y0), (x1, y1) = points[index - 1], points[index]
        value = y0 + (y1 - y0) * Fraction(x - x0, x1 - x0)
        return max(value, y1) if x > x1 else value


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a number comes from: how it was found, the source, and its uncertainty if known.

    `inferred` is measured through a model that puts several benchmarks together.  `uncertainty` is
    a half width in the number's own unit, `residual` what its law misses, root mean square.
    `conflicts` are what other sources say, each with its name.
    """

    how: How
    source: str
    uncertainty: Fraction | None
    conflicts: tuple[str, ...] = ()
    residual: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Marks a field of a machine group: its unit in the file, and the shape of the value."""

    name: str
    shape: Literal["fraction", "integer", "integers", "curve"]


Cycles = Annotated[Fraction, Unit("cycles", "fraction")]
CyclesIfAny = Annotated[Fraction | None, Unit("cycles", "fraction")]  # see lacking.py
CyclesCurve = Annotated[Curve, Unit("cycles", "curve")]
BytesPerCycle = Annotated[Fraction, Unit("bytes_per_cycle", "fraction")]
BytesPerCycleIfAny = Annotated[Fraction | None, Unit("bytes_per_cycle", "fraction")]
Mhz = Annotated[Fraction, Unit("mhz", "fraction")]
Watts = Annotated[Fraction, Unit("watts", "fraction")]
Picojoules = Annotated[Fraction, Unit("picojoules", "fraction")]
Share = Annotated[Fraction, Unit("share", "fraction")]
Bytes = Annotated[int, Unit("bytes", "integer")]
Count = Annotated[int, Unit("count", "integer")]
Counts = Annotated[tuple[int, ...], Unit("count", "integers")]
