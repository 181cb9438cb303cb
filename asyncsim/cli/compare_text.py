"""The table of ``compare``: worst rows first, then the statistics. 80 columns.

The name of a row stands last and is wrapped, never cut: which row it is can be read in a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asyncsim.catalog import find_scenario
from asyncsim.cli.output import table, wrap
from asyncsim.hw.compare import SHORT_US, ComparedRow, Comparison, Statistics
from asyncsim.hw.goals import MAX, SCENARIO, goals, misses
from asyncsim.hw.misses import by_reason, load_reasons

MAX_REGRETS = 3


def comparison_text(c: Comparison, *, worst: int | None = None, whole: bool = False) -> str:
    """Rows of 5 us and more with their error in percent, shorter ones in cycles, statistics, why
    rows miss.

    ``worst`` limits the rows of each table; the statistics are those of all rows. ``whole``: these
    are all stored rows, so that they are held against the goals, too.
    """
    parts = []
    long = [r for r in c.rows if not r.short]
    short = [r for r in c.rows if r.short]
    if long:
        parts.append(_rows(long, unit="%", worst=worst))
    if short:
        head = f"under {SHORT_US:g} us:\n"
        parts.append(head + _rows(short, unit="cycles", worst=worst))
    parts.append(_statistics(c))
    if whole:
        parts.append(goals_text(c))
    missing = misses_text(c)
    return "\n\n".join([*parts, missing] if missing else parts)


def goals_text(c: Comparison) -> str:
    """What is asked for and what is reached, and where not."""
    asked = goals(c)
    cells = [(g.name, g.limit, g.value, "met" if g.met else "missed") for g in asked]
    lines = [table(("goal", "asked", "reached", ""), cells, "lrrl")]
    for g in asked:
        if g.where:
            lines.append(wrap(", ".join(g.where), first=f"{g.name}, over: ", indent="    "))
    return "\n".join(lines)


def misses_text(c: Comparison) -> str:
    """How many rows miss for which reason; "" if none does."""
    lines = []
    for why, rows in by_reason(misses(c), load_reasons()).items():
        errors = [r.error_pct for r in rows if r.error_pct is not None]
        span = f"{min(errors):+.1f} to {max(errors):+.1f} %" if errors else "no prediction"
        names = ", ".join(sorted({r.scenario for r in rows}))
        lines.append(wrap(f"{names}, {_count(len(rows))}, {span}: {why}", first="- ", indent="  "))
    head = f"rows that miss, over {MAX:g} %, or {SCENARIO:g} % where the scenario's mean is:"
    return "\n".join([wrap(head), *lines]) if lines else ""


def _count(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def worst_first(rows: Sequence[ComparedRow], unit: str = "%") -> list[ComparedRow]:
    """By the size of the error; rows without a prediction before all."""
    return sorted(rows, key=lambda r: -_size(r, unit))


def _rows(rows: Sequence[ComparedRow], *, unit: str, worst: int | None) -> str:
    shown = worst_first(rows, unit)[:worst]
    cells = [
        (
            _error(r, unit),
            f"{r.measured:,.0f}",
            str(r.boards),
            "-" if r.board_spread_pct is None else f"{r.board_spread_pct:.1f}",
            r.l2,
        )
        for r in shown
    ]
    head = (f"error in {unit}", "measured", "boards", "apart %", "L2")
    numbers = table(head, cells, "rrrrl").splitlines()
    width = max(len(line) for line in numbers)
    names = ["scenario and parameters", *(f"{r.scenario} {_differing(r)}" for r in shown)]
    lines = [
        wrap(name, first=f"{line:<{width}}  ") for line, name in zip(numbers, names, strict=True)
    ]
    left = len(rows) - len(shown)
    return "\n".join([*lines, f"{left} more rows with smaller errors"] if left else lines)


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
    """The parameters that are not the scenario's defaults, all of them."""
    return _pairs(r.scenario, r.params.items())


def _pairs(scenario: str, params: Iterable[tuple[str, int]]) -> str:
    defaults = find_scenario(scenario).params
    given = [f"{n}={v}" for n, v in params if defaults.get(n) != v]
    return " ".join(given) or "(defaults)"


def _statistics(c: Comparison) -> str:
    rows = [("all", c.overall), *c.by_scenario.items(), *c.groups.items()]
    if c.short.n:
        rows.append((f"under {SHORT_US:g} us", c.short))
    head = ("error in %", "rows", "mean", "median", "p90", "p95", "max", "spread", "boards apart")
    cells = [(name, str(s.n), *_numbers(s)) for name, s in rows]
    lines = [table(head, cells, "lrrrrrrrr")]
    tau = f"tau-b {c.tau_b:.3f}" if c.overall.n > 1 else "tau-b needs two rows"
    lines.append(
        f"{tau}; top-1 regret {c.top1_regret_pct:.1f} %; {c.unpredicted} rows without a prediction"
    )
    for problem, regret in sorted(c.regrets.items(), key=lambda item: -item[1])[:MAX_REGRETS]:
        if regret > 0:
            said = f"{problem.scenario} {_pairs(problem.scenario, problem.fixed)}, L2 {problem.l2}"
            lines.append(wrap(said, first=f"    regret {regret:.1f} %: ", indent="        "))
    lines.append(
        wrap(
            "spread: of the measurement, 90th less 10th percentile, or boards apart if that is "
            "more; apart: between the medians of several boards, (highest - lowest) / median; the "
            "statistics give their medians"
        )
    )
    return "\n".join(lines)


def _numbers(s: Statistics) -> tuple[str, ...]:
    apart = "-" if s.board_spread is None else f"{s.board_spread:.1f}"
    return (*(f"{v:.1f}" for v in (s.mean, s.median, s.p90, s.p95, s.max, s.spread)), apart)
