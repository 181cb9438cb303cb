"""When CTAs start."""

from __future__ import annotations

from fractions import Fraction

from asyncsim.machine import TICKS_PER_CYCLE
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.placement import Placement


class Launcher:
    """Starts the CTAs of the whole GPU one after the other, in order."""

    def __init__(self, numbers: Numbers, placement: Placement, ctas: int, begin: int) -> None:
        self._begin = begin
        interval = numbers.exact("launch.interval") * TICKS_PER_CYCLE
        self._first = interval
        # A simulated CTA stands for those of its share of the SMs.
        self._interval = interval * placement.active_sms / len(placement.sms)
        self.free = begin + interval * min(placement.wave_ctas, ctas)

    def first(self, number: int) -> int:
        """When a CTA of the first wave starts."""
        return self._begin + int(self._first * number)

    def next(self, time: int) -> int:
        """When a CTA that may start from ``time`` on does."""
        start = max(Fraction(time), self.free)
        self.free = start + self._interval
        return int(start)
