"""From a schedule to acts: a slow reading of the statements, op by op, lane by lane.

Its own path from the IR: it uses neither the op streams, nor the regions, nor the state machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier
from asyncsim.ir.expr import Builtin
from asyncsim.ir.op import FenceSpace, GroupKind, MbarrierRef, MemScope, OpBase, Scope
from asyncsim.ir.schedule import Schedule
from tests.oracle.acts import Act, Do, Flight, Machine, Mma, Use
from tests.oracle.footprints import Atoms, Touch
from tests.oracle.lanes import LaneConflicts
from tests.oracle.touches import Touches
from tests.oracle.warpgroups import Registers
from tests.stream.interpreter import Env, interpret, value_of

ELECTED, OTHERS = (0,), tuple(range(1, 32))
CHAINS = {Scope.ALL_LANES: (0, 1), Scope.ELECTED: (0,), Scope.OTHERS: (1,)}


class Untranslated(Exception):
    """An op that the explorer does not know."""


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


def translate(schedule: Schedule, block: tuple[int, int, int] = (0, 0, 0)) -> Machine:
    """The machine of one CTA. Raises Untranslated, and ScheduleError as the streams do."""
    return _Translator(schedule, block).run()


class _Translator:
    def __init__(self, schedule: Schedule, block: tuple[int, int, int]) -> None:
        self.schedule, self.block = schedule, block
        self.index: dict[tuple[str, int], int] = {}
        for b in schedule.of_kind(Mbarrier):
            for stage in range(b.stages):
                self.index[b.name, stage] = len(self.index)
        self.touches = Touches(schedule)
        self.atoms = Atoms(schedule)
        self.trouble: set[str] = set()
        self.named: dict[int, int] = {}
        self.slots: dict[tuple[int, str], int] = {}
        self.machine: Machine

    def run(self) -> Machine:
        raws = [self._warp(w) for w in range(self.schedule.warps)]
        for raw in (r for warp in raws for r in warp):
            for part in raw.touches:
                for touch in part:
                    self.atoms.show(touch)
        self.atoms.number()
        m = self.machine = Machine(
            chains=[],
            barriers=len(self.index),
            named=0,
            atoms=self.atoms.count,
            shared=self.atoms.shared,
            flights=[],
            mmas=[],
            commits={},
            group_of=self._warpgroups(),
            full=frozenset(),
            trouble=self.trouble,
        )
        m.mmas = [[] for _ in set(m.group_of.values())]
        for warp, stream in enumerate(raws):
            _Chains(self, warp, stream).build()
            conflicts = LaneConflicts()
            if any(conflicts.step(r.op, r.pos, r.do, r.touches[1]) for r in stream):
                self.trouble.add("lanes")
        self._groups_agree()
        m.named, m.states = len(self.named), len(self.slots)
        m.full = _full(m)
        return m

    def _warpgroups(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for role in self.schedule.roles():
            for i in range(role.warps // 4 * 4):
                found[role.first_warp + i] = (role.first_warp + i) // 4
        numbers = {g: n for n, g in enumerate(sorted(set(found.values())))}
        return {w: numbers[g] for w, g in found.items()}

    def _groups_agree(self) -> None:
        m = self.machine
        for number, mmas in enumerate(m.mmas):
            warps = [w for w, g in m.group_of.items() if g == number]
            if len({len(m.commits[w]) for w in warps}) > 1:
                self.trouble.add("disagree")
            if any(set(mma.issued) != set(warps) for mma in mmas):
                self.trouble.add("disagree")

    # -- ops -----------------------------------------------------------------------------------

    def _warp(self, warp: int) -> list[Raw]:
        registers = Registers()
        found: list[Raw] = []
        for pos, (op, env, _) in enumerate(interpret(self.schedule, self.block, warp)):
            env[Builtin.CTA_RANK.value] = 0
            raw = self._raw(op, pos, env)
            problem = registers.step(op)
            if problem:
                self.trouble.add(problem)
            found.append(raw)
        if registers.in_flight:
            self.trouble.add("outstanding")
        return found

    def _barrier(self, ref: MbarrierRef, env: Env) -> int:
        key = ref.name, value_of(ref.stage, env)
        if key not in self.index:
            self.trouble.add("out of bounds")
            return 0
        return self.index[key]

    def _raw(self, op: OpBase, pos: int, env: Env) -> Raw:
        _known(op)
        raw = Raw(Do.ACCESS, op, pos)
        match op:
            case ops.MbarrierInit(mbarrier=ref, count=count):
                return replace(raw, do=Do.INIT, target=self._barrier(ref, env), n=count)
            case ops.MbarrierInval(mbarrier=ref):
                return replace(raw, do=Do.INVAL, target=self._barrier(ref, env))
            case ops.MbarrierArrive(mbarrier=ref, count=count):
                return replace(raw, do=Do.ARRIVE, target=self._barrier(ref, env), n=count)
            case ops.MbarrierExpectTx(mbarrier=ref, bytes=amount):
                tx = value_of(amount, env)
                return replace(raw, do=Do.EXPECT, target=self._barrier(ref, env), tx=tx)
            case ops.MbarrierArriveExpectTx(mbarrier=ref, bytes=amount):
                tx = value_of(amount, env)
                return replace(raw, do=Do.ARRIVE, target=self._barrier(ref, env), n=1, tx=tx)
            case ops.MbarrierWaitState(mbarrier=ref):
                return replace(raw, do=Do.WAIT_STATE, target=self._barrier(ref, env))
            case ops.MbarrierWait(mbarrier=ref, parity=parity):
                bit = value_of(parity, env)
                if bit not in (0, 1):
                    self.trouble.add("parity")
                return replace(raw, do=Do.WAIT, target=self._barrier(ref, env), n=bit)
            case ops.TmaLoad(mbarrier=ref, src=src):
                tx = self.touches.box_bytes(src)
                target = self._barrier(ref, env)
                return replace(raw, do=Do.COPY, target=target, tx=tx, touches=self._parts(op, env))
            case ops.CpAsync() | ops.TmaStore():
                return replace(raw, do=Do.ISSUE, touches=self._parts(op, env))
            case ops.CommitGroup(kind=GroupKind.WGMMA):
                return replace(raw, do=Do.MMA_COMMIT)
            case ops.WaitGroup(kind=GroupKind.WGMMA, n=n):
                return replace(raw, do=Do.MMA_WAIT, n=n)
            case ops.CommitGroup() | ops.WaitGroup():
                return replace(raw, do=Do.RETIRE)
            case ops.FenceMbarrierInit():
                return replace(raw, do=Do.FENCE_INIT)
            case ops.FenceProxyAsync():
                return replace(raw, do=Do.FENCE_PROXY)
            case (
                ops.BarSync(barrier=id, threads=threads)
                | ops.BarArrive(barrier=id, threads=threads)
            ):
                target = self.named.setdefault(id, len(self.named))
                n = threads or self.schedule.threads
                if n % 32 or n <= 0:
                    self.trouble.add("named barrier")
                return replace(raw, do=Do.BAR_ARRIVE, target=target, n=n)
            case ops.BarWarpSync() | ops.WgmmaFence():
                return replace(raw, do=Do.MEET)
            case ops.WgmmaMmaAsync():
                return replace(raw, do=Do.MMA, touches=self._parts(op, env))
            case ops.LdGlobal() | ops.StGlobal() | ops.LdShared() | ops.StShared() | ops.Compute():
                return replace(raw, touches=self._parts(op, env))
            case _:
                raise Untranslated(type(op).__name__)

    def _parts(self, op: OpBase, env: Env) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
        elected = self.touches.of(op, env, ELECTED) if op.scope is not Scope.OTHERS else ()
        several = op.scope in (Scope.ALL_LANES, Scope.OTHERS)
        others = self.touches.of(op, env, OTHERS) if several else ()
        self.trouble |= self.touches.trouble
        return elected, others


class _Chains:
    """The two chains of one warp, footprints numbered, groups resolved."""

    def __init__(self, translator: _Translator, warp: int, raws: list[Raw]) -> None:
        self.t, self.warp, self.raws = translator, warp, raws
        self.m = translator.machine
        self.pair: tuple[list[Act], list[Act]] = ([], [])
        self.mmas = self.sequence = 0
        self.open_mmas: list[Mma] = []
        self.waits: list[Act] = []
        self.pending_mmas: list[Mma] = []

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
            case Do.MMA | Do.MMA_COMMIT | Do.MMA_WAIT:
                self._meet(raw.pos)
                self._wgmma(raw)
            case _:
                for i in CHAINS[raw.op.scope]:
                    self._own(raw, i, first + i)

    def _own(self, raw: Raw, i: int, chain: int) -> None:
        lanes = 31 if i else 1
        acts = self.pair[i]
        act = Act(raw.do, raw.pos, raw.target, raw.n, raw.tx)
        if raw.do in (Do.ARRIVE, Do.EXPECT, Do.COPY):
            act = replace(act, n=raw.n * lanes, tx=raw.tx * lanes)
        op = raw.op
        name = getattr(op, "state", None)
        if name is not None:
            slots = self.t.slots
            act = replace(act, kept=slots.setdefault((chain, name), len(slots)))
        match op:
            case ops.MbarrierInit() if i:
                self.t.trouble.add("init by several lanes")
            case ops.FenceProxyAsync(space=space):
                shared = (1 << self.m.shared) - 1
                spaces = {
                    FenceSpace.SHARED: shared,
                    FenceSpace.CLUSTER: shared,
                    FenceSpace.GLOBAL: ((1 << self.m.atoms) - 1) & ~shared,
                    FenceSpace.ALL: (1 << self.m.atoms) - 1,
                }
                act = replace(act, space=spaces[space], fences_inits=space is not FenceSpace.GLOBAL)
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
            case ops.CpAsync() | ops.TmaStore():
                kind = GroupKind.BULK if isinstance(op, ops.TmaStore) else GroupKind.CP_ASYNC
                use = self._use(raw.touches[i])
                flight = Flight(chain, len(acts), use)
                act = replace(act, use=use, flight=len(self.m.flights))
                self.m.flights.append(flight)
                self.queues[i][kind][0].append(flight)
            case _ if raw.do in (Do.ACCESS, Do.COPY):
                use = self._use(raw.touches[i])
                if raw.do is Do.ACCESS and not (use.read or use.write):
                    return
                act = replace(act, use=use)
            case _:
                pass
        acts.append(act)

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
                means += self.t.atoms.data(touch) if touch.data is not None else ()
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


def _known(op: OpBase) -> None:
    """Clusters, weaker memory orders and atomics are not explored."""
    parts = [getattr(op, name) for name in type(op).__dataclass_fields__]
    remote = any(getattr(part, "rank", None) is not None for part in parts)
    weak = getattr(op, "relaxed", False) or getattr(op, "memory", MemScope.CTA) is not MemScope.CTA
    if remote or weak or getattr(op, "multicast", None) or getattr(op, "reduce", None):
        raise Untranslated(f"{type(op).__name__} across CTAs, relaxed or reducing")


def _full(m: Machine) -> frozenset[int]:
    users: dict[int, set[int]] = {}
    counts: dict[int, set[int]] = {}
    loose: set[int] = set()
    for chain, acts in enumerate(m.chains):
        for act, after in zip(acts, [*acts[1:], None], strict=False):
            if act.do is Do.BAR_ARRIVE:
                users.setdefault(act.target, set()).add(chain // 2)
                counts.setdefault(act.target, set()).add(act.n)
                if after is None or after.do is not Do.BAR_WAIT:
                    loose.add(act.target)
    return frozenset(
        b for b, warps in users.items() if b not in loose and counts[b] == {32 * len(warps)}
    )


def global_elements(
    schedule: Schedule, block: tuple[int, int, int]
) -> Iterator[tuple[str, list[int], bool]]:
    """(tensor, flat elements, whether written) of every access of a CTA to a written tensor."""
    touches = Touches(schedule)
    for warp in range(schedule.warps):
        for op, env, _ in interpret(schedule, block, warp):
            env[Builtin.CTA_RANK.value] = 0
            lanes = {Scope.ALL_LANES: ELECTED + OTHERS, Scope.OTHERS: OTHERS}.get(op.scope, ELECTED)
            for touch in touches.of(op, env, lanes):
                name, stage = touch.buffer
                if stage < 0:
                    yield name, touch.elements.tolist(), touch.write
