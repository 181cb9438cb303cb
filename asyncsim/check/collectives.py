"""Instructions of a whole warp or warpgroup: all lanes meet; wgmma and its groups."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from asyncsim.check.clock import ClockLayout
from asyncsim.check.contents import use_registers
from asyncsim.check.model import Agent, Chain, Flight, Step, Touch, Who
from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind
from asyncsim.memory.region import RegisterRegion

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution


def join_lanes(layout: ClockLayout, agent: Agent, step: Step, more: int = 0) -> int:
    """All lanes of the warp have met: they know what each of them knew, and ``more``."""
    warp = agent.warp
    clock = layout.join(warp.elected.publish(step.pos), warp.others.publish(step.pos))
    clock = layout.join(clock, more)
    for chain in (warp.elected, warp.others):
        chain.clock = clock
    return clock


class WgmmaSteps:
    """The wgmma instructions of an execution."""

    def __init__(self, execution: Execution) -> None:
        self._x = execution

    def fence(self, agent: Agent, step: Step) -> bool:
        if not self._x.joined(agent):
            return False
        self._x.tensor.reach(self._x.tensor.groups[step.warp.index], step)
        self._x.tensor.fence(step)
        join_lanes(self._x.layout, agent, step)
        return True

    def mma(self, agent: Agent, step: Step) -> bool:
        if not self._x.joined(agent):
            return False
        op = step.dyn.op
        assert isinstance(op, ops.WgmmaMmaAsync)
        group = self._x.tensor.groups[step.warp.index]
        first = self._x.tensor.reach(group, step)
        clock = join_lanes(self._x.layout, agent, step)
        flight = Flight(GroupKind.WGMMA, self._warpgroup_chains(step.warp.index), step)
        reads: list[RegisterRegion] = []  # of a, and of d where it is accumulated onto
        for access in step.dyn.accesses:
            if isinstance(access.region, RegisterRegion):
                self._x.tensor.mma(step, op, access.region, write=access.write)
                if not access.write or step.dyn.value:
                    reads.append(access.region)
                if access.write and (reads or not step.warp.settles(op.id, Who.BOTH)):
                    chains = agent.warp.chains(Who.BOTH)
                    use_registers(chains, step, reads, [access.region], self._x.fault)
                continue
            touch = Touch(step, Who.BOTH, access, self._x.next_seq())
            touch.flight = flight
            self._x.shared.check(touch, clock)
            if first:
                self._x.shared.record([touch])
                flight.touches.append(touch)
        if first:
            group.open.append(flight)
        return True

    def _warpgroup_chains(self, warp: int) -> tuple[Chain, ...]:
        group = self._x.tensor.groups[warp]
        return tuple(
            w.elected for w in self._x.warps if self._x.tensor.groups.get(w.index) is group
        )

    def commit(self, agent: Agent, step: Step) -> bool:
        if not self._x.joined(agent):
            return False
        group = self._x.tensor.groups[step.warp.index]
        self._x.tensor.reach(group, step)
        self._x.tensor.commit(group, step, join_lanes(self._x.layout, agent, step))
        return True

    def wait(self, agent: Agent, step: Step) -> bool:
        if not self._x.joined(agent):
            return False
        group = self._x.tensor.groups[step.warp.index]
        learned = self._x.tensor.wait(group, step, step.dyn.value, agent)
        if learned is None:
            return False
        self._x.tensor.reach(group, step)
        join_lanes(self._x.layout, agent, step, learned)
        waits = agent.warp.elected.waits.setdefault(GroupKind.WGMMA, deque(maxlen=16))
        waits.append(step)
        return True
