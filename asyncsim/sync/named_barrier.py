"""The hardware named barrier (bar.sync / bar.arrive): warps counted in multiples of 32 threads."""

from __future__ import annotations

from asyncsim.rules import Rule
from asyncsim.sync.mbarrier import SyncFault

BLOCK = 0
"""The barrier that is for all threads of a CTA (__syncthreads); the others have a count."""


class NamedBarrierState:
    """One of the 16 barriers of a CTA. ``generation`` counts completed rounds.

    ``whole``: it is for all threads, without a count. PTX ISA, exit: it does not wait for those
    that have exited. Nothing of the kind is said of a count.
    """

    __slots__ = ("arrived", "exited", "generation", "threads", "warps", "whole")

    def __init__(self, *, whole: bool = False) -> None:
        self.generation = 0
        self.whole = whole
        self.threads = 0  # agreed count of the open round; 0 before its first arrival
        self.arrived = 0
        self.exited = 0  # warps of the CTA
        self.warps: list[int] = []

    def arrive(self, warp: int, threads: int, warps: int = 1) -> bool:
        """Count a warp in, which may stand for several ``warps``. True if that completes the round.

        Raises SyncFault if the thread count differs from that of the round (NAMED_BARRIER_COUNT) or
        the warp is in the round already (NAMED_BARRIER_OVERRUN).
        """
        if self.threads and threads != self.threads:
            raise SyncFault(
                Rule.NAMED_BARRIER_COUNT,
                f"{threads} threads expected by warp {warp}, {self.threads} by the others",
            )
        if warp in self.warps:
            raise SyncFault(Rule.NAMED_BARRIER_OVERRUN, f"warp {warp} arrives twice in one round")
        self.threads = threads
        self.arrived += 32 * warps
        self.warps.append(warp)
        return self._complete()

    def exit(self, warps: int = 1) -> bool:
        """Warps of the CTA have ended. True if that completes the round."""
        self.exited += warps
        return self._complete()

    @property
    def counted(self) -> int:
        """Threads that the open round does not wait for."""
        return self.arrived + (32 * self.exited if self.whole else 0)

    def _complete(self) -> bool:
        if not self.warps or self.counted < self.threads:
            return False
        self.generation += 1
        self.threads = self.arrived = 0
        self.warps.clear()
        return True
