"""From a schedule to acts: a slow reading of the statements, op by op, lane by lane.

Its own path from the IR: it uses neither the op streams, nor the regions, nor the state machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier
from asyncsim.ir.expr import Builtin
from asyncsim.ir.op import GroupKind, MbarrierRef, MemScope, OpBase, Scope
from asyncsim.ir.schedule import Schedule
from tests.oracle.acts import Do, Machine, Untranslated
from tests.oracle.chains import Chains, Raw
from tests.oracle.footprints import Atoms, Touch
from tests.oracle.lanes import LaneConflicts
from tests.oracle.touches import Touches
from tests.oracle.warpgroups import Registers
from tests.stream.interpreter import Env, interpret, value_of

ELECTED, OTHERS = (0,), tuple(range(1, 32))


def translate(schedule: Schedule, block: tuple[int, int, int] = (0, 0, 0)) -> Machine:
    """The machine of one CTA. Raises Untranslated, and ScheduleError as the streams do."""
    return Translator(schedule, block).run()


class Translator:
    def __init__(self, schedule: Schedule, block: tuple[int, int, int]) -> None:
        self.schedule, self.blocks = schedule, schedule.cluster_of(block)
        self.index: dict[tuple[int, str, int], int] = {}
        for rank in range(len(self.blocks)):
            for b in schedule.of_kind(Mbarrier):
                for stage in range(b.stages):
                    self.index[rank, b.name, stage] = len(self.index)
        self.touches = Touches(schedule)
        self.atoms = Atoms(schedule)
        self.trouble: set[str] = set()
        self.named: dict[tuple[int, int], int] = {}
        self.slots: dict[tuple[int, str], int] = {}
        self.weak = False
        self.machine: Machine

    def run(self) -> Machine:
        warps = range(self.schedule.warps)
        raws = [self._warp(block, w) for block in self.blocks for w in warps]
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
            weak=self.weak,
            ctas=len(self.blocks),
        )
        m.mmas = [[] for _ in set(m.group_of.values())]
        for warp, stream in enumerate(raws):
            Chains(self, warp, stream).build()
            conflicts = LaneConflicts()
            if any(conflicts.step(r.op, r.pos, r.do, r.touches[1]) for r in stream):
                self.trouble.add("lanes")
        self._groups_agree()
        m.named, m.states = len(self.named), len(self.slots)
        m.full = _full(m)
        m.block = {target: rank for (rank, id), target in self.named.items() if id == 0}
        return m

    def _warpgroups(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for rank, role in product(range(len(self.blocks)), self.schedule.roles()):
            first = rank * self.schedule.warps + role.first_warp
            for i in range(role.warps // 4 * 4):
                found[first + i] = 100 * rank + (role.first_warp + i) // 4
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

    def _warp(self, block: tuple[int, int, int], warp: int) -> list[Raw]:
        registers = Registers()
        found: list[Raw] = []
        for pos, (op, env, _) in enumerate(interpret(self.schedule, block, warp)):
            problem = registers.step(op)
            if problem:
                self.trouble.add(problem)
            found += self._raws(op, pos, env)
        if registers.in_flight:
            self.trouble.add("outstanding")
        return found

    def _barrier(self, ref: MbarrierRef, env: Env, receiver: int | None = None) -> int:
        if receiver is None:
            receiver = value_of(ref.rank, env) if ref.rank else env[Builtin.CTA_RANK.value]
        key = receiver, ref.name, value_of(ref.stage, env)
        if key not in self.index:
            self.trouble.add("out of bounds")
            return 0
        return self.index[key]

    def owner(self, barrier: int) -> int:
        """The rank of the CTA that an mbarrier is in."""
        return barrier * len(self.blocks) // len(self.index)

    def _raws(self, op: OpBase, pos: int, env: Env) -> list[Raw]:
        """The acts of an op; a multicast is a copy to each receiver."""
        _known(op, self.touches.written)
        if getattr(op, "relaxed", False):
            if len(self.blocks) > 1:
                raise Untranslated(f"{type(op).__name__} relaxed, in a cluster")
            self.weak = True
        mask = getattr(op, "multicast", None)
        if isinstance(op, ops.PrefetchOp):
            return []
        if not isinstance(op, ops.LoadOp) or mask is None:
            return [self._raw(op, pos, env)]
        bits, tx = value_of(mask, env), self.touches.tile_bytes(op.dst)
        return [
            Raw(
                Do.COPY,
                op,
                pos,
                self._parts(op, env, rank),
                target=self._barrier(op.mbarrier, env, rank),
                tx=tx,
            )
            for rank in range(len(self.blocks))
            if bits >> rank & 1
        ]

    def _raw(self, op: OpBase, pos: int, env: Env) -> Raw:
        raw = Raw(Do.ACCESS, op, pos)
        match op:
            case ops.MbarrierInit(mbarrier=ref, count=count):
                return replace(raw, do=Do.INIT, target=self._barrier(ref, env), n=count)
            case ops.MbarrierInval(mbarrier=ref):
                return replace(raw, do=Do.INVAL, target=self._barrier(ref, env))
            case ops.MbarrierArrive(mbarrier=ref, count=count):
                return replace(raw, do=Do.ARRIVE, target=self._barrier(ref, env), n=count)
            case ops.MbarrierCompleteTx(mbarrier=ref, bytes=amount):
                tx = -value_of(amount, env)
                return replace(raw, do=Do.EXPECT, target=self._barrier(ref, env), tx=tx)
            case ops.CpAsyncMbarrierArrive(mbarrier=ref):
                return replace(raw, do=Do.COPY, target=self._barrier(ref, env))
            case ops.MbarrierExpectTx(mbarrier=ref, bytes=amount):
                tx = value_of(amount, env)
                return replace(raw, do=Do.EXPECT, target=self._barrier(ref, env), tx=tx)
            case ops.MbarrierArriveExpectTx(mbarrier=ref, bytes=amount):
                tx = value_of(amount, env)
                return replace(raw, do=Do.ARRIVE, target=self._barrier(ref, env), n=1, tx=tx)
            case ops.MbarrierWaitState(mbarrier=ref):
                return replace(raw, do=Do.WAIT_STATE, target=self._barrier(ref, env))
            case (
                ops.MbarrierWait(mbarrier=ref, parity=parity)
                | ops.MbarrierTestWait(mbarrier=ref, parity=parity)
            ):
                bit = value_of(parity, env)
                if bit not in (0, 1):
                    self.trouble.add("parity")
                do = Do.WAIT if isinstance(op, ops.MbarrierWait) else Do.PEEK
                return replace(raw, do=do, target=self._barrier(ref, env), n=bit)
            case ops.BulkSend(mbarrier=ref, src=view):
                tx, target = self.touches.tile_bytes(view), self._barrier(ref, env)
                if self.owner(target) == env[Builtin.CTA_RANK.value]:
                    self.trouble.add("sent to the own CTA")
                return replace(raw, do=Do.COPY, target=target, tx=tx, touches=self._parts(op, env))
            case ops.TmaLoad(mbarrier=ref, dst=dst) | ops.BulkLoad(mbarrier=ref, dst=dst):
                tx = self.touches.tile_bytes(dst)
                target = self._barrier(ref, env)
                return replace(raw, do=Do.COPY, target=target, tx=tx, touches=self._parts(op, env))
            case ops.StAsync(mbarrier=ref, dst=dst):
                tx = prod(dst.shape) * self.schedule.tile(dst.tile).dtype.bytes
                target = self._barrier(ref, env)
                return replace(raw, do=Do.COPY, target=target, tx=tx, touches=self._parts(op, env))
            case ops.CpAsync() | ops.TmaStore() | ops.BulkStore():
                return replace(raw, do=Do.ISSUE, touches=self._parts(op, env))
            case ops.CommitGroup(kind=GroupKind.WGMMA):
                return replace(raw, do=Do.MMA_COMMIT)
            case ops.WaitGroup(kind=GroupKind.WGMMA, n=n):
                return replace(raw, do=Do.MMA_WAIT, n=n)
            case ops.CommitGroup() | ops.WaitGroup():
                return replace(raw, do=Do.RETIRE)
            case ops.FenceMbarrierInit():
                return replace(raw, do=Do.FENCE_INIT)
            case ops.Fence():
                return replace(raw, do=Do.FENCE)
            case ops.FenceProxyAsync():
                return replace(raw, do=Do.FENCE_PROXY)
            case (
                ops.BarSync(barrier=id, threads=threads)
                | ops.BarArrive(barrier=id, threads=threads)
            ):
                where = env[Builtin.CTA_RANK.value], id
                target = self.named.setdefault(where, len(self.named))
                n = threads or self.schedule.threads
                if n % 32 or n <= 0:
                    self.trouble.add("named barrier")
                return replace(raw, do=Do.BAR_ARRIVE, target=target, n=n)
            case ops.BarWarpSync() | ops.WgmmaFence():
                return replace(raw, do=Do.MEET)
            case ops.BarrierClusterArrive():
                return replace(raw, do=Do.CLUSTER_ARRIVE)
            case ops.BarrierClusterWait():
                return replace(raw, do=Do.CLUSTER_WAIT)
            case ops.WgmmaMmaAsync():
                return replace(raw, do=Do.MMA, touches=self._parts(op, env))
            case ops.LdGlobal() | ops.StGlobal() | ops.LdShared() | ops.StShared() | ops.Compute():
                return replace(raw, touches=self._parts(op, env))
            case ops.LdMatrix():
                return replace(raw, touches=self._parts(op, env))
            case ops.MmaSync():
                return raw
            case _:
                raise Untranslated(type(op).__name__)

    def _parts(
        self, op: OpBase, env: Env, receiver: int | None = None
    ) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
        one = op.scope is not Scope.OTHERS
        elected = self.touches.of(op, env, ELECTED, receiver) if one else ()
        several = op.scope in (Scope.ALL_LANES, Scope.OTHERS, Scope.WARP)
        others = self.touches.of(op, env, OTHERS, receiver) if several else ()
        self.trouble |= self.touches.trouble
        return elected, others


def _known(op: OpBase, written: set[str]) -> None:
    """Weaker memory orders are not explored, nor reductions among other accesses."""
    at = getattr(op, "mbarrier", None)
    narrow = isinstance(op, ops.MbarrierArriveOp) and op.memory is MemScope.CTA
    if at is not None and at.rank is not None and narrow:
        raise Untranslated(f"{type(op).__name__} of a scope that is too narrow")
    if getattr(op, "reduce", None) and not (
        isinstance(op, ops.StoreOp) and op.dst.tensor not in written
    ):
        raise Untranslated(f"{type(op).__name__} that reduces")


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
            lanes = {Scope.ALL_LANES: ELECTED + OTHERS, Scope.OTHERS: OTHERS}.get(op.scope, ELECTED)
            for touch in touches.of(op, env, lanes):
                if touch.buffer.stage < 0:
                    yield touch.buffer.name, touch.elements.tolist(), touch.write
