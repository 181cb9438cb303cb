"""Time-stamped barriers: the state machines of asyncsim.sync with the tick at which a phase
completed and what completed it. They know no engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from asyncsim.sim.path import Cause
from asyncsim.sync import BLOCK, MbarrierState, NamedBarrierState

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import Cta
    from asyncsim.sim.role import Agent


class TimedMbarrier(MbarrierState):
    """An mbarrier whose phases complete at the latest stamp of what they counted.

    A stamp is the tick at which a lone sleeping waiter would pass. ``done``: of the last completed
    phase. ``extra``: how much later the last of all its waiting warps passes.
    """

    __slots__ = (
        "cause",
        "cta",
        "done",
        "done_cause",
        "extra",
        "landed",
        "name",
        "on_complete",
        "stamp",
        "waiters",
    )

    def __init__(
        self, cta: Cta, name: str, extra: int, on_complete: Callable[[TimedMbarrier], None]
    ) -> None:
        super().__init__()
        self.cta, self.name, self.extra, self.on_complete = cta, name, extra, on_complete
        self.stamp = self.done = 0
        self.landed = False  # copies count in its phases
        self.cause: Cause | None = None
        self.done_cause: Cause | None = None
        self.waiters: list[Agent] = []

    def count_in(self, stamp: int, cause: Cause) -> None:
        """Something counted in the current phase takes effect at ``stamp``."""
        if stamp >= self.stamp or self.cause is None:
            self.stamp, self.cause = stamp, cause

    def completed(self) -> None:
        """The current phase is complete: remember when, wake whoever waits."""
        self.done, self.done_cause = self.stamp, self.cause
        self.stamp, self.cause = 0, None
        rec = self.cta.sm.rec
        if rec is not None:
            rec.barrier(self.cta, self.name, self.done, self.generation)
        self.on_complete(self)

    def arrive_at(self, stamp: int, count: int, cause: Cause, *, drop: bool = False) -> None:
        self.count_in(stamp, cause)
        if self.arrive_drop(count) if drop else self.arrive(count):
            self.completed()

    def land_at(self, stamp: int, amount: int, cause: Cause) -> None:
        self.landed = True
        self.count_in(stamp, cause)
        if self.complete_tx(amount):
            self.completed()


class TimedNamedBarrier(NamedBarrierState):
    """bar.sync with the tick of its last arrival and the agents that wait in the open round.

    ``left``: when the last of the warps ended that have.
    """

    __slots__ = ("cause", "left", "stamp", "waiters")

    def __init__(self, number: int) -> None:
        super().__init__(whole=number == BLOCK)
        self.stamp = 0
        self.cause: Cause | None = None
        self.left: tuple[int, Cause] | None = None
        self.waiters: list[Agent] = []

    def arrive_at(self, time: int, warps: tuple[int, ...], threads: int, cause: Cause) -> bool:
        """Count warps in; True if that completes the round."""
        self._at(time, cause)
        complete = False
        for warp in warps:
            complete = self.arrive(warp, threads)
        if complete and self.whole and self.left is not None:
            self._at(*self.left)
        return complete

    def exit_at(self, time: int, warps: int, cause: Cause) -> bool:
        """Warps have ended; True if that completes the round."""
        if self.left is None or time >= self.left[0]:
            self.left = time, cause
        complete = self.exit(warps)
        if complete:
            self._at(*self.left)
        return complete

    def _at(self, time: int, cause: Cause) -> None:
        if time >= self.stamp or self.cause is None:
            self.stamp, self.cause = time, cause

    def release(self) -> tuple[int, Cause, list[Agent]]:
        """When the round that is complete was, by whom, and who waited in it."""
        assert self.cause is not None
        released = self.stamp, self.cause, self.waiters
        self.stamp, self.cause, self.waiters = 0, None, []
        return released
