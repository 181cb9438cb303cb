"""The shortest witness of a finding: of each warp as few steps as still show it, and no landing
that is not needed.

An execution that fails is replayed in its own order, but only up to a place in each warp's stream,
and with some of its landings. Places move towards the start as long as the finding appears: what is
left cannot lose its last step in any warp, nor a landing. A hang must be reached within the places,
and stay when all others go on as they like. What is left behind at the end of the kernel must have
been begun within the places, and be left when all have gone on to their end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count as numbers
from itertools import islice

from asyncsim.check.execution import Execution
from asyncsim.check.exits import check_exit
from asyncsim.check.findings import Candidate, candidates_of
from asyncsim.check.model import Agent, Step, Who
from asyncsim.check.policy import Policy
from asyncsim.check.report import Breach, End
from asyncsim.check.witness import whole
from asyncsim.rules import Finding, WitnessStep
from asyncsim.stream.program import Event

MAX_TRIED = 25_000  # ops of all trials for one finding; what is found by then is shown

Choice = tuple[int, Who, int]
"""A warp, or some of its lanes, at a position of its stream."""

Landing = tuple[str, int, int, int]
"""A copy that lands: warp and position of its issue, and how many of that issue landed before."""

Order = Mapping[Choice | Landing, int]


class _Landed:
    """Names landings: several may belong to one issue."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, int], int] = {}

    def name(self, step: Step) -> Landing:
        at = step.warp.index, step.pos
        return ("lands", *at, self._before.get(at, 0))

    def add(self, step: Step) -> Landing:
        name = self.name(step)
        self._before[name[1:3]] = name[3] + 1
        return name


class Recorded:
    """Follows another policy and notes the order of its choices and landings; no further than
    ``enough``, which is asked whenever the execution has found something more."""

    def __init__(self, policy: Policy, enough: Callable[[Execution], bool]) -> None:
        self._policy, self._enough = policy, enough
        self._landed = _Landed()
        self._found = 0
        self.over = False
        self.order: dict[Choice | Landing, int] = {}

    def issued(self, execution: Execution) -> None:
        flying = len(execution.flying)
        self._policy.issued(execution)
        self._note(execution, flying)

    def next(self, execution: Execution) -> Agent | None:
        found = len(execution.report.clashes) + len(execution.report.faults)
        if found > self._found:
            self._found, self.over = found, self.over or self._enough(execution)
        if self.over:
            return None
        flying = len(execution.flying)
        agent = self._policy.next(execution)
        self._note(execution, flying)
        if agent is not None:
            self.order.setdefault((agent.warp.index, agent.who, agent.pos), len(self.order))
        return agent

    def _note(self, execution: Execution, flying: int) -> None:
        count = flying - len(execution.flying)
        for step, _ in reversed(list(islice(reversed(execution.recent), count))):
            self.order[self._landed.add(step)] = len(self.order)


@dataclass(frozen=True, slots=True)
class Bounds:
    """``places``: per warp, the position before which it stops. ``landings``: those that happen."""

    places: Mapping[int, int]
    landings: frozenset[Landing]


class InOrder:
    """The recorded order within bounds; then, if ``goes_on``, all that is left, in that order.

    ``stuck``: who was blocked where when nothing within the bounds could go on; ``steps``: how many
    had been logged then; ``places``: how far each warp had come.
    """

    def __init__(self, order: Order, bounds: Bounds, *, goes_on: bool) -> None:
        self._order, self._bounds, self._goes_on = order, bounds, goes_on
        self._landed = _Landed()
        self._bounded = True
        self._last = len(order)
        self.stuck: frozenset[Choice] = frozenset()
        self.steps: int | None = None
        self.places: dict[int, int] = {}

    def issued(self, execution: Execution) -> None:
        pass

    def next(self, execution: Execution) -> Agent | None:
        while True:
            chosen = self._first(execution)
            if isinstance(chosen, Agent):
                execution.ready.remove(chosen)
                return chosen
            if chosen is not None:
                self._landed.add(execution.flying[chosen].step)
                execution.land_next(chosen)
            elif self._bounded and execution.diverge():
                continue
            elif self._bounded and self._goes_on:
                self.stuck = frozenset(
                    (a.warp.index, a.who, a.pos) for a in execution.agents if a.blocked
                )
                self.steps = len(execution.recent)
                for a in execution.agents:
                    self.places[a.warp.index] = min(self.places.get(a.warp.index, a.pos), a.pos)
                self._bounded = False
            else:
                return None

    def _first(self, execution: Execution) -> Agent | int | None:
        """What comes first in the order: an agent, or the index of a landing."""
        best: Agent | int | None = None
        at = -1
        for agent in execution.ready:
            if self._bounded and agent.pos >= self._bounds.places.get(agent.warp.index, 0):
                continue
            n = self._order.get((agent.warp.index, agent.who, agent.pos), self._last)
            if best is None or n < at:
                best, at = agent, n
        seen: set[Landing] = set()
        for i, copy in enumerate(execution.flying):
            name = self._landed.name(copy.step)
            if name in seen or (self._bounded and name not in self._bounds.landings):
                continue
            seen.add(name)
            n = self._order.get(name, self._last)
            if best is None or n < at:
                best, at = i, n
        return best


