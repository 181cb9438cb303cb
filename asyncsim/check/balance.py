"""Condition E*: can a phase be balanced before all that belongs to it has been counted?

The sets that matter contain every arrival of the phase and are closed under predecessors. What
precedes an arrival is in all of them; the other expects and landings are free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from asyncsim.check.model import Step

FREE_LIMIT = 14  # beyond it the answer is "perhaps": a search has to decide


class Kind(Enum):
    ARRIVAL = "arrival"
    EXPECT = "expect"
    LANDING = "landing"
    RAISE = "raise"  # of the pending count, by an observer whose arrival follows by itself
    PAIRED = "paired"  # that arrival


class Counted(NamedTuple):
    """An op counted in a phase. ``clock``: what precedes it (of a landing: what precedes its
    issue); ``epoch``: what a later op must know to be after it (0: never known); ``tx``: bytes."""

    kind: Kind
    clock: int
    epoch: int
    tx: int
    step: Step


Covers = Callable[[int, int], bool]


def premature(counted: Sequence[Counted], covers: Covers) -> bool:
    """Whether some proper predecessor-closed subset with all arrivals is balanced (or may be)."""
    arrivals = [c for c in counted if c.kind is Kind.ARRIVAL]
    # a raise is a reason to wait for its own arrival, as announced bytes are for theirs
    expects = [c for c in counted if c.kind in (Kind.EXPECT, Kind.RAISE)]
    free = [e for e in expects if not any(covers(a.clock, e.epoch) for a in arrivals)]
    landings = [c for c in counted if c.kind is Kind.LANDING]
    total = sum(c.tx for c in counted if c.kind is not Kind.LANDING)
    landed = sum(c.tx for c in landings)
    if not free and landed <= total:
        return False  # every such set holds all expects; only all the landings balance it
    items = [*free, *landings]
    if len(items) > FREE_LIMIT:
        return True
    fixed = total - sum(e.tx for e in free)
    needs = [
        sum(1 << j for j, e in enumerate(free) if j != i and covers(c.clock, e.epoch))
        for i, c in enumerate(items)
    ]
    gain = [-c.tx if c.kind is Kind.LANDING else c.tx for c in items]
    everything = (1 << len(items)) - 1
    for chosen in range(everything):
        members = [i for i in range(len(items)) if chosen >> i & 1]
        closed = all(needs[i] & ~chosen == 0 for i in members)
        if closed and fixed + sum(gain[i] for i in members) == 0:
            return True
    return False


def unfollowed(counted: Sequence[Counted], covers: Covers) -> list[Counted]:
    """The arrive.noComplete of a phase that precede nothing else that counts in it."""
    open_ = [c for c in counted if getattr(c.step.dyn.op, "no_complete", False)]
    return [c for c in open_ if not any(covers(d.clock, c.epoch) for d in counted if d is not c)]
