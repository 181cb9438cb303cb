"""What an execution is made of: observers, warps, touches of memory, and what went wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from asyncsim.check.clock import FIELD_MASK
from asyncsim.ir.op import GroupKind, Scope
from asyncsim.stream.dyn import Access, BarrierKey, Dyn
from asyncsim.stream.program import Event, WarpPlace
from asyncsim.sync import ArriveState, GroupQueue

if TYPE_CHECKING:
    from asyncsim.check.alike import Kin


class Who(IntEnum):
    """Which observers of a warp execute an op: bit 0 the elected lane, bit 1 the other lanes."""

    ELECTED = 1
    OTHERS = 2
    BOTH = 3


class Chain:
    """An observer: one thread of the happens-before graph.

    ``lanes`` is 1 for the elected lane, 31 for the others. The others are not ordered with each
    other: their own fields hold what every one of those lanes knows of the rest, and do not advance
    by program order.
    ``phase_waits``: its last waits on each mbarrier. ``idle_waits``: its last group wait of each
    kind of which it has issued nothing (``issued``). ``written``: the registers of each fragment
    that hold something.
    """

    __slots__ = (
        "acquired",
        "clock",
        "component",
        "heard",
        "heard_far",
        "idle_waits",
        "initialised",
        "issued",
        "lanes",
        "own",
        "peeks",
        "phase_waits",
        "queues",
        "sent",
        "sent_far",
        "shift_control",
        "shift_memory",
        "states",
        "units",
        "waits",
        "warp",
        "who",
        "written",
    )

    def __init__(self, warp: Warp, who: Who, component: int, shifts: tuple[int, int]) -> None:
        self.warp, self.who, self.component = warp, who, component
        self.lanes = 1 if who is Who.ELECTED else 31
        self.clock = 0
        self.acquired = 0  # tcgen05 ops that the next one comes after: own, and by after-fences
        self.own = 0
        self.sent = self.sent_far = 0  # what a relaxed arrive releases, after a fence
        self.heard = self.heard_far = 0  # what relaxed waits make known at the next fence
        self.shift_control, self.shift_memory = shifts
        self.units = 1 << shifts[0] | 1 << shifts[1]
        self.queues: dict[GroupKind, GroupQueue] = {}
        self.waits: dict[GroupKind, deque[Step]] = {}  # the last group waits
        self.written: dict[str, int] = {}
        self.issued: set[GroupKind] = set()
        self.idle_waits: dict[GroupKind, Step] = {}
        self.phase_waits: dict[BarrierKey, deque[PhaseWait]] = {}
        self.initialised: dict[int, int] = {}  # component of each mbarrier: its field at the init
        self.peeks: dict[str, Peek] = {}  # its last test_waits, by token
        self.states: dict[str, ArriveState] = {}  # what its arrives returned, by register

    def now(self, pos: int) -> int:
        """The clock before op ``pos``: a single lane's earlier ops included."""
        if self.lanes == 1 and pos > self.own:
            self.clock += (pos - self.own) * self.units
            self.own = pos
        return self.clock

    def publish(self, pos: int) -> int:
        """The clock that op ``pos`` releases: the op itself and all lanes' ops before it."""
        if self.lanes == 1:
            return self.now(pos + 1)
        known = (self.clock >> self.shift_control) & FIELD_MASK
        seen = (self.clock >> self.shift_memory) & FIELD_MASK
        return (
            self.clock
            + ((pos + 1 - known) << self.shift_control)
            + ((pos + 1 - seen) << self.shift_memory)
        )


