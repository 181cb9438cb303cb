"""The table of ``compare --intervals``: each role's step, and what it consists of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.cli.output import table, wrap
from asyncsim.hw.compare_intervals import ComparedInterval, errors

ASKED = 5.0  # percent of a step


def intervals_text(compared: Sequence[ComparedInterval]) -> str:
    """By kernel and role, then the statistics."""
    parts = [
        f"{wrap(name, indent='    ')}\n{_kernel(list(rows))}"
        for name, rows in groupby(compared, key=_title)
    ]
    return "\n\n".join([*parts, _statistics(compared)])


def _kernel(rows: Sequence[ComparedInterval]) -> str:
    """Numbers in columns; what they are of stands last, and is wrapped."""
    cells = [
        (c.role, f"{c.measured.mean:,.0f}", f"{c.predicted.mean:,.0f}", f"{c.error_pct:+.1f}")
        for c in rows
    ]
    numbers = table(("role", "measured", "predicted", "error in %"), cells, "lrrr").splitlines()
    width = max(map(len, numbers))
    names = [("", "from .. to"), *(("" if c.step else "  ", c.what) for c in rows)]
    return "\n".join(
        wrap(what, first=f"{line:<{width}}  {deep}")
        for line, (deep, what) in zip(numbers, names, strict=True)
    )


def intervals_json(compared: Sequence[ComparedInterval]) -> dict[str, Any]:
    """The object that ``compare --intervals --json`` prints."""
    return {
        "statistics": {name: _group(rows) for name, rows in _groups(compared).items()},
        "intervals": [
            {
                "scenario": c.configuration.scenario,
                "params": c.configuration.params,
                "l2": c.configuration.l2,
                "role": c.role,
                "what": c.what,
                "step": c.step,
                "wait": c.wait,
                "n": c.measured.n,
                "measured_cycles": {"mean": c.measured.mean, "median": c.measured.median},
                "predicted_cycles": {
                    "mean": round(c.predicted.mean, 1),
                    "median": round(c.predicted.median, 1),
                },
                "error_pct": round(c.error_pct, 2),
            }
            for c in compared
        ],
    }


def _title(c: ComparedInterval) -> str:
    defaults = find_scenario(c.configuration.scenario).params
    given = [f"{n}={v}" for n, v in c.configuration.params.items() if defaults.get(n) != v]
    return f"{c.configuration.scenario} {' '.join(given) or '(defaults)'}, L2 {c.configuration.l2}"


def _groups(compared: Sequence[ComparedInterval]) -> dict[str, list[ComparedInterval]]:
    return {
        "steps": [c for c in compared if c.step],
        "parts of a step": [c for c in compared if not c.step],
        "those that end a wait": [c for c in compared if c.wait],
    }


def _group(rows: Sequence[ComparedInterval]) -> dict[str, float]:
    means, medians = errors(rows), errors(rows, median=True)
    return {
        "n": means.n,
        "mean": round(means.mean, 2),
        "median": round(means.median, 2),
        "max": round(means.max, 2),
        "mean_of_medians": round(medians.mean, 2),
    }


def _statistics(compared: Sequence[ComparedInterval]) -> str:
    cells = []
    for name, rows in _groups(compared).items():
        g = _group(rows)
        columns = ("mean", "median", "max", "mean_of_medians")
        cells.append((name, f"{g['n']:g}", *(f"{g[c]:.1f}" for c in columns)))
    head = ("error in %", "n", "mean", "median", "max", "by medians")
    steps = errors(_groups(compared)["steps"])
    verdict = "met" if steps.mean <= ASKED else "missed"
    return "\n".join(
        [
            table(head, cells, "lrrrrr"),
            f"mean error of a step: {steps.mean:.1f} %, asked <= {ASKED:g} %: {verdict}",
            wrap(
                "Cycles are means over all executions, of the stamped kernel; the error of a part "
                "is in percent of its role's step. Predicted with what stamps take."
            ),
        ]
    )
