"""cp.async that mbarriers track: cp.async.mbarrier.arrive.

It counts when the earlier cp.async of its thread are complete, and tells of them and of nothing
else that the thread has done. A schedule that has it keeps one more component an observer: how far
its cp.async are complete. Group waits stay another way to know of the same copies.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from asyncsim.check.clock import Section
from asyncsim.check.copies import Landing
from asyncsim.check.model import Agent, Chain, Flight, Step, chains_of
from asyncsim.ir import op as ops
from asyncsim.memory.region import SmemRegion

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution


class TrackedCopies:
    """The cp.async of an execution whose schedule lets mbarriers track them.

    ``first``: the component of the first observer.
    """

    def __init__(self, execution: Execution, first: int) -> None:
        self._x, self._first = execution, first
        self._flying: dict[int, deque[Flight]] = {}  # by observer, in order of issue

    def over(self, chain: Chain, pos: int) -> int:
        """What an op must know to come after the observer's cp.async before position ``pos``."""
        field = self._field(Section.MEMORY, chain, pos)
        fenced = field << self._x.layout.width
        return field | fenced | fenced << self._x.layout.width

    def _field(self, section: Section, chain: Chain, pos: int) -> int:
        return pos << self._x.layout.shift(section, self._first + chain.component)

    def issued(self, chain: Chain, flight: Flight) -> None:
        """A cp.async is in flight, until an arrival follows it or a group wait covers it."""
        flying = self._flying.setdefault(chain.component, deque())
        while flying and flying[0].retired is not None:
            flying.popleft()
        for touch in flight.touches:
            touch.instead = self.over(chain, flight.step.pos + 1)
        flying.append(flight)

    def arrive(self, agent: Agent, step: Step) -> bool:
        """cp.async.mbarrier.arrive."""
        op = step.dyn.op
        assert isinstance(op, ops.CpAsyncMbarrierArrive) and step.dyn.barrier is not None
        layout, b = self._x.layout, self._x.barriers.by_key[step.dyn.barrier]
        for chain in chains_of(agent, step):
            self._x.barriers.knows_init(b, chain.now(step.pos), step)
            if not op.noinc:
                self._x.barriers.raise_pending(b, chain, step)
            for flight in self._flying.get(chain.component, ()):
                flight.tracked = flight.tracked or step
            issued = self._x.steps.copies.issued(chain, step)
            complete = self._field(Section.CONTROL, chain, step.pos)
            signal = layout.join(issued & layout.carried, complete | complete << layout.width), 0
            self._x.flying.append(Landing(b, issued, step, [], 0, signal, chain))
        self._x.policy.issued(self._x)
        return True

    def landed(self, chain: Chain, step: Step) -> None:
        """An arrival has counted: the copies before it are complete."""
        flying = self._flying.get(chain.component, deque())
        while flying and flying[0].step.pos < step.pos:
            for touch in flying.popleft().touches:
                if touch.end:
                    continue
                touch.instead, touch.landed = 0, True
                end = self.over(chain, touch.step.pos + 1)
                if isinstance(touch.access.region, SmemRegion):
                    self._x.shared.settle(touch, end)
                touch.end = end

    def everything(self) -> int:
        """A clock that knows all copies of all observers to be complete."""
        clock = 0
        for agent in self._x.agents:
            for chain in agent.warp.chains(agent.who):
                control = self._field(Section.CONTROL, chain, agent.pos)
                clock |= control | self.over(chain, agent.pos)
        return clock

    def untracked(self) -> list[Flight]:
        """Copies that no arrival has followed."""
        return [f for flying in self._flying.values() for f in flying if f.tracked is None]
