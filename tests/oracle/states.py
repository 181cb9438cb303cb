"""Every interleaving of a translated schedule, by brute force, sequentially consistent.

Shares no code with the checker. A race is a state in which two conflicting accesses could both
happen next, or one while another is in flight. Proxies are bits of each atom: a generic access sets
them, any proxy fence clears those of accesses before it. Where the next act of a chain depends on
nothing that others may still do, it stands for all orders.
"""

from __future__ import annotations

from tests.oracle import clusters, leaving, updates
from tests.oracle.acts import ANY, UNWRITTEN, Act, Do, Fault, Machine, Use
from tests.oracle.explorer import LanesPart, TooLarge
from tests.oracle.freedom import independent, landing_free
from tests.oracle.rest import rest_of, warpgroups
from tests.oracle.updates import Bar, arrived_on, counted_on, or_all, put, written_to

State = tuple[
    tuple[int, ...],  # pc of each chain
    tuple[Bar | None, ...],
    tuple[tuple[int, int, int], ...],  # named barriers: rounds done, threads agreed, warps arrived
    tuple[int, ...],  # round in which each warp arrived last
    int,  # copies in flight, one bit each
    tuple[int, ...],  # value of each atom
    int,  # atoms with a generic write, and
    int,  # with a generic read, that no proxy fence has covered
    tuple[tuple[int, int], ...],  # kept states: mbarrier and phase
    clusters.Round,
]


def explore(
    machine: Machine, max_states: int = 200_000, *, warnings: bool = True, reduced: bool = True
) -> set[str]:
    """The first trouble that is found; empty if there is none. Raises TooLarge.

    ``warnings``: what check only warns of is trouble, too. ``reduced``: one order for what nothing
    depends on.
    """
    if machine.trouble:
        return set(machine.trouble)
    return Explorer(machine, max_states, warnings, reduced).run()


