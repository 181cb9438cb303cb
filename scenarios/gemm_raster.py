"""Which output tile a persistent CTA takes next.

CTA c of C takes tiles c, c + C, c + 2C, ... of one order. The order covers bands of ``band`` tile
columns, one band after the other, and each band row by row: what runs at the same time is then
about as high as it is wide, and shares its rows and columns in L2. 1 goes down the columns, 0 takes
all columns as one band and goes along the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim import ScheduleError, Value


@dataclass(frozen=True, slots=True)
class Raster:
    """``rows`` x ``columns`` tiles, ``ctas`` CTAs at most. Raises ScheduleError."""

    rows: int
    columns: int
    band: int
    limit: int

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ScheduleError(f"ctas = {self.limit}", fix="give at least 1; an H200 has 132 SMs")
        if self.band < 0:
            raise ScheduleError(f"band = {self.band}", fix="give tile columns; 0 stands for all")

    @property
    def tiles(self) -> int:
        return self.rows * self.columns

    @property
    def ctas(self) -> int:
        """CTAs that are launched: none without a tile."""
        return min(self.limit, self.tiles)

    def place(self, tile: Value) -> tuple[Value, Value]:
        """(row, column) of a tile of the order."""
        width = min(self.band or self.columns, self.columns)
        bands, narrow = divmod(self.columns, width)
        row, column = _in_band(tile, width, self.rows)
        if not narrow:
            return row, column
        whole = bands * width * self.rows
        last_row, last_column = _in_band(tile - whole, narrow, self.rows)
        last = tile >= whole
        return (
            row + last * (last_row - row),
            column + last * (last_column + bands * width - column),
        )


def _in_band(tile: Value, width: int, rows: int) -> tuple[Value, Value]:
    """In bands of one width."""
    in_band = tile % (width * rows)
    return in_band // width, tile // (width * rows) * width + in_band % width
