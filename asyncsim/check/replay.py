"""Run a path of the search on the state machines, with clocks: the search's witness."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from asyncsim.check.execution import Execution
from asyncsim.check.model import Agent, Who
from asyncsim.check.search import Choice
from asyncsim.check.skeleton import Move, Skeleton
from asyncsim.ir.op import Scope
from asyncsim.stream.dyn import BarrierKey


class ReplayMismatch(Exception):
    """The execution cannot follow the path: search and state machines disagree."""


class Scripted:
    """Follows a path of the search, then runs what is left in any order."""

    def __init__(self, skeleton: Skeleton, path: Sequence[Choice]) -> None:
        self._skeleton = skeleton
        self._targets = deque(path)

    def issued(self, execution: Execution) -> None:
        pass

    def next(self, execution: Execution) -> Agent | None:
        while self._targets:
            choice = self._targets[0]
            thread = self._skeleton.threads[choice.thread]
            op = thread.ops[choice.pc]
            if op.move is Move.MEET:
                self._targets.popleft()  # implied by what comes after
                continue
            if choice.lands:
                key = self._skeleton.barriers[op.target]
                _land(execution, thread.warp, thread.who, op.pos, key)
                self._targets.popleft()
                continue
            agent = _agent(execution, thread.warp, thread.who)
            arrived = op.move is Move.BAR_ARRIVE and agent.token is not None
            if agent.pos > op.pos or (arrived and agent.pos == op.pos):
                self._targets.popleft()
                continue
            if agent.blocked:
                agent = self._leaving(execution) or _twin(execution, agent)
            execution.ready.remove(agent)
            return agent
        return execution.ready.popleft() if execution.ready else None

    def _leaving(self, execution: Execution) -> Agent | None:
        """Lanes that the search takes to have ended: a block barrier may wait for them."""
        for agent in execution.ready:
            own = self._skeleton.threads[2 * agent.warp.index : 2 * agent.warp.index + 2]
            if all(not (t.who & agent.who and t.ops) or t.ops[-1].pos < agent.pos for t in own):
                return agent
        return None


def _agent(execution: Execution, warp: int, who: Who) -> Agent:
    """The agent that runs these observers; a warp in lockstep is split before it may diverge."""
    agent = next(a for a in execution.agents if a.warp.index == warp and a.who & who)
    if agent.who is Who.BOTH and agent.token is None and not agent.blocked:
        event = agent.warp.event(agent.pos)
        if event is not None and event[0].op.scope not in (Scope.WARP, Scope.WARPGROUP):
            others = execution.split(agent)
            return agent if who is Who.ELECTED else others
    return agent


def _twin(execution: Execution, agent: Agent) -> Agent:
    """The other lanes of the warp, which have to come to where this agent is blocked."""
    for other in execution.agents:
        if other.warp is agent.warp and other is not agent and not (other.blocked or other.done):
            return other
    raise ReplayMismatch(f"warp {agent.warp.index} is blocked at {agent.pos}")


def _land(execution: Execution, warp: int, who: Who, pos: int, key: BarrierKey) -> None:
    for i, copy in enumerate(execution.flying):
        step = copy.step
        own = step.warp.index == warp and step.pos == pos and copy.who is who
        if own and copy.barrier.key == key:
            execution.land_next(i)
            return
    raise ReplayMismatch(f"no copy of warp {warp} at {pos} is in flight")