class Explorer:
    def __init__(self, machine: Machine, max_states: int, warnings: bool, reduced: bool) -> None:
        self.m, self.max_states = machine, max_states
        self.warnings, self.reduced = warnings, reduced
        self.chains = machine.chains
        self.rank_of = [i * machine.ctas // len(self.chains) for i in range(len(self.chains))]
        self.rest = [rest_of(machine, i) for i in range(len(self.chains))]
        self.groups = warpgroups(machine)
        self.left = leaving.uneven(self)
        self.copies: list[tuple[int, Act]] = []
        self.copy_of: dict[tuple[int, int], int] = {}
        for i, acts in enumerate(self.chains):
            for pc, act in enumerate(acts):
                if act.do is Do.COPY:
                    self.copy_of[i, pc] = len(self.copies)
                    self.copies.append((i, act))
        self.landing: dict[tuple[int, int], list[Use]] = {}
        for f in machine.flights:
            if f.until is not None:
                self.landing.setdefault((f.chain, f.until), []).append(f.use)
        self.asynchronous = or_all(u.read | u.write for u in self._all_uses() if u.is_async)
        self.trouble: set[str] = set()
        self.parted = False
        self.states = 0

    def _all_uses(self) -> list[Use]:
        return [a.use for acts in self.chains for a in acts]

    def run(self) -> set[str]:
        n = len(self.chains)
        start: State = (
            (0,) * n,
            (None,) * self.m.barriers,
            ((0, 0, 0),) * self.m.named,
            (-1,) * (n // 2),
            0,
            (UNWRITTEN,) * self.m.shared + (ANY,) * (self.m.atoms - self.m.shared),
            0,
            0,
            ((-1, 0),) * self.m.states,
            clusters.begin(n // 2),
        )
        seen = {start}
        stack = [start]
        while stack and not self.trouble:
            state = stack.pop()
            self.states += 1
            if self.states > self.max_states:
                raise TooLarge
            self._races(state)
            after = self._successors(state)
            if not after and not self.trouble and not self.parted:
                self._end(state)
            for s in after:
                if s not in seen:
                    seen.add(s)
                    stack.append(s)
        if self.parted and not self.trouble:
            raise LanesPart
        return self.trouble

    # -- what is wrong in a state ----------------------------------------------------------------

    def _end(self, state: State) -> None:
        if any(pc < len(c) for pc, c in zip(state[0], self.chains, strict=True)):
            self.trouble.add("hang")
            return
        shared = (1 << self.m.shared) - 1
        for f in self.m.flights:
            if not (f.use.is_async or self.warnings):
                continue  # cp.async keeps the memory alive: such a copy is useless, not harmful
            late_read = f.read_until is None and f.use.read & shared
            if late_read or (f.until is None and f.use.write & shared):
                self.trouble.add("outstanding")
        for bar in state[1]:
            if bar is not None and bar[2] == 0 and bar[3] < 0:
                self.trouble.add("bytes")

    def _races(self, state: State) -> None:
        pcs = state[0]
        read = write = 0

        def users() -> list[tuple[int, int, int, int]]:
            found = []
            for i, pc in enumerate(pcs):
                rest = self.rest[i]
                if rest.flying_read[pc] or rest.flying_write[pc]:
                    found.append((rest.flying_read[pc], rest.flying_write[pc], -1, -1))
            for group in self.groups:
                begun = max(group.begun[w][pcs[2 * w]] for w in group.warps)
                over = max(group.over[w][pcs[2 * w]] for w in group.warps)
                found += [(m.use.read, 0, -1, -1) for m in group.mmas[over:begun]]
            for k, (_, act) in enumerate(self.copies):
                if state[4] >> k & 1:
                    found.append((act.use.read, act.use.write, -1, -1))
            return found

        for r, w, _, _ in users():
            if w & (read | write) or r & write:
                self.trouble.add("race")
            read, write = read | r, write | w
        for i, pc in enumerate(pcs):
            if pc == len(self.chains[i]):
                continue
            act = self.chains[i][pc]
            use = act.use
            if not (use.read or use.write):
                continue
            if act.do is Do.ACCESS and i % 2:  # the same instruction in two observers
                twin = self._next(pcs, i - 1)
                if twin is not None and twin.pos == act.pos and twin.use == use:
                    continue
            if use.write & (read | write) or use.read & write:
                self.trouble.add("race")
            read, write = read | use.read, write | use.write
        if state[4] and (over := clusters.exited(self, pcs)):
            flying = (a for k, (_, a) in enumerate(self.copies) if state[4] >> k & 1)
            if any(act.stays & over for act in flying):
                self.trouble.add("outstanding")

    def _next(self, pcs: tuple[int, ...], i: int) -> Act | None:
        return self.chains[i][pcs[i]] if pcs[i] < len(self.chains[i]) else None

    # -- what can happen next ------------------------------------------------------------------

    def _successors(self, state: State) -> list[State]:
        pcs = state[0]
        enabled = []
        for i, pc in enumerate(pcs):
            if pc < len(self.chains[i]):
                act = self.chains[i][pc]
                try:
                    if not self._enabled(state, i, act):
                        continue
                    if self.reduced and independent(self, state, i, act):
                        return [self._step(state, i, act)]
                except Fault:
                    self.trouble.add("fault")
                    return []
                enabled.append((i, act))
        found = []
        try:
            for k in range(len(self.copies)):
                flies = state[4] >> k & 1 and self._may_land(state, k)
                if self.reduced and flies and landing_free(self, state, k):
                    return [self._land(state, k)]
            for i, act in enabled:
                try:
                    found.append(self._step(state, i, act))
                except LanesPart:
                    self.parted = True
            for k in range(len(self.copies)):
                if state[4] >> k & 1 and self._may_land(state, k):
                    found.append(self._land(state, k))
        except Fault:
            self.trouble.add("fault")
        return found

    def _enabled(self, state: State, i: int, act: Act) -> bool:
        pcs = state[0]
        clusters.reaches(self, state, act)
        match act.do:
            case Do.CLUSTER_WAIT:
                return clusters.passes(state[9], i // 2)
            case Do.WAIT:
                bar = state[1][act.target]
                if act.kept >= 0 and state[8][act.kept] != NOT_PASSED:
                    return True  # its peek has passed: nobody looks
                if bar is None:
                    raise Fault
                return bar[0] % 2 != act.n
            case Do.WAIT_STATE:
                bar, (b, phase) = state[1][act.target], state[8][act.kept]
                if bar is None or b != act.target or bar[0] > phase + 1:
                    raise Fault  # not a state of this barrier, or of a phase too old to test
                return bar[0] == phase + 1
            case Do.MEET:
                twin = self._next(pcs, i ^ 1)
                return twin is not None and twin.do is Do.MEET
            case Do.BAR_WAIT:
                return state[2][act.target][0] > state[3][i // 2]
            case Do.MMA_WAIT:
                if act.target <= 0:
                    return True
                group = self.groups[self.m.group_of[i // 2]]
                return all(
                    len(self.m.commits[w]) >= act.target
                    and pcs[2 * w] > self.m.commits[w][act.target - 1]
                    for w in group.warps
                )
            case _:
                return True

    def ending(self, i: int, pc: int, act: Act) -> list[Use]:
        """The uses that a group wait ends."""
        if act.do is Do.RETIRE:
            return [f.use for f in self.m.flights if f.chain == i and pc in (f.until, f.read_until)]
        if act.do is Do.MMA_WAIT:
            group = self.groups[self.m.group_of[i // 2]]
            return [m.use for m in group.mmas if m.waited.get(i // 2) == pc]
        return []

    # -- doing it ------------------------------------------------------------------------------

    def _step(self, state: State, i: int, act: Act) -> State:
        pcs, bars, named, held, flying, values, dirty, read, kept, turn = state
        moved = list(pcs)
        moved[i] += 1
        match act.do:
            case Do.MEET:
                moved[i ^ 1] += 1
            case Do.INIT:
                if bars[act.target] is not None or act.n < 1:
                    raise Fault
                bars = put(bars, act.target, (0, act.n, act.n, 0, i + 1))
            case Do.INVAL:
                if bars[act.target] is None:
                    raise Fault
                bars = put(bars, act.target, None)
            case Do.ARRIVE:
                bar = bars[act.target]
                self._may_part(i, act, bar)
                self._published(i, act, bar)
                if act.kept >= 0 and bar is not None:
                    kept = put(kept, act.kept, (act.target, bar[0]))
                bars = put(bars, act.target, arrived_on(bars[act.target], act))
                if act.peers:
                    bars = updates.told(bars, self._barriers_of(self.rank_of[i]))
            case Do.PEEK:
                bar = bars[act.target]
                if bar is None:
                    raise Fault
                passed = bar[0] % 2 != act.n
                kept = put(kept, act.kept, (act.target, bar[0]) if passed else NOT_PASSED)
            case Do.EXPECT:
                bar = bars[act.target]
                if bar is None:
                    raise Fault
                self._published(i, act, bar)
                if act.tx < 0:  # complete_tx
                    bar = counted_on(bar, 0, act.tx)
                else:
                    bar = (*bar[:3], bar[3] + act.tx, bar[4])
                bars = put(bars, act.target, bar)
            case Do.COPY:
                bar = bars[act.target]
                if bar is None:
                    raise Fault
                self._published(i, act, bar)
                if act.use.is_async:
                    self._asynchronous(act.use, dirty, read)
                    self._read(act.use, values)
                bars = put(bars, act.target, (*bar[:2], bar[2] + act.raises, *bar[3:]))
                flying |= 1 << self.copy_of[i, pcs[i]]
            case Do.ISSUE | Do.MMA:
                if act.use.is_async:
                    self._asynchronous(act.use, dirty, read)
            case Do.ACCESS:
                self._read(act.use, values)
                values = written_to(values, act.use)
                dirty, read = dirty | act.use.write, read | act.use.read
            case Do.RETIRE:
                for use in self.landing.get((i, pcs[i]), ()):
                    values = written_to(values, use)
                    if not use.is_async:
                        dirty |= use.write
                        read |= use.read
            case Do.MMA_WAIT:
                pass
            case Do.FENCE_INIT:
                bars = tuple(b and ((*b[:4], updates.FENCED) if b[4] == i + 1 else b) for b in bars)
            case Do.FENCE_PROXY:
                dirty, read = dirty & ~act.space, read & ~act.space
                bars = updates.fenced(bars, act.fences_inits, self._barriers_of(self.rank_of[i]))
            case Do.BAR_ARRIVE:
                done, agreed, arrived = named[act.target]
                bit = 1 << (i // 2)
                if (agreed and agreed != act.n) or arrived & bit:
                    raise Fault
                held = put(held, i // 2, done)
                arrived |= bit
                full = 32 * arrived.bit_count() >= act.n
                after = (done + 1, 0, 0) if full else (done, act.n, arrived)
                named = put(named, act.target, after)
            case Do.CLUSTER_ARRIVE:
                turn = clusters.arrive(turn, i // 2)
            case Do.CLUSTER_WAIT:
                turn = clusters.waited(turn, i // 2)
            case _:
                pass
        if act.do is Do.MMA:
            self._read(act.use, values)
        if act.do is Do.ISSUE and act.use.is_async:
            self._read(act.use, values)
        if self.left:
            named = leaving.settled(self, moved, i, named)
        rounds, turn = turn[0], clusters.settled(self, tuple(moved), turn)
        if turn[0] > rounds:
            bars = updates.told(bars, range(self.m.barriers))
        return (tuple(moved), bars, named, held, flying, values, dirty, read, kept, turn)

    def _published(self, i: int, act: Act, bar: Bar | None) -> None:
        """The async proxy and other CTAs need the init of a barrier fenced."""
        if bar is None or not bar[4]:
            return
        used = act.do is Do.COPY and not act.lands and bar[4] != updates.FENCED
        peer = act.peers and act.target not in self._barriers_of(self.rank_of[i])
        if (used or peer) and (self.warnings or bar[4] != i + 1):
            self.trouble.add("init fence")

    def _barriers_of(self, rank: int) -> range:
        """The mbarriers of a CTA."""
        each = self.m.barriers // self.m.ctas
        return range(rank * each, (rank + 1) * each)

    def _may_part(self, i: int, act: Act, bar: Bar | None) -> None:
        """More lanes arrive than the phase still takes, but a phase takes a whole warp."""
        if bar is not None and i % 2 and act.n > bar[2] and act.n + act.n // 31 <= bar[1]:
            raise LanesPart

    def _read(self, use: Use, values: tuple[int, ...]) -> None:
        for atom, meant in use.means:
            found = values[atom]
            if found == UNWRITTEN or (meant != ANY and found not in (meant, ANY)):
                self.trouble.add("wrong")

    def _asynchronous(self, use: Use, dirty: int, read: int) -> None:
        if (use.read | use.write) & dirty:
            self.trouble.add("proxy")
        if self.warnings and use.write & read:
            self.trouble.add("proxy, read before write")

    def _may_land(self, state: State, k: int) -> bool:
        """Arrivals that track cp.async land in order: the copies of the earlier ones come first."""
        i, act = self.copies[k]
        return not act.lands or not any(
            state[4] >> j & 1 and self.copies[j][0] == i and self.copies[j][1].lands
            for j in range(k)
        )

    def _land(self, state: State, k: int) -> State:
        pcs, bars, named, held, flying, values, dirty, read, kept, turn = state
        act = self.copies[k][1]
        values = written_to(values, act.use)
        if not act.use.is_async:  # st.async
            dirty |= act.use.write
        bars = put(bars, act.target, counted_on(bars[act.target], act.lands, -act.tx))
        return (pcs, bars, named, held, flying & ~(1 << k), values, dirty, read, kept, turn)


NOT_PASSED = (-1, 0)
