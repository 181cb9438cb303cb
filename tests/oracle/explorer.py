"""The oracle: every interleaving of a small case, by brute force, sequentially consistent.

It shares no code with the checker. A race is a state in which two conflicting accesses could both
happen next, or one while a copy to the same cell is in flight.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.oracle.program import Case, Op, elections

MAX_STATES = 60_000


class TooLarge(Exception):
    """The case has more states than the explorer visits."""


class LanesPart(TooLarge):
    """A phase can end between two lanes of one instruction: they are one chain here."""


@dataclass(frozen=True)
class State:
    pcs: tuple[int, ...]
    bars: tuple[tuple[int, int, int] | None, ...]  # generation, pending, tx; None before init
    named: tuple[tuple[int, int, frozenset[int]], ...]  # rounds done, threads agreed, arrived
    held: tuple[int | None, ...]  # round of the bar.sync a thread is in
    flying: frozenset[tuple[int, int]]
    cells: tuple[object, ...]
    kept: tuple[tuple[int, int] | None, ...]  # barrier and generation of a chain's kept state
    groups: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]  # per thread; the last one is open


WRITES = ("write", "copy", "cp_async")


def explore(case: Case) -> set[str]:
    """Everything that can go wrong: hang, fault, race, wrong, bytes, outstanding. "parted": only
    lanes can go on that an election may hold until others of their warp are through with it."""
    return _Explorer(case).run()


Link = tuple[Op, int, "int | None"]
"""An op of a chain, its place in the thread, and the number of its election."""


def _chains(case: Case) -> tuple[list[tuple[Link, ...]], list[int]]:
    """Two chains a thread: the elected lane, and the other 31 lanes."""
    chains: list[tuple[Link, ...]] = []
    meet = Op("meet")
    for thread in case.threads:
        elected: list[Link] = []
        others: list[Link] = []
        alone = not any(op.wide or op.others or op.kind == "meet" for op in thread)
        for at, (op, election) in enumerate(zip(thread, elections(thread), strict=True)):
            if op.kind in ("sync", "bar_arrive") and not alone:
                elected += [(meet, at, None), (op, at, None), (meet, at, None)]
                others += [(meet, at, None), (meet, at, None)]
                continue
            if not op.others:
                elected.append((op, at, election))
            if op.wide or op.others or op.kind == "meet":
                others.append((op, at, election))
        chains += [tuple(elected), tuple(others)]
    return chains, [1, 31] * len(case.threads)


class _Explorer:
    def __init__(self, case: Case) -> None:
        self.case = case
        ids = {o.b for t in case.threads for o in t if o.kind in ("sync", "bar_arrive")}
        self.ids = sorted(ids)
        self.links, self.lanes = _chains(case)
        self.chains = [tuple(op for op, _, _ in links) for links in self.links]
        self.trouble: set[str] = set()

    def run(self) -> set[str]:
        case = self.case
        n = len(self.chains)
        start = State(
            (0,) * n,
            tuple(None if i in case.late else (0, c, 0) for i, c in enumerate(case.counts)),
            ((0, 0, frozenset()),) * len(self.ids),
            (None,) * n,
            frozenset(),
            (None,) * case.cells,
            (None,) * n,
            (((),),) * n,
        )
        seen = {start}
        stack = [start]
        while stack:
            state = stack.pop()
            if len(seen) > MAX_STATES:
                raise TooLarge
            self._races(state)
            after = self._after(state)
            if not after:
                self._end(state)
            for s in after:
                if s not in seen:
                    seen.add(s)
                    stack.append(s)
        return self.trouble

    def _next(self, state: State, i: int) -> Op | None:
        pc = state.pcs[i]
        thread = self.chains[i]
        return thread[pc] if pc < len(thread) else None

    def _end(self, state: State) -> None:
        if any(self._next(state, i) for i in range(len(self.chains))):
            self.trouble.add("hang")
            return
        for bar in state.bars:
            if bar is not None and bar[1] == 0 and bar[2] < 0:
                self.trouble.add("bytes")

    def _races(self, state: State) -> None:
        users: list[tuple[int, bool, object]] = []
        for thread, pc in state.flying:
            users.append((self.chains[thread][pc].cell, True, "copy"))
        live = False
        for i in range(len(self.chains)):
            op = self._next(state, i)
            live |= op is not None
            if op is not None and op.kind in ("read", *WRITES):
                users.append((op.cell, op.kind in WRITES, i))
        for a in range(len(users)):
            for b in range(a):
                if users[a][0] == users[b][0] and (users[a][1] or users[b][1]):
                    self.trouble.add("race")
        if not live and any(self.chains[t][pc].kind == "copy" for t, pc in state.flying):
            self.trouble.add("outstanding")

    def _after(self, state: State) -> list[State]:
        found = []
        held = True
        for i in range(len(self.chains)):
            op = self._next(state, i)
            if op is not None:
                try:
                    s = self._step(state, i, op)
                except OverflowError:
                    self.trouble.add("fault")
                    continue
                if s is not None:
                    found.append(s)
                    held = held and self._ahead(state, i)
        if found and held and not state.flying:
            self.trouble.add("parted")
        for flight in state.flying:
            try:
                found.append(self._land(state, flight))
            except OverflowError:
                self.trouble.add("fault")
        return found

    def _ahead(self, state: State, i: int) -> bool:
        """Whether a chain is past the election, or the op, that its twin is at."""
        twin, pc = self.links[i ^ 1], state.pcs[i ^ 1]
        if pc >= len(twin):
            return False
        _, there, inside = twin[pc]
        _, here, election = self.links[i][state.pcs[i]]
        return there < here and (election is None or election != inside)

    def _advance(self, state: State, i: int, **changes: object) -> State:
        fields = {f: getattr(state, f) for f in State.__dataclass_fields__}
        fields.update(changes)
        pcs = list(state.pcs)
        pcs[i] += 1
        fields["pcs"] = tuple(pcs)
        return State(**fields)

    def _bar(self, state: State, b: int, arrivals: int, tx: int, *, counts: bool = True):
        bar = state.bars[b]
        if bar is None:
            raise OverflowError("not initialised")
        generation, pending, bytes_ = bar
        if arrivals > pending:
            if arrivals % 31 == 0 and arrivals + arrivals // 31 <= self.case.counts[b]:
                raise LanesPart  # but a phase takes all lanes of a warp
            raise OverflowError("too many arrivals")
        pending, bytes_ = pending - arrivals, bytes_ + tx
        if counts and pending == 0 and bytes_ == 0:
            generation, pending = generation + 1, self.case.counts[b]
        return (*state.bars[:b], (generation, pending, bytes_), *state.bars[b + 1 :])

    def _step(self, state: State, i: int, op: Op) -> State | None:
        match op.kind:
            case "init":
                if state.bars[op.b] is not None:
                    raise OverflowError("init of a live barrier")
                bars = (*state.bars[: op.b], (0, op.n, 0), *state.bars[op.b + 1 :])
                return self._advance(state, i, bars=bars)
            case "arrive":
                bars = self._bar(state, op.b, op.n * self.lanes[i], 0)
                return self._advance(state, i, bars=bars, kept=self._kept(state, i, op))
            case "expect":
                bars = self._bar(state, op.b, 0, op.n, counts=False)
                return self._advance(state, i, bars=bars)
            case "arrive_expect":
                lanes = self.lanes[i]
                bars = self._bar(state, op.b, lanes, op.n * lanes)
                return self._advance(state, i, bars=bars, kept=self._kept(state, i, op))
            case "wait":
                bar = state.bars[op.b]
                if bar is None:
                    raise OverflowError("not initialised")
                return self._advance(state, i) if bar[0] % 2 != op.n else None
            case "wait_state":
                bar, kept = state.bars[op.b], state.kept[i]
                if bar is None or kept is None or kept[0] != op.b or bar[0] > kept[1] + 1:
                    raise OverflowError("a state that may not be tested")
                return self._advance(state, i) if bar[0] == kept[1] + 1 else None
            case "copy":
                if state.bars[op.b] is None:
                    raise OverflowError("not initialised")
                return self._advance(state, i, flying=state.flying | {(i, state.pcs[i])})
            case "read":
                held = state.cells[op.cell]
                meant = op.tag is None or held in (("any",), op.tag)
                if held is None or not meant:
                    self.trouble.add("wrong")
                return self._advance(state, i)
            case "write":
                cells = (*state.cells[: op.cell], ("any",), *state.cells[op.cell + 1 :])
                return self._advance(state, i, cells=cells)
            case "cp_async":
                me = (i, state.pcs[i])
                mine = state.groups[i]
                groups = (*mine[:-1], (*mine[-1], me))
                return self._advance(
                    state, i, flying=state.flying | {me}, groups=self._groups(state, i, groups)
                )
            case "commit":
                groups = (*state.groups[i], ())
                return self._advance(state, i, groups=self._groups(state, i, groups))
            case "wait_group":
                *closed, _open = state.groups[i]
                due = closed[: max(0, len(closed) - op.n)]
                if any(f in state.flying for g in due for f in g):
                    return None
                return self._advance(state, i)
            case "meet":
                twin = self._next(state, i ^ 1)
                if twin is None or twin.kind != "meet":
                    return None
                pcs = list(state.pcs)
                pcs[i] += 1
                pcs[i ^ 1] += 1
                fields = {f: getattr(state, f) for f in State.__dataclass_fields__}
                return State(**{**fields, "pcs": tuple(pcs)})
            case "sync" | "bar_arrive":
                return self._named(state, i, op)
            case _:
                raise AssertionError(op.kind)

    def _kept(self, state: State, i: int, op: Op) -> object:
        bar = state.bars[op.b]
        if not op.keep or bar is None:
            return state.kept
        return (*state.kept[:i], (op.b, bar[0]), *state.kept[i + 1 :])

    def _groups(self, state: State, i: int, groups: object):
        return (*state.groups[:i], groups, *state.groups[i + 1 :])

    def _named(self, state: State, i: int, op: Op) -> State | None:
        n = self.ids.index(op.b)
        done, agreed, arrived = state.named[n]
        if state.held[i] is not None:
            if done <= state.held[i]:
                return None
            return self._advance(state, i, held=(*state.held[:i], None, *state.held[i + 1 :]))
        if (agreed and agreed != op.n) or i in arrived:
            raise OverflowError("named barrier")
        arrived = arrived | {i}
        after = (done, op.n, arrived)
        if 32 * len(arrived) >= op.n:
            after = (done + 1, 0, frozenset())
        named = (*state.named[:n], after, *state.named[n + 1 :])
        if op.kind == "bar_arrive":
            return self._advance(state, i, named=named)
        fields = {f: getattr(state, f) for f in State.__dataclass_fields__}
        fields["named"] = named
        fields["held"] = (*state.held[:i], done, *state.held[i + 1 :])
        return State(**fields)

    def _land(self, state: State, flight: tuple[int, int]) -> State:
        op = self.chains[flight[0]][flight[1]]
        fields = {f: getattr(state, f) for f in State.__dataclass_fields__}
        fields["flying"] = state.flying - {flight}
        fields["cells"] = (*state.cells[: op.cell], op.tag, *state.cells[op.cell + 1 :])
        if op.kind == "copy":
            fields["bars"] = self._bar(state, op.b, 0, -1)
        return State(**fields)
