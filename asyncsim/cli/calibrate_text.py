"""A calibration as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from asyncsim.cli.output import table, wrap

if TYPE_CHECKING:
    from asyncsim.hw.calibrate.numbers import Calibration, FittedLaw
    from asyncsim.hw.calibrate.raw import Document


def calibration_text(calibration: Calibration, documents: Sequence[Document], base: str) -> str:
    """Where the rows come from, the laws, how the numbers are known, and which are not those of
    the machine file ``base``."""
    from asyncsim.hw.calibrate.machine_file import counted, differences, machine_document

    origin = documents[-1]["provenance"]
    boards = sorted({str(d["provenance"]["board"]) for d in documents})
    plural = "s" if len(boards) > 1 else ""
    head = f"{origin['gpu']}, board{plural} {', '.join(boards)}, driver {origin['driver']}"
    laws = [cells for fitted in calibration.laws for cells in _rows(fitted)]
    found = differences(calibration, base)
    lines = [
        f"{head}, {origin['date']}",
        "",
        table(["law", "number", "value", "+-", "unit"], laws, "llrrl"),
        "",
        wrap(counted(machine_document(calibration, documents, base)), first="numbers  "),
        wrap(
            f"{len(found)} differ from {base}.toml by more than their uncertainty",
            first="differ   ",
        ),
    ]
    width = max((len(d.key) for d in found), default=0)
    lines += [
        f"         {d.key:<{width}}  {d.shipped:g} -> {d.found:g} +- {d.uncertainty:g} "
        f"({d.percent:+.2f} %)" + ("" if d.x is None else f" at {d.x:g}")
        for d in found
    ]
    return "\n".join(lines)


def _rows(fitted: FittedLaw) -> Iterator[list[str]]:
    solution = fitted.solution
    each = zip(fitted.law.parameters, solution.values, solution.half_widths, strict=True)
    for parameter, value, half in each:
        if not parameter.key.startswith("("):
            value, half = value * parameter.times, half * parameter.times
            unit = parameter.unit.replace("_", " ")
            yield [fitted.law.name, parameter.key, f"{value:.5g}", f"{half:.2g}", unit]
