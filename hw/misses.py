"""Why rows miss what is asked: reasons by group of rows, in ``data/misses.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asyncsim.hw.compare import ComparedRow

REASONS = Path(__file__).parent / "data" / "misses.json"
UNKNOWN = "no reason is known yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Of rows of one scenario with these parameters (and, if named, this state of L2)."""

    scenario: str
    why: str
    params: Mapping[str, int] = field(default_factory=dict)
    l2: str = ""

    def fits(self, r: ComparedRow) -> bool:
        return (
            r.scenario == self.scenario
            and self.l2 in ("", r.l2)
            and all(r.params.get(name) == value for name, value in self.params.items())
        )


def load_reasons(path: Path = REASONS) -> tuple[Reason, ...]:
    """In the order of the file: the first that fits a row is the row's."""
    return tuple(Reason(**entry) for entry in json.loads(path.read_text(encoding="utf-8")))


def by_reason(
    missing: Iterable[ComparedRow], reasons: Sequence[Reason]
) -> dict[str, list[ComparedRow]]:
    """The rows that miss, by why; ``UNKNOWN`` for those that no reason fits."""
    found: dict[str, list[ComparedRow]] = {}
    for r in missing:
        why = next((reason.why for reason in reasons if reason.fits(r)), UNKNOWN)
        found.setdefault(why, []).append(r)
    return found


def unneeded(missing: Sequence[ComparedRow], reasons: Sequence[Reason]) -> list[Reason]:
    """Reasons that no row needs any more: to be deleted."""
    used = by_reason(missing, reasons)
    return [reason for reason in reasons if reason.why not in used]