class Tape:
    """The stream of a warp, kept as far as it has been read, so that it can be read again."""

    def __init__(self, stream: Iterator[Event]) -> None:
        self._stream = stream
        self._read: list[Event] = []

    def __iter__(self) -> Iterator[Event]:
        for i in numbers():
            if i == len(self._read):
                event = next(self._stream, None)
                if event is None:
                    return
                self._read.append(event)
            yield self._read[i]


class Shortening:
    """One finding of an execution under ``policy``, and trials to show it by less.

    ``run`` executes under a policy, with a log of all steps.
    """

    def __init__(
        self,
        run: Callable[[Policy], Execution],
        policy: Policy,
        finding: Finding,
        suspects: Sequence[Breach],
    ) -> None:
        self._run, self._finding, self._suspects = run, finding, suspects
        recorded = Recorded(policy, lambda x: self._look(x, hang=False) is not None)
        whole_run = run(recorded)
        self._order: Order = recorded.order
        self._found = self._look(whole_run, hang=not recorded.over)
        self._at_exit = self._found is None and whole_run.report.end is End.FINISHED
        if self._at_exit:
            check_exit(whole_run)
            self._found = self._look(whole_run, hang=False)
        self._tried = 0
        ends = {w.index: _end(whole_run, w.index) for w in whole_run.warps}
        landings = frozenset(key for key in self._order if len(key) == 4)
        self.bounds = Bounds(ends, landings)
        self.log: list[tuple[Step, bool]] = []

    def _look(self, execution: Execution, *, hang: bool) -> Candidate | None:
        """The finding among what an execution shows."""
        found = candidates_of(execution, execution.report, self._suspects, hang=hang)
        wanted = self._finding.rule, self._finding.where
        return next((c for c in found if (c.finding.rule, c.finding.where) == wanted), None)

    def witness(self) -> tuple[WitnessStep, ...] | None:
        """The shortest one; None if the replay does not show the finding."""
        if not self.shorten() or self._found is None:
            return None
        return whole(self.log, self._found.last, race=self._found.race)

    def holds(self, bounds: Bounds) -> bool:
        """Whether the finding appears within bounds; if so, they are kept."""
        found = self._found
        if found is None:
            return False
        policy = InOrder(self._order, bounds, goes_on=found.hang or self._at_exit)
        execution = self._run(policy)
        self._tried += execution.report.steps
        if self._at_exit:
            if any(policy.places.get(s.warp.index, 0) <= s.pos for s in found.last):
                return False
            if execution.report.end is End.FINISHED:
                check_exit(execution)
        if found.hang and not {(s.warp.index, s.who, s.pos) for s in found.last} <= policy.stuck:
            return False
        shown = self._look(execution, hang=found.hang)
        if shown is None:
            return False
        self._found = shown  # its steps are those of the log
        self.bounds = bounds
        self.log = list(execution.recent)[: policy.steps]
        return True

    def shorten(self) -> bool:
        """Find the shortest bounds; False if the replay itself does not show the finding."""
        if self._found is None or not self.holds(self.bounds):
            return False
        named = {s.warp.index for s in self._found.last}
        self._halve([warp for warp in self.bounds.places if warp not in named])
        changed = True
        while changed and self._tried < MAX_TRIED:
            before = self.bounds
            for warp in before.places:
                self._step_back(warp)
            self._drop_landings()
            changed = self.bounds != before
        return True

    def _halve(self, warps: list[int]) -> None:
        """Move the places of several warps together, by halving strides."""
        stride = max((self.bounds.places[w] for w in warps), default=0)
        while stride and self._tried < MAX_TRIED:
            places = {w: max(0, self.bounds.places[w] - stride) for w in warps}
            moved = replace(self.bounds, places={**self.bounds.places, **places})
            if moved == self.bounds or not self.holds(moved):
                stride //= 2

    def _step_back(self, warp: int) -> None:
        """Move the place of one warp by a step, and as long as that goes, by ever more."""
        stride = 1
        while stride and self._tried < MAX_TRIED:
            place = self.bounds.places[warp] - stride
            stride = 2 * stride if place >= 0 and self.holds(self._at(warp, place)) else stride // 2

    def _drop_landings(self) -> None:
        """Leave landings out, the last ones first, all together and in ever smaller parts."""
        size = len(self.bounds.landings)
        while size and self._tried < MAX_TRIED:
            left = sorted(self.bounds.landings, key=lambda n: -self._order[n])
            for i in range(0, len(left), size):
                part = frozenset(left[i : i + size])
                self.holds(replace(self.bounds, landings=self.bounds.landings - part))
            size //= 2

    def shorter(self) -> list[Bounds]:
        """All bounds with one step, or one landing, less."""
        places = self.bounds.places.items()
        steps = [self._at(warp, place - 1) for warp, place in places if place]
        return steps + [self._without(landing) for landing in self.bounds.landings]

    def _at(self, warp: int, place: int) -> Bounds:
        return replace(self.bounds, places={**self.bounds.places, warp: place})

    def _without(self, landing: Landing) -> Bounds:
        return replace(self.bounds, landings=self.bounds.landings - {landing})


def _end(execution: Execution, warp: int) -> int:
    return max(a.pos for a in execution.agents if a.warp.index == warp) + 1
