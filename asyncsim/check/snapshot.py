"""The state of an execution, as far as it decides what comes: to be compared with a later one.

Left out is what only names a finding (recent steps, last waits): a finding after a jump is found
again without it. Positions and generations are entered as clocks of one field, so that one rule
says how all numbers may move (recurrence.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from asyncsim.check.barrier import Barrier
from asyncsim.check.clock import FIELD_MASK, Section
from asyncsim.check.execution import Execution
from asyncsim.check.model import Agent, Chain, Flight, Step, Touch, Who
from asyncsim.check.named import NamedBarrier
from asyncsim.check.tensor import Warpgroup
from asyncsim.ir import op as ops
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox
from asyncsim.stream.dyn import Tag

_HELD = (
    *(ops.MbarrierInit, ops.MbarrierInval, ops.MbarrierArrive, ops.MbarrierArriveExpectTx),
    *(ops.MbarrierExpectTx, ops.MbarrierCompleteTx),
    *(ops.MbarrierWait, ops.MbarrierTestWait, ops.MbarrierWaitState),
    *(ops.CpAsync, ops.TmaLoad, ops.TmaStore, ops.BulkLoad, ops.BulkStore),
    *(ops.CommitGroup, ops.WaitGroup, ops.FenceMbarrierInit, ops.FenceProxyAsync),
    *(ops.BarSync, ops.BarArrive, ops.BarWarpSync, ops.SetMaxNReg, ops.Fence),
    *(ops.BarrierClusterArrive, ops.BarrierClusterWait),
    *(ops.WgmmaFence, ops.WgmmaMmaAsync, ops.LdMatrix, ops.StMatrix, ops.MmaSync),
    *(ops.LdGlobal, ops.StGlobal, ops.LdShared, ops.StShared, ops.Compute),
    *(ops.AtomAdd, ops.ClcTryCancel, ops.ClcQueryCancel),
)
"""The ops of which a snapshot holds all that they change."""


def can_jump(schedule: Schedule) -> bool:
    """Whether a snapshot holds all the state that the schedule's ops have."""
    return unheld(schedule) is None


def unheld(schedule: Schedule) -> ops.Op | None:
    """The first op of whose state a snapshot does not hold all."""
    for op in schedule.ops():
        if not isinstance(op, _HELD):
            return op
        if isinstance(op, ops.TmaLoad | ops.TmaStore) and op.rows:
            return op  # its rows need not move alike
    return None


