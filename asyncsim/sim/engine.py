"""Time: the one place that imports SimPy.

An event is a call at an integer tick. Ties are decided by (time, static id, sequence): SimPy's
event priority carries the id, its event counter is the sequence. See docs/model-notes.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from simpy import Environment
from simpy.core import EmptySchedule


class Clock(Protocol):
    """What the model needs of an engine."""

    @property
    def now(self) -> int: ...

    def post(self, time: int, key: int, call: Callable[[Any], None], arg: Any) -> None:
        """Call ``call(arg)`` at ``time`` (not before now); ``key`` breaks ties."""

    def run(self) -> None:
        """Run until no event is left."""


class _Call:
    """An event that calls one function; it has what SimPy's step asks of one, and no more."""

    __slots__ = ("arg", "call", "callbacks")
    _ok = True

    def __init__(self, call: Callable[[Any], None], arg: Any) -> None:
        self.call, self.arg = call, arg
        self.callbacks = _FIRED


def _fire(event: _Call) -> None:
    event.call(event.arg)


_FIRED = (_fire,)


class Posted(NamedTuple):
    """An event that has not happened yet."""

    time: int
    key: int
    call: Callable[[Any], None]
    arg: Any


class SimPyClock:
    """The engine: a SimPy environment on integer time. ``posted`` counts the events."""

    def __init__(self) -> None:
        self._env = Environment(initial_time=0)
        self.posted = 0

    @property
    def now(self) -> int:
        return self._env._now  # type: ignore[return-value]

    def post(self, time: int, key: int, call: Callable[[Any], None], arg: Any) -> None:
        env = self._env
        self.posted += 1
        env.schedule(_Call(call, arg), key, time - env._now)  # type: ignore[arg-type]

    def run(self) -> None:
        step = self._env.step
        try:
            while True:
                step()
        except EmptySchedule:
            return

    def run_watched(self, key: int, look: Callable[[], bool]) -> None:
        """Like ``run``; ``look`` is called before every event of ``key`` until it returns False."""
        queue, step = self._env._queue, self._env.step
        while queue:
            if queue[0][1] == key and not look():
                break
            step()
        self.run()

    def pending(self) -> list[Posted]:
        """The events that have not happened yet, in the order in which they will."""
        queue = sorted(self._env._queue, key=lambda entry: entry[:3])
        return [
            Posted(time, key, event.call, event.arg)  # type: ignore[attr-defined, arg-type]
            for time, key, _, event in queue
        ]

    def next(self) -> Posted:
        """The first of them."""
        time, key, _, event = self._env._queue[0]
        return Posted(time, key, event.call, event.arg)  # type: ignore[attr-defined, arg-type]

    @property
    def waiting(self) -> int:
        """How many they are."""
        return len(self._env._queue)


class ReversedTies(SimPyClock):
    """The same engine with ties decided the other way round: how much the order of ids matters."""

    def post(self, time: int, key: int, call: Callable[[Any], None], arg: Any) -> None:
        super().post(time, -key, call, arg)
