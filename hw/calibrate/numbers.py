"""From raw rows to calibrated numbers: laws first, rules for the rest.  Pure, no GPU.

A number that one benchmark shows is `measured`; one that rests on several, through the model that
puts them together, is `inferred`.  See docs/machine.md.
"""

__all__ = ["Calibration", "FittedLaw", "Number", "calibrated"]

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from .fit import rounded
from .laws import LAWS, Law
from .points import SMS, Point, points_of
from .rows import MOVES, MissingRowError, Rows, Used
from .rules import RULES, Rule
from .rules_since import RULES_SINCE
from .solve import Solution, UnidentifiedError, solve

Value = float | list[list[float]]
SMALL_GPC = 16  # SMs; smaller sets never join a cluster of 16
_HALF_WIDTH = 1.96  # standard errors of a 95 % half width


@dataclass(frozen=True, slots=True)
class Number:
    """``uncertainty``: half width of 95 %, and at least half of what files differ by.
    ``residual``: root mean square of what its law, or the median over files, misses; None where
    nothing is left over to miss.  ``rows``: how many it rests on, in ``files`` files."""

    value: Value
    unit: str
    how: str
    source: str
    uncertainty: float
    residual: float | None
    rows: int
    files: int

    def entry(self) -> dict[str, Any]:
        """As a machine file has it."""
        shown: Any = self.value
        if isinstance(shown, list) and self.unit != "count":
            shown = [[x, rounded(y)] for x, y in shown]
        elif not isinstance(shown, list):
            shown = round(shown) if self.unit in ("count", "bytes") else rounded(shown)
        entry = {self.unit: shown, "how": self.how, "source": self.source}
        if self.uncertainty > 0:
            entry["uncertainty"] = rounded(self.uncertainty, digits=2)
        if self.residual is not None:
            entry["residual"] = rounded(self.residual, digits=2)
        return entry


@dataclass(frozen=True, slots=True)
class FittedLaw:
    """A law with the points of all files and what solved it."""

    law: Law
    points: tuple[Point, ...]
    solution: Solution


@dataclass(frozen=True, slots=True)
class Calibration:
    """Numbers by key of the machine file, and the laws behind some of them."""

    numbers: Mapping[str, Number]
    laws: tuple[FittedLaw, ...]


def calibrated(documents: list[dict[str, Any]], counted: int = 1) -> Calibration:
    """Fit all that the rows allow; what no file has rows for is left out."""
    files = [Rows(document["rows"], counted) for document in documents]
    laws = tuple(found for law in LAWS if (found := _solved(law, files)))
    numbers = dict(_of_rules(documents, counted))
    for fitted in laws:
        numbers |= _of_law(fitted, files)
    numbers |= _placement(documents)
    return Calibration(dict(sorted(numbers.items())), laws)


def _solved(law: Law, files: list[Rows]) -> FittedLaw | None:
    points = [point for rows in files for point in points_of(law.points, rows)]
    start = [p.start for p in law.parameters]
    x, y, sigma = (np.array([getattr(p, n) for p in points]) for n in ("x", "y", "sigma"))
    try:
        return FittedLaw(law, tuple(points), solve(law.model, x, y, sigma, start))
    except UnidentifiedError:
        return None


def _of_law(fitted: FittedLaw, files: list[Rows]) -> dict[str, Number]:
    law, solution = fitted.law, fitted.solution
    per_file = [s for rows in files if (s := _solved(law, [rows]))]
    spare = len(fitted.points) > len(law.parameters)
    numbers = {}
    for i, parameter in enumerate(law.parameters):
        if parameter.key.startswith("("):
            continue
        each = [s.solution.values[i] for s in per_file] or [solution.values[i]]
        half = max(solution.half_widths[i], (max(each) - min(each)) / 2)
        numbers[parameter.key] = Number(
            solution.values[i] * parameter.times,
            parameter.unit,
            "inferred" if law.inferred else "measured",
            law.benches,
            half * parameter.times,
            solution.rms if spare else None,
            len(fitted.points),
            len(per_file) or 1,
        )
    return numbers


def _placement(documents: list[dict[str, Any]]) -> dict[str, Number]:
    """The SMs of each GPC, of GPUs that agree: the smallest sets count as one GPC."""
    shown = [d for d in documents if any(row["bench"] == "gpc_sms" for row in d["rows"])]
    found = {tuple(map(len, d["provenance"].get("gpcs", ()))) for d in shown}
    sizes = sorted(found.pop()) if len(found) == 1 else []
    if sum(sizes) != SMS:
        return {}
    large, small = (
        [n for n in sizes if (n >= SMALL_GPC) == is_large] for is_large in (True, False)
    )
    whole: Any = sorted([*large, sum(small)] if small else large)
    parts: Any = [*large, *reversed(small)]
    runs = len(shown)
    return {
        "gpu.gpc_sms": Number(whole, "count", "inferred", "gpc_sms", 0.0, None, 0, runs),
        "gpu.cluster_sms": Number(parts, "count", "measured", "gpc_sms", 0.0, None, 0, runs),
    }


def _of_rules(documents: list[dict[str, Any]], counted: int) -> Iterator[tuple[str, Number]]:
    for key, rule in {**RULES, **RULES_SINCE}.items():
        found = [_evaluated(rule, Used(d["rows"], counted)) for d in documents]
        values = [one for one in found if one is not None]
        if values:
            yield key, _of_rule(rule, values)


@dataclass(frozen=True, slots=True)
class _Evaluated:
    value: Value
    half: float
    benches: frozenset[str]
    rows: int


def _evaluated(rule: Rule, rows: Used) -> _Evaluated | None:
    """The rule's number with its propagated error: each row moved by its own, one at a time."""
    value = _or_none(rule.value, rows)
    if value is None:
        return None
    used, square = dict(rows.used), 0.0
    for identity, move in product(used, MOVES):
        rows.moved = identity, move
        square += _distance(rule.value(rows), value) ** 2
    rows.moved = None
    spread = _or_none(rule.spread, rows) if rule.spread else None
    half = max(_HALF_WIDTH * square**0.5, spread or 0.0)
    benches = frozenset(row["bench"] for row in used.values())
    return _Evaluated(value, half, benches, len(used))


def _of_rule(rule: Rule, values: list[_Evaluated]) -> Number:
    first = values[0].value
    middle: Value
    if isinstance(first, list):
        curves: Any = [v.value for v in values]
        middle = [[x, median(c[i][1] for c in curves)] for i, (x, _) in enumerate(first)]
    else:
        middle = median(v.value for v in values)  # type: ignore[type-var]
    misses = [_distance(v.value, middle) for v in values]
    benches = frozenset[str]().union(*(v.benches for v in values))
    return Number(
        middle,
        rule.unit,
        "measured" if len(benches) <= 1 else "inferred",
        rule.source,
        max(max(v.half for v in values), max(misses)),
        float(np.sqrt(np.mean(np.square(misses)))) if len(values) > 1 else None,
        sum(v.rows for v in values),
        len(values),
    )


def _distance(one: Value, other: Value) -> float:
    """The largest of a curve's points."""
    if isinstance(one, list) and isinstance(other, list):
        return max(abs(a[1] - b[1]) for a, b in zip(one, other, strict=True))
    assert not isinstance(one, list) and not isinstance(other, list)
    return abs(one - other)


def _or_none(function: Callable[[Rows], Any], rows: Rows) -> Any:
    try:
        return function(rows)
    except (MissingRowError, ZeroDivisionError):  # more that took no longer: no rate
        return None
