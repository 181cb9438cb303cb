"""What the explorer of schedules executes: per observer a list of acts, over numbered objects.

An observer is the elected lane of a warp or its other 31 lanes. Memory is a set of *atoms*: bytes
that no access of the program tells apart; masks have one bit an atom. Nothing here comes from the
checker or from the op streams.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

ANY = -2  # a value that is what every reader means
UNWRITTEN = -1


class Untranslated(Exception):
    """An op that the explorer does not know."""


class Fault(Exception):
    """An act that the hardware leaves undefined."""


class Do(Enum):
    """What an act does. MEET: both observers of the warp; RETIRE: a group wait."""

    INIT = auto()
    INVAL = auto()
    ARRIVE = auto()
    EXPECT = auto()
    WAIT = auto()
    WAIT_STATE = auto()
    PEEK = auto()
    COPY = auto()
    ACCESS = auto()
    ISSUE = auto()
    RETIRE = auto()
    MEET = auto()
    FENCE_INIT = auto()
    FENCE_PROXY = auto()
    BAR_ARRIVE = auto()
    BAR_WAIT = auto()
    MMA = auto()
    MMA_COMMIT = auto()
    MMA_WAIT = auto()
    CLUSTER_ARRIVE = auto()
    CLUSTER_WAIT = auto()
    FENCE = auto()


@dataclass(frozen=True, slots=True)
class Use:
    """Atoms that an act touches. ``values`` are (atom, value): what a write brings, or a read
    means; ``is_async``: through the async proxy."""

    read: int = 0
    write: int = 0
    is_async: bool = False
    brings: tuple[tuple[int, int], ...] = ()
    means: tuple[tuple[int, int], ...] = ()


NOTHING = Use()


@dataclass(frozen=True, slots=True)
class Act:
    """``target``: index of the mbarrier or named barrier, of the wgmma of its warpgroup, or groups
    that a wgmma wait needs. ``n``: count, arrivals, parity, threads; ``tx``: bytes.

    ``pos``: position in the warp's stream; ``flight``: index of the flight that an ISSUE begins;
    ``space``, ``fences_inits``: atoms and mbarriers that a fence covers; ``kept``: slot of the
    state or token that an arrive or peek keeps or a wait tests, -1: none. ``drop``, ``open``: an
    arrival that later phases do not need, one that must not complete its phase. Of a COPY,
    ``raises``: pending arrivals that its issue adds; ``lands``: arrivals when it lands, after those
    of its chain before. ``relaxed``: of an arrival or a wait. ``peers``: other CTAs whose shared
    memory it reaches, a mask of ranks; ``stays``: the CTAs that may not exit while it is in flight.
    """

    do: Do
    pos: int
    target: int = -1
    n: int = 0
    tx: int = 0
    use: Use = NOTHING
    space: int = 0
    fences_inits: int = 0
    flight: int = -1
    kept: int = -1
    drop: bool = False
    open: bool = False
    raises: int = 0
    lands: int = 0
    relaxed: bool = False
    peers: int = 0
    stays: int = 0


@dataclass(slots=True)
class Flight:
    """A copy of a group: in flight on its chain from after ``issued`` until the pc that waits.

    ``read_until``, ``until``: pcs of the waits that cover its source reads, and all of it.
    """

    chain: int
    issued: int
    use: Use
    read_until: int | None = None
    until: int | None = None
    committed: bool = False


@dataclass(slots=True)
class Mma:
    """One wgmma of a warpgroup: pcs per warp of its issue, and of the wait that covers it."""

    use: Use
    issued: dict[int, int] = field(default_factory=dict)
    waited: dict[int, int] = field(default_factory=dict)
    group: int = 0


@dataclass(slots=True)
class Machine:
    """A translated cluster, of one CTA mostly. Chain 2w is the elected lane of warp w, 2w + 1 its
    other lanes; warps are counted through the CTAs by rank.

    ``full``: named barriers whose every round takes all warps that use them, by bar.sync.
    ``trouble``: what is wrong in every execution, found while translating.
    """

    chains: list[list[Act]]
    barriers: int
    named: int
    atoms: int
    shared: int  # atoms in shared memory
    flights: list[Flight]
    mmas: list[list[Mma]]
    commits: dict[int, list[int]]  # warp: pcs of its wgmma commits
    group_of: dict[int, int]  # warp: warpgroup
    full: frozenset[int]
    trouble: set[str]
    ctas: int = 1
    weak: bool = False  # relaxed arrivals or waits: for weak.py
    block: dict[int, int] = field(default_factory=dict)  # named barrier for all threads: its CTA
    states: int = 0  # slots of kept states
