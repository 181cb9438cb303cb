"""How far single landings lie from their median, where SMs that are apart share lines."""

from __future__ import annotations

_MASK = 0xFFFFFFFF


class Scatter:
    """Deviations in ticks, uniform, without order, and the same in every run.

    ``spread``: from the 10th to the 90th percentile; ``seed``: tells the CTAs apart.
    """

    __slots__ = ("_width", "drawn")

    def __init__(self, spread: int, seed: int) -> None:
        self._width = spread * 5 // 4
        self.drawn = seed * 7919

    def next(self) -> int:
        self.drawn += 1
        return (_mixed(self.drawn) * self._width >> 32) - self._width // 2


def _mixed(x: int) -> int:
    """A 32-bit number of which every bit depends on every bit of ``x`` (MurmurHash3's end)."""
    x = x * 0x9E3779B1 & _MASK
    x = (x ^ x >> 15) * 0x85EBCA6B & _MASK
    x = (x ^ x >> 13) * 0xC2B2AE35 & _MASK
    return x ^ x >> 16
