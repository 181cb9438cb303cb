"""A calibration as a page with a picture for each law.  See docs/machine.md."""

__all__ = ["is_report", "report"]

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .facts import Found, found
from .fit import rounded
from .machine_file import Difference, counted, differences, entries, machine_document
from .numbers import Calibration, FittedLaw, Number
from .plot import draw
from .raw import Document, passes

PAGE = "README.md"
TITLE, KEPT = "# Calibration of", "## Kept from"
STUDIED = "h200"  # the GPU of the earlier study


def report(calibration: Calibration, documents: Sequence[Document], base: str) -> dict[str, str]:
    """Files of the report by name: the page, and a picture for each law."""
    files = {f"{fitted.law.name}.svg": draw(fitted) for fitted in calibration.laws}
    files[PAGE] = "\n".join(_page(calibration, documents, base))
    return files


def is_report(folder: Path) -> bool:
    """Whether a folder holds a report, so that a new one may take its place."""
    try:
        with (folder / PAGE).open(encoding="utf-8") as page:
            return page.readline().startswith(TITLE)
    except (OSError, UnicodeDecodeError):
        return False


def _page(calibration: Calibration, documents: Sequence[Document], base: str) -> Iterator[str]:
    origin = documents[-1]["provenance"]
    yield f"{TITLE} {origin['gpu']}"
    yield ""
    yield "Written by `asyncsim calibrate`, which writes the machine file with `--out`. What each"
    yield "number means: `docs/machine.md` of asyncsim."
    yield ""
    yield from _files(documents)
    yield from _legend(documents)
    yield from _differences(differences(calibration, base), base)
    yield from _laws(calibration.laws)
    yield from _numbers(calibration)
    if base == STUDIED:
        yield from _facts(documents)
    yield from _kept(calibration, documents, base)


def _files(documents: Sequence[Document]) -> Iterator[str]:
    yield from _table(
        ["date", "board", "driver", "CUDA", "NVRTC", "idle clock, MHz", "SMs of GPCs", "rows"],
        (
            [
                d["provenance"]["date"],
                d["provenance"]["board"],
                d["provenance"]["driver"],
                d["provenance"]["cuda"],
                d["provenance"]["nvrtc_package"],
                _clock(d),
                " ".join(str(len(gpc)) for gpc in d["provenance"].get("gpcs", [])) or "-",
                str(len(d["rows"])),
            ]
            for d in documents
        ),
    )


def _clock(document: Document) -> str:
    rows = (r for r in document["rows"] if r["bench"] == "clock_idle" and "median" in r)
    return next((f"{row['median']:.6g}" for row in rows), "-")


def _legend(documents: Sequence[Document]) -> Iterator[str]:
    for d in documents:
        if corrected := d["provenance"].get("corrected"):
            yield f"Corrected by hand in {d['provenance']['board']}: {corrected}."
            yield ""
    yield "*Measured*: one benchmark shows it. *Inferred*: several do, through the model that puts"
    yield "them together. *+-*: half width of 95 %, and at least half of what runs differ by."
    yield "*Residual*: root mean square of what the law misses, or of how runs differ from their"
    yield "median."
    yield ""


def _differences(found: Sequence[Difference], base: str) -> Iterator[str]:
    yield f"## What differs from {base}.toml"
    yield ""
    if not found:
        yield "Nothing, by more than its uncertainty."
        yield ""
        return
    yield "By more than its uncertainty. The file is not changed by this."
    yield ""
    yield from _table(
        ["number", f"{base}.toml", "here", "+-", "difference"],
        (
            [
                f"`{d.key}`" + ("" if d.x is None else f" at {d.x:g}"),
                f"{d.shipped:g}",
                f"{d.found:g}",
                f"{d.uncertainty:g}",
                f"{d.percent:+.2f} %",
            ]
            for d in found
        ),
    )


def _laws(laws: Sequence[FittedLaw]) -> Iterator[str]:
    yield "## Laws"
    yield ""
    yield "Dots are medians of rows, hollow where the fit gives them less than half of their"
    yield "weight; below, what the law misses."
    yield ""
    for fitted in laws:
        law, solution = fitted.law, fitted.solution
        yield f"### {law.name}"
        yield ""
        yield f"`{law.formula}`"
        yield ""
        yield f"From {law.benches}: {len(fitted.points)} points, residual"
        yield f"{rounded(solution.rms, 3)} {_unit(law.unit)}."
        yield ""
        halves = zip(law.parameters, solution.values, solution.half_widths, strict=True)
        yield from _table(
            ["parameter", "value", "+-", "unit"],
            (
                [
                    p.key if p.key.startswith("(") else f"`{p.key}`",
                    f"{rounded(value * p.times, 5)}",
                    f"{rounded(half * p.times, 2)}",
                    _unit(p.unit),
                ]
                for p, value, half in halves
            ),
        )
        yield f"![{law.name}]({law.name}.svg)"
        yield ""


def _numbers(calibration: Calibration) -> Iterator[str]:
    yield "## Numbers"
    yield ""
    yield from _table(
        ["number", "value", "+-", "unit", "how", "benchmark", "residual", "rows", "runs"],
        ([f"`{key}`", *_cells(number)] for key, number in calibration.numbers.items()),
    )


def _facts(documents: Sequence[Document]) -> Iterator[str]:
    yield "## Beside an earlier study"
    yield ""
    yield "What a study of the H200 found (2026-11-30, other boards, other kernels), the same from"
    yield "the benchmarks here, and, without a number of the study, questions that it left open."
    yield "*+-*: half of what the runs span."
    yield ""
    topics: dict[str, list[Found]] = {}
    for one in found([run for document in documents for run in passes(document)]):
        topics.setdefault(one.fact.topic, []).append(one)
    for topic, facts in topics.items():
        yield f"### {topic}"
        yield ""
        yield from _table(
            ["", "unit", "study", "here", "+-", "difference", ""], map(_fact_cells, facts)
        )


def _fact_cells(one: Found) -> list[str]:
    fact, percent = one.fact, one.percent
    return [
        fact.what,
        fact.unit,
        "-" if fact.prior is None else f"{fact.prior:g}",
        f"{one.ours:.4g}",
        f"{one.half:.2g}",
        "-" if percent is None else f"{percent:+.1f} %",
        fact.note,
    ]


def _cells(number: Number) -> list[str]:
    entry = number.entry()
    value = entry[number.unit]
    if isinstance(value, list):
        value = ", ".join(f"{p[0]}: {p[1]}" if isinstance(p, list) else str(p) for p in value)
    return [
        str(value),
        str(entry.get("uncertainty", "-")),
        _unit(number.unit),
        number.how,
        number.source,
        str(entry.get("residual", "-")),
        str(number.rows),
        str(number.files),
    ]


def _kept(calibration: Calibration, documents: Sequence[Document], base: str) -> Iterator[str]:
    machine = machine_document(calibration, documents, base)
    kept = {k: e for k, e in entries(machine).items() if k not in calibration.numbers}
    yield f"{KEPT} {base}.toml"
    yield ""
    yield f"Of the machine file's numbers {counted(machine)}."
    yield ""
    yield from _table(
        ["number", "how", "source"],
        ([f"`{key}`", entry["how"], entry["source"]] for key, entry in kept.items()),
    )


def _unit(unit: str) -> str:
    return unit.replace("_", " ")


def _table(head: Sequence[str], rows: Iterator[Sequence[str]] | Any) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""
