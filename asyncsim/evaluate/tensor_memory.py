"""The tensor memory of a CTA while it is evaluated: 128 lanes of 512 columns of 32 bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.operands import Operands
from asyncsim.ir.op import TmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.tcgen05 import COLUMNS, LANES
from asyncsim.rules import Rule
from asyncsim.stream.operands import Values
from asyncsim.sync.tmem import TmemAllocator

Place = tuple[int, int]
"""A lane and a column."""


class TensorMemory:
    """The cells, as raw 32 bits, and who has allocated which columns. Cells start as zero."""

    def __init__(self) -> None:
        self.cells: Array = np.zeros((LANES, COLUMNS), np.uint32)
        self.allocator = TmemAllocator()

    def reset(self) -> None:
        self.cells.fill(0)
        self.allocator = TmemAllocator()

    def box(self, place: Place, shape: tuple[int, int]) -> Array:
        """A view of the cells of a box."""
        lane, column = place
        found: Array = self.cells[lane : lane + shape[0], column : column + shape[1]]
        return found


def place_of(
    view: TmemView, use: Operands, schedule: Schedule, word: Callable[[], int]
) -> Callable[[Values], Place]:
    """Where a view begins, in the tensor memory of whichever CTA: at the address in ``word``."""
    tile = schedule.tmem_tile(view.tile)
    stage = use.value(view.stage)
    lane, column = use.value(view.start[0]), use.value(view.start[1])

    def place(values: Values) -> Place:
        s, first, at = stage(values), lane(values), column(values)
        inside = 0 <= first <= tile.lanes - view.shape[0]
        inside = inside and 0 <= at <= tile.columns - view.shape[1]
        found = word() + tile.column + s * tile.columns + at
        if not (0 <= s < tile.stages and inside and found + view.shape[1] <= COLUMNS):
            raise ScheduleError(
                f"{view.tile}[{s}] at lane {first}, column {at} of extent {view.shape} leaves "
                "the tile",
                loc=use.op.loc,
                rule=Rule.OUT_OF_BOUNDS,
                fix=f"stages 0..{tile.stages - 1}, {tile.lanes} lanes, {tile.columns} columns",
            )
        return first, found

    return place
