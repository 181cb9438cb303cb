"""The stored figures as rows, and what each predictor says of the GEMMs among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from asyncsim.catalog import find_scenario
from asyncsim.hw.accuracy import load_stored, stored_rows
from asyncsim.hw.beside.roofline import gemm, roofline_cycles
from asyncsim.hw.compare import ComparedRow, Key
from asyncsim.machine import Machine

PREDICTORS = ("asyncsim", "nvMatmulHeuristics", "roofline")


Beside = Mapping[str, tuple[ComparedRow, ...]]
"""The same rows as each of ``PREDICTORS`` sees them, in the same order."""


def stored_comparison_rows(stored: Mapping[str, Any] | None = None) -> tuple[ComparedRow, ...]:
    """The rows of ``hw/data/accuracy.json``, without predicting anything; ``ctas`` is not in it."""
    found = stored_rows(load_stored() if stored is None else stored)
    return tuple(_row(key, fields) for key, fields in found.items())


def _row(key: Key, fields: Mapping[str, Any]) -> ComparedRow:
    return ComparedRow(
        scenario=key[0],
        params=dict(key[1]),
        l2=key[2],
        boards=fields["boards"],
        measured=fields["measured_cycles"],
        time_us=fields["time_us"],
        spread_pct=fields["spread_pct"],
        predicted=fields["predicted_cycles"],
        board_spread_pct=fields["board_spread_pct"],
        proven=fields["proven"],
    )


def beside(rows: Sequence[ComparedRow], estimates: Mapping[Key, float], machine: Machine) -> Beside:
    """Of the rows that nvMatmulHeuristics can be asked and that are not short.

    asyncsim and the roofline predict cycles. The estimates are times, so they are held against the
    time measured: turned into cycles by the clock that the row ran at.
    """
    kept = tuple(r for r in rows if r.key in estimates and not r.short)
    timed = tuple(replace(r, predicted=estimates[r.key] * r.measured / r.time_us) for r in kept)
    roofs = tuple(replace(r, predicted=_roof(r, machine)) for r in kept)
    return dict(zip(PREDICTORS, (kept, timed, roofs), strict=True))


def _roof(r: ComparedRow, machine: Machine) -> float:
    schedule = find_scenario(r.scenario).build(r.params)
    problem = gemm(schedule, r.params)
    assert problem is not None, f"{r.scenario} has an estimate and no problem"
    return roofline_cycles(schedule, problem, machine)