class Warp:
    """A warp's events, fetched lazily; those that only one observer has passed are kept.

    ``stands_for``: how many warps it is, itself included; ``kin``: of those that are several, or
    one of them (alike.py).
    """

    __slots__ = (
        "_base",
        "_chains",
        "_events",
        "_kept",
        "elected",
        "index",
        "kin",
        "others",
        "place",
        "settled",
        "stands_for",
    )

    def __init__(self, index: int, place: WarpPlace, events: Iterator[Event]) -> None:
        self.index, self.place = index, place
        self.stands_for = 1
        self.kin: Kin | None = None
        self._events = events
        self._kept: list[Event] = []
        self._base = 0
        self.settled: set[tuple[int, Who]] = set()  # ops whose registers have been looked at
        self.elected: Chain
        self.others: Chain
        self._chains: tuple[tuple[Chain, ...], ...]

    def settles(self, op: int, who: Who) -> bool:
        """Whether the op has been executed by these observers; from now on it has."""
        if (op, who) in self.settled:
            return True
        self.settled.add((op, who))
        return False

    def meet(self, elected: Chain, others: Chain) -> None:
        """The observers of the warp."""
        self.elected, self.others = elected, others
        self._chains = ((), (elected,), (others,), (elected, others))

    def chains(self, who: Who) -> tuple[Chain, ...]:
        return self._chains[who]

    def event(self, pos: int, *, last: bool = False) -> Event | None:
        """The event at a position of the stream; None after the last one.

        ``last``: nobody asks for events before ``pos`` again.
        """
        kept = self._kept
        i = pos - self._base
        if last and i:
            del kept[:i]
            self._base, i = pos, 0
        while i >= len(kept):
            event = next(self._events, None)
            if event is None:
                return None
            kept.append(event)
        return kept[i]

    def pass_over(self, pos: int, events: int) -> Iterator[Event]:
        """Take ``events`` events out of the stream at ``pos``; what follows them comes there."""
        del self._kept[: pos - self._base]
        self._base = pos
        yield from self._kept[:events]
        events -= len(self._kept[:events])
        self._kept.clear()
        yield from islice(self._events, events)


class Agent:
    """What the scheduler runs: a warp in lockstep, or one of its observers after they diverged."""

    __slots__ = ("blocked", "current", "done", "pos", "since", "token", "warp", "who")

    def __init__(self, warp: Warp, who: Who, pos: int) -> None:
        self.warp, self.who, self.pos = warp, who, pos
        self.current: Event | None = None
        self.token: int | None = None  # clock that ends a bar.sync, -1 while it is pending
        self.blocked = False
        self.done = False
        self.since: int | None = None  # generation when its blocked mbarrier wait began


class Step(NamedTuple):
    """One execution of an op by observers of one warp. A tuple: one is made for every op."""

    warp: Warp
    who: Who
    pos: int
    event: Event

    @property
    def dyn(self) -> Dyn:
        return self.event[0]


class PhaseWait(NamedTuple):
    """A wait of an observer on an mbarrier, the generation that it observed, and whether that told
    it nothing new."""

    step: Step
    observed: int
    nothing_new: bool


@dataclass(frozen=True, slots=True)
class Peek:
    """A test_wait of an observer: of which phase, what it knew then, and whether it passed.

    ``seen``: it did in this execution; of a proof, it ``passed`` only if it does in all.
    """

    barrier: BarrierKey | None
    parity: int
    clock: int
    passed: bool
    seen: bool


def chains_of(agent: Agent, step: Step) -> tuple[Chain, ...]:
    """The observers that execute an op."""
    return agent.warp.chains(_OBSERVERS.get(step.event[0].op.scope, agent.who))


_OBSERVERS = {Scope.ELECTED: Who.ELECTED, Scope.OTHERS: Who.OTHERS}


class Flight:
    """An asynchronous op of a group: its commit and the wait that covered it, None until then.

    ``chains`` are the observers whose waits count: the issuer, or those of a warpgroup.
    ``tracked``: the cp.async.mbarrier.arrive that followed it.
    ``commits``: the position of the commit in the stream of each warp (four for a warpgroup).
    """

    __slots__ = (
        "chains",
        "commit",
        "commits",
        "kind",
        "retired",
        "source_read",
        "step",
        "touches",
        "tracked",
    )

    def __init__(self, kind: GroupKind, chains: tuple[Chain, ...], step: Step) -> None:
        self.kind, self.chains, self.step = kind, chains, step
        self.commit: Step | None = None
        self.commits: dict[int, int] = {}
        self.retired: Step | None = None
        self.source_read: Step | None = None
        self.tracked: Step | None = None
        self.touches: list[Touch] = []


class Touch:
    """An access by an op. ``end`` is the epoch after which it is over; 0 while that is unknown.

    ``instead``: another such epoch, if there are two ways to know. ``landed``: it was over when
    something landed, of which the lane that issued it knows nothing by itself.
    """

    __slots__ = ("access", "end", "flight", "instead", "landed", "seq", "step", "who")

    def __init__(self, step: Step, who: Who, access: Access, seq: int, end: int = 0) -> None:
        self.step, self.who, self.access = step, who, access
        self.seq, self.end, self.instead = seq, end, 0
        self.landed = False
        self.flight: Flight | None = None

    @property
    def barrier(self) -> BarrierKey | None:
        """The mbarrier that a copy counts on, or that tracks it."""
        tracked = self.flight.tracked if self.flight is not None else None
        return (tracked or self.step).dyn.barrier
