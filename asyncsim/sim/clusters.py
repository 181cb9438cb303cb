"""The CTAs of a cluster that are simulated together, and the cluster barrier with its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncsim.rules import Rule
from asyncsim.sim.path import Cause
from asyncsim.sync import ClusterBarrierState, SyncFault

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import Cta
    from asyncsim.sim.role import Agent


class TimedClusterBarrier(ClusterBarrierState):
    """barrier.cluster with the tick of the open round's last arrival; ``done``: of the last
    whole round's."""

    __slots__ = ("cause", "done", "done_cause", "stamp", "waiters")

    def __init__(self, warps: int) -> None:
        super().__init__(warps)
        self.stamp = self.done = 0
        self.cause: Cause | None = None
        self.done_cause: Cause | None = None
        self.waiters: list[Agent] = []

    def arrive_at(self, time: int, warps: tuple[object, ...], cause: Cause) -> bool:
        """Count warps in; True if that completes the round."""
        if time >= self.stamp or self.cause is None:
            self.stamp, self.cause = time, cause
        return self._round(max([self.arrive(w) for w in warps]))

    def exit_at(self, time: int, warps: tuple[object, ...], cause: Cause) -> bool:
        """Warps have ended; True if the others' round is complete now."""
        if self.open and time >= self.stamp:
            self.stamp, self.cause = time, cause
        return self._round(max([self.exit(w) for w in warps]))

    def _round(self, complete: bool) -> bool:
        if complete:
            self.done, self.done_cause = self.stamp, self.cause
            self.stamp, self.cause = 0, None
        return complete


class ClusterState:
    """One cluster of a launch (of one CTA, without clusters)."""

    __slots__ = ("_alone", "_ctas", "barrier", "left", "slots")

    def __init__(self, size: int, warps: int) -> None:
        self._ctas: list[Cta | None] = [None] * size
        self.barrier = TimedClusterBarrier(size * warps)
        self.left = size  # CTAs that have not ended
        self._alone: dict[tuple[int, int], list[Agent]] = {}  # by pair and op

    def join(self, rank: int, cta: Cta) -> None:
        self._ctas[rank] = cta

    def cta(self, rank: int) -> Cta:
        """A CTA of the cluster. Raises SyncFault if it has not started."""
        found = self._ctas[rank] if 0 <= rank < len(self._ctas) else None
        if found is None:
            raise SyncFault(Rule.PEER_NOT_STARTED, f"CTA {rank} of the cluster has not started")
        return found

    def meet(self, op_id: int, agent: Agent) -> Agent | None:
        """The peer CTA's agent at an op that both execute together; if it is not there yet, None,
        and the agent is remembered."""
        rank = agent.cta.rank
        waiting = self._alone.setdefault((rank // 2, op_id), [])
        peer = next((other for other in waiting if other.cta.rank != rank), None)
        if peer is None:
            waiting.append(agent)
        else:
            waiting.remove(peer)
        return peer

    def members(self) -> list[Cta]:
        """The CTAs that have started, by rank."""
        return [cta for cta in self._ctas if cta is not None]
