"""Raw files: read with distrust, and whether the GPU was quiet.  See docs/machine.md."""

__all__ = [
    "GPUS",
    "Document",
    "gpu_of",
    "not_quiet",
    "only",
    "passes",
    "read_raw",
    "unknown_benchmark",
]

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from asyncsim.errors import UsageError

Document = dict[str, Any]

GPUS = {
    "NVIDIA H200": "h200",
    "NVIDIA H100 80GB HBM3": "h100",
}
"""Name of the GPU -> the machine file whose limits it has."""

AGAIN = "measure again with `asyncsim calibrate`"
_MAX_BYTES = 1 << 26
_MAX_ROWS = 100_000
_LARGEST = 1e15  # cycles, bytes or seconds: nothing measured comes near, and squares stay finite
_TEXTS = ("gpu", "board", "driver", "cuda", "nvrtc_package", "date")
_NUMBERS = ("median", "p10", "p90")
# Benchmarks on one SM alone, which repeat to the cycle on a GPU that does nothing else.
_STEADY = {
    "issue": "cycles",
    "syncthreads": "cycles",
    "named_barrier": "cycles",
    "pipe": "cycles",
    "loop": "cycles",
    "lds_rate": "cycles",
    "wgmma_once": "done",
    "tma_store": "done",
}
_WIDE = 0.05  # a spread beyond this share of the median
_MANY = 0.05  # a quiet GPU shows 1 % of such rows


def read_raw(path: Path) -> Document:
    """A raw file that has the form of one.  Raises UsageError with its first fault."""
    try:
        data = path.open("rb").read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{path} is larger than {_MAX_BYTES} bytes: no raw file; {AGAIN}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        text = str(error).splitlines()[0]
        raise UsageError(f"{path} is not JSON ({text}): no raw file; {AGAIN}") from None
    for fault in _faults(document):
        raise UsageError(f"{path}: {fault}; {AGAIN}")
    found: Document = document
    return found


def _faults(document: object) -> Iterator[str]:
    if not isinstance(document, dict) or document.get("schema") != 1:
        yield "no raw file: `schema` is not 1"
        return
    origin, rows = document.get("provenance"), document.get("rows")
    if not isinstance(origin, dict):
        yield "`provenance` is not an object"
        return
    for name in _TEXTS:
        if not isinstance(origin.get(name), str) or not origin[name]:
            yield f"provenance.{name} is missing"
    yield from _gpc_faults(origin.get("gpcs", []))
    if not isinstance(rows, list) or not 0 < len(rows) <= _MAX_ROWS:
        yield f"`rows` is not a list of 1 to {_MAX_ROWS} rows"
        return
    for i, row in enumerate(rows):
        if fault := _row_fault(row):
            yield f"row {i + 1}: {fault}"


def _gpc_faults(gpcs: object) -> Iterator[str]:
    lists = isinstance(gpcs, list) and all(isinstance(g, list) for g in gpcs)
    if not lists or not all(type(sm) is int and 0 <= sm < 1024 for g in gpcs for sm in g):  # type: ignore[attr-defined]
        yield "provenance.gpcs is not a list of lists of SMs"


def _row_fault(row: object) -> str:
    if not isinstance(row, dict) or not isinstance(row.get("bench"), str):
        return "no object with a `bench`"
    params = row.get("params")
    if not isinstance(params, dict) or not all(isinstance(v, int | str) for v in params.values()):
        return "`params` is not an object of integers and texts"
    if type(row.get("pass", 0)) is not int:
        return "`pass` is not an integer"
    if isinstance(row.get("error"), str):
        return ""
    if not isinstance(row.get("metric"), str):
        return "`metric` is missing"
    for name in _NUMBERS:
        if not _is_number(row.get(name)):
            return f"`{name}` is not a finite number below 1e15"
    if not row["p10"] <= row["median"] <= row["p90"]:
        return "p10, median and p90 do not rise"
    if type(row.get("n")) is not int or row["n"] < 1:
        return "`n` is not a count"
    series = row.get("series", [])
    if not isinstance(series, list) or not all(map(_is_number, series)):
        return "`series` is not a list of finite numbers"
    return ""


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < _LARGEST  # type: ignore[arg-type]


def gpu_of(documents: Sequence[Document]) -> str:
    """The machine file that the files' GPU goes with.  Raises UsageError."""
    names = sorted({str(d["provenance"]["gpu"]) for d in documents})
    if len(names) > 1:
        raise UsageError(f"raw files of {' and '.join(names)}; fit those of one GPU at a time")
    if names[0] not in GPUS:
        raise UsageError(
            f"unknown GPU {names[0][:60]!r}: the microbenchmarks are of sm_90a, known are "
            f"{', '.join(GPUS)}; measure on one of these"
        )
    return GPUS[names[0]]


def only(documents: Sequence[Document], name: str) -> list[Document]:
    """The rows whose benchmark begins with ``name``; several stand with commas between.  Raises
    UsageError where there are none."""
    names = tuple(name.split(","))
    kept = [d | {"rows": [r for r in d["rows"] if r["bench"].startswith(names)]} for d in documents]
    if not any(d["rows"] for d in kept):
        raise unknown_benchmark(name, {row["bench"] for d in documents for row in d["rows"]})
    return kept


def unknown_benchmark(name: str, known: Collection[str]) -> UsageError:
    """The error of a name that no benchmark begins with."""
    return UsageError(f"no benchmark begins with {name!r}; there are {', '.join(sorted(known))}")


def passes(document: Document) -> list[Document]:
    """The rows of each pass over the benchmarks as a document of its own."""
    numbers = sorted({row.get("pass", 0) for row in document["rows"]})
    return [
        document | {"rows": [r for r in document["rows"] if r.get("pass", 0) == number]}
        for number in numbers
    ]


def not_quiet(document: Document) -> str:
    """Why the rows are not those of a GPU that did nothing else; "" if they are."""
    steady = [r for r in document["rows"] if _STEADY.get(r["bench"], "") == r.get("metric")]
    wide = [r for r in steady if r["p90"] - r["p10"] > _WIDE * r["median"]]
    if len(wide) <= _MANY * len(steady):
        return ""
    worst = max(wide, key=lambda r: (r["p90"] - r["p10"]) / max(r["median"], 1e-9))
    return (
        f"the GPU was not quiet: {len(wide)} of {len(steady)} benchmarks that repeat to the cycle "
        f"spread by more than {_WIDE:.0%}, most {worst['bench']} "
        f"{' '.join(map(str, worst['params'].values()))} ({worst['p10']:g} to {worst['p90']:g} "
        "cycles); stop what else runs on it and measure again"
    )
