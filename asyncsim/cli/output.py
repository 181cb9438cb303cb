"""Results to stdout, files as a whole. Text is laid out for 80 columns."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from asyncsim.errors import UsageError

WIDTH = 80


def emit(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def note(text: str) -> None:
    """Print a remark that is no result, on stderr."""
    sys.stderr.write(text + "\n")


def emit_json(value: object) -> None:
    """Print one JSON value."""
    import json

    emit(json.dumps(value, indent=2, allow_nan=False))


def write_whole(path: str, data: bytes) -> None:
    """Write a file that is either complete or not there. Raises UsageError."""
    from asyncsim.trace import files

    try:
        files.write_whole(path, data)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}; choose another path"
        ) from None


def wrap(text: str, *, first: str = "", indent: str | None = None) -> str:
    """``text`` in 80 columns behind ``first``; further lines are indented as deep, or by
    ``indent``. A number and its ``%`` stay together."""
    filled = textwrap.fill(
        text.replace(" %", "\N{NO-BREAK SPACE}%"),
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first) if indent is None else indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace("\N{NO-BREAK SPACE}%", " %")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: str) -> str:
    """Columns two blanks apart; ``right`` has an ``r`` for each column that is a number."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]
    out = []
    for line in lines:
        cells = (
            cell.rjust(w) if side == "r" else cell.ljust(w)
            for cell, w, side in zip(line, widths, right, strict=True)
        )
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def shorten(text: str, width: int) -> str:
    """``text``, cut to ``width`` with ``...``."""
    return text if len(text) <= width else text[: width - 3] + "..."
