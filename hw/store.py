"""Stored measurements: rows with their provenance, one file for each board and day.

Needs neither a GPU nor CUDA packages. Files: ``hw/data/measurements/*.json``, written by
``asyncsim.hw.measure``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncsim.errors import UsageError

FOLDER = Path(__file__).parent / "data" / "measurements"
PROVENANCE = ("gpu", "board", "driver", "cuda", "nvrtc", "date", "commit")
_NUMBERS = ("cycles", "cycles_p10", "cycles_p90", "time_us", "clock_mhz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One configuration on one board: medians over ``n`` launches.

    ``cycles``: SM cycles from the first CTA's start to the last one's end. ``params``: all of the
    scenario's. ``verified``: the data were compared with evaluate. ``provenance``: gpu, board (a
    hash), driver, cuda, nvrtc, date, commit. ``cubin``: start of its SHA-256.
    """

    scenario: str
    params: Mapping[str, int]
    l2: str
    cycles: float
    cycles_p10: float
    cycles_p90: float
    time_us: float
    clock_mhz: float
    n: int
    verified: bool
    verification: str
    cubin: str
    provenance: Mapping[str, str]

    @property
    def spread(self) -> float:
        """p90 - p10, in cycles."""
        return self.cycles_p90 - self.cycles_p10


def load_file(path: Path) -> tuple[Measurement, ...]:
    """The rows of a file. Raises UsageError, naming the file and the first fault."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path.name}: cannot be read: {error}; measure again") from None
    if not isinstance(document, dict) or document.get("schema") != 1:
        raise UsageError(f"{path.name}: not a measurement file of schema 1; measure again")
    provenance = document.get("provenance", {})
    missing = [name for name in PROVENANCE if name not in provenance]
    if missing:
        raise UsageError(f"{path.name}: provenance lacks {', '.join(missing)}; measure again")
    facts = {name: str(provenance[name]) for name in PROVENANCE}
    rows = [r for r in document.get("rows", ()) if "error" not in r]
    return tuple(_row(path, i, row, facts) for i, row in enumerate(rows))


def _row(path: Path, index: int, row: dict[str, Any], facts: dict[str, str]) -> Measurement:
    try:
        numbers = {name: float(row[name]) for name in _NUMBERS}
        measurement = Measurement(
            scenario=str(row["scenario"]),
            params={str(n): int(v) for n, v in row["params"].items()},
            l2=str(row["l2"]),
            n=int(row["n"]),
            verified=bool(row["verified"]),
            verification=str(row["verification"]),
            cubin=str(row["cubin"]),
            provenance=facts,
            **numbers,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path.name}: row {index}: {error!r}; measure again") from None
    m = measurement
    if m.l2 not in ("cold", "warm") or m.n < 20:
        raise UsageError(f"{path.name}: row {index}: l2 {m.l2!r}, {m.n} launches; need 20 or more")
    if not 0 < m.cycles_p10 <= m.cycles <= m.cycles_p90 or m.time_us <= 0:
        raise UsageError(f"{path.name}: row {index}: cycles are not ordered: {m.cycles}")
    return m


def load_all(folder: Path = FOLDER) -> tuple[Measurement, ...]:
    """Every stored row, by file name."""
    return tuple(m for path in sorted(folder.glob("*.json")) for m in load_file(path))


def find(
    rows: Iterable[Measurement],
    scenario: str,
    params: Mapping[str, int],
    l2: str = "",
    *,
    defaults: Mapping[str, int] | None = None,
) -> tuple[Measurement, ...]:
    """The rows of one configuration, in any state of L2 if none is named.

    A parameter that a row does not name is newer than the row, which had its default: ``defaults``
    of the scenario; without them it does not exclude the row.
    """
    newer = {} if defaults is None else defaults

    return tuple(
        m
        for m in rows
        if m.scenario == scenario
        and all(params.get(name) == value for name, value in {**newer, **m.params}.items())
        and l2 in ("", m.l2)
    )
