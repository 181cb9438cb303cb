"""Who runs next and when copies land: the freedom that an execution has.

The certificate does not depend on it. Other policies reach other failures: the directed ones hold a
role back, or let it run ahead, as far as the synchronisation allows.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from asyncsim.check.model import Agent, Who

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution


class Policy(Protocol):
    """Decides in place of the hardware."""

    def issued(self, execution: Execution) -> None:
        """A copy has just been issued."""

    def next(self, execution: Execution) -> Agent | None:
        """The agent to run, None if nobody can."""


class Eager:
    """Round robin; a copy lands when it is issued."""

    def issued(self, execution: Execution) -> None:
        while execution.flying:
            execution.land_next()

    def next(self, execution: Execution) -> Agent | None:
        return execution.ready.popleft() if execution.ready else None


class Lazy:
    """Round robin; copies land one by one, and only when nobody can run."""

    def issued(self, execution: Execution) -> None:
        pass

    def next(self, execution: Execution) -> Agent | None:
        while not execution.ready and execution.flying:
            execution.land_next()
        return execution.ready.popleft() if execution.ready else None


class Random:
    """Any agent or landing, drawn with a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def issued(self, execution: Execution) -> None:
        pass

    def next(self, execution: Execution) -> Agent | None:
        while True:
            choices = len(execution.ready) + len(execution.flying)
            if not choices:
                return None
            i = self._random.randrange(choices)
            if i < len(execution.ready):
                agent = execution.ready[i]
                del execution.ready[i]
                return agent
            execution.land_next(i - len(execution.ready))


class HeldBack:
    """Ops at these places (warp, position in its stream) come when nothing else can."""

    def __init__(self, places: Iterable[tuple[int, int]]) -> None:
        self._places = frozenset(places)

    def issued(self, execution: Execution) -> None:
        while execution.flying:
            execution.land_next()

    def next(self, execution: Execution) -> Agent | None:
        ready = execution.ready
        chosen = next((a for a in ready if (a.warp.index, a.pos) not in self._places), None)
        if chosen is None:
            return ready.popleft() if ready else None
        ready.remove(chosen)
        return chosen


class Delayed:
    """Copies issued at these places land when nothing else can happen, the others at once."""

    def __init__(self, places: Iterable[tuple[int, int]]) -> None:
        self._places = frozenset(places)

    def issued(self, execution: Execution) -> None:
        i = 0
        while i < len(execution.flying):
            step = execution.flying[i].step
            if (step.warp.index, step.pos) in self._places:
                i += 1
            else:
                execution.land_next(i)

    def next(self, execution: Execution) -> Agent | None:
        while not execution.ready and execution.flying:
            execution.land_next()
        return execution.ready.popleft() if execution.ready else None


class Directed:
    """One warp first or last, from position ``since`` of its stream on.

    ``ahead``: it runs whenever it can; else it runs only when nobody else can. Copies land at once
    (``eager``) or only when nobody can run. ``who``: some lanes of the warp, which parts there.
    """

    def __init__(
        self, warp: int, since: int, *, ahead: bool, eager: bool, who: Who = Who.BOTH
    ) -> None:
        self._warp, self._since, self._who = warp, since, who
        self._ahead, self._eager = ahead, eager

    def issued(self, execution: Execution) -> None:
        while self._eager and execution.flying:
            execution.land_next()

    def next(self, execution: Execution) -> Agent | None:
        ready = execution.ready
        if self._who is not Who.BOTH:
            at = self._warp, self._since, Who.BOTH
            whole = next((a for a in ready if (a.warp.index, a.pos, a.who) == at), None)
            if whole is not None:
                execution.split(whole)
        while True:
            chosen = [a for a in ready if self._chosen(a)]
            others = [a for a in ready if not self._chosen(a)]
            first, last = (chosen, others) if self._ahead else (others, chosen)
            if first:
                ready.remove(first[0])
                return first[0]
            if self._ahead and last:
                ready.remove(last[0])
                return last[0]
            if execution.flying:
                execution.land_next()
                continue
            if last:
                ready.remove(last[0])
                return last[0]
            return None

    def _chosen(self, agent: Agent) -> bool:
        of_warp = agent.warp.index == self._warp and agent.pos >= self._since
        return of_warp and (self._who is Who.BOTH or agent.who is self._who)
