"""The synchronisation skeleton of a cluster, mostly of one CTA: each observer's ops that others can
notice, and no data.

The search explores it. What is left out (accesses, fences, groups of one thread) neither blocks nor
enables anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import accumulate, product

from asyncsim.check.elections import Election, Elections
from asyncsim.check.model import Who
from asyncsim.check.peeks import peeks_of
from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, MaxNRegDirection, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.stream.dyn import BarrierKey, Dyn
from asyncsim.stream.program import Event
from asyncsim.sync import BLOCK

_StateOp = ops.MbarrierArriveOp | ops.MbarrierWaitState
_SCOPES = {Who.ELECTED: Scope.ELECTED, Who.OTHERS: Scope.OTHERS}

NAMED_BARRIERS = 16  # of a CTA

StateKey = tuple[int, Who, str | None]
"""A state register: warp, observer, name."""


class Move(Enum):
    """What an observer does next, as far as others can notice."""

    INIT = "init"
    INVAL = "inval"
    ARRIVE = "arrive"
    EXPECT = "expect"
    WAIT = "wait"
    WAIT_STATE = "wait by state"
    PEEK = "peek"
    COPY = "copy"
    MEET = "meet"  # all lanes of the warp
    BAR_ARRIVE = "bar arrive"
    BAR_WAIT = "bar wait"
    GIVE = "give registers"
    TAKE = "take registers"
    GROUP_COMMIT = "group commit"
    GROUP_WAIT = "group wait"


@dataclass(frozen=True, slots=True)
class SkeletonOp:
    """``target``: index of the mbarrier, id of the named barrier, 0 of the pool; ``count``:
    arrivals, parity, threads, groups covered, or registers a thread from then on (of a copy: the
    arrivals when it lands); ``tx``: bytes; ``raises``: the pending count, by a copy that is issued;
    ``pos``: position in the warp's stream; ``state``: index of the state register that an arrival
    writes or a wait tests, or of the token of a peek; ``drop``, ``no_complete``: of an arrival;
    ``quiet``: of a peek, whether it makes a difference to its wait alone; ``last``: of a wait,
    whether its token is free after it; ``election``: the one it is executed in."""

    move: Move
    pos: int
    target: int = -1
    count: int = 0
    tx: int = 0
    raises: int = 0
    state: int = -1
    drop: bool = False
    no_complete: bool = False
    quiet: bool = False
    last: bool = False
    election: Election | None = None


@dataclass(slots=True)
class Thread:
    """One observer's skeleton. ``rest[pc]``: the barriers that it still uses from pc on."""

    warp: int
    who: Who
    ops: list[SkeletonOp] = field(default_factory=list)
    rest: list[frozenset[tuple[str, int]]] = field(default_factory=list)


