"""What an execution reports: breaches of conditions, clashes, faults, how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from asyncsim.check.model import Step, Touch
from asyncsim.errors import ScheduleError, SourceLoc
from asyncsim.rules import Rule
from asyncsim.sync import SyncFault


class Condition(Enum):
    """The conditions of the certificate; the value says what fails without it."""

    A = "an op counts in a phase whose predecessor is not known to be complete"
    B = "arrivals or bytes of a phase do not match"
    C = "a wait is not ordered before the phase after the one it waits for"
    D = "a wait may start before the phase before the one it waits for is complete"
    E = "a phase can be balanced before all that belongs to it has been counted"
    F = "init is not ordered before a use"
    N = "an arrival on a named barrier is not ordered after the round before"
    P = "requests for registers may be short together for ever"
    M = "an allocation of tensor memory may have to wait for columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A condition that does not hold on the reference: a suspicion, not a verdict.

    ``first``: of condition N, the first arrival of its warp, which overruns nothing.
    ``together``: of condition P, the requests that may wait for ever.
    ``surplus``: of condition A, another warp has arrived by the same op in the same step already,
    in the phase before: together they are more than the barrier counts.
    """

    condition: Condition
    barrier: str
    array: str
    generation: int
    step: Step
    other: Step | None = None
    first: bool = False
    together: tuple[Step, ...] = ()
    surplus: bool = False


class Reason(Enum):
    """Why two accesses clash: no order at all, or order without a proxy fence, or without a
    tcgen05 fence before the signal or after the wait."""

    RACE = "race"
    PROXY = "proxy"
    BEFORE_FENCE = "before_thread_sync"
    AFTER_FENCE = "after_thread_sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Two conflicting touches that no edge of the required kind orders; ``later`` came second.

    For an ``earlier`` touch of a group: whether it was ``committed`` then; whether ``later`` comes
    after that commit (``released``); ``loose`` is a wait after the commit that ``later`` comes
    after and that left the group pending; ``idle`` one by a thread that has issued no such copy.
    ``outdated``: the later read means what ``earlier`` has overwritten. ``first``: nothing had been
    written where ``earlier`` is. ``vacuous``: the reader's
    last wait on the barrier of the copy, if it passed on a phase seen before; ``acquire``: the last
    wait before an overwrite, likewise. ``narrow``: ordered, in different CTAs, but not released at
    cluster scope (``relaxed``: the schedule has relaxed ops). ``recent``: the synchronisation steps
    until then.
    """

    reason: Reason
    earlier: Touch
    later: Touch
    name: str
    committed: bool = True
    released: bool = False
    first: bool = False
    loose: Step | None = None
    idle: Step | None = None
    recent: tuple[tuple[Step, bool], ...] = ()
    outdated: bool = False
    narrow: bool = False
    relaxed: bool = False
    vacuous: Step | None = None
    acquire: Step | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A defect seen directly: an op that the hardware leaves undefined, or a plain mistake.

    ``missing`` and ``repair`` replace the advice of the rule; ``loc`` stands for a step that was
    never made. ``registers``: it is about them only.
    """

    rule: Rule
    message: str
    step: Step | None
    other: Step | None = None
    name: str = ""
    warning: bool = False
    missing: str = ""
    repair: str = ""
    loc: SourceLoc | None = None
    registers: bool = False
    recent: tuple[tuple[Step, bool], ...] = ()


class End(Enum):
    """How an execution ended."""

    FINISHED = "finished"
    HANG = "hang"
    FAULT = "fault"


@dataclass(slots=True)
class Report:
    """What one execution showed.

    ``steps``: ops, with those that jumps have ``passed`` over. ``changes``: how often something was
    entered. ``parted``: the op of an election at which some lanes of a warp waited for others that
    were past the election already. ``late``: per mbarrier array, bytes announced after the phase
    before could complete without them; legal by itself, it explains a read that does not wait for
    its copy.
    """

    end: End = End.FINISHED
    breaches: dict[object, Breach] = field(default_factory=dict)
    late: dict[str, Breach] = field(default_factory=dict)
    clashes: dict[object, Clash] = field(default_factory=dict)
    faults: dict[object, Fault] = field(default_factory=dict)
    steps: int = 0
    passed: int = 0
    changes: int = 0
    parted: Step | None = None

    def is_plain(self) -> bool:
        """Whether the execution came to its end, and showed nothing."""
        return self.end is End.FINISHED and not self.changes and self.parted is None


class Unproven(Exception):
    """What a jump passed over, or what came after it, needs a closer look."""


class StopExecution(Exception):
    """Raised inside a step to end the execution with a fault."""

    def __init__(self, cause: SyncFault | ScheduleError) -> None:
        super().__init__(str(cause))
        self.cause = cause
