"""The table of ``compare``: worst rows first, then the statistics. 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsim.catalog import find_scenario
from asyncsim.cli.output import shorten, table
from asyncsim.hw.compare import SHORT_US, ComparedRow, Comparison, Statistics

PARAMETERS = 34


def comparison_text(c: Comparison) -> str:
    """Rows of 5 us and more with their error in percent, shorter ones in cycles, statistics."""
    parts = []
    long = [r for r in c.rows if not r.short]
    short = [r for r in c.rows if r.short]
    if long:
        parts.append(_rows(long, unit="%"))
    if short:
        parts.append(f"under {SHORT_US:g} us, error in cycles:\n" + _rows(short, unit="cycles"))
    parts.append(_statistics(c))
    return "\n\n".join(parts)


def _rows(rows: Sequence[ComparedRow], *, unit: str) -> str:
    worst_first = sorted(rows, key=lambda r: -_size(r, unit))
    cells = [
        (
            shorten(r.scenario, 19),
            shorten(_differing(r), PARAMETERS),
            r.l2,
            f"{r.measured:,.0f}",
            _error(r, unit),
        )
        for r in worst_first
    ]
    head = ("scenario", "parameters", "L2", "measured", f"error {unit}"[:12])
    return table(head, cells, "lllrr")


def _size(r: ComparedRow, unit: str) -> float:
    if r.predicted is None:
        return float("inf")
    difference = abs(r.predicted - r.measured)
    return difference if unit == "cycles" else difference / r.measured


def _error(r: ComparedRow, unit: str) -> str:
    if r.predicted is None or r.error_pct is None:
        return "none"
    return f"{r.error_pct:+.1f}" if unit == "%" else f"{r.predicted - r.measured:+,.0f}"


def _differing(r: ComparedRow) -> str:
    """The parameters that are not the scenario's defaults."""
    defaults = find_scenario(r.scenario).params
    given = [f"{n}={v}" for n, v in r.params.items() if defaults.get(n) != v]
    return " ".join(given) or "(defaults)"


def _statistics(c: Comparison) -> str:
    rows = [("all", c.overall), *c.by_scenario.items()]
    if c.short.n:
        rows.append((f"under {SHORT_US:g} us", c.short))
    head = ("error in %", "rows", "mean", "median", "p90", "p95", "max")
    cells = [(name, str(s.n), *_numbers(s)) for name, s in rows]
    lines = [table(head, cells, "lrrrrrr")]
    lines.append(
        f"tau-b {c.tau_b:.3f}; top-1 regret {c.top1_regret_pct:.1f} %; "
        f"{c.unpredicted} rows without a prediction"
    )
    return "\n".join(lines)


def _numbers(s: Statistics) -> tuple[str, ...]:
    return tuple(f"{v:.1f}" for v in (s.mean, s.median, s.p90, s.p95, s.max))
