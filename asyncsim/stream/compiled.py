"""Text that a schedule is turned into, compiled once: the same text means the same function.

Schedules that differ in their arguments alone have the same text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

KEPT = 4096  # texts

_NAMES = {"__builtins__": {}, "min": min, "max": max, "R": range(32)}


@lru_cache(KEPT)
def function(source: str) -> Callable[..., Any]:
    """The function of a lambda's text, in which R is the lanes of a warp."""
    found: Callable[..., Any] = eval(source, dict(_NAMES))
    return found


@lru_cache(KEPT)
def module(source: str, name: str) -> CodeType:
    """The code of statements; ``name`` stands in tracebacks."""
    return compile(source, name, "exec")
