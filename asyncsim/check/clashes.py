"""Two touches that clash, with what is known at that moment: groups, waits, what was there before.

classify.py turns that into a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.model import Flight, Step, Touch, Warp
from asyncsim.check.report import Clash, Reason
from asyncsim.ir.op import GroupKind
from asyncsim.memory.region import SmemRegion
from asyncsim.stream.dyn import Tag


class Clashes:
    """Describes clashes of the warps of one CTA."""

    def __init__(
        self, layout: ClockLayout, warps: Sequence[Warp], clash: Callable[[Clash], None]
    ) -> None:
        self._layout, self._warps, self._clash = layout, warps, clash

    def over(self, x: Touch, clock: int, guards: int) -> bool:
        """Whether a clock knows, one way or the other, that ``x`` is over."""
        covers = self._layout.covers
        return covers(clock, x.end, guards) or (x.instead != 0 and covers(clock, x.instead, guards))

    def report(
        self,
        reason: Reason,
        x: Touch,
        y: Touch,
        name: str,
        clock: int,
        before: Tag | None = None,
        *,
        first: bool = False,
    ) -> None:
        """``y``, at this clock, is not ordered after ``x``. ``before``: the data that ``x``
        overwrote; ``first``: nothing had been written where ``x`` is."""
        committed, released, loose, idle = True, False, None, None
        if x.flight is not None:
            committed = x.flight.commit is not None
            released, loose = self._covered(x, y, x.flight, clock)
            idle = self._idle_wait(x.flight, y, clock)
        self._clash(
            Clash(
                reason=reason,
                earlier=x,
                later=y,
                name=name,
                committed=committed,
                released=released,
                loose=loose,
                idle=idle,
                vacuous=_vacuous_read(x, y),
                acquire=_vacuous_acquire(y),
                narrow=reason is Reason.RACE and self._narrow(x, y, clock),
                first=first,
                outdated=before is not None and before == y.access.tag,
            )
        )

    def _narrow(self, x: Touch, y: Touch, clock: int) -> bool:
        """Whether ``x`` is over before ``y``, across CTAs, and only a release lacks."""
        region = y.access.region
        if not isinstance(region, SmemRegion) or not x.end:
            return False
        if x.step.warp.place.rank == y.step.warp.place.rank == region.owner:
            return False
        over = (x.end >> self._layout.width) & self._layout.masks[Section.CONTROL]
        return self._layout.covers(clock, over, self._layout.guards[Section.CONTROL])

    def _covered(self, x: Touch, y: Touch, flight: Flight, clock: int) -> tuple[bool, Step | None]:
        """Whether the clock knows the commit, and a wait after it that left the group pending.

        Within a role a wait that covers it, and of which only the order lacks, comes before that;
        another role knows what was signalled to it, so there the wait before the signal counts.
        """
        released, loose = False, None
        own = x.step.warp.place.role == y.step.warp.place.role
        over = own and x.end != 0 and flight.kind is not GroupKind.WGMMA
        for chain in flight.chains:
            at = flight.commits.get(chain.warp.index)
            if at is None:
                continue
            known = self._layout.at(clock, Section.MEMORY, chain.component)
            released |= known > at
            for wait in chain.waits.get(flight.kind, ()) if not over else ():
                if at < wait.pos < known:
                    loose = wait
        return released, loose

    def _idle_wait(self, flight: Flight, y: Touch, clock: int) -> Step | None:
        """A group wait before ``y`` that covers nothing of this flight: by a thread that has issued
        nothing of the kind, or by the other lanes of the warp after its commit."""
        mine = y.step.warp.chains(y.who)
        for warp in self._warps:
            at = flight.commits.get(warp.index)
            for chain in (warp.elected, warp.others):
                if chain in flight.chains:
                    continue
                wait = chain.idle_waits.get(flight.kind)
                if at is not None and (waits := chain.waits.get(flight.kind)):
                    wait = waits[-1] if waits[-1].pos > at else wait
                if wait is None:
                    continue
                known = self._layout.at(clock, Section.MEMORY, chain.component)
                if chain in mine or known > wait.pos:
                    return wait
        return None


def _vacuous_read(x: Touch, y: Touch) -> Step | None:
    """The wait before a read that was to wait for the copy, and passed on an older phase."""
    reader, copy = (y, x) if x.access.write else (x, y)
    barrier = copy.barrier
    if barrier is None or reader.access.write:
        return None
    for chain in reader.step.warp.chains(reader.who):
        for wait in reversed(chain.phase_waits.get(barrier, ())):
            if wait.step.pos < reader.step.pos:
                return wait.step if wait.nothing_new else None
    return None


def _vacuous_acquire(y: Touch) -> Step | None:
    """The last wait before an overwrite, if it passed on a phase that it had passed on before."""
    if not y.access.write:
        return None
    for chain in y.step.warp.chains(y.who):
        waits = [w for found in chain.phase_waits.values() for w in found]
        last = max(waits, key=lambda w: w.step.pos, default=None)
        if last is None:
            continue
        barrier = last.step.dyn.barrier
        assert barrier is not None
        for wait in chain.phase_waits[barrier]:
            if wait.step.pos < last.step.pos and wait.observed == last.observed:
                return last.step
    return None
