"""A plain-heap engine: the oracle for the SimPy one."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any


class HeapClock:
    """Events in a heap, ordered by (time, key, sequence)."""

    def __init__(self) -> None:
        self.now = 0
        self._queue: list[tuple[int, int, int, Callable[[Any], None], Any]] = []
        self._sequence = count()

    def post(self, time: int, key: int, call: Callable[[Any], None], arg: Any) -> None:
        assert time >= self.now, "an event in the past"
        heappush(self._queue, (time, key, next(self._sequence), call, arg))

    def run(self) -> None:
        while self._queue:
            self.now, _, _, call, arg = heappop(self._queue)
            call(arg)
