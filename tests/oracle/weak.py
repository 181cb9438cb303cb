"""Every interleaving of a translated CTA with relaxed arrives and waits, and fences.

Not sequentially consistent, as states.py is: who knows of which accesses is part of a state. A race
is an access whose observer does not know of the last write to its atoms or, if it writes, of the
reads since. Accesses by the generic proxy alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from tests.oracle.acts import Act, Do, Fault, Machine, Untranslated
from tests.oracle.explorer import LanesPart, TooLarge
from tests.oracle.updates import Bar, counted_on, put

AT_ONCE = (Do.ACCESS, Do.FENCE, Do.MEET, Do.BAR_WAIT)
"""Acts that everybody may do at once: who knows of them is no matter of time."""
KNOWN = (*AT_ONCE, Do.INIT, Do.ARRIVE, Do.WAIT, Do.BAR_ARRIVE)


class Knows(NamedTuple):
    """Atoms whose last write is known; and of atom a and chain c, in bit a * chains + c, whether
    the reads of a by c are."""

    writes: int
    reads: int

    def __or__(self, other: Knows) -> Knows:  # type: ignore[override]
        return Knows(self.writes | other.writes, self.reads | other.reads)


@dataclass(frozen=True)
class State:
    """``now``, ``sent``, ``heard``: of each chain, what it knows, what it knew at its last fence,
    and what relaxed waits have told it. ``told``, ``done``: of each mbarrier, then of each named
    barrier, what arrivals have told it in the open phase, and what waits hear of those before."""

    pcs: tuple[int, ...]
    bars: tuple[Bar | None, ...]
    named: tuple[tuple[int, int, int], ...]
    rounds: tuple[int, ...]
    written: int
    now: tuple[Knows, ...]
    sent: tuple[Knows, ...]
    heard: tuple[Knows, ...]
    told: tuple[Knows, ...]
    done: tuple[Knows, ...]


def explore(machine: Machine, max_states: int) -> set[str]:
    """The first trouble that is found. Raises TooLarge, LanesPart, Untranslated."""
    if machine.trouble:
        return set(machine.trouble)
    return Weak(machine, max_states).run()


class Weak:
    def __init__(self, machine: Machine, max_states: int) -> None:
        self.m, self.max_states, self.chains = machine, max_states, machine.chains
        acts = [a for chain in self.chains for a in chain]
        if machine.flights or any(a.do not in KNOWN or a.kept >= 0 or a.drop for a in acts):
            raise Untranslated("relaxed orders among other ops")
        self.n = len(self.chains)
        self.every = Knows((1 << machine.atoms) - 1, (1 << machine.atoms * self.n) - 1)
        self.parted = False

    def run(self) -> set[str]:
        nothing, objects = Knows(0, 0), self.m.barriers + self.m.named
        start = State(
            (0,) * self.n,
            (None,) * self.m.barriers,
            ((0, 0, 0),) * self.m.named,
            (-1,) * (self.n // 2),
            0,
            (self.every,) * self.n,
            (self.every,) * self.n,
            (nothing,) * self.n,
            (nothing,) * objects,
            (nothing,) * objects,
        )
        seen, stack = {start}, [start]
        try:
            while stack:
                if len(seen) > self.max_states:
                    raise TooLarge
                state = stack.pop()
                after = self._successors(state)
                left = any(pc < len(c) for pc, c in zip(state.pcs, self.chains, strict=True))
                if left and not after and not self.parted:
                    return {"hang"}
                for s in after:
                    if s not in seen:
                        seen.add(s)
                        stack.append(s)
        except Fault as fault:
            return {str(fault) or "fault"}
        if self.parted:
            raise LanesPart
        return set()

    def _successors(self, s: State) -> list[State]:
        enabled = [
            (i, self.chains[i][pc])
            for i, pc in enumerate(s.pcs)
            if pc < len(self.chains[i]) and self._enabled(s, i, self.chains[i][pc])
        ]
        for i, act in enabled:
            if act.do in AT_ONCE or (act.do is Do.BAR_ARRIVE and act.target in self.m.full):
                return [self._step(s, i, act)]
        found = []
        for i, act in enabled:
            try:
                found.append(self._step(s, i, act))
            except LanesPart:
                self.parted = True
        return found

    def _enabled(self, s: State, i: int, act: Act) -> bool:
        match act.do:
            case Do.WAIT:
                bar = s.bars[act.target]
                if bar is None:
                    raise Fault
                return bar[0] % 2 != act.n
            case Do.MEET:
                twin, pc = self.chains[i ^ 1], s.pcs[i ^ 1]
                return pc < len(twin) and twin[pc].do is Do.MEET
            case Do.BAR_WAIT:
                return s.named[act.target][0] > s.rounds[i // 2]
            case _:
                return True

    def _step(self, s: State, i: int, act: Act) -> State:
        s = replace(s, pcs=put(s.pcs, i, s.pcs[i] + 1))
        match act.do:
            case Do.ACCESS:
                return self._access(s, i, act)
            case Do.FENCE:
                knows = s.now[i] | s.heard[i]
                return replace(s, now=put(s.now, i, knows), sent=put(s.sent, i, knows))
            case Do.MEET:
                both, j = s.now[i] | s.now[i ^ 1], i ^ 1
                s = replace(s, pcs=put(s.pcs, j, s.pcs[j] + 1))
                return replace(s, now=put(put(s.now, i, both), j, both))
            case Do.INIT:
                if s.bars[act.target] is not None or act.n < 1:
                    raise Fault
                return replace(s, bars=put(s.bars, act.target, (0, act.n, act.n, 0, 0)))
            case Do.ARRIVE:
                return self._arrive(s, i, act)
            case Do.WAIT:
                hears = s.done[act.target]
                if act.relaxed:
                    return replace(s, heard=put(s.heard, i, s.heard[i] | hears))
                return replace(s, now=put(s.now, i, s.now[i] | hears))
            case Do.BAR_ARRIVE:
                return self._bar(s, i, act)
            case _:  # BAR_WAIT
                hears = s.done[self.m.barriers + act.target]
                return replace(s, now=put(s.now, i, s.now[i] | hears))

    def _arrive(self, s: State, i: int, act: Act) -> State:
        b, bar = act.target, s.bars[act.target]
        if bar is not None and i % 2 and act.n > bar[2] and act.n + act.n // 31 <= bar[1]:
            raise LanesPart
        after = counted_on(bar, act.n, act.tx)
        assert bar is not None
        told = s.told[b] | (s.sent[i] if act.relaxed else s.now[i])
        s = replace(s, bars=put(s.bars, b, after), told=put(s.told, b, told))
        return self._over(s, b) if after[0] != bar[0] else s

    def _bar(self, s: State, i: int, act: Act) -> State:
        done, agreed, arrived = s.named[act.target]
        bit, b = 1 << (i // 2), self.m.barriers + act.target
        if (agreed and agreed != act.n) or arrived & bit:
            raise Fault
        full = 32 * (arrived | bit).bit_count() >= act.n
        now = (done + 1, 0, 0) if full else (done, act.n, arrived | bit)
        s = replace(
            s,
            named=put(s.named, act.target, now),
            rounds=put(s.rounds, i // 2, done),
            told=put(s.told, b, s.told[b] | s.now[i]),
        )
        return self._over(s, b) if full else s

    def _over(self, s: State, b: int) -> State:
        """A phase is over: waits hear what its arrivals have told, and those before."""
        done = put(s.done, b, s.done[b] | s.told[b])
        return replace(s, done=done, told=put(s.told, b, Knows(0, 0)))

    def _access(self, s: State, i: int, act: Act) -> State:
        use, knows = act.use, s.now[i]
        if use.read & ~s.written & ((1 << self.m.shared) - 1):
            raise Fault("wrong")
        if (use.read | use.write) & ~knows.writes:
            raise Fault("race")
        reads = sum(1 << a * self.n + i for a in range(self.m.atoms) if use.read >> a & 1)
        row = (1 << self.n) - 1
        rows = sum(row << a * self.n for a in range(self.m.atoms) if use.write >> a & 1)
        if rows & ~knows.reads:
            raise Fault("race")

        def others(k: Knows) -> Knows:
            return Knows(k.writes & ~use.write, k.reads & ~reads | rows)

        def all_of(ks: tuple[Knows, ...]) -> tuple[Knows, ...]:
            return tuple(map(others, ks))

        mine = Knows(knows.writes | use.write, knows.reads | reads | rows)
        return replace(
            s,
            written=s.written | use.write,
            now=put(all_of(s.now), i, mine),
            sent=all_of(s.sent),
            heard=all_of(s.heard),
            told=all_of(s.told),
            done=all_of(s.done),
        )
