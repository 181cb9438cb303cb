"""How far the others can go while one stands still: the basis of the explorer's reduction.

If nothing that the others can reach before chain i moves depends on the next act of chain i, that
act stands for all orders (a persistent set of one). What they reach is over-estimated: a phase is
taken to complete when arrivals and bytes within reach could complete it, and then all waits on it
pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.oracle import clusters, leaving
from tests.oracle.acts import Act, Do, Use

if TYPE_CHECKING:
    from tests.oracle.states import Explorer, State


@dataclass(slots=True)
class Reach:
    """What others may do before the frozen chain or landing moves. Masks of atoms and barriers."""

    read: int = 0
    write: int = 0
    generic: int = 0
    asynchronous: int = 0
    fenced: int = 0
    inits: int = 0  # mbarriers initialised or invalidated
    expects: int = 0  # mbarriers whose bytes are announced
    copies: int = 0  # mbarriers that copies are issued on
    old_waits: int = 0  # mbarriers waited for in a phase that is over now
    open: int = 0  # mbarriers that arrive.noComplete counts on
    named: int = 0
    fences_inits: bool = False
    arrivals: dict[int, int] = field(default_factory=dict)
    landing: dict[int, int] = field(default_factory=dict)  # bytes that copies bring, per mbarrier
    complete: int = 0  # mbarriers that may complete their phase
    peers: int = 0  # CTAs that others reach from outside
    ended: int = 0  # CTAs that may exit


def reach(x: Explorer, state: State, frozen: int, landing: int = -1) -> Reach:
    """``frozen``: the chain that stands still, -1: none; ``landing``: the copy that does."""
    return _Walk(x, state, frozen, landing).run()


class _Walk:
    def __init__(self, x: Explorer, state: State, frozen: int, landing: int) -> None:
        self.x, self.state, self.frozen = x, state, frozen
        self.stop = list(state[0])
        self.r = Reach()
        self.kept: set[int] = set()
        self.arrived = [n[2] for n in state[2]]
        self.in_cluster = state[9][1]
        for k, (_, act) in enumerate(x.copies):
            if state[4] >> k & 1 and k != landing:
                self._lands(act)

    def run(self) -> Reach:
        for b in range(self.x.m.barriers):
            self._may_complete(b)
        changed = True
        while changed:
            changed = False
            for j in range(len(self.stop)):
                if j == self.frozen:
                    continue
                acts = self.x.chains[j]
                while self.stop[j] < len(acts) and self._passes(j, acts[self.stop[j]]):
                    self._does(j, acts[self.stop[j]])
                    self.stop[j] += 1
                    changed = True
        self.r.ended = clusters.exited(self.x, self.stop)
        return self.r

    def _lands(self, act: Act) -> None:
        r, b = self.r, act.target
        r.landing[b] = r.landing.get(b, 0) + act.tx
        if act.lands:
            r.arrivals[b] = r.arrivals.get(b, 0) + act.lands
        self._uses(act.use)

    def _passes(self, j: int, act: Act) -> bool:
        state, stop = self.state, self.stop
        match act.do:
            case Do.WAIT:
                bar = state[1][act.target]
                now = bar is None or bar[0] % 2 != act.n or act.kept >= 0  # perhaps by a peek
                if now:
                    self.r.old_waits |= 1 << act.target
                return now or bool(self.r.complete >> act.target & 1)
            case Do.WAIT_STATE:
                bar = state[1][act.target]
                kept = state[8][act.kept]
                now = bar is None or kept != (act.target, bar[0])
                if act.kept in self.kept:  # by an arrive within reach: of the phase that is open
                    now = bar is None
                if now:
                    self.r.old_waits |= 1 << act.target
                return now or bool(self.r.complete >> act.target & 1)
            case Do.MEET:
                twin = self.x.chains[j ^ 1]
                at = stop[j ^ 1]
                if j ^ 1 == self.frozen or at == len(twin) or twin[at].do is not Do.MEET:
                    return False
                stop[j ^ 1] += 1
                return True
            case Do.BAR_WAIT:
                n = self.x.chains[j][stop[j] - 1].n
                done = state[2][act.target][0] > state[3][j // 2] and stop[j] == state[0][j]
                there = self.arrived[act.target].bit_count()
                if act.target in self.x.left:
                    there += leaving.gone(self.x, stop, self.x.rank_of[j])
                return done or 32 * there >= n
            case Do.CLUSTER_WAIT:
                done, _, owed = state[9]
                return 0 <= owed[j // 2] < done or all(map(self._in_round, range(len(owed))))
            case Do.MMA_WAIT:
                if act.target <= 0:
                    return True
                commits = self.x.m.commits
                warps = self.x.groups[self.x.m.group_of[j // 2]].warps
                return all(
                    len(commits[w]) >= act.target and stop[2 * w] > commits[w][act.target - 1]
                    for w in warps
                )
            case _:
                return True

    def _in_round(self, warp: int) -> bool:
        """Whether a warp may have arrived at the cluster barrier, or have ended."""
        at = (2 * warp, 2 * warp + 1)
        return bool(self.in_cluster >> warp & 1) or all(
            self.stop[i] == len(self.x.chains[i]) for i in at
        )

    def _does(self, j: int, act: Act) -> None:
        r, b = self.r, act.target
        r.peers |= act.peers
        if act.peers and act.do in (Do.ARRIVE, Do.EXPECT):
            r.copies |= 1 << b  # it needs the fence of the init, too
        for use in (act.use, *self.x.ending(j, self.stop[j], act)):
            if use.read or use.write:
                self._uses(use)
        match act.do:
            case Do.ARRIVE:
                self.kept |= {act.kept}
                r.open |= act.open << b
                r.arrivals[b] = r.arrivals.get(b, 0) + act.n
                if act.tx:
                    r.expects |= 1 << b
                self._may_complete(b)
            case Do.PEEK:
                r.old_waits |= 1 << b
            case Do.EXPECT:
                r.expects |= 1 << b
                self._may_complete(b)
            case Do.INIT | Do.INVAL:
                r.inits |= 1 << b
                self._may_complete(b)
            case Do.COPY:
                r.copies |= 1 << b
                self._lands(act)
                self._may_complete(b)
            case Do.FENCE_PROXY:
                r.fenced |= act.space
                r.fences_inits |= act.fences_inits > 0
            case Do.FENCE_INIT:
                r.fences_inits = True
            case Do.CLUSTER_ARRIVE:
                self.in_cluster |= 1 << (j // 2)
            case Do.BAR_ARRIVE:
                r.named |= 1 << b
                self.arrived[b] |= 1 << (j // 2)
            case _:
                pass

    def _uses(self, use: Use) -> None:
        r = self.r
        r.read |= use.read
        r.write |= use.write
        if use.is_async:
            r.asynchronous |= use.read | use.write
        else:
            r.generic |= use.read | use.write

    def _may_complete(self, b: int) -> None:
        r, bar = self.r, self.state[1][b]
        if bar is None or r.inits >> b & 1:
            r.complete |= 1 << b
            return
        if bar[2] > r.arrivals.get(b, 0):
            return
        if r.expects >> b & 1 or bar[3] == 0 or 0 < bar[3] <= r.landing.get(b, 0):
            r.complete |= 1 << b
