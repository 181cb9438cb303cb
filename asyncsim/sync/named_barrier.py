"""The hardware named barrier (bar.sync / bar.arrive): warps counted in multiples of 32 threads."""

from __future__ import annotations

from asyncsim.rules import Rule
from asyncsim.sync.mbarrier import SyncFault


class NamedBarrierState:
    """One of the 16 barriers of a CTA. ``generation`` counts completed rounds."""

    __slots__ = ("arrived", "generation", "threads", "warps")

    def __init__(self) -> None:
        self.generation = 0
        self.threads = 0  # agreed count of the open round; 0 before its first arrival
        self.arrived = 0
        self.warps: list[int] = []

    def arrive(self, warp: int, threads: int) -> bool:
        """Count a warp in. True if that completes the round.

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
        self.arrived += 32
        self.warps.append(warp)
        if self.arrived < self.threads:
            return False
        self.generation += 1
        self.threads = self.arrived = 0
        self.warps.clear()
        return True
