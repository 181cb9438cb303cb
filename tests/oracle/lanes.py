"""Lanes 1 to 31 of a warp among themselves: one chain for the explorer, 31 threads in truth.

Between two places where the warp meets, nothing orders them (an mbarrier could: then this objects
without need). What one lane writes and another touches there is a conflict.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from asyncsim.ir import op as ops
from asyncsim.ir.op import OpBase, Scope
from tests.oracle.acts import Do
from tests.oracle.footprints import Buffer, Touch

NOBODY, SEVERAL = -1, 99


@dataclass(slots=True)
class _Last:
    """Per element: the lane that touched it since the lanes last met, and in which op."""

    size: int
    writer: np.ndarray = field(init=False)
    reader: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.writer = np.full(self.size, NOBODY)
        self.reader = np.full(self.size, NOBODY)

    def grow(self, size: int) -> None:
        if size > self.size:
            more = np.full(size - self.size, NOBODY)
            self.writer = np.concatenate([self.writer, more])
            self.reader = np.concatenate([self.reader, more])
            self.size = size


class LaneConflicts:
    """Looks at the ops of one warp in order."""

    def __init__(self) -> None:
        self._last: dict[Buffer, _Last] = {}
        self._flying: list[Touch] = []  # copies that no wait of the lanes has covered

    def step(self, op: OpBase, pos: int, do: Do, touches: tuple[Touch, ...]) -> bool:
        """Whether this op conflicts with an earlier one of another lane, or with itself."""
        if do in (Do.MEET, Do.BAR_ARRIVE, Do.MMA, Do.MMA_COMMIT, Do.MMA_WAIT):
            for last in self._last.values():
                last.clear()
            return False
        if isinstance(op, ops.WaitGroup) and op.scope is not Scope.ELECTED and not op.read:
            landed, self._flying = self._flying, []
            for touch in landed:  # from here on another lane may read it after a meeting
                self._record(touch)
            return False
        found = any(self._conflicts(op, t) for t in touches)
        for touch in touches:
            self._record(touch)
            if do is Do.ISSUE and touch.write:
                self._flying.append(touch)
        return found

    def _at(self, touch: Touch) -> _Last:
        size = int(touch.elements.max(initial=0)) + 1
        last = self._last.setdefault(touch.buffer, _Last(size))
        last.grow(size)
        return last

    def _conflicts(self, op: OpBase, touch: Touch) -> bool:
        last = self._at(touch)
        lane = SEVERAL if touch.lane is None else touch.lane
        at = touch.elements
        others = (last.writer[at] != NOBODY) & (last.writer[at] != lane)
        if touch.write:
            others |= (last.reader[at] != NOBODY) & (last.reader[at] != lane)
            if touch.lane is not None and len(np.unique(at)) < len(at):
                return True
            if touch.lane is None and not isinstance(op, ops.Compute) and not touch.is_async:
                return True  # every lane stores to one place
        return bool(others.any())

    def _record(self, touch: Touch) -> None:
        last = self._at(touch)
        lane = SEVERAL if touch.lane is None else touch.lane
        if touch.write:
            last.writer[touch.elements] = lane
            return
        known = last.reader[touch.elements]
        last.reader[touch.elements] = np.where((known == NOBODY) | (known == lane), lane, SEVERAL)
