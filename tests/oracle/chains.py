"""The two chains of one warp: who does which act, footprints numbered, groups resolved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.ir.op import FenceSpace, GroupKind, OpBase, Scope
from tests.oracle.acts import Act, Do, Flight, Mma, Untranslated, Use
from tests.oracle.footprints import Touch
from tests.oracle.rest import ON_BARRIER

if TYPE_CHECKING:
    from tests.oracle.translate import Translator

_KEEPERS = ("state", "token", "peek")  # fields that name a register of each lane

CHAINS = {
    Scope.ALL_LANES: (0, 1),
    Scope.WARP: (0, 1),
    Scope.ELECTED: (0,),
    Scope.OTHERS: (1,),
}


@dataclass(slots=True)
class Raw:
    """An act before its footprint is numbered: two chains get the parts of their lanes."""

    do: Do
    op: OpBase
    pos: int
    touches: tuple[tuple[Touch, ...], tuple[Touch, ...]] = ((), ())
    target: int = -1
    n: int = 0
    tx: int = 0


class Chains:
    """The two chains of one warp, footprints numbered, groups resolved."""

    def __init__(self, translator: Translator, warp: int, raws: list[Raw]) -> None:
        self.t, self.warp, self.raws = translator, warp, raws
        self.rank = warp // translator.schedule.warps
        self.m = translator.machine
        self.pair: tuple[list[Act], list[Act]] = ([], [])
        self.mmas = self.sequence = 0
        self.between = False  # a cluster arrive and its wait
        self.open_mmas: list[Mma] = []
        self.waits: list[Act] = []
        self.pending_mmas: list[Mma] = []
        self.peeks: dict[tuple[int, str], tuple[int, int]] = {}

    def build(self) -> None:
        self.m.commits[self.warp] = []
        first = len(self.m.chains)
        self.m.chains += self.pair
        self.queues = [
            {kind: ([], []) for kind in (GroupKind.CP_ASYNC, GroupKind.BULK)} for _ in range(2)
        ]
        for raw in self.raws:
            self._add(raw, first)

    def _meet(self, pos: int) -> None:
        if all(c and c[-1].do is Do.MEET for c in self.pair):
            return
        while all(c and c[-1].do is Do.WAIT for c in self.pair) and (
            self.pair[0][-1] == self.pair[1][-1]
        ):
            # the elected lane passes here only after the others: its own wait adds nothing
            held = self.pair[1].pop()
            self.pair[0].pop()
            self.waits.append(held)
        self.pair[1].extend(reversed(self.waits))
        self.waits.clear()
        for chain in self.pair:
            chain.append(Act(Do.MEET, pos))

    def _add(self, raw: Raw, first: int) -> None:
        match raw.do:
            case Do.MEET:
                self._meet(raw.pos)
            case Do.BAR_ARRIVE:
                self._meet(raw.pos)
                self.pair[0].append(Act(Do.BAR_ARRIVE, raw.pos, raw.target, raw.n))
                if isinstance(raw.op, ops.BarSync):
                    self.pair[0].append(Act(Do.BAR_WAIT, raw.pos, raw.target))
                    self._meet(raw.pos)
            case Do.CLUSTER_ARRIVE | Do.CLUSTER_WAIT:
                self.between = raw.do is Do.CLUSTER_ARRIVE
                self._meet(raw.pos)
                self.pair[0].append(Act(raw.do, raw.pos))
                self._meet(raw.pos)
            case Do.MMA | Do.MMA_COMMIT | Do.MMA_WAIT:
                self._meet(raw.pos)
                self._wgmma(raw)
            case _:
                for i in CHAINS[raw.op.scope]:
                    self._own(raw, i, first + i)

    def _own(self, raw: Raw, i: int, chain: int) -> None:
        lanes = 31 if i else 1
        acts = self.pair[i]
        act = Act(raw.do, raw.pos, raw.target, raw.n, raw.tx, peers=self._peers(raw, i))
        act = replace(act, relaxed=getattr(raw.op, "relaxed", False))
        if raw.do in (Do.ARRIVE, Do.EXPECT, Do.COPY):
            act = replace(act, n=raw.n * lanes, tx=raw.tx * lanes)
        op = raw.op
        name = next((n for f in _KEEPERS if (n := getattr(op, f, None)) is not None), None)
        if name is not None:
            slots = self.t.slots
            act = replace(act, kept=slots.setdefault((chain, name), len(slots)))
        match op:
            case ops.MbarrierArrive(drop=drop, no_complete=no_complete):
                act = replace(act, drop=drop, open=no_complete)
            case ops.MbarrierTestWait():
                self.peeks[i, op.token] = raw.target, raw.n
            case ops.MbarrierWait(peek=str(token)):
                if self.peeks.get((i, token), (raw.target, raw.n)) != (raw.target, raw.n):
                    self.t.trouble.add("token of another phase")
            case ops.CpAsyncMbarrierArrive(noinc=noinc):
                act = self._tracked(replace(act, raises=0 if noinc else lanes, lands=lanes), i)
            case ops.MbarrierInit() if self.between:
                raise Untranslated("an init that the cluster barrier does not tell")
            case ops.MbarrierInit() if i:
                self.t.trouble.add("init by several lanes")
            case ops.FenceProxyAsync(space=space):
                shared = (1 << self.m.shared) - 1
                spaces = {
                    FenceSpace.SHARED: self.t.atoms.of_rank.get(self.rank, 0),
                    FenceSpace.CLUSTER: shared,
                    FenceSpace.GLOBAL: ((1 << self.m.atoms) - 1) & ~shared,
                    FenceSpace.ALL: (1 << self.m.atoms) - 1,
                }
                every = space is not FenceSpace.SHARED
                inits = sum(
                    1 << b for (rank, *_), b in self.t.index.items() if every or rank == self.rank
                )
                inits = 0 if space is FenceSpace.GLOBAL else inits
                act = replace(act, space=spaces[space], fences_inits=inits)
            case ops.CommitGroup(kind=kind):
                opened, closed = self.queues[i][kind]
                for flight in opened:
                    flight.committed = True
                closed.append(tuple(opened))
                opened.clear()
                return
            case ops.WaitGroup(kind=kind, n=n, read=read):
                _, closed = self.queues[i][kind]
                for group in closed[: max(0, len(closed) - n)]:
                    for flight in group:
                        if flight.read_until is None:
                            flight.read_until = len(acts)
                        if flight.until is None and not read:
                            flight.until = len(acts)
            case ops.CpAsync() | ops.TmaStore() | ops.BulkStore():
                kind = GroupKind.CP_ASYNC if isinstance(op, ops.CpAsync) else GroupKind.BULK
                use = self._use(raw.touches[i])
                flight = Flight(chain, len(acts), use)
                act = replace(act, use=use, flight=len(self.m.flights))
                self.m.flights.append(flight)
                self.queues[i][kind][0].append(flight)
            case _ if raw.do in (Do.ACCESS, Do.COPY) and not act.lands:
                use = self._use(raw.touches[i])
                if raw.do is Do.ACCESS and not (use.read or use.write):
                    return
                act = replace(act, use=use)
            case _:
                pass
        if raw.do is Do.COPY and not act.lands:
            issuer = 0 if isinstance(op, ops.StAsync) else 1 << self.rank
            act = replace(act, stays=issuer | 1 << self.t.owner(raw.target))
        acts.append(act)

    def _tracked(self, act: Act, i: int) -> Act:
        """The copies so far that nothing has tracked are in flight until the arrival lands."""
        opened, closed = self.queues[i][GroupKind.CP_ASYNC]
        if closed:
            raise Untranslated("cp.async by groups and by mbarriers")
        uses = [f.use for f in opened]
        for f in opened:
            f.read_until = f.until = len(self.pair[i]) - 1
        opened.clear()
        read = write = 0
        for use in uses:
            read, write = read | use.read, write | use.write
        brings = tuple(b for use in uses for b in use.brings)
        return replace(act, use=Use(read, write, brings=brings))

    def _peers(self, raw: Raw, i: int) -> int:
        """The other CTAs whose shared memory an act reaches."""
        reached = {t.buffer.rank for t in raw.touches[i] if t.buffer.stage >= 0}
        if raw.do in ON_BARRIER:
            reached.add(self.t.owner(raw.target))
        return sum(1 << rank for rank in reached - {self.rank})

    def _use(self, touches: tuple[Touch, ...]) -> Use:
        read = write = 0
        brings: list[tuple[int, int]] = []
        means: list[tuple[int, int]] = []
        is_async = False
        for touch in touches:
            is_async |= touch.is_async
            if touch.write:
                write |= self.t.atoms.mask(touch)
                brings += self.t.atoms.data(touch)
            else:
                read |= self.t.atoms.mask(touch)
                means += self.t.atoms.data(touch)
        return Use(read, write, is_async, tuple(brings), tuple(means))

    def _wgmma(self, raw: Raw) -> None:
        m, acts = self.m, self.pair[0]
        group = m.group_of[self.warp]
        match raw.do:
            case Do.MMA:
                if len(m.mmas[group]) <= self.mmas:
                    m.mmas[group].append(Mma(self._use(raw.touches[0])))
                mma = m.mmas[group][self.mmas]
                mma.issued[self.warp] = len(acts)
                self.open_mmas.append(mma)
                acts.append(Act(Do.MMA, raw.pos, self.mmas, use=mma.use))
                self.mmas += 1
            case Do.MMA_COMMIT:
                commits = m.commits[self.warp]
                for mma in self.open_mmas:
                    mma.group = len(commits)
                    self.pending_mmas.append(mma)
                self.open_mmas.clear()
                commits.append(len(acts))
                acts.append(Act(Do.MMA_COMMIT, raw.pos))
            case _:
                needed = max(0, len(m.commits[self.warp]) - raw.n)
                for mma in self.pending_mmas:
                    if mma.group < needed:
                        mma.waited.setdefault(self.warp, len(acts))
                acts.append(Act(Do.MMA_WAIT, raw.pos, needed))
                self._meet(raw.pos)
