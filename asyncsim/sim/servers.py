"""First come, first served servers with an exact clock.

``free`` is kept as an integer numerator over the rate, so that rounding to ticks never biases the
rate; only the times handed out are rounded (up). See docs/model-notes.md.
"""

from __future__ import annotations

from fractions import Fraction

from asyncsim.sim.path import Cause


class Fifo:
    """A server of ``rate`` bytes per tick. ``last``: the cause that ends when it becomes free.

    ``whole``: the rate at which a single request goes through, where it is not that of the server:
    one that stands for several takes the server for as long as all of them, and is through itself
    as if it were alone.
    """

    __slots__ = ("_den", "_free", "_num", "_whole_den", "_whole_num", "busy", "label", "last")

    def __init__(self, label: str, rate: Fraction, whole: Fraction | None = None) -> None:
        self.label = label
        self._num, self._den = rate.numerator, rate.denominator
        whole = whole or rate
        self._whole_num, self._whole_den = whole.numerator, whole.denominator
        self._free = 0  # ticks times _num
        self.busy = 0  # the same
        self.last: Cause | None = None

    def serve(
        self, time: int, amount: int, cause: Cause, weight: int = 1
    ) -> tuple[int, int, Cause, Cause]:
        """Serve ``amount`` bytes asked for at ``time``: (start, end, why start, why end).

        weight: for so many, in parts of a request as the rate counts them.
        The start is cut through: what follows may begin with the first byte.
        """
        num = self._num
        at, work = time * num, amount * weight * self._den
        free, last = self._free, self.last
        self.busy += work
        if free > at and last is not None:
            start, started = -(-free // num), last
            self._free = free + work
            since, before = last[2], last[3]
        else:
            start, started = time, cause
            self._free = at + work
            since, before = time, cause
        idle = -(-self._free // num)
        own = start + -(-amount * self._whole_den // self._whole_num)
        end = min(own, idle)  # both are rounded: the free clock is the exact one
        self.last = (idle, self.label, since, before)
        return start, end, started, (end, self.label, since, before)

    def yield_to(self, time: int, amount: int, cause: Cause, weight: int = 1) -> None:
        """Something else goes on in the server's stead for as long as ``amount`` would take."""
        self.serve(time, amount, cause, weight)
        self.busy -= amount * weight * self._den

    @property
    def free(self) -> int:
        """The tick from which the server is idle."""
        return -(-self._free // self._num)

    @property
    def clock(self) -> tuple[int, int]:
        """The exact clock: from when it is idle, in parts of a tick, and how many make one."""
        return self._free, self._num

    @property
    def busy_ticks(self) -> float:
        return self.busy / self._num

    @property
    def served(self) -> float:
        """Bytes so far."""
        return self.busy / self._den


class Pipe:
    """A server whose work is given in ticks."""

    __slots__ = ("busy", "free", "held", "label", "last")

    def __init__(self, label: str) -> None:
        self.label = label
        self.free = self.busy = 0
        self.held = 0  # of the busy ticks, those in which nothing was served
        self.last: Cause | None = None

    def serve(self, time: int, work: int, cause: Cause) -> tuple[int, int, Cause]:
        """Work of ``work`` ticks asked for at ``time``: (start, end, the cause of the start)."""
        free, last = self.free, self.last
        self.busy += work
        if free > time and last is not None:
            self.free = end = free + work
            self.last = (end, self.label, last[2], last[3])
            return free, end, last
        self.free = end = time + work
        self.last = (end, self.label, time, cause)
        return time, end, cause

    def take(self, time: int, work: int, cause: Cause) -> int:
        """The same for who only asks for the end."""
        free, last = self.free, self.last
        self.busy += work
        if free > time and last is not None:
            self.free = end = free + work
            self.last = (end, self.label, last[2], last[3])
        else:
            self.free = end = time + work
            self.last = (end, self.label, time, cause)
        return end

    def hold(self, time: int) -> None:
        """The server is not free before ``time``: what it did could not be handed on."""
        if time > self.free and self.last is not None:
            self.busy += time - self.free
            self.held += time - self.free
            self.free = time
            self.last = (time, self.label, self.last[2], self.last[3])
