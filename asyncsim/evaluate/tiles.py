"""The tiles that clusters are given in an evaluation, and whether their warps hear of them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from asyncsim.evaluate.errors import EvaluateError
from asyncsim.ir.given import loops_with_tickets, number_of_tiles
from asyncsim.ir.op import NO_TILE, FragmentRef, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule
from asyncsim.stream.assignment import Assignment, Given

if TYPE_CHECKING:
    from asyncsim.evaluate.cta import Cta

LANES = {Scope.ELECTED: slice(0, 1), Scope.OTHERS: slice(1, 32)}
"""The lanes that go through a loop, where it is not the whole warp."""


class HandedOut:
    """What asking for tiles returns, as ``assignment`` has it; clusters run one after the other."""

    def __init__(self, schedule: Schedule, assignment: Assignment) -> None:
        self._schedule, self._assignment = schedule, assignment
        self._tickets = {id(loop): lanes for loop, lanes in loops_with_tickets(schedule)}
        self._tiles = number_of_tiles(schedule)
        self._late = max(self._tiles, prod(schedule.clusters))
        self._own: tuple[int, ...] = ()
        self._asked = 0

    def begin(self, cluster: int) -> None:
        """A cluster starts, with the tile of its own index if there is one."""
        self._own = self._assignment[cluster] if self._assignment else ()
        self._asked = 0

    def cancelled(self) -> int:
        """The next tile of the cluster, or NO_TILE."""
        self._asked += 1
        return self._own[self._asked] if self._asked < len(self._own) else NO_TILE

    def counted(self) -> int:
        """The next tile of the cluster; who asks when there is none gets a number behind them."""
        tile = self.cancelled()
        if tile == NO_TILE:
            tile = self._late
            self._late += 1
        return tile

    def given(self, cta: Cta, warp: int) -> Given:
        """The tiles that a warp goes through, whose ticket must have the next one after each."""

        def rounds(index: int) -> Iterator[int]:
            loop, own = self._schedule.assigned[index], self._own
            lanes = LANES.get(self._tickets[id(loop)], slice(0, 32))
            assert loop.ticket is not None
            for k, tile in enumerate(own, 1):
                yield tile
                following = own[k] if k < len(own) else None
                self._compare(loop.ticket, cta, warp, lanes, following)

        return rounds

    def _compare(
        self, ticket: FragmentRef, cta: Cta, warp: int, lanes: slice, tile: int | None
    ) -> None:
        heard = cta.registers(ticket, warp)[lanes, 0].astype(np.int64)
        wrong = heard < self._tiles if tile is None else heard != tile
        if wrong.any():
            lane = (lanes.start or 0) + int(np.argmax(wrong))
            meant = "no tile is left" if tile is None else f"the next tile is {tile}"
            raise EvaluateError(
                f"the ticket {ticket.name!r} of lane {lane} is {heard[np.argmax(wrong)]} when a "
                f"round ends, where {meant}",
                Rule.WRONG_TILE,
            )
