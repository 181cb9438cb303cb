"""The machine's numbers on the engine's grid, and a record of which of them were used.

Ticks are 1/64 cycle; rates are exact fractions of bytes per tick. See docs/model-notes.md.
"""

from __future__ import annotations

from fractions import Fraction

from asyncsim.machine import TICKS_PER_CYCLE, Curve, Machine, ticks


class Numbers:
    """Reads numbers of a machine by dotted key; ``assumed`` counts the unmeasured ones used."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._used: dict[str, object] = {}

    def _read(self, key: str, suffix: str) -> object:
        if key not in self._used:
            group, field = key.split(".")
            self._used[key] = getattr(getattr(self.machine, group), field + suffix)
        return self._used[key]

    def exact(self, key: str) -> Fraction:
        """A number of cycles, exact."""
        value = self._read(key, "_cycles")
        assert isinstance(value, Fraction)
        return value

    def ticks(self, key: str) -> int:
        """A number of cycles, in ticks."""
        return ticks(self.exact(key))

    def curve(self, key: str) -> Curve:
        """A curve of cycles."""
        value = self._read(key, "_cycles")
        assert isinstance(value, Curve)
        return value

    def rate(self, key: str) -> Fraction:
        """Bytes per tick."""
        value = self._read(key, "_bytes_per_cycle")
        assert isinstance(value, Fraction)
        return value / TICKS_PER_CYCLE

    def bytes(self, key: str) -> int:
        value = self._read(key, "_bytes")
        assert isinstance(value, int)
        return value

    def count(self, key: str) -> int:
        value = self._read(key, "")
        assert isinstance(value, int)
        return value

    @property
    def assumed(self) -> int:
        """How many of the numbers read so far are assumed."""
        origin = self.machine.provenance
        return sum(origin[key].how == "assumed" for key in self._used if key in origin)