class Snapshot:
    """``same``: what does not move. ``clocks``: what moves by components; ``chains``: the clocks of
    the observers. For ``now`` and ``faint`` see below. ``tags``: the data that is in memory.
    ``order``: numbers of accesses, of which the order counts. ``events``: positions in the streams;
    ``phases``: completed phases of the mbarriers; both with what jumps have passed over.
    """

    __slots__ = (
        "_x",
        "chains",
        "clocks",
        "events",
        "faint",
        "now",
        "order",
        "phases",
        "positions",
        "same",
        "tags",
    )

    def __init__(self, x: Execution, passed: list[int]) -> None:
        self._x = x
        self.same: list[object] = []
        self.clocks: list[int] = []
        self.tags: list[Tag] = []
        self.order: list[int] = []
        self.positions = [0] * len(x.warps)
        for agent in x.agents:
            self._agent(agent)
        self.same.append([id(a) for a in x.ready])
        self.same += (
            x.report.changes,
            x.barriers.phases.inferred,
            [len(w.settled) for w in x.warps],
        )
        self.events = [at + more for at, more in zip(self.positions, passed, strict=True)]
        self.now = self._now()
        self.faint = self._faint()
        self.chains = [c.clock for w in x.warps for c in (w.elected, w.others)]
        for warp in x.warps:
            self._chain(warp.elected)
            self._chain(warp.others)
            if warp.kin is not None:
                ahead = warp.kin.ahead
                self.same.append([(pos - self.positions[warp.index], who) for pos, who in ahead])
                self.clocks += ahead.values()
        for b in x.barriers.by_key.values():
            self._barrier(b)
        self.phases = [b.state.generation + b.state.skipped for b in x.barriers.by_key.values()]
        for named in x.named.by_id.values():
            self._named(named)
        self._cluster()
        for cell in x.shared.cells():
            for touches in (cell.writes, cell.reads.values(), cell.flying):
                self._touches(touches)
        self._registers()
        for group in {id(g): g for g in x.tensor.groups.values()}.values():
            self._warpgroup(group)

    def _now(self) -> int:
        """How far every component has come: a field each, in the first section."""
        x, shift = self._x, self._x.layout.shift
        now = 0
        for warp, at in zip(x.warps, self.positions, strict=True):
            for chain in (warp.elected, warp.others):
                now |= (at + 1) << chain.shift_control
        for b in x.barriers.by_key.values():
            now |= (b.base + b.state.generation + 1) << shift(Section.CONTROL, b.comp)
        for named in x.named.by_id.values():
            now |= named.state.generation << shift(Section.CONTROL, named.comp)
        now |= x.cluster.state.generation << shift(Section.CONTROL, x.cluster.component)
        for group in {id(g): g for g in x.tensor.groups.values()}.values():
            commits = max(x.tensor.registers[w].commits for w in self._warps(group))
            now |= (commits + 1) << shift(Section.CONTROL, group.comp)
        return now

    def _faint(self) -> int:
        """Fields of which only is asked whether they are 0: for the async proxy, what counts of
        an mbarrier is that its init is known. That of a second life is another number."""
        layout, barriers = self._x.layout, self._x.barriers.by_key.values()
        if any(b.base for b in barriers):
            return 0
        fields = sum(FIELD_MASK << layout.shift(Section.SHARED_FENCE, b.comp) for b in barriers)
        return fields | fields << layout.width

    def _warps(self, group: Warpgroup) -> list[int]:
        return [w for w, g in self._x.tensor.groups.items() if g is group]

    def _agent(self, a: Agent) -> None:
        self.positions[a.warp.index] = a.pos
        op = a.current[0].op.id if a.current is not None else None
        token = None if a.token is None else a.token > 0
        self.same.append((id(a), a.who, a.blocked, a.done, op, token))
        self.clocks.append(a.token if a.token is not None and a.token > 0 else 0)

    def _chain(self, chain: Chain) -> None:
        self.clocks += (chain.acquired, chain.own << chain.shift_control)
        self.same += (tuple(chain.written.items()), tuple(chain.initialised.items()))
        self.clocks += (chain.sent, chain.sent_far, chain.heard, chain.heard_far)
        for name, s in chain.states.items():
            self.same.append((name, id(s.barrier), s.life, s.barrier.generation - s.phase))
        for name, peek in chain.peeks.items():
            self.same.append((name, peek.barrier, peek.parity, peek.passed, peek.seen))
            self.clocks.append(peek.clock)
        for kind, queue in chain.queues.items():
            self.same.append((kind, len(queue.open), tuple(map(len, queue.committed))))
            for members in (queue.open, *queue.committed):
                for member in members:
                    assert isinstance(member, Flight)
                    self._flight(member)

    def _flight(self, f: Flight) -> None:
        self.same.append((f.commit is None, f.retired is None, f.source_read is None))
        self._touches(f.touches)

    def _touches(self, touches: Iterable[Touch]) -> None:
        first = len(self.same)
        for t in touches:
            access = t.access
            self.same.append((t.who, access.write, access.proxy))
            self.clocks += (t.end, self._place(t.step))
            if isinstance(access.region, GlobalBox):  # where it lies, the jump itself looks at
                self.same.append(access.region.tensor)
                continue
            self.same.append((access.region, access.lanes))
            self.order.append(t.seq)
            for region, tag in access.tags:
                if tag is not None and access.write:  # of a read, its data was compared at once
                    self.tags.append(tag)
                self.same.append((region, tag is None))
        self.same.append(len(self.same) - first)

    def _place(self, step: Step) -> int:
        return (step.pos + 1) << step.warp.elected.shift_control

    def _barrier(self, b: Barrier) -> None:
        s, shift = b.state, self._x.layout.shift(Section.CONTROL, b.comp)
        self.same.append((s.initialised, s.count, s.next_count, s.pending, s.tx, s.life, b.base))
        self.same.append((b.landings, b.uncounted_expects, b.tx_bytes, [id(a) for a in b.waiters]))
        self.same.append([(c.kind, c.tx, c.step.warp.index) for c in b.counted])
        self.same.append([(chain.component) for chain, _ in b.waits])
        self.clocks += (b.inval_epoch, b.gather, b.far, b.released, b.released_far)
        self.clocks += (b.counted_epochs, b.idle_epochs)
        for counted in b.counted:
            self.clocks += (counted.clock, counted.epoch, self._place(counted.step))
        self.clocks += ((step.pos + 1) << chain.shift_control for chain, step in b.waits)
        landed = b.last_landing[0] + 2 if b.last_landing else 0
        arrived = max((a.generation for a in b.last_arrivals.values()), default=-1)
        for number in (landed, b.observed + 2, arrived + 2):
            self.clocks.append((b.base + number) << shift)

    def _named(self, b: NamedBarrier) -> None:
        waiters = [id(a) for a in b.waiters]
        self.same.append((b.state.threads, b.state.arrived, tuple(b.state.warps)))
        self.same.append((waiters, b.synced, b.state.exited))
        self.clocks += (b.gather, b.epochs, b.last_epochs, b.exits)

    def _cluster(self) -> None:
        barrier, peers = self._x.cluster, self._x.peers
        self.same.append((barrier.state.so_far(), [id(a) for a in barrier.waiters]))
        self.clocks += (barrier.gather, barrier.released)
        for kind in (peers.accesses, peers.multicasts):
            for rank, entries in kind.items():
                self.same.append((rank, list(entries)))
                self.clocks += (epoch for epoch, _ in entries.values())

    def _registers(self) -> None:
        """setmaxnreg inside a window is not followed: what it has done may not change."""
        changes, waiting = self._x.registers.so_far()
        self.same.append((len(changes), waiting))
        for change in changes:
            self.clocks += (change.clock, self._place(change.step))

    def _warpgroup(self, group: Warpgroup) -> None:
        tensor, warps = self._x.tensor, self._warps(group)
        records = [tensor.registers[w] for w in warps]
        commits = max(r.commits for r in records)
        position = max(r.position for r in records)
        self.same.append((group.broken, [id(a) for a in group.waiters]))
        self.same.append([(i - position, left) for i, left in group.sequence.items()])
        self.same.append((len(group.open), [j - commits for j in group.groups]))
        for flight in group.open:
            self._flight(flight)
        for g in group.groups.values():
            self.clocks.append(g.clock)
            self.same.append((sorted(g.commits), g.waited, len(g.flights)))
            for flight in g.flights:
                self._flight(flight)
        for w, r in zip(warps, records, strict=True):
            at = self._x.warps[w].elected.shift_control
            self.clocks.append((r.fence + 1) << at)
            self.same.append((r.position - position, r.commits - commits, r.retired - commits))
            self.same.append([(n, tuple(masks)) for n, masks in r.touched.items()])
            for name, uses in r.pending.items():
                self.same.append((name, [(mask, j - commits) for mask, j, _ in uses]))
                self.clocks += (self._place(step) for _, _, step in uses)
            for name, (shape, step) in r.used.items():
                self.same.append((name, shape))
                self.clocks.append(self._place(step))


def undivided(x: Execution) -> bool:
    """Whether every warp is in lockstep, and nothing is in flight that has not been looked at."""
    return not x.flying and all(a.who is Who.BOTH for a in x.agents)
