"""Accesses and copies of an execution: plain ones, by mbarrier, and by groups."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asyncsim.check.affine import only_reduced
from asyncsim.check.balance import Kind
from asyncsim.check.barrier import Barrier
from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.contents import reduction, use_registers
from asyncsim.check.describe import op_text
from asyncsim.check.global_memory import Row, rows
from asyncsim.check.grid import may_lie_outside
from asyncsim.check.lanes import lanes_collide
from asyncsim.check.model import Agent, Chain, Flight, Step, Touch, Who, chains_of
from asyncsim.check.proxies import for_peers
from asyncsim.check.report import Fault, StopExecution, Unproven
from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, Scope
from asyncsim.memory.region import GlobalBox, RegisterRegion, SmemRegion
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, Proxy
from asyncsim.sync import GroupQueue, SyncFault

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution


@dataclass(frozen=True, slots=True)
class Landing:
    """A copy in flight: what it will complete, and the clock of its issue.

    ``signal``: of what arrives: the clock that it releases, the epoch that knows of it (0: none).
    ``tracks``: the observer whose cp.async its arrival follows.
    """

    barrier: Barrier
    clock: int
    step: Step
    touches: list[Touch]
    bytes: int
    signal: tuple[int, int] | None = None
    tracks: Chain | None = None

    @property
    def who(self) -> Who:
        """The observer that issued it."""
        return self.tracks.who if self.tracks is not None else self.touches[0].who


def epoch_after(layout: ClockLayout, chain: Chain, step: Step) -> int:
    """What a later op must know to come after this one, in order and through a proxy fence."""
    return epoch_before(layout, chain, step.pos + 1)


def epoch_before(layout: ClockLayout, chain: Chain, pos: int) -> int:
    """The same for all ops of the observer before a position."""
    field = pos << chain.shift_memory
    fenced = field << layout.width
    return field | fenced | (fenced << layout.width)


def _also(step: Step) -> list[Step]:
    """The op as those execute it for whom the warp stands, where theirs differs."""
    return [step._replace(event=(dyn, step.event[1])) for dyn in step.dyn.also]


class Copies:
    """What touches memory."""

    def __init__(self, execution: Execution) -> None:
        self._x = execution
        stores = (o for o in execution.schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp))
        # groups that nobody waits for are not kept where mbarriers track the copies
        waits = [o for o in execution.schedule.ops() if isinstance(o, ops.WaitGroup)]
        self._waited = {o.kind for o in waits}
        self.written = {o.dst.tensor for o in stores} - only_reduced(execution.schedule)

    def touch(
        self, step: Step, access: Access, parts: Sequence[tuple[Chain, int, Flight | None]]
    ) -> list[Touch]:
        """An access by each of some observers: checked, then recorded.

        ``parts``: the observer, when its access ends (0: not known yet), its group's flight.
        """
        region = access.region
        touches: list[Touch] = []
        for chain, end, flight in parts:
            if isinstance(region, SmemRegion) and region.owner != step.warp.place.rank:
                self._x.peers.reach(chain, step, region.owner)
                end = for_peers(self._x.layout, end)
            touch = Touch(step, chain.who, access, self._x.next_seq(), end)
            touch.flight = flight
            if flight is not None:
                flight.touches.append(touch)
            if self._x.changes_maps:
                self._x.maps.used(chain, step, touch)
            touches.append(touch)
        if isinstance(region, SmemRegion):
            for touch, (chain, _, _) in zip(touches, parts, strict=True):
                self._x.shared.check(touch, chain.now(step.pos))
            self._x.shared.record(touches)
        elif isinstance(region, GlobalBox):
            if (early := self._x.early) is not None:
                for chain, _, _ in parts:
                    early.touched(chain, step, access)
            if self._x.bounds is not None and not may_lie_outside(step.dyn.op):
                fault = self._x.bounds.check(step, access)
                if fault is not None:
                    self._x.fault(fault)
            if region.tensor in self.written:
                self._x.globals.access(touches, [chain.now(step.pos) for chain, _, _ in parts])
        return touches

    def plain(self, agent: Agent, step: Step) -> bool:
        chains = chains_of(agent, step)
        parts = [(c, epoch_after(self._x.layout, c, step), None) for c in chains]
        for access in step.dyn.accesses:
            if isinstance(access.region, RegisterRegion):
                self._x.touch_registers(step, access.region)
            else:
                self.touch(step, access, parts)
        for other in _also(step):
            self.pass_over(other, bounds=True)
        self._registers(agent, step, chains)
        return True

    def pass_over(self, step: Step, *, bounds: bool) -> None:
        """Global accesses of an op that is not executed, but for some other: what the kernel writes
        itself may meet nothing else. Raises Unproven if it needs a closer look."""
        for access in step.dyn.accesses:
            if not isinstance(access.region, GlobalBox):
                continue
            if access.region.tensor in self.written and not self._x.globals.pass_over(access):
                raise Unproven
            if self._x.bounds is None or not bounds or may_lie_outside(step.dyn.op):
                continue
            if self._x.bounds.check(step, access) is not None:
                raise Unproven

    def _registers(self, agent: Agent, step: Step, chains: tuple[Chain, ...]) -> None:
        """What registers hold, they hold for ever: each op is looked at once."""
        if step.warp.settles(step.event[0].op.id, agent.who):
            return
        regions: tuple[list[RegisterRegion], list[RegisterRegion]] = [], []
        for access in step.dyn.accesses:
            if isinstance(access.region, RegisterRegion):
                regions[access.write].append(access.region)
        use_registers(chains, step, *regions, self._x.fault)

    def grouped_copy(self, agent: Agent, step: Step, *, kind: GroupKind) -> bool:
        """A copy that completes by groups (cp.async, bulk store)."""
        self._one_copy(agent, step)
        parts = [(c, 0, Flight(kind, (c,), step)) for c in chains_of(agent, step)]
        for access in step.dyn.accesses:
            self.touch(step, access, parts)
        tracked = self._x.tracked if kind is GroupKind.CP_ASYNC else None
        for chain, _, flight in parts:
            chain.issued.add(kind)
            if tracked is not None:
                tracked.issued(chain, flight)
                if kind not in self._waited:
                    continue
            self._queue(chain, kind).issue(flight)
        return True

    def scatter(self, agent: Agent, step: Step) -> bool:
        """A bulk store of several rows; two of them at one place are written in no order."""
        seen: set[Row] = set()
        for access in step.dyn.accesses[1:]:
            assert isinstance(access.region, GlobalBox)
            shape = self._x.schedule.tensor(access.region.tensor).shape
            found = {row for row, _ in rows(access, shape)}
            if found & seen:
                message = f"{op_text(step.dyn)} writes {access.region} twice: which stays is open"
                self._x.fault(Fault(rule=Rule.WRITE_WRITE_RACE, message=message, step=step))
                break
            seen |= found
        return self.grouped_copy(agent, step, kind=GroupKind.BULK)

    def _one_copy(self, agent: Agent, step: Step) -> None:
        """Lanes of one op that write common bytes do so in no order."""
        op = step.dyn.op
        if op.scope is Scope.ELECTED or agent.who is Who.ELECTED or reduction(step) is not None:
            return
        lanes = 31 if op.scope is Scope.OTHERS else 32
        for access in step.dyn.accesses:
            if access.write and not access.lanes:
                what = op_text(step.dyn)
                message = f"each of {lanes} lanes issues {what}: {lanes} copies to one place"
            elif access.write and lanes_collide(access):
                message = f"lanes of {op_text(step.dyn)} write common bytes: which stays is open"
            else:
                continue
            self._x.fault(Fault(rule=Rule.WRITE_WRITE_RACE, message=message, step=step))

    def store(self, agent: Agent, step: Step) -> bool:
        """st.shared, st.global."""
        for each in (step, *_also(step)):
            self._one_copy(agent, each)
        return self.plain(agent, step)

    def tma_load(self, agent: Agent, step: Step) -> bool:
        self._one_copy(agent, step)
        accesses = step.dyn.accesses
        receivers = len(step.dyn.barriers)  # one write for each; the rest is read
        sources, writes = accesses[:-receivers], accesses[-receivers:]
        for chain in chains_of(agent, step):
            clock, parts = chain.now(step.pos), [(chain, 0, None)]
            read = [touch for source in sources for touch in self.touch(step, source, parts)]
            for key, write in zip(step.dyn.barriers, writes, strict=True):
                b = self._x.barriers.by_key[key]
                self._x.peers.reach(chain, step, key.cta)
                self._x.barriers.knows_init(b, clock, step)
                self.published(b, chain, step)
                touches = [*read, *self.touch(step, write, parts)]
                size = step.dyn.value * chain.lanes
                self._x.flying.append(Landing(b, self.issued(chain, step), step, touches, size))
                read = []
        self._x.recent.append((step, False))
        self._x.policy.issued(self._x)
        return True

    def st_async(self, agent: Agent, step: Step) -> bool:
        """Each lane's store lands on its own; all are over when the last one is."""
        assert step.dyn.barrier is not None
        b = self._x.barriers.by_key[step.dyn.barrier]
        registers, write = step.dyn.accesses
        assert isinstance(registers.region, RegisterRegion)
        self._one_copy(agent, step)
        self._x.touch_registers(step, registers.region)
        use_registers(chains_of(agent, step), step, [registers.region], [], self._x.fault)
        for chain in chains_of(agent, step):
            clock = chain.now(step.pos)
            self._x.reach(chain, step, b)
            self._x.barriers.knows_init(b, clock, step)
            touches = self.touch(step, write, [(chain, 0, None)])
            for lane in range(chain.lanes):
                last = touches if lane == chain.lanes - 1 else []
                issued = self.issued(chain, step)
                self._x.flying.append(Landing(b, issued, step, last, step.dyn.value))
        self._x.recent.append((step, False))
        self._x.policy.issued(self._x)
        return True

    def issued(self, chain: Chain, step: Step) -> int:
        """What the landing of a copy comes after: all before its issue, and the issue."""
        own = (step.pos + 1) << chain.shift_control
        return self._x.layout.join(chain.now(step.pos), own)

    def published(self, b: Barrier, chain: Chain, step: Step) -> None:
        """The async proxy and other CTAs need the init of a barrier fenced for them."""
        if not self._x.barriers.phases.level(b, chain.now(step.pos), Section.SHARED_FENCE):
            self._unfenced_init(b, chain, step)

    def land(self, index: int = 0) -> None:
        """One copy in flight lands."""
        copy = self._x.flying[index]
        del self._x.flying[index]
        try:
            if copy.signal is not None:
                self._signal(copy, *copy.signal)
                return
            end = self._x.barriers.land(copy.barrier, copy.clock, copy.step, copy.bytes)
        except SyncFault as cause:
            self._x.fault(Fault(rule=cause.rule, message=cause.message, step=copy.step))
            raise StopExecution(cause) from None
        if isinstance(
            copy.step.dyn.op, ops.StAsync | ops.RedAsync
        ):  # a generic write: async users need a fence
            end |= end << self._x.layout.width
        self._x.peers.landed(copy.step, copy.barrier.key.cta, end >> self._x.layout.width)
        for touch in copy.touches:
            if isinstance(touch.access.region, SmemRegion):
                self._x.shared.settle(touch, end)
            touch.end, touch.landed = end, True
        self._x.recent.append((copy.step, True))

    def _signal(self, copy: Landing, released: int, epoch: int) -> None:
        """What is in flight arrives."""
        chain, step, count, kind = copy.tracks, copy.step, 1, Kind.ARRIVAL
        if chain is not None:
            op = step.dyn.op
            assert isinstance(op, ops.CpAsyncMbarrierArrive) and self._x.tracked is not None
            self._x.tracked.landed(chain, step)
            count, kind = chain.lanes, Kind.ARRIVAL if op.noinc else Kind.PAIRED
        b = copy.barrier
        if isinstance(step.dyn.op, ops.Tcgen05Commit):
            self._x.peers.arrives(step, b.key, self._x.barriers.completion(b))
        self._x.barriers.signal(b, copy.clock, released, epoch, step, count=count, kind=kind)
        self._x.recent.append((step, True))

    def _unfenced_init(self, b: Barrier, chain: Chain, step: Step) -> None:
        own = chain.initialised.get(b.comp) == b.base + 1
        who = "the same thread" if own else "another thread"
        issued = ops.LoadOp | ops.BulkSend | ops.ClcTryCancel | ops.Tcgen05Commit
        by_async = isinstance(step.dyn.op, issued)
        user = "the async proxy" if by_async else "another CTA"
        message = f"{b.key} is used by {user}; its init by {who} is not fenced for it"
        self._x.fault(
            Fault(
                rule=Rule.MISSING_INIT_FENCE,
                message=message,
                step=step,
                other=b.init,
                name=b.key.name,
                warning=own,
            )
        )

    def _queue(self, chain: Chain, kind: GroupKind) -> GroupQueue:
        queue = chain.queues.get(kind)
        if queue is None:
            queue = chain.queues[kind] = GroupQueue()
        return queue

    def commit(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.CommitGroup)
        for chain in chains_of(agent, step):
            queue = self._queue(chain, op.kind)
            for flight in queue.open:
                assert isinstance(flight, Flight)
                flight.commit = step
                flight.commits[step.warp.index] = step.pos
            queue.commit()
        return True

    def wait_group(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.WaitGroup)
        for chain in chains_of(agent, step):
            queue = self._queue(chain, op.kind)
            groups = queue.covered(op.n) if op.read else queue.retire(op.n)
            for group in groups:
                for flight in group:
                    assert isinstance(flight, Flight)
                    self._retire(chain, flight, step, source_only=op.read)
            queue.forget(self._over)
            chain.waits.setdefault(op.kind, deque(maxlen=16)).append(step)
            if op.kind not in chain.issued:
                chain.idle_waits[op.kind] = step
        return True

    def _over(self, flight: object) -> bool:
        """Whether nothing comes of a flight any more: its source has been read, and where it writes
        no order counts."""
        assert isinstance(flight, Flight)
        written = [t.access.region for t in flight.touches if t.access.write]
        return flight.source_read is not None and all(
            isinstance(r, GlobalBox) and r.tensor not in self.written for r in written
        )

    def _retire(self, chain: Chain, flight: Flight, step: Step, *, source_only: bool) -> None:
        """A wait covers a flight: its source has been read, or all of it is done."""
        end = epoch_after(self._x.layout, chain, step)
        for touch in flight.touches:
            if source_only and touch.access.write:
                continue
            if touch.access.proxy is Proxy.ASYNC:
                touch_end = end & self._x.layout.masks[Section.MEMORY]
            else:
                touch_end = end
            if touch.end:
                if touch.landed:  # an mbarrier has tracked it: now there are two ways to know
                    touch.instead, touch.landed = touch_end, False
                continue
            if isinstance(touch.access.region, SmemRegion):
                self._x.shared.settle(touch, touch_end)
            touch.end = touch_end
        flight.source_read = flight.source_read or step
        if not source_only:
            flight.retired = step
