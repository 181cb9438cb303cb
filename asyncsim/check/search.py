"""The search behind a failing condition: every reachable state of the skeleton, breadth first.

A state says where each observer is, what is in flight, and what each barrier has counted. Besides,
it remembers how the execution so far differs from the reference in the generation that an op counts
in or a wait observes: executions that agree in that have the same happens-before graph, so one of
them is replayed with clocks and speaks for the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from asyncsim.check.skeleton import NAMED_BARRIERS, Move, Skeleton, SkeletonOp, space_of

MAX_REPLAYS = 2000
# What once it can happen stays so, and only lets others go on.
_ALWAYS = frozenset({Move.MEET, Move.GROUP_COMMIT, Move.GROUP_WAIT, Move.BAR_WAIT, Move.GIVE})

State = tuple[
    tuple[int, ...],  # pc of each thread
    tuple[tuple[int, int, int, int], ...],  # mbarriers: generation (-1: dead), count, pending, tx
    tuple[tuple[int, int, int], ...],  # named barriers: round, threads, warps arrived (bits)
    tuple[int, ...],  # round in which each thread arrived
    frozenset[tuple[int, int]],  # copies in flight: thread, pc
    tuple[tuple[int, int], ...],  # state registers: mbarrier and generation, -1 before the first
    int,  # which difference from the reference
]


@dataclass(frozen=True, slots=True)
class Choice:
    """A step of a path: a thread executes its op at ``pc``, or that copy of it lands."""

    thread: int
    pc: int
    lands: bool = False


class Outcome:
    """Ways a path ends."""

    FINISHED, HANG, FAULT = "finished", "hang", "fault"


Replay = Callable[[list[Choice]], bool]
"""Run a path with clocks; True if that shows a failure, which ends the search."""


@dataclass(slots=True)
class SearchResult:
    """``found``: a replay showed a failure. ``exhausted``: every state was visited. ``parted``: in
    some state nobody could go on but lanes that an election holds (see elections.py)."""

    found: bool = False
    parted: bool = False
    exhausted: bool = False
    states: int = 0


@dataclass(slots=True)
class _Differences:
    """Sets of deviations from the reference's generations, numbered."""

    reference: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    sets: dict[frozenset[tuple[int, int, bool, int]], int] = field(
        default_factory=lambda: {frozenset(): 0}
    )
    by_number: list[frozenset[tuple[int, int, bool, int]]] = field(
        default_factory=lambda: [frozenset()]
    )

    def after(self, number: int, thread: int, pc: int, lands: bool, generation: int) -> int:
        key = thread, pc, lands
        if self.reference.setdefault(key, generation) == generation:
            return number
        deviation = self.by_number[number] | {(*key, generation)}
        known = self.sets.get(deviation)
        if known is None:
            known = self.sets[deviation] = len(self.by_number)
            self.by_number.append(deviation)
        return known

    def value(self, number: int, thread: int, pc: int) -> int:
        """The generation that an op, which has been executed, counted in or saw."""
        own = (g for *key, g in self.by_number[number] if key == [thread, pc, False])
        return next(own, self.reference[thread, pc, False])


