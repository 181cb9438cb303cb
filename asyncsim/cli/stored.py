"""Stored measurements of the configuration at hand, for machines without a GPU."""

from __future__ import annotations

from asyncsim.cli.launch import error_pct
from asyncsim.cli.output import wrap
from asyncsim.cli.subject import Subject
from asyncsim.predict.result import Prediction


def stored_text(subject: Subject, l2: str, prediction: Prediction | None) -> list[str]:
    """A line for each board on which this configuration was measured; none if it never was."""
    if subject.twin or not subject.built_in:
        return []
    from asyncsim.hw.store import find, load_all

    lines = []
    scenario = subject.scenario
    for m in find(load_all(), scenario.name, subject.params, l2, defaults=scenario.params):
        error = f", predicted {error_pct(prediction.cycles, m.cycles):+.1f} %" if prediction else ""
        lines.append(
            wrap(
                f"{m.cycles:,.0f} cycles{error}; {m.provenance['gpu']} {m.provenance['board']}, "
                f"{m.provenance['date']}, L2 {m.l2}, {m.clock_mhz:,.0f} MHz, {m.n} launches",
                first="stored     ",
            )
        )
    return lines
