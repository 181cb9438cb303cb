"""The user's line: the first frame outside this package."""

from __future__ import annotations

import sys
from pathlib import Path

from asyncsim.errors import SourceLoc

_HERE = str(Path(__file__).parent)


def caller() -> SourceLoc | None:
    """File and line of the nearest caller that is not part of the builder."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and "contextlib" not in file:
            return SourceLoc(file, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None
