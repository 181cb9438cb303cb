"""The machine file of a calibration: calibrated numbers over a file that has the rest.

See docs/machine.md.
"""

__all__ = ["Difference", "counted", "differences", "entries", "machine_document"]

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, get_args

from asyncsim.machine.quantity import How

from .fit import rounded
from .numbers import Calibration, Number
from .raw import Document

Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """A number that is not what the machine file says, by more than its uncertainty.  ``x``: the
    point of a curve, None of a number."""

    key: str
    x: float | None
    shipped: float
    found: float
    uncertainty: float

    @property
    def percent(self) -> float:
        """Of the shipped value."""
        return 100 * (self.found / self.shipped - 1) if self.shipped else float("inf")


def base_document(name: str) -> Table:
    """A machine file that comes with asyncsim, as a document."""
    entry = resources.files("asyncsim.machine") / f"{name}.toml"
    return tomllib.loads(entry.read_text(encoding="utf-8"))


def machine_document(calibration: Calibration, documents: Sequence[Document], base: str) -> Table:
    """The calibrated numbers, the published and assumed ones of ``base``, and, as assumed, what
    was measured for ``base`` and not by these files."""
    document = base_document(base)
    boards = sorted({str(d["provenance"]["board"]) for d in documents})
    origin = documents[-1]["provenance"]
    document["machine"] |= {
        "name": f"{base}-{boards[0]}" if len(boards) == 1 else base,
        "title": origin["gpu"],
        "date": origin["date"],
        "driver": origin["driver"],
        "cuda": origin["cuda"],
        "nvrtc": origin["nvrtc_package"],
        "boards": boards,
    }
    for key, entry in entries(document).items():
        group, _, name = key.partition(".")
        number = calibration.numbers.get(key)
        document[group][name] = number.entry() if number else _kept(entry, base)
    return document


def _kept(entry: Table, base: str) -> Table:
    if entry["how"] != "measured":
        return entry
    return entry | {"how": "assumed", "source": f"{base}.toml: {entry['source']}"}


def entries(document: Table) -> dict[str, Table]:
    """The numbers of a machine file by dotted key."""
    groups = {g: table for g, table in document.items() if g not in ("schema", "machine")}
    return {f"{g}.{name}": entry for g, table in groups.items() for name, entry in table.items()}


def counted(document: Table) -> str:
    """How many numbers are known in which way, as text."""
    hows = [entry["how"] for entry in entries(document).values()]
    return ", ".join(f"{hows.count(how)} {how}" for how in get_args(How) if how in hows)


def differences(calibration: Calibration, base: str) -> list[Difference]:
    """The largest first."""
    document = base_document(base)
    found = [
        difference
        for key, number in calibration.numbers.items()
        for difference in _of(key, number, document)
        if abs(difference.found - difference.shipped) > difference.uncertainty
    ]
    return sorted(found, key=lambda d: -abs(d.percent))


def _of(key: str, number: Number, document: Table) -> Iterator[Difference]:
    """Both as a file would have them: four digits."""
    group, _, name = key.partition(".")
    before = document[group][name][number.unit]
    now, half = number.entry()[number.unit], rounded(number.uncertainty, digits=2)
    if not isinstance(before, list):
        yield Difference(key, None, before, now, half)
    elif isinstance(before[0], list) and [x for x, _ in before] == [x for x, _ in now]:
        for (x, old), (_, new) in zip(before, now, strict=True):
            yield Difference(key, x, old, new, half)
