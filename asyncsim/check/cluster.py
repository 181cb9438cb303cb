"""A cluster's CTAs together: its barrier, and accesses to the shared memory of other CTAs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.describe import op_text
from asyncsim.check.model import Agent, Chain, Step, Warp
from asyncsim.check.report import Fault, StopExecution
from asyncsim.ir.op import BulkSend, ClcTryCancel, LoadOp, Tcgen05Commit
from asyncsim.rules import Rule
from asyncsim.stream.dyn import BarrierKey
from asyncsim.sync import ClusterBarrierState, SyncFault

_TAIL = "a wait for the phase that the commit completes, before its CTA exits"
_WAIT = "let a thread of that CTA wait once more for every stage at its end (producer_tail)"


class ClusterBarrier:
    """barrier.cluster: a round completes when every warp has arrived or has ended.

    A warp waits for its own arrival before it arrives again (a fault otherwise), so the rounds are
    the same in every execution: no condition is needed. ``released`` is the clock of the last
    round; while a warp has not waited for a round, the next one cannot complete.
    """

    def __init__(
        self,
        layout: ClockLayout,
        component: int,
        warps: int,
        fault: Callable[[Fault], None],
        wake: Callable[[list[Agent]], None],
    ) -> None:
        self._layout, self.component = layout, component
        self._fault, self._wake = fault, wake
        self._control_mask = layout.carried
        self.state = ClusterBarrierState(warps)
        self.released = 0
        self.gather = 0
        self.waiters: list[Agent] = []

    def arrive(self, step: Step, clock: int, *, relaxed: bool) -> None:
        """Count a warp in; a relaxed arrive releases what a fence has covered."""
        if relaxed:
            fenced = self._layout.join(step.warp.elected.sent_far, step.warp.others.sent_far)
            clock = clock & self._control_mask | fenced & ~self._control_mask
        self.gather = self._layout.join(self.gather, clock)
        try:
            complete = self.state.arrive(step.warp.index)
        except SyncFault as fault:
            self._undefined(fault, step)
        self._completed(complete)

    def wait(self, agent: Agent, step: Step) -> bool:
        """Whether the round of the warp's arrival is complete; else the agent waits."""
        try:
            passes = self.state.passes(step.warp.index)
        except SyncFault as fault:
            self._undefined(fault, step)
        if not passes:
            self.waiters.append(agent)
        return passes

    def ended(self, warp: Warp, clock: int) -> None:
        """A warp that has exited is not waited for."""
        self.gather = self._layout.join(self.gather, clock & self._control_mask)
        self._completed(self.state.exit(warp.index))

    def _completed(self, complete: bool) -> None:
        if not complete:
            return
        field = self.state.generation << self._layout.shift(Section.CONTROL, self.component)
        self.released = self._layout.join(self.gather, field | field << self._layout.width)
        waiters, self.waiters = self.waiters, []
        self._wake(waiters)

    def _undefined(self, fault: SyncFault, step: Step) -> NoReturn:
        message = f"warp {step.warp.place.warp} {fault.message}"
        self._fault(Fault(rule=fault.rule, message=message, step=step, name="cluster barrier"))
        raise StopExecution(SyncFault(fault.rule, message))


class Peers:
    """Accesses to other CTAs: each must run already, and must not have exited."""

    def __init__(
        self, layout: ClockLayout, warps: Sequence[Warp], fault: Callable[[Fault], None]
    ) -> None:
        self._layout, self._fault = layout, fault
        self._guards = layout.guards[Section.CONTROL]
        self._warps: dict[int, list[Warp]] = {}
        for warp in warps:
            self._warps.setdefault(warp.place.rank, []).append(warp)
        self.accesses: dict[int, dict[object, tuple[int, Step]]] = {}
        self.multicasts: dict[int, dict[object, tuple[int, Step]]] = {}

    def reach(self, chain: Chain, step: Step, rank: int, over: int = 0) -> None:
        """An op touches a barrier or data of CTA ``rank``, until ``over`` if it is asynchronous."""
        if rank == step.warp.place.rank:
            return
        self.started(chain, step, rank)
        key = step.dyn.op.id, chain.component
        epoch = over or (step.pos + 1) << chain.shift_control
        self.accesses.setdefault(rank, {})[key] = epoch, step

    def started(self, chain: Chain, step: Step, rank: int) -> None:
        """CTA ``rank`` is known to run."""
        clock = chain.now(step.pos)
        if not any(
            self._layout.at(clock, Section.CONTROL, c.component)
            for warp in self._warps[rank]
            for c in (warp.elected, warp.others)
        ):
            message = f"{op_text(step.dyn)} reaches CTA {rank}, which may not have started"
            self._fault(Fault(rule=Rule.PEER_NOT_STARTED, message=message, step=step))

    def arrives(self, step: Step, barrier: BarrierKey, epoch: int) -> None:
        """A commit's arrive reaches a barrier; that it has, only ``epoch`` tells: PTX orders the
        arrives of one thread's commits behind its mma, not behind each other."""
        if barrier.cta != step.warp.place.rank:
            key = step.dyn.op.id, step.warp.index, barrier
            self.accesses.setdefault(barrier.cta, {})[key] = epoch, step

    def landed(self, step: Step, rank: int, epoch: int) -> None:
        """The part of a multicast that goes to CTA ``rank`` lands; known after ``epoch``."""
        issuer = step.warp.place.rank
        if rank != issuer and isinstance(step.dyn.op, LoadOp | BulkSend | ClcTryCancel):
            key = step.dyn.op.id, step.warp.index, rank, step.dyn.barrier
            self.multicasts.setdefault(issuer, {})[key] = epoch, step

    def check_exits(self) -> None:
        """Every access to a CTA is known to one of its warps, which all end before it exits; and a
        CTA stays until its multicasts have landed elsewhere."""
        for rank, warps in self._warps.items():
            known = 0
            for warp in warps:
                for chain in (warp.elected, warp.others):
                    known = self._layout.join(known, chain.clock)
            for epoch, step in self.accesses.get(rank, {}).values():
                message = (
                    f"CTA {rank} may have exited when {op_text(step.dyn)} reaches its shared memory"
                )
                self._after(known, epoch, step, message)
            for epoch, step in self.multicasts.get(rank, {}).values():
                message = f"CTA {rank} may exit while {op_text(step.dyn)} is in flight to others"
                self._after(known, epoch, step, message)

    def _after(self, known: int, epoch: int, step: Step, message: str) -> None:
        if not self._layout.covers(known, epoch, self._guards):
            fault = Fault(rule=Rule.PEER_EXITED, message=message, step=step)
            if isinstance(step.dyn.op, Tcgen05Commit):
                fault = replace(fault, missing=_TAIL, repair=_WAIT)
            self._fault(fault)
