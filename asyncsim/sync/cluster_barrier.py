"""The barrier of a cluster (barrier.cluster): every warp arrives, then waits, once a round."""

from __future__ import annotations

from asyncsim.rules import Rule
from asyncsim.sync.mbarrier import SyncFault


class ClusterBarrierState:
    """``generation`` counts completed rounds; a round completes when each of ``warps`` warps has
    arrived or has exited. A warp is named by any hashable key (CTA and warp).

    PTX ISA, barrier.cluster: a thread that arrives twice without a wait between, or waits without
    an arrive, is undefined; a thread that has exited counts as arrived.
    """

    __slots__ = ("_exited", "_owed", "_warps", "arrived", "generation")

    def __init__(self, warps: int) -> None:
        self.generation = 0
        self._warps = warps
        self.arrived: set[object] = set()  # warps of the open round
        self._exited: set[object] = set()
        self._owed: dict[object, int] = {}  # warp: the round that it has arrived for

    @property
    def open(self) -> bool:
        """Whether a warp has arrived in a round that is not complete."""
        return bool(self.arrived)

    @property
    def missing(self) -> int:
        """Warps that the open round waits for."""
        return self._warps - len(self.arrived | self._exited)

    def so_far(self) -> tuple[object, ...]:
        """What decides the rounds to come, whatever the number of those so far."""
        owed = {w: r - self.generation for w, r in self._owed.items()}
        return set(self.arrived), set(self._exited), owed

    def arrive(self, warp: object) -> bool:
        """Count a warp in. True if that completes the round."""
        if warp in self._owed:
            raise SyncFault(
                Rule.NAMED_BARRIER_OVERRUN,
                "arrives on the cluster barrier twice without a wait in between",
            )
        self._owed[warp] = self.generation
        self.arrived.add(warp)
        return self._complete()

    def passes(self, *warps: object) -> bool:
        """Whether the rounds of the warps' last arrivals are complete: they may arrive again."""
        if any(w not in self._owed for w in warps):
            raise SyncFault(Rule.ROLES_DISAGREE, "waits for the cluster barrier without an arrive")
        if any(self._owed[w] == self.generation for w in warps):
            return False
        for w in warps:
            del self._owed[w]
        return True

    def exit(self, warp: object) -> bool:
        """The warp has ended. True if that completes the round."""
        self._exited.add(warp)
        return self._complete()

    def _complete(self) -> bool:
        if not self.arrived or self.missing:
            return False
        self.generation += 1
        self.arrived.clear()
        return True
