"""How often Python looks for cyclic garbage while a command, or a worker of a sweep, runs.

A run keeps most of what it makes until its end, so that looking after every 700 objects, as Python
does by default, is mostly in vain: it takes a seventh of the time. See docs/speed.md.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 50_000  # made and not freed from one look to the next: a few MB


def collect_rarely() -> None:
    """For the rest of this process; what is there, modules and functions, is not looked at."""
    gc.freeze()
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


@contextmanager
def rare_collection() -> Iterator[None]:
    """The same in the body alone."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