@dataclass(slots=True)
class Skeleton:
    """``threads``: two per warp, elected lane first, of all CTAs of the cluster by rank, each of
    ``warps`` warps. ``commits[warp]``: pcs of its wgmma commits. ``named``: barriers by
    ``bar_target``; the last one is that of the cluster.

    ``full``: the named barriers whose every round takes all warps that use them, and waits.
    ``left``: the block barriers that some warps of their CTA use less often than others: those are
    not waited for once they have ended.
    ``held[warp][pc]``: registers a thread that it holds when its elected lane is at pc.
    ``states``: how many state registers all threads have together.
    """

    threads: list[Thread]
    barriers: list[BarrierKey]
    named: list[int]
    groups: dict[int, tuple[int, ...]]
    commits: dict[int, list[int]]
    full: frozenset[int]
    left: frozenset[int]
    held: list[list[int]]
    states: int
    warps: int

    @property
    def cluster(self) -> int:
        """The target of the cluster's barrier."""
        return bar_target(len(self.held) // self.warps, 0)


def bar_target(rank: int, id: int) -> int:
    """The target of a CTA's barrier; behind those of the last CTA, that of the cluster."""
    return NAMED_BARRIERS * rank + id


def build_skeleton(schedule: Schedule, events: Sequence[Sequence[Event]]) -> Skeleton:
    """The skeleton of materialised streams, one per warp of each CTA of the cluster."""
    found: dict[BarrierKey, int] = {}
    named: dict[int, None] = {}
    threads: list[Thread] = []
    commits: dict[int, list[int]] = {}
    states: dict[StateKey, int] = {}
    elections = Elections(schedule)
    for warp, stream in enumerate(events):
        pair = Thread(warp, Who.ELECTED), Thread(warp, Who.OTHERS)
        commits[warp] = []
        for pos, event in enumerate(stream):
            made = len(pair[0].ops), len(pair[1].ops)
            if not _add_bar(pair, pos, event[0].op, event[0].value, named, warp, schedule):
                _add(pair, pos, event[0], found, commits[warp], states)
            if (election := elections.of(event)) is not None:
                for thread, first in zip(pair, made, strict=True):
                    new = thread.ops[first:]
                    thread.ops[first:] = [replace(op, election=election) for op in new]
        for thread in pair:
            _mark_peeks(thread, stream)
        threads += pair
    for thread in threads:
        users: frozenset[tuple[str, int]] = frozenset()
        thread.rest = [users]
        for op in reversed(thread.ops):
            if op.target >= 0:
                users |= {(space_of(op.move), op.target)}
            thread.rest.append(users)
        thread.rest.reverse()
    groups: dict[int, tuple[int, ...]] = {}
    for cta, role in product(range(0, len(events), schedule.warps), schedule.roles()):
        start = cta + role.first_warp
        for first in range(start, start + role.warps // 4 * 4, 4):
            for w in range(first, first + 4):
                groups[w] = tuple(range(first, first + 4))
    held = [list(accumulate(t.ops, _held, initial=schedule.maxnreg)) for t in threads[::2]]
    return Skeleton(
        threads,
        list(found),
        list(named),
        groups,
        commits,
        _full(threads),
        _left_early(threads, schedule.warps),
        held,
        len(states),
        schedule.warps,
    )


def _mark_peeks(thread: Thread, stream: Sequence[Event]) -> None:
    """What the search may leave out of its states."""
    if not any(op.move is Move.PEEK for op in thread.ops):
        return
    peeks = peeks_of(stream, _SCOPES[thread.who])
    for i, op in enumerate(thread.ops):
        if op.move is Move.PEEK:
            state = -1 if op.pos in peeks.unused else op.state
            thread.ops[i] = replace(op, state=state, quiet=op.pos in peeks.quiet)
        elif op.move is Move.WAIT and op.pos in peeks.last:
            thread.ops[i] = replace(op, last=True)


def _held(before: int, op: SkeletonOp) -> int:
    return op.count if op.move in (Move.GIVE, Move.TAKE) else before


def _full(threads: list[Thread]) -> frozenset[int]:
    users: dict[int, set[int]] = {}
    counts: dict[int, set[int]] = {}
    loose: set[int] = set()
    for thread in threads:
        for op, after in zip(thread.ops, [*thread.ops[1:], None], strict=True):
            if op.move is Move.BAR_ARRIVE:
                users.setdefault(op.target, set()).add(thread.warp)
                counts.setdefault(op.target, set()).add(op.count)
                if after is None or after.move is not Move.BAR_WAIT:
                    loose.add(op.target)
    return frozenset(
        id for id, warps in users.items() if id not in loose and counts[id] == {32 * len(warps)}
    )


def _left_early(threads: list[Thread], warps: int) -> frozenset[int]:
    found = set()
    for rank in range(len(threads) // (2 * warps)):
        target = bar_target(rank, BLOCK)
        own = threads[2 * warps * rank : 2 * warps * (rank + 1) : 2]
        rounds = {sum(_arrives(op, target) for op in thread.ops) for thread in own}
        if len(rounds) > 1:
            found.add(target)
    return frozenset(found)


def _arrives(op: SkeletonOp, target: int) -> bool:
    return op.move is Move.BAR_ARRIVE and op.target == target


def space_of(move: Move) -> str:
    """What the targets of a move number."""
    if move is Move.TAKE:
        return "pool"
    return "bar" if move in (Move.BAR_ARRIVE, Move.BAR_WAIT) else "mbarrier"


def _add(
    pair: tuple[Thread, Thread],
    pos: int,
    dyn: Dyn,
    found: dict[BarrierKey, int],
    commits: list[int],
    states: dict[StateKey, int],
) -> None:
    op = dyn.op
    elected = pair[0].ops
    targets = [found.setdefault(key, len(found)) for key in dyn.barriers] or [-1]
    match op:
        case ops.SetMaxNReg(direction=direction, count=count):
            _meet(pair, pos)
            takes = direction is MaxNRegDirection.INC
            elected.append(
                SkeletonOp(Move.TAKE if takes else Move.GIVE, pos, 0 if takes else -1, count)
            )
            _meet(pair, pos)
            return
        case ops.CommitGroup(kind=GroupKind.WGMMA):
            _meet(pair, pos)
            commits.append(len(elected))
            elected.append(SkeletonOp(Move.GROUP_COMMIT, pos))
            return
        case ops.WaitGroup(kind=GroupKind.WGMMA, n=n):
            _meet(pair, pos)
            elected.append(SkeletonOp(Move.GROUP_WAIT, pos, count=max(0, len(commits) - n)))
            _meet(pair, pos)
            return
        case _ if op.scope in (Scope.WARP, Scope.WARPGROUP):
            _meet(pair, pos)
            return
        case _:
            pass
    name = op.state if isinstance(op, _StateOp) else _token(op)
    for thread in pair:
        if op.scope not in (Scope.ALL_LANES, _SCOPES[thread.who]):
            continue
        lanes = 1 if thread.who is Who.ELECTED else 31
        key = thread.warp, thread.who, name
        state = states.setdefault(key, len(states)) if name is not None else -1
        for target in targets:  # a multicast lands in each CTA on its own
            made = _own(op, pos, dyn, target, lanes, state)
            if made is not None:
                thread.ops.append(made)


def _add_bar(
    pair: tuple[Thread, Thread],
    pos: int,
    op: ops.Op,
    threads: int,
    named: dict[int, None],
    warp: int,
    schedule: Schedule,
) -> bool:
    """Add an op on a barrier of the block or of the cluster; whether it is one."""
    elected, cluster = pair[0].ops, bar_target(schedule.cluster_ctas, 0)
    match op:
        case ops.BarSync(barrier=id) | ops.BarArrive(barrier=id):
            target = bar_target(warp // schedule.warps, id)
        case ops.BarrierClusterArrive() | ops.BarrierClusterWait():
            target, threads = cluster, 32 * schedule.warps * schedule.cluster_ctas
        case _:
            return False
    named.setdefault(target)
    if not isinstance(op, ops.BarrierClusterWait):
        _meet(pair, pos)
        elected.append(SkeletonOp(Move.BAR_ARRIVE, pos, target, threads))
    if isinstance(op, ops.BarSync | ops.BarrierClusterWait):
        elected.append(SkeletonOp(Move.BAR_WAIT, pos, target))
        _meet(pair, pos)
    return True


def _token(op: ops.Op) -> str | None:
    match op:
        case ops.MbarrierTestWait(token=token) | ops.MbarrierWait(peek=token):
            return token
        case _:
            return None


def _own(op: ops.Op, pos: int, dyn: Dyn, target: int, lanes: int, state: int) -> SkeletonOp | None:
    match op:
        case ops.MbarrierInit():
            return SkeletonOp(Move.INIT, pos, target, dyn.value)
        case ops.MbarrierInval():
            return SkeletonOp(Move.INVAL, pos, target)
        case ops.MbarrierArrive():
            made = SkeletonOp(Move.ARRIVE, pos, target, dyn.value * lanes, state=state)
            return replace(made, drop=op.drop, no_complete=op.no_complete)
        case ops.MbarrierCompleteTx():
            return SkeletonOp(Move.ARRIVE, pos, target, 0, -dyn.value * lanes)
        case ops.MbarrierArriveExpectTx():
            return SkeletonOp(Move.ARRIVE, pos, target, lanes, dyn.value * lanes, state=state)
        case ops.MbarrierExpectTx():
            return SkeletonOp(Move.EXPECT, pos, target, 0, dyn.value * lanes)
        case ops.MbarrierWait():
            return SkeletonOp(Move.WAIT, pos, target, dyn.value, state=state)
        case ops.MbarrierTestWait():
            return SkeletonOp(Move.PEEK, pos, target, dyn.value, state=state)
        case ops.MbarrierWaitState():
            return SkeletonOp(Move.WAIT_STATE, pos, target, state=state)
        case ops.CpAsyncMbarrierArrive(noinc=noinc):
            return SkeletonOp(Move.COPY, pos, target, lanes, raises=0 if noinc else lanes)
        case ops.TmaLoad() | ops.BulkLoad() | ops.ClcTryCancel():
            return SkeletonOp(Move.COPY, pos, target, 0, dyn.value * lanes)
        case _:
            return None


def _meet(pair: tuple[Thread, Thread], pos: int) -> None:
    """All lanes meet; a meeting right after a meeting adds nothing."""
    if all(t.ops and t.ops[-1].move is Move.MEET for t in pair):
        return
    for thread in pair:
        thread.ops.append(SkeletonOp(Move.MEET, pos))


def some_leave_early(skeleton: Skeleton) -> bool:
    """Whether a warp ends that rounds of the cluster barrier go on without."""
    rounds = {
        sum(_arrives(op, skeleton.cluster) for op in thread.ops) for thread in skeleton.threads[::2]
    }
    return len(rounds) > 1


def lives_twice(skeleton: Skeleton) -> bool:
    """Whether some mbarrier is initialised more than once."""
    inits = [op.target for t in skeleton.threads for op in t.ops if op.move is Move.INIT]
    return len(set(inits)) < len(inits)
