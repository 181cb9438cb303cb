"""The certificate by counting, for barriers that see arrivals only (empty barriers, rendezvous).

There generation = floor(arrivals / count), whoever arrived, so that which arrival belongs to which
phase need not be unique. What precedes the end of a wait in *every* execution follows from
counting: a fact precedes it if fewer than (g + 1) N of the arrivals that may come before lack it.
The facts are clock fields, so the must order of a wait is a clock, field by field an order
statistic. The greatest fixpoint is found by executing the reference again: each wait takes what
the arrivals so far, and those still to come with their clocks of the execution before, justify.
Any order of such steps down from "everything before" ends in the greatest fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from asyncsim.check.clock import FIELD_BITS, ClockLayout, Section
from asyncsim.check.model import Chain, Step
from asyncsim.stream.dyn import BarrierKey

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from asyncsim.check.barrier import Barrier

MAX_ROUNDS = 30

WaitKey = tuple[int, int, int]
"""Warp, observers and position of a wait."""

Must = dict[WaitKey, int]
"""The clock that each wait acquires."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """``weight`` arrivals by one observer; ``clock`` is what they release."""

    chain: Chain
    step: Step
    clock: int
    weight: int


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait that observed generation ``observed`` in the reference, with its clock at the start;
    ``known`` is 1 plus the number of phases that it knew to be complete then."""

    chain: Chain
    step: Step
    start: int
    observed: int
    known: int


@dataclass(slots=True)
class CountingLog:
    """What the counted barriers saw in one execution."""

    arrivals: dict[BarrierKey, list[Arrival]] = field(default_factory=dict)
    waits: dict[BarrierKey, list[Wait]] = field(default_factory=dict)


@dataclass(slots=True)
class Counting:
    """The barriers to count on and their counts, the log of the execution before, if there was
    one, that of this one, and what its waits acquired."""

    counts: Mapping[BarrierKey, int]
    before: CountingLog | None = None
    log: CountingLog = field(default_factory=CountingLog)
    must: Must = field(default_factory=dict)

    def learned(
        self, layout: ClockLayout, key: BarrierKey, wait: Wait, everything: Callable[[], int]
    ) -> int:
        """What a wait that is about to pass acquires; ``everything``: all before it."""
        if self.before is None:
            clock = everything() if wait.observed >= 0 else 0
        else:
            so_far = self.log.arrivals.get(key, [])
            arrivals = [*so_far, *self.before.arrivals.get(key, [])[len(so_far) :]]
            clock = _justified(
                layout, _table(layout, arrivals), wait, _rounds(arrivals, self.counts[key])
            )
        self.must[wait_key(wait.chain, wait.step)] = clock
        return clock


def wait_key(chain: Chain, step: Step) -> WaitKey:
    return step.warp.index, int(chain.who), step.pos


def next_must(layout: ClockLayout, log: CountingLog, counts: Mapping[BarrierKey, int]) -> Must:
    """The clock of each wait that the arrivals of an execution justify."""
    must: Must = {}
    for key, waits in log.waits.items():
        arrivals = log.arrivals.get(key, [])
        n = _rounds(arrivals, counts[key])
        table = _table(layout, arrivals)
        for wait in waits:
            must[wait_key(wait.chain, wait.step)] = _justified(layout, table, wait, n)
    return must


def _rounds(arrivals: list[Arrival], count: int) -> int:
    """Arrivals that a phase takes."""
    return count // (arrivals[0].weight if arrivals else 1)


def _justified(layout: ClockLayout, table: NDArray[np.uint32], wait: Wait, n: int) -> int:
    """What fewer than (g + 1) n of the arrivals that may precede the wait's end lack."""
    import numpy as np

    before = table[_may_precede(layout, table, wait)]
    lacking = (wait.observed + 1) * n - 1  # so many may lack a fact
    have = len(before) - lacking  # at least so many arrivals have it
    if wait.observed < 0 or have < 1:
        return 0
    # the have-th largest value of each field
    values = np.partition(before, len(before) - have, axis=0)[len(before) - have]
    return int.from_bytes(values.astype("<u4").tobytes(), "little")


def counts_hold(
    layout: ClockLayout, log: CountingLog, counts: Mapping[BarrierKey, int]
) -> Wait | None:
    """Conditions C' and D' of every wait; the first wait for which one fails."""
    for key, waits in log.waits.items():
        arrivals = log.arrivals.get(key, [])
        n = _rounds(arrivals, counts[key])
        table = _table(layout, arrivals)
        for wait in waits:
            g = wait.observed
            if int(_may_precede(layout, table, wait).sum()) >= (g + 2) * n:
                return wait
            earlier = sum(
                layout.at(wait.start, Section.CONTROL, a.chain.component) > a.step.pos
                for a in arrivals
            )
            if g >= 1 and earlier < g * n and wait.known < g + 1:
                return wait
    return None


def _table(layout: ClockLayout, arrivals: list[Arrival]) -> NDArray[np.uint32]:
    """The fields of the arrivals' clocks, one row each."""
    import numpy as np

    fields = layout.components * len(Section)
    raw = b"".join(a.clock.to_bytes(fields * FIELD_BITS // 8, "little") for a in arrivals)
    return np.frombuffer(raw, dtype="<u4").reshape(len(arrivals), fields)


def _may_precede(layout: ClockLayout, table: NDArray[np.uint32], wait: Wait) -> NDArray[np.bool_]:
    """Which arrivals are not after the end of a wait."""
    column = layout.components * Section.CONTROL + wait.chain.component
    result: NDArray[np.bool_] = table[:, column] <= wait.step.pos
    return result


def countable(barriers: Mapping[BarrierKey, Barrier], log: CountingLog) -> bool:
    """Whether every arrival on a barrier weighs the same and divides its count."""
    for key, arrivals in log.arrivals.items():
        weights = {a.weight for a in arrivals}
        if len(weights) != 1 or barriers[key].state.count % weights.pop():
            return False
    return True
