"""Which loads of a CTA are in flight when it asks for more."""

from __future__ import annotations

from asyncsim.sim.pace import SETTLING


class Flights:
    """The latest landing of the barrier that was asked for last, and of all others."""

    __slots__ = ("_alone", "_barrier", "_landing", "_others")

    def __init__(self) -> None:
        self._barrier = -1
        self._landing = self._others = 0
        self._alone = 0  # rounds in a row that found nothing in flight

    def lone(self, barrier: int, time: int) -> bool:
        """Whether a load for ``barrier`` at ``time`` and those before it found nothing in flight
        but their own round, the loads for one barrier: each round waits for the one before.
        Times must not fall."""
        if barrier != self._barrier or self._landing <= time:
            self._others = max(self._others, self._landing)
            self._barrier, self._landing = barrier, 0
            self._alone = min(self._alone, SETTLING) + 1 if self._others <= time else 0
        return self._alone > SETTLING

    def state(self) -> tuple[object, int, int]:
        """What decides later answers, and its ticks."""
        return (self._barrier, self._alone), self._landing, self._others

    def add(self, landing: int) -> None:
        """The load of the last question lands at ``landing``."""
        self._landing = max(self._landing, landing)
