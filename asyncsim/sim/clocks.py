"""Rates and latencies in cycles of SMs that run slower than at the boost clock.

L2, DRAM and the ways to them keep their own clocks: what passes there takes fewer cycles of a
slower SM. Of a hit that is `l2.beyond`; what a miss takes longer passes there altogether.
"""

from __future__ import annotations

from fractions import Fraction

from asyncsim.machine import Curve
from asyncsim.sim.numbers import Numbers


class Clocks:
    """``mhz``: of the SMs; ``faster``: how much more the others do in one of their cycles."""

    __slots__ = ("_beyond", "_hit", "_saved", "faster")

    def __init__(self, numbers: Numbers, mhz: Fraction) -> None:
        machine = numbers.machine
        self.faster = Fraction(machine.clock.boost_mhz) / mhz
        self._saved = 1 - 1 / self.faster
        self._beyond = numbers.exact("l2.beyond") if self._saved else Fraction(0)
        self._hit = (machine.tma or machine.cp_async).latency_l2_cycles

    def latency(self, cycles: Fraction, hit: Fraction) -> Fraction:
        """Cycles that are so many at the boost clock; ``hit``: those of the same access to L2."""
        return cycles - self._saved * (self._beyond + cycles - hit)

    def landings(self, curve: Curve, hit: Fraction, port: Fraction) -> Curve:
        """The same by bytes, which pass a port of the SM at so many a cycle after all."""
        return Curve(tuple([(x, self.latency(y, hit + x / port)) for x, y in curve.points]))

    def round_trips(self, curve: Curve) -> Curve:
        """The same of loaded DRAM, whose round trips are those of the widest copies there are."""
        return Curve(tuple([(x, self.latency(y, self._hit)) for x, y in curve.points]))
