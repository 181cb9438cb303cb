"""What L2 holds of the boxes that are loaded, first touches first forgotten.

Its ticks are those of the whole run, the passed ones among them: a jump moves no entry.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from asyncsim.sim.path import Cause
from asyncsim.sim.steps import Box


class Found(NamedTuple):
    """When a box is there and why then; ``charged``: it is on its way, and this CTA asks for it the
    first time, so that a part of its bytes is for it."""

    ready: int
    cause: Cause
    charged: bool


class Held(NamedTuple):
    """A box: since when it is there and why, what room it takes, and who has asked for it."""

    landing: int
    cause: Cause
    room: int
    askers: frozenset[int]


class Fetch(NamedTuple):
    """A box that a CTA asked for, and what came of it. ``wait``: in how many ticks it would be
    there; ``held``: what L2 holds of it since, if nobody had fetched it."""

    cta: int
    box: Box
    time: int
    wait: int
    charged: bool
    held: Held | None


Move = tuple[int, ...]
"""How far a box moves."""


class Contents:
    """``capacity``: bytes. ``passed``: ticks of the run that were not simulated so far. ``record``:
    what is asked for, while somebody wants to know."""

    __slots__ = ("_boxes", "_capacity", "_held", "passed", "record")

    def __init__(self, capacity: int) -> None:
        self._boxes: OrderedDict[Box, Held] = OrderedDict()
        self._capacity, self._held = capacity, 0
        self.passed = 0
        self.record: list[Fetch] | None = None

    def ask(self, cta: int, box: Box, time: int) -> Found | None:
        """What is there, or on its way; None if nobody has fetched it."""
        held = self._boxes.get(box)
        if held is None:
            return None
        at = time + self.passed
        wait = max(0, held.landing - at)
        charged = wait > 0 and cta not in held.askers
        if self.record is not None:
            self.record.append(Fetch(cta, box, at, wait, charged, None))
        self._asked(box, held, cta if wait else None)
        return Found(held.landing - self.passed, held.cause, charged)

    def bring(self, cta: int, box: Box, time: int, landing: int, cause: Cause, room: int) -> None:
        """A CTA has fetched the box at ``time``; it is there from ``landing`` on."""
        held = Held(landing + self.passed, cause, room, frozenset())
        if self.record is not None:
            self.record.append(Fetch(cta, box, time + self.passed, 0, False, held))
        self._keep(box, held)

    def _asked(self, box: Box, held: Held, cta: int | None) -> None:
        """A CTA (None: one that need not wait) has asked for a box."""
        if cta is not None and cta not in held.askers:
            self._boxes[box] = Held(held.landing, held.cause, held.room, held.askers | {cta})
        self._boxes.move_to_end(box)

    def _keep(self, box: Box, held: Held) -> None:
        self._boxes[box] = held
        self._held += held.room
        while self._held > self._capacity:
            _, dropped = self._boxes.popitem(last=False)
            self._held -= dropped.room

    # -- jumps ---------------------------------------------------------------------------------

    def repeat(self, fetches: Iterable[tuple[Fetch, Move | None]], later: int, times: int) -> bool:
        """The same fetches ``later``, of boxes that have moved so many ``times``. False if one of
        them does not end as it did; then what is held is of no use."""
        boxes = self._boxes
        for (cta, box, time, wait, charged, new), by in fetches:
            if by is not None:
                box = box[0], tuple([x + times * d for x, d in zip(box[1], by, strict=True)])
            held = boxes.get(box)
            if new is not None:
                if held is not None:
                    return False
                landing, cause, room, askers = new
                self._keep(box, Held(landing + later, cause, room, askers))
                continue
            if held is None or max(0, held.landing - time - later) != wait:
                return False
            if charged != (wait > 0 and cta not in held.askers):
                return False
            self._asked(box, held, cta if wait else None)
        return True

    def copy(self) -> tuple[OrderedDict[Box, Held], int]:
        """What is held, to go back to."""
        return self._boxes.copy(), self._held

    def restore(self, copy: tuple[OrderedDict[Box, Held], int]) -> None:
        boxes, self._held = copy
        self._boxes = boxes.copy()
