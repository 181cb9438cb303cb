"""How the rows of a TMA box lie in lines of 128 bytes and in sectors of 32.

A row of 128 bytes that begins in the middle of a line is in two of them, and the engine asks for
each. One that begins in the middle of a sector costs more by far. See docs/model-notes.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LINE, SECTOR = 128, 32


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of ``inner`` bytes: how many begin with a sector, and the lines that these touch;
    ``odd``: how many others there are, that touch a sector more than they would have to;
    ``sectors``: that all of them touch."""

    inner: int
    even: int
    lines: int
    odd: int
    sectors: int

    @property
    def count(self) -> int:
        return self.even + self.odd

    @property
    def pieces(self) -> int:
        """Of a row, by lines: one for 128 bytes."""
        return -(-self.inner // LINE)

    @property
    def further(self) -> int:
        """Lines beyond one for each piece, of rows that begin with a sector."""
        return self.lines - self.even * self.pieces

    def in_sectors(self, amount: int) -> int:
        """Bytes of a load as whole sectors count them."""
        return amount * self.sectors // (self.count * -(-self.inner // SECTOR))


def rows_of(inner: int, outer: Iterable[tuple[int, int]], first: int = 0) -> Rows:
    """Of a box: ``outer`` are (extent, bytes from one to the next) of its outer dimensions,
    ``first`` is the byte at which it begins."""
    at = Counter({first % LINE: 1})
    for extent, pitch in outer:
        if pitch % LINE == 0:
            at = Counter({offset: n * extent for offset, n in at.items()})
        else:
            moved: Counter[int] = Counter()
            for i in range(extent):
                for offset, n in at.items():
                    moved[(offset + i * pitch) % LINE] += n
            at = moved
    even = lines = odd = sectors = 0
    for offset, n in at.items():
        touched = -(-(offset % SECTOR + inner) // SECTOR)
        sectors += n * touched
        if touched > -(-inner // SECTOR):
            odd += n
        else:
            even += n
            lines += n * -(-(offset + inner) // LINE)
    return Rows(inner, even, lines, odd, sectors)


def rows_of_box(
    shape: Sequence[int], strides: Sequence[int], size: int, start: Sequence[int]
) -> Rows:
    """Of a box of elements of ``size`` bytes, outermost dimension first."""
    outer = [(n, stride * size) for n, stride in zip(shape[:-1], strides[:-1], strict=True)]
    first = size * sum(at * stride for at, stride in zip(start, strides, strict=True))
    return rows_of(shape[-1] * size, outer, first)


def adjacent(inner: int, amount: int) -> Rows:
    """Rows that begin with a line each, as far as anybody knows."""
    return rows_of(inner, [(max(1, amount // inner), LINE * -(-inner // LINE))])
