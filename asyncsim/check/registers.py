"""setmaxnreg of an execution, and condition P: can a request wait for ever in some order?

Condition P. Registers come back by dec alone, so whether a request is served depends on the order
of the requests, which no edge of the happens-before graph says. But a state in which nobody can go
on is known by the requests B that wait in it: without the pool every op whose predecessors are done
can run, so all that has not run is B and what comes after B. What each warp holds there follows,
and with it what is free. P holds if no B leaves each of its own requests short; all B are tried.

That can be said at once where no dec comes after an inc: all of them have run, and the waiting
requests are missing from counts that together fit the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.collectives import join_lanes
from asyncsim.check.model import Agent, Step, Warp
from asyncsim.check.report import Breach, Condition, Fault
from asyncsim.ir import op as ops
from asyncsim.ir.op import MaxNRegDirection
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Rule
from asyncsim.sync import RegisterPool
from asyncsim.sync.registers import LANES

POOL = "register pool"
MAX_CHANGES = 4096  # of all warps, that condition P looks at
MAX_SETS = 100_000  # sets of waiting requests that it tries


@dataclass(frozen=True, slots=True)
class Change:
    """One setmaxnreg of a warp, from ``before`` registers a thread to ``after``.

    ``clock``: what the warp knew then.
    """

    step: Step
    before: int
    after: int
    clock: int


class Registers:
    """The register pools of an execution, one for each CTA."""

    def __init__(
        self,
        schedule: Schedule,
        layout: ClockLayout,
        fault: Callable[[Fault], None],
        wake: Callable[[list[Agent]], None],
    ) -> None:
        self._layout, self._fault, self._wake = layout, fault, wake
        ranks = range(schedule.cluster_ctas)
        self._pools = [RegisterPool(schedule.warps, schedule.maxnreg) for _ in ranks]
        self._done: list[list[Step]] = [[] for _ in range(schedule.warps * len(ranks))]
        self._changes: list[Change] = []
        self._waiters: list[Agent] = []

    def so_far(self) -> tuple[list[Change], tuple[int, int]]:
        """What has been changed; how many setmaxnreg have been executed, and how many wait."""
        return self._changes, (sum(map(len, self._done)), len(self._waiters))

    def pool(self, warp: Warp) -> RegisterPool:
        """That of the warp's CTA; in it a warp is its index in the block."""
        return self._pools[warp.place.rank]

    def _warpgroup(self, warp: Warp) -> list[int]:
        """The warps of its warpgroup, as the execution counts them."""
        first = warp.index - warp.place.warp
        return [first + w for w in self.pool(warp).warpgroup(warp.place.warp)]

    def execute(self, agent: Agent, step: Step) -> bool:
        """setmaxnreg by a warp whose lanes have met; False while the pool lacks registers."""
        op, pool, warp = step.dyn.op, self.pool(step.warp), step.warp.place.warp
        assert isinstance(op, ops.SetMaxNReg)
        clock = join_lanes(self._layout, agent, step)
        before, done = pool.held[warp], self._done[step.warp.index]
        if pool.executed(warp) == len(done):
            pool.execute(warp, op.id)
            self._after_the_last(step, clock)
        if op.direction is MaxNRegDirection.DEC:
            pool.dec(warp, op.count)
            waiters, self._waiters = self._waiters, []
            self._wake(waiters)
        elif not pool.inc(warp, op.count):
            self._waiters.append(agent)
            return False
        done.append(step)
        if len(self._changes) <= MAX_CHANGES:
            self._changes.append(Change(step, before, op.count, clock))
        return True

    def _after_the_last(self, step: Step, clock: int) -> None:
        """Between two setmaxnreg the whole warpgroup synchronises."""
        own = self._done[step.warp.index]
        for other in self._warpgroup(step.warp) if own else ():
            theirs = self._done[other]
            known = self._layout.at(clock, Section.CONTROL, 2 * other)
            if len(theirs) < len(own) or known <= theirs[len(own) - 1].pos:
                self._fault(
                    Fault(
                        rule=Rule.REGISTER_POOL,
                        message=f"warp {step.warp.place.warp} executes a second setmaxnreg, and "
                        "nothing orders it after the first one of warp "
                        f"{step.warp.place.warp + other - step.warp.index} of its warpgroup",
                        step=step,
                        other=own[-1],
                        name=POOL,
                        repair="synchronise the 128 threads between the two (a named barrier)",
                    )
                )
                return

    def uneven(self) -> Fault | None:
        """At the end: a warpgroup whose warps have not executed equally many."""
        for warp in {done[0].warp.index: done[0].warp for done in self._done if done}.values():
            group = self._warpgroup(warp)
            more = max(group, key=lambda w: len(self._done[w]))
            less = min(group, key=lambda w: len(self._done[w]))
            if len(self._done[more]) > len(self._done[less]):
                step = self._done[more][len(self._done[less])]
                cta = warp.index - warp.place.warp
                message = (
                    f"warp {more - cta} of a warpgroup executes it, warp {less - cta} does not"
                )
                return Fault(rule=Rule.REGISTER_POOL, message=message, step=step, name=POOL)
        return None

    def short(self) -> Breach | None:
        """Condition P on a finished execution whose graph speaks for all."""
        requests = [c for c in self._changes if c.after > c.before]
        if len(self._changes) > MAX_CHANGES:
            return _breach(requests[:1]) if requests else None
        decs = [c for c in self._changes if c.after < c.before]
        if not any(self._comes_after(d, r) for d in decs for r in requests):
            return None  # the execution has ended: the last counts fit
        chains: dict[int, list[Change]] = {}
        for c in self._changes:
            chains.setdefault(c.step.warp.index, []).append(c)
        for tried, waiting in enumerate(self._sets(requests)):
            if tried == MAX_SETS:
                return _breach(requests[:1])
            free = self._free(chains, waiting)
            if all(LANES * (r.after - r.before) > free[r.step.warp.place.rank] for r in waiting):
                return _breach(waiting)
        return None

    def _comes_after(self, later: Change, request: Change) -> bool:
        """Whether ``later`` is the request itself or has it behind it in every execution."""
        if later.step.warp is request.step.warp:
            return later.step.pos >= request.step.pos
        component = 2 * request.step.warp.index
        return self._layout.at(later.clock, Section.CONTROL, component) > request.step.pos

    def _sets(self, requests: list[Change]) -> Iterator[list[Change]]:
        """Every set of requests of which none comes after another, but the empty one."""
        stack: list[tuple[list[Change], int]] = [([], 0)]
        while stack:
            chosen, first = stack.pop()
            for i in range(first, len(requests)):
                r = requests[i]
                if any(self._comes_after(r, c) or self._comes_after(c, r) for c in chosen):
                    continue
                yield [*chosen, r]
                stack.append(([*chosen, r], i + 1))

    def _free(self, chains: dict[int, list[Change]], waiting: list[Change]) -> list[int]:
        """What each pool has when ``waiting``, and what comes after it, alone have not run."""
        free = [0] * len(self._pools)
        for chain in chains.values():
            for c in chain:
                if any(self._comes_after(c, r) for r in waiting):
                    break
                free[c.step.warp.place.rank] -= LANES * (c.after - c.before)
        return free


def _breach(waiting: list[Change]) -> Breach:
    steps = tuple(r.step for r in waiting)
    return Breach(
        condition=Condition.P,
        barrier=POOL,
        array=POOL,
        generation=0,
        step=steps[0],
        together=steps,
    )