class Search:
    """Explores a skeleton within a budget of states."""

    def __init__(self, skeleton: Skeleton, replay: Replay, max_states: int) -> None:
        self._s, self._replay, self._max = skeleton, replay, max_states
        self._named = {id: i for i, id in enumerate(skeleton.named)}
        self._differences = _Differences()
        self._parents: dict[State, tuple[State, Choice] | None] = {}
        self._result = SearchResult()

    def run(self) -> SearchResult:
        result = self._result
        start: State = (
            (0,) * len(self._s.threads),
            ((-1, 0, 0, 0),) * len(self._s.barriers),
            ((0, 0, 0),) * len(self._s.named),
            (0,) * len(self._s.threads),
            frozenset(),
            ((-1, -1),) * self._s.states,
            0,
        )
        self._parents[start] = None
        queue: deque[State] = deque([start])
        replayed: set[int] = set()
        while queue:
            state = queue.popleft()
            result.states += 1
            if result.states > self._max:
                return result
            moved = False
            for choice, after in self._successors(state):
                moved = True
                if after is None:
                    result.found = self._replay([*self._path(state), choice])
                    return result
                if after not in self._parents:
                    self._parents[after] = state, choice
                    queue.append(after)
            if moved:
                continue
            if not self._finished(state):
                result.found = self._replay(self._path(state))
                return result
            if state[6] not in replayed:
                replayed.add(state[6])
                if len(replayed) > MAX_REPLAYS:
                    return result
                if self._replay(self._path(state)):
                    result.found = True
                    return result
        result.exhausted = True
        return result

    def _path(self, state: State) -> list[Choice]:
        path = []
        while (link := self._parents[state]) is not None:
            state, choice = link
            path.append(choice)
        return path[::-1]

    def _finished(self, state: State) -> bool:
        return all(pc == len(t.ops) for pc, t in zip(state[0], self._s.threads, strict=True))

    # -- transitions ---------------------------------------------------------------------------

    def _successors(self, state: State) -> Iterator[tuple[Choice, State | None]]:
        """What can happen next; None after a fault. One independent step stands for all."""
        enabled = []
        for i, (pc, thread) in enumerate(zip(state[0], self._s.threads, strict=True)):
            if pc < len(thread.ops) and self._enabled(state, i, thread.ops[pc]):
                if self._independent(state, i, thread.ops[pc]):
                    self._result.parted |= self._held(state, i) and self._all_held(state)
                    yield Choice(i, pc), self._execute(state, i, pc)
                    return
                enabled.append((i, pc))
        self._result.parted |= bool(enabled) and self._all_held(state)
        for i, pc in enabled:
            yield Choice(i, pc), self._execute(state, i, pc)
        for i, pc in sorted(state[4]):
            yield Choice(i, pc, lands=True), self._land(state, i, pc)

    def _all_held(self, state: State) -> bool:
        """Whether all who can go on are lanes that others of their warp hold."""
        return not state[4] and all(
            self._held(state, i)
            for i, (pc, t) in enumerate(zip(state[0], self._s.threads, strict=True))
            if pc < len(t.ops) and self._enabled(state, i, t.ops[pc])
        )

    def _held(self, state: State, i: int) -> bool:
        """Whether lanes are past an election, or an op, that others of their warp are at."""
        pc, behind = state[0][i ^ 1], self._s.threads[i ^ 1].ops
        op = self._s.threads[i].ops[state[0][i]]
        if pc >= len(behind) or behind[pc].pos >= op.pos:
            return False
        return op.election is None or op.election != behind[pc].election

    def _enabled(self, state: State, i: int, op: SkeletonOp) -> bool:
        match op.move:
            case Move.WAIT:
                generation = state[1][op.target][0]
                if op.state >= 0 and state[5][op.state] != _FAILED:
                    return True  # its peek has passed
                return generation < 0 or (generation & 1) != op.count  # a dead one is a fault
            case Move.WAIT_STATE:
                current = op.target, state[1][op.target][0]
                return state[5][op.state] != current  # it is over, or the wait is a fault
            case Move.MEET:
                twin = i ^ 1
                pc = state[0][twin]
                ops = self._s.threads[twin].ops
                return pc < len(ops) and ops[pc].move is Move.MEET
            case Move.BAR_WAIT:
                return state[2][self._named[op.target]][0] > state[3][self._round(i, op)]
            case Move.TAKE:
                return self._has_registers(state, i, op)
            case Move.GROUP_WAIT:
                warps = self._s.groups[self._s.threads[i].warp]
                return all(self._committed(state, w, op.count) for w in warps)
            case _:
                return True

    def _round(self, i: int, op: SkeletonOp) -> int:
        """Where a warp keeps the round that it has arrived in. That of the cluster's barrier is in
        the place of its other lanes: between the arrive and the wait it may meet its CTA."""
        return i ^ (op.target == self._s.cluster)

    def _has_registers(self, state: State, i: int, op: SkeletonOp) -> bool:
        n = self._s.warps
        cta = slice(i // 2 // n * n, i // 2 // n * n + n)
        held = [of[pc] for of, pc in zip(self._s.held[cta], state[0][::2][cta], strict=True)]
        free = sum(of[0] for of in self._s.held[cta]) - sum(held)
        return op.count - held[i // 2 % n] <= free

    def _committed(self, state: State, warp: int, groups: int) -> bool:
        if groups == 0:
            return True
        commits = self._s.commits[warp]
        return groups <= len(commits) and state[0][2 * warp] > commits[groups - 1]

    def _independent(self, state: State, i: int, op: SkeletonOp) -> bool:
        """Whether nothing that others may still do can change or notice the order."""
        if op.move in _ALWAYS:
            return True
        if op.move is Move.BAR_ARRIVE and op.target in self._s.full:
            return True
        key = space_of(op.move), op.target
        if any(self._s.threads[j].ops[pc].target == op.target for j, pc in state[4]):
            return False
        return all(
            j == i or key not in self._s.threads[j].rest[pc] for j, pc in enumerate(state[0])
        )

    def _execute(self, state: State, i: int, pc: int) -> State | None:
        pcs, barriers, named, rounds, flying, held, difference = state
        op = self._s.threads[i].ops[pc]
        moved = list(pcs)
        moved[i] += 1
        match op.move:
            case Move.MEET:
                moved[i ^ 1] += 1
            case Move.BAR_ARRIVE:
                n = self._named[op.target]
                after = self._bar(named[n], self._s.threads[i].warp, op.count)
                if after is None:
                    return None
                difference = self._differences.after(difference, i, pc, False, named[n][0])
                at = self._round(i, op)
                rounds = (*rounds[:at], named[n][0], *rounds[at + 1 :])
                named = (*named[:n], after, *named[n + 1 :])
            case Move.COPY:
                b = barriers[op.target]
                if b[0] < 0:
                    return None
                if op.raises:
                    difference = self._differences.after(difference, i, pc, False, b[0])
                    raised = (*b[:2], b[2] + op.raises, b[3])
                    barriers = (*barriers[: op.target], raised, *barriers[op.target + 1 :])
                flying = flying | {(i, pc)}
            case Move.BAR_WAIT | Move.GROUP_COMMIT | Move.GROUP_WAIT | Move.GIVE | Move.TAKE:
                pass
            case _:
                b = barriers[op.target]
                changed = _mbarrier(b, op)
                if changed is None:
                    return None
                if op.move is Move.WAIT_STATE and held[op.state] != (op.target, b[0] - 1):
                    return None
                generation = b[0] - (op.move in (Move.WAIT, Move.WAIT_STATE))
                if op.move is Move.PEEK:
                    passed = (b[0] & 1) != op.count
                    if op.state >= 0:
                        token = (op.target, generation - 1) if passed else _FAILED
                        held = _put(held, op.state, token)
                    news = passed and generation > self._known(difference, i, pc)
                    generation = generation - 1 if news and not op.quiet else _NO_NEWS
                elif op.move is Move.WAIT and op.state >= 0:
                    if held[op.state] != _FAILED:
                        generation = held[op.state][1]
                    if op.last:
                        held = _put(held, op.state, _FAILED)
                elif op.move is Move.ARRIVE and op.state >= 0:
                    held = _put(held, op.state, (op.target, b[0]))
                difference = self._differences.after(difference, i, pc, False, generation)
                barriers = (*barriers[: op.target], changed, *barriers[op.target + 1 :])
        if self._s.left:
            named = self._without_ended(moved, i, named)
        return (tuple(moved), barriers, named, rounds, flying, held, difference)

    def _known(self, difference: int, i: int, pc: int) -> int:
        """How many phases of an op's barrier its observer saw complete at its last wait for it."""
        ops = self._s.threads[i].ops
        for before in range(pc - 1, -1, -1):
            if ops[before].move is Move.WAIT and ops[before].target == ops[pc].target:
                return 1 + self._differences.value(difference, i, before)
        return 0

    def _land(self, state: State, i: int, pc: int) -> State | None:
        pcs, barriers, named, rounds, flying, held, difference = state
        op = self._s.threads[i].ops[pc]
        b = barriers[op.target]
        if b[0] < 0 or op.count > b[2]:
            return None
        difference = self._differences.after(difference, i, pc, True, b[0])
        after = _complete((b[0], b[1], b[2] - op.count, b[3] - op.tx))
        barriers = (*barriers[: op.target], after, *barriers[op.target + 1 :])
        return (pcs, barriers, named, rounds, flying - {(i, pc)}, held, difference)

    def _without_ended(
        self, pcs: list[int], i: int, named: tuple[tuple[int, int, int], ...]
    ) -> tuple[tuple[int, int, int], ...]:
        """The block barriers of a CTA once all its warps have arrived that have not ended."""
        rank = i // 2 // self._s.warps
        own = range(rank * self._s.warps, (rank + 1) * self._s.warps)
        for target in self._s.left:
            n = self._named[target]
            done, threads, arrived = named[n]
            if not arrived or target // NAMED_BARRIERS != rank:
                continue
            ended = sum(
                all(pcs[t] == len(self._s.threads[t].ops) for t in (2 * w, 2 * w + 1)) for w in own
            )
            if 32 * (arrived.bit_count() + ended) >= threads:
                named = (*named[:n], (done + 1, 0, 0), *named[n + 1 :])
        return named

    def _bar(self, b: tuple[int, int, int], warp: int, threads: int) -> tuple[int, int, int] | None:
        done, agreed, arrived = b
        if (agreed and agreed != threads) or arrived >> warp & 1:
            return None
        arrived |= 1 << warp
        if 32 * arrived.bit_count() >= threads:
            return (done + 1, 0, 0)
        return (done, threads, arrived)


Barrier = tuple[int, int, int, int]


_FAILED = (-1, -1)
"""What a token holds while its peek has not passed."""
_NO_NEWS = -2
"""The generation that a peek saw, if it tells its observer nothing."""


def _put(
    held: tuple[tuple[int, int], ...], at: int, value: tuple[int, int]
) -> tuple[tuple[int, int], ...]:
    return (*held[:at], value, *held[at + 1 :])


def _complete(b: Barrier) -> Barrier:
    generation, count, pending, tx = b
    if pending or tx:
        return b
    return (generation + 1, count, count, 0)


def _mbarrier(b: Barrier, op: SkeletonOp) -> Barrier | None:
    """An mbarrier after an op on it; None if the op is a fault."""
    generation, count, pending, tx = b
    if op.move is Move.INIT:
        return (0, op.count, op.count, 0) if generation < 0 else None
    if generation < 0:
        return None
    match op.move:
        case Move.INVAL:
            return (-1, 0, 0, 0)
        case Move.ARRIVE:
            if op.count > pending:
                return None
            count -= op.count if op.drop else 0
            after = generation, count, pending - op.count, tx + op.tx
            over = _complete(after)
            return None if count < 0 or (op.no_complete and over != after) else over
        case Move.EXPECT:
            return (generation, count, pending, tx + op.tx)
        case _:
            return b
