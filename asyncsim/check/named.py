"""Named barriers (bar.sync, bar.arrive) of the reference execution, and condition N."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.model import Agent, Step, Warp, Who
from asyncsim.check.report import Breach, Condition, Fault, Unproven
from asyncsim.rules import Rule
from asyncsim.sync import BLOCK, NamedBarrierState


class NamedBarrier:
    """One of the 16 barriers. The field in a clock counts the completed rounds known."""

    __slots__ = (
        "arrivals",
        "comp",
        "epochs",
        "exits",
        "gather",
        "id",
        "last",
        "last_epochs",
        "seen",
        "state",
        "synced",
        "waiters",
    )

    def __init__(self, id: int, comp: int) -> None:
        self.id, self.comp = id, comp
        self.state = NamedBarrierState(whole=id == BLOCK)
        self.gather = self.epochs = self.last_epochs = 0
        self.exits = 0  # what is certain when the warps that have ended are gone
        self.waiters: list[Agent] = []
        self.seen: set[int] = set()  # warps that have arrived
        self.synced = False  # somebody has waited for it
        self.arrivals: list[Step] = []  # of the open round
        self.last: Step | None = None


class NamedBarriers:
    def __init__(
        self,
        layout: ClockLayout,
        breach: Callable[[Breach], None],
        wake: Callable[[list[Agent]], None],
    ) -> None:
        self._layout, self._breach, self._wake = layout, breach, wake
        self._control = layout.guards[Section.CONTROL]
        self.by_id: dict[tuple[int, int], NamedBarrier] = {}  # by CTA rank and id

    def unawaited(self) -> Iterator[Fault]:
        """Barriers on which warps arrive and nobody ever waits."""
        for b in self.by_id.values():
            if b.last is not None and not b.synced:
                rule, name = Rule.NAMED_BARRIER_COUNT, f"barrier {b.id}"
                message = f"warps arrive on barrier {b.id}, and nobody waits for it"
                yield Fault(rule=rule, message=message, step=b.last, name=name, warning=True)

    def ended(self, warp: Warp, clock: int) -> None:
        """A warp has exited: it orders no memory, and a barrier of the whole block lacks it not."""
        for (rank, _), b in self.by_id.items():
            if rank == warp.place.rank:
                b.exits = self._layout.join(b.exits, clock & self._layout.carried)
                if b.state.whole:
                    self._meet(b, warp, -1, b.state.threads)
                if b.state.exit(warp.stands_for):
                    self._completed(b)

    def arrive(
        self, b: NamedBarrier, step: Step, clock: int, epoch: int, agent: Agent | None
    ) -> None:
        """Count a warp in; ``agent`` waits (bar.sync) unless it is None (bar.arrive)."""
        done = b.state.generation
        known = self._layout.at(clock, Section.CONTROL, b.comp)
        if known < done and not (
            known == done - 1 and self._layout.covers(clock, b.last_epochs, self._control)
        ):
            other = b.arrivals[0] if b.arrivals else None
            name = f"barrier {b.id}"
            self._breach(
                Breach(
                    condition=Condition.N,
                    barrier=name,
                    array=name,
                    generation=done,
                    step=step,
                    other=other,
                    first=step.warp.index not in b.seen,
                )
            )
        b.seen.add(step.warp.index)
        self._meet(b, step.warp, step.pos, step.dyn.value)
        complete = b.state.arrive(step.warp.index, step.dyn.value, step.warp.stands_for)
        b.gather = self._layout.join(b.gather, clock)
        b.epochs = self._layout.join(b.epochs, epoch)
        b.arrivals.append(step)
        b.last = step
        if agent is not None:
            b.synced = True
            agent.token = -1
            b.waiters.append(agent)
        if complete:
            self._completed(b)

    def _meet(self, b: NamedBarrier, warp: Warp, pos: int, threads: int) -> None:
        """Warps that do the same arrive, or end (-1), in one round. Raises Unproven."""
        if warp.kin is None:
            return
        if threads and b.state.counted + 32 * warp.stands_for > threads:
            raise Unproven
        phase = (b.state.generation + 1) << self._layout.shift(Section.CONTROL, b.comp)
        warp.kin.met(pos, Who.BOTH, phase)

    def _completed(self, b: NamedBarrier) -> None:
        field = b.state.generation << self._layout.shift(Section.CONTROL, b.comp)
        released = self._layout.join(b.gather, field | (field << self._layout.width))
        if b.state.whole:
            released = self._layout.join(released, b.exits)
        waiters, b.waiters = b.waiters, []
        for waiter in waiters:
            waiter.token = released
        b.last_epochs, b.gather, b.epochs, b.arrivals = b.epochs, 0, 0, []
        self._wake(waiters)
