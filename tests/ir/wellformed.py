"""Schedules that are wrong in one way, and what must be said of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from asyncsim import Rule, ScheduleBuilder, ScheduleError


def error_of(
    build: Callable[[Any], object], *, archs: tuple[str, ...] = ("sm_90a",)
) -> ScheduleError:
    """The error of building or finishing what ``build`` writes."""
    k = ScheduleBuilder("bad", archs=archs)
    with pytest.raises(ScheduleError) as caught:
        build(k)
        k.finish()
    return caught.value


def expect(
    build: Callable[[Any], object],
    message: str,
    fix: str,
    rule: Rule | None = None,
    *,
    archs: tuple[str, ...] = ("sm_90a",),
) -> None:
    """The error has exactly this message, fix and rule, on one line."""
    error = error_of(build, archs=archs)
    assert (error.message, error.fix, error.rule) == (message, fix, rule)
    assert "\n" not in str(error)


def barrier(k: Any, **options: int) -> Any:
    """An initialised mbarrier array of count 1."""
    full = k.mbarriers("full", count=1, **options)
    with k.elect_thread():
        k.mbarrier.init_all(full)
    return full
