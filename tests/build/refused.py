"""A builder and what it must refuse, at the caller's line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import pytest

from asyncsim import ScheduleBuilder, ScheduleError


def new() -> ScheduleBuilder:
    return ScheduleBuilder("s")


def expect(build: Callable[[Any], object], message: str, fix: str) -> None:
    """``build`` raises exactly this, at a line of the test that called."""
    file = sys._getframe(1).f_code.co_filename
    k = new()
    with pytest.raises(ScheduleError) as caught:
        build(k)
    error = caught.value
    assert (error.message, error.fix) == (message, fix)
    assert error.loc is not None
    assert error.loc.file == file
    assert str(error) == f"{message} (at {PurePath(file).name}:{error.loc.line}); {fix}"
