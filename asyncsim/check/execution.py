"""One execution of a CTA: the schedule's ops on the state machines, with clocks and checks.

The warps run in lockstep (both observers of a warp together) and round robin, one op each. The
policy decides who may run and when copies land. Ops are bound once: ``_bind`` is the one place
that knows every op.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never, get_args

from asyncsim.check.barriers import Barrier, Barriers
from asyncsim.check.clock import FIELD_BITS, ClockLayout, Section
from asyncsim.check.counting import Counting
from asyncsim.check.describe import op_text
from asyncsim.check.global_memory import GlobalMemory
from asyncsim.check.grid import Bounds
from asyncsim.check.lanes import LaneOverlap
from asyncsim.check.model import (
    Agent,
    Breach,
    Chain,
    Clash,
    End,
    Fault,
    Flight,
    Report,
    Step,
    StopExecution,
    Touch,
    Warp,
    Who,
)
from asyncsim.check.named import NamedBarrier, NamedBarriers
from asyncsim.check.policy import Policy
from asyncsim.check.reads import stale_message
from asyncsim.check.shared import SharedMemory
from asyncsim.check.tensor import TensorCores, Warpgroup, WarpRegisters
from asyncsim.check.witness import KEPT
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier
from asyncsim.ir.op import FenceSpace, GroupKind, Op, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox, RegisterRegion, SmemRegion
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, BarrierKey, Dyn, Proxy
from asyncsim.stream.program import Event, WarpPlace
from asyncsim.sync import GroupQueue, SyncFault

Handler = Callable[[Agent, Step], bool]
"""Execute an op; False if it blocks (it is called again later)."""


@dataclass(frozen=True, slots=True)
class Landing:
    """A copy in flight: what it will complete, and the clock of its issue."""

    barrier: Barrier
    clock: int
    step: Step
    touches: list[Touch]
    bytes: int


class Execution:
    """Runs the warps of one CTA to the end, to a hang, or to a fault.

    ``events`` are the streams of the warps. ``chain_phases``: a wait also acquires what earlier
    phases of its barrier have released, as any single execution does; off for the certificate,
    which speaks for all executions. ``bounds`` checks the plain global accesses.
    ``counting``: the barriers that are decided by counting.
    """

    def __init__(
        self,
        schedule: Schedule,
        places: list[WarpPlace],
        events: Iterable[Iterator[Event]],
        policy: Policy,
        *,
        chain_phases: bool = False,
        bounds: Bounds | None = None,
        counting: Counting | None = None,
    ) -> None:
        self.bounds = bounds
        self.schedule, self.policy = schedule, policy
        self.report = Report()
        used = sorted(
            {o.barrier for o in schedule.ops() if isinstance(o, ops.BarSync | ops.BarArrive)}
        )
        keys = [
            BarrierKey(0, b.name, s) for b in schedule.of_kind(Mbarrier) for s in range(b.stages)
        ]
        n = len(places)
        groups = [r for r in schedule.roles() for _ in range(r.warps // 4)]
        self.layout = ClockLayout(2 * n + len(keys) + len(used) + len(groups))
        self.warps = [
            self._warp(i, p, e) for i, (p, e) in enumerate(zip(places, events, strict=True))
        ]
        lanes = LaneOverlap()
        self.shared = SharedMemory(self.layout, lanes, self._clash, self._stale)
        self.globals = GlobalMemory(self.layout, lanes, self._clash)
        self.barriers = Barriers(
            self.layout,
            self.breach,
            self.fault,
            self._wake,
            chain_phases=chain_phases,
            counting=counting,
            everything=self._everything,
        )
        self.named = NamedBarriers(self.layout, self.breach, self._wake)
        self.tensor = TensorCores(self.layout, self.shared, self.fault, self._wake)
        for i, key in enumerate(keys):
            self.barriers.by_key[key] = Barrier(key, 2 * n + i)
        for i, id in enumerate(used):
            self.named.by_id[id] = NamedBarrier(id, 2 * n + len(keys) + i)
        self._warpgroups(2 * n + len(keys) + len(used))
        self.agents = [Agent(w, Who.BOTH, 0) for w in self.warps]
        self.ready: deque[Agent] = deque()
        self.flying: deque[Landing] = deque()  # copies that have not landed
        self._handlers: dict[int, tuple[Handler, bool]] = {}
        self.recent: deque[tuple[Step, bool]] = deque(maxlen=KEPT)
        self._seq = 0
        self._written = {
            o.dst.tensor for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.TmaStore)
        }

    def _warp(self, index: int, place: WarpPlace, events: Iterator[Event]) -> Warp:
        warp = Warp(index, place, events)

        def chain(who: Who, component: int) -> Chain:
            control = self.layout.shift(Section.CONTROL, component)
            return Chain(
                warp, who, component, (control, self.layout.shift(Section.MEMORY, component))
            )

        warp.elected = chain(Who.ELECTED, 2 * index)
        warp.others = chain(Who.OTHERS, 2 * index + 1)
        return warp

    def _warpgroups(self, first: int) -> None:
        for role in self.schedule.roles():
            for i in range(role.warps // 4):
                group = Warpgroup(first, 4)
                first += 1
                for w in range(role.first_warp + 4 * i, role.first_warp + 4 * i + 4):
                    self.tensor.groups[w] = group
                    self.tensor.registers[w] = WarpRegisters()

    # -- scheduling ----------------------------------------------------------------------------

    def run(self) -> Report:
        """Execute everything that can be executed."""
        self.ready.extend(self.agents)
        try:
            while True:
                while (agent := self.policy.next(self)) is not None:
                    self._step(agent)
                if not self._diverge():
                    break
        except StopExecution:
            self.report.end = End.FAULT
            return self.report
        if any(not a.done for a in self.agents):
            self.report.end = End.HANG
        return self.report

    def _step(self, agent: Agent) -> None:
        event = agent.current
        if event is None:
            event = self._fetch(agent)
            if event is None:
                agent.done = True
                return
        step = Step(agent.warp, agent.who, agent.pos, event)
        bound = self._handlers.get(event[0].op.id)
        if bound is None:
            op = event[0].op
            bound = self._handlers[op.id] = self._bind(op), not isinstance(op, _LOCAL)
        handler, logged = bound
        try:
            passed = handler(agent, step)
        except SyncFault as cause:
            name = event[0].barrier.name if event[0].barrier else ""
            self.fault(Fault(rule=cause.rule, message=cause.message, step=step, name=name))
            raise StopExecution(cause) from None
        except ScheduleError as cause:
            self._schedule_error(cause, step)
            raise StopExecution(cause) from None
        if not passed:
            agent.blocked = True
            return
        agent.current = agent.token = agent.since = None
        agent.pos += 1
        self.report.steps += 1
        self.ready.append(agent)
        if logged:
            self.recent.append((step, False))

    def _fetch(self, agent: Agent) -> Event | None:
        """The agent's next event; the other lanes skip what only the elected lane executes."""
        try:
            event = agent.warp.event(agent.pos)
            while agent.who is Who.OTHERS and event is not None:
                if event[0].op.scope is not Scope.ELECTED:
                    break
                agent.pos += 1
                event = agent.warp.event(agent.pos)
        except ScheduleError as cause:
            self._schedule_error(cause, None)
            raise StopExecution(cause) from None
        if agent.who is Who.BOTH:
            agent.warp.drop_before(agent.pos)
        agent.current = event
        return event

    def _schedule_error(self, cause: ScheduleError, step: Step | None) -> None:
        """An operand that breaks a rule is a finding; any other error makes no schedule at all."""
        if cause.rule is None:
            raise cause
        self.fault(Fault(rule=cause.rule, message=f"{cause.message}; {cause.fix}", step=step))

    def _wake(self, agents: list[Agent]) -> None:
        for agent in agents:
            agent.blocked = False
            self.ready.append(agent)

    def split(self, agent: Agent) -> Agent:
        """From here on the other lanes run on their own; returns their agent."""
        agent.who = Who.ELECTED
        others = Agent(agent.warp, Who.OTHERS, agent.pos)
        self.agents.append(others)
        self.ready.append(others)
        return others

    def _diverge(self) -> bool:
        """Nobody can run: let the other lanes pass the elected lanes that are blocked."""
        found = False
        for agent in list(self.agents):
            event = agent.current
            if agent.who is not Who.BOTH or not agent.blocked or event is None:
                continue
            if event[0].op.scope is Scope.ELECTED:
                self.split(agent)
                found = True
        return found

    def _joined(self, agent: Agent) -> bool:
        """Whether all lanes of the warp are here; lanes that diverged meet and become one again."""
        if agent.who is Who.BOTH:
            return True
        twin = next(a for a in self.agents if a.warp is agent.warp and a is not agent)
        if twin.pos != agent.pos or not twin.blocked:
            return False
        self.agents.remove(twin)
        agent.who = Who.BOTH
        return True

    def _everything(self) -> int:
        """A clock that knows all that has happened so far, fences included."""
        clock = 0
        for agent in self.agents:
            for chain in agent.warp.chains(agent.who):
                done = self._epoch_of(chain, agent.pos) | agent.pos << chain.shift_control
                clock = self.layout.join(self.layout.join(clock, chain.clock), done)
        for b in self.barriers.by_key.values():
            phases = (b.state.generation + b.state.initialised) << (FIELD_BITS * b.comp)
            for section in Section:
                clock = self.layout.join(clock, phases << (self.layout.width * section))
        for section in (Section.SHARED_FENCE, Section.GLOBAL_FENCE):
            clock = self.layout.fence(clock, section)
        return clock

    # -- what steps report ---------------------------------------------------------------------

    def fault(self, fault: Fault) -> None:
        op = fault.step.dyn.op.id if fault.step else -1
        key = fault.rule, op, fault.name
        if key not in self.report.faults:
            self.report.faults[key] = replace(fault, recent=tuple(self.recent))

    def breach(self, breach: Breach) -> None:
        key = (breach.condition, breach.array, breach.step.dyn.op.id)
        self.report.breaches.setdefault(key, breach)

    def _clash(self, clash: Clash) -> None:
        x, y = clash.earlier, clash.later
        own = x.step.warp is y.step.warp
        key = (
            clash.reason,
            x.step.dyn.op.id,
            y.step.dyn.op.id,
            x.access.write,
            y.access.write,
            clash.name,
        )
        known = self.report.clashes.get(key)
        telling = own if x.flight is not None else not own  # a warp barrier repairs the other kind
        was_own = known is not None and known.earlier.step.warp is known.later.step.warp
        if known is None or (telling and was_own is not own):
            self.report.clashes[key] = replace(clash, recent=tuple(self.recent))

    def _stale(self, reader: Touch, writer: Touch | None) -> None:
        region = reader.access.region
        assert isinstance(region, SmemRegion)
        rule = Rule.WRONG_TILE if writer else Rule.READ_BEFORE_ARRIVAL
        message = stale_message(reader, writer)
        other = writer.step if writer else None
        self.fault(
            Fault(rule=rule, message=message, step=reader.step, other=other, name=region.name)
        )

    # -- ops -----------------------------------------------------------------------------------

    def _bind(self, op: Op) -> Handler:
        """The handler of an op."""
        match op:
            case ops.MbarrierInit() | ops.MbarrierInval():
                return self._lifecycle
            case ops.MbarrierArrive():
                return partial(self._arrive, tx=False)
            case ops.MbarrierArriveExpectTx():
                return partial(self._arrive, tx=True)
            case ops.MbarrierExpectTx():
                return self._expect
            case ops.MbarrierWait():
                return self._wait
            case ops.CpAsync():
                return partial(self._grouped_copy, kind=GroupKind.CP_ASYNC)
            case ops.TmaLoad():
                return self._tma_load
            case ops.TmaStore():
                return partial(self._grouped_copy, kind=GroupKind.BULK)
            case ops.CommitGroup(kind=GroupKind.WGMMA):
                return self._wgmma_commit
            case ops.CommitGroup():
                return self._commit
            case ops.WaitGroup(kind=GroupKind.WGMMA):
                return self._wgmma_wait
            case ops.WaitGroup():
                return self._wait_group
            case ops.FenceMbarrierInit():
                return self._fence_init
            case ops.FenceProxyAsync():
                return self._fence_proxy
            case ops.BarSync():
                return self._bar_sync
            case ops.BarArrive():
                return self._bar_arrive
            case ops.BarWarpSync():
                return self._warp_sync
            case ops.WgmmaFence():
                return self._wgmma_fence
            case ops.WgmmaMmaAsync():
                return self._wgmma
            case ops.LdGlobal() | ops.StGlobal() | ops.LdShared() | ops.StShared() | ops.Compute():
                return self._plain
            case _ as unreachable:
                assert_never(unreachable)

    def _chains(self, agent: Agent, step: Step) -> tuple[Chain, ...]:
        """The observers that execute this op."""
        if step.dyn.op.scope is Scope.ELECTED:
            return (agent.warp.elected,)
        return agent.warp.chains(agent.who)

    def _barrier(self, dyn: Dyn) -> Barrier:
        assert dyn.barrier is not None
        return self.barriers.by_key[dyn.barrier]

    def _lifecycle(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        if isinstance(step.dyn.op, ops.MbarrierInit):
            self.barriers.init(b, step.dyn.value, step, self._chains(agent, step))
        else:
            self.barriers.inval(b)
        return True

    def _arrive(self, agent: Agent, step: Step, *, tx: bool) -> bool:
        dyn = step.dyn
        b = self._barrier(dyn)
        count, amount = (1, dyn.value) if tx else (dyn.value, 0)
        for chain in self._chains(agent, step):
            self.barriers.arrive(b, chain, step, count * chain.lanes, amount * chain.lanes)
        return True

    def _expect(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        for chain in self._chains(agent, step):
            self.barriers.expect(b, chain, step, step.dyn.value * chain.lanes)
        return True

    def _wait(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        parity = step.dyn.value
        if parity not in (0, 1):
            message = f"parity {parity}; a wait names 0 or 1"
            fault = Fault(
                rule=Rule.PARITY_OUT_OF_RANGE, message=message, step=step, name=b.key.name
            )
            self.fault(fault)
            raise StopExecution(SyncFault(fault.rule, message))
        if self.barriers.wait(b, self._chains(agent, step), step, parity):
            return True
        b.waiters.append(agent)
        if agent.since is None:
            agent.since = b.state.generation
        return False

    def _touch(
        self, step: Step, access: Access, parts: Sequence[tuple[Chain, int, Flight | None]]
    ) -> list[Touch]:
        """An access by each of some observers: checked, then recorded.

        ``parts``: the observer, when its access ends (0: not known yet), its group's flight.
        """
        region = access.region
        touches: list[Touch] = []
        clocks: list[int] = []
        for chain, end, flight in parts:
            self._seq += 1
            touch = Touch(step, chain.who, access, self._seq, end)
            touch.flight = flight
            if flight is not None:
                flight.touches.append(touch)
            touches.append(touch)
            clocks.append(chain.now(step.pos))
        if isinstance(region, SmemRegion):
            for touch, clock in zip(touches, clocks, strict=True):
                self.shared.check(touch, clock)
            self.shared.record(touches)
        elif isinstance(region, GlobalBox):
            if self.bounds is not None and not isinstance(step.dyn.op, _TENSOR_MAP_OPS):
                fault = self.bounds.check(step, access)
                if fault is not None:
                    self.fault(fault)
            if region.tensor in self._written:
                for touch, clock in zip(touches, clocks, strict=True):
                    self.globals.access(touch, clock)
        return touches

    def _plain(self, agent: Agent, step: Step) -> bool:
        parts = [(c, self._epoch(c, step), None) for c in self._chains(agent, step)]
        for access in step.dyn.accesses:
            if isinstance(access.region, RegisterRegion):
                self.tensor.touch_registers(step, access.region)
            else:
                self._touch(step, access, parts)
        return True

    def _epoch(self, chain: Chain, step: Step) -> int:
        """What a later op must know to come after this one, in order and through a proxy fence."""
        return self._epoch_of(chain, step.pos + 1)

    def _epoch_of(self, chain: Chain, pos: int) -> int:
        field = pos << chain.shift_memory
        fenced = field << self.layout.width
        return field | fenced | (fenced << self.layout.width)

    def _grouped_copy(self, agent: Agent, step: Step, *, kind: GroupKind) -> bool:
        """A copy that completes by groups (cp.async, bulk store)."""
        self._one_copy(agent, step)
        parts = [(c, 0, Flight(kind, (c,), step)) for c in self._chains(agent, step)]
        for access in step.dyn.accesses:
            self._touch(step, access, parts)
        for chain, _, flight in parts:
            self._queue(chain, kind).issue(flight)
        return True

    def _one_copy(self, agent: Agent, step: Step) -> None:
        """All lanes issuing one and the same copy write the same bytes in no order."""
        op = step.dyn.op
        if op.scope is Scope.ALL_LANES and agent.who is not Who.ELECTED:
            for access in step.dyn.accesses:
                if access.write and not access.lanes:
                    message = f"each of 32 lanes issues {op_text(step.dyn)}: 32 copies to one place"
                    self.fault(Fault(rule=Rule.WRITE_WRITE_RACE, message=message, step=step))

    def _tma_load(self, agent: Agent, step: Step) -> bool:
        b = self._barrier(step.dyn)
        self._one_copy(agent, step)
        for chain in self._chains(agent, step):
            clock = chain.now(step.pos)
            self.barriers.knows_init(b, clock, step)
            if not self.layout.at(clock, Section.SHARED_FENCE, b.comp):
                self._unfenced_init(b, chain, step)
            parts = [(chain, 0, None)]
            touches = [t for a in step.dyn.accesses for t in self._touch(step, a, parts)]
            self.flying.append(Landing(b, clock, step, touches, step.dyn.value * chain.lanes))
        self.recent.append((step, False))
        self.policy.issued(self)
        return True

    def land_next(self, index: int = 0) -> None:
        """One copy in flight lands."""
        copy = self.flying[index]
        del self.flying[index]
        try:
            end = self.barriers.land(copy.barrier, copy.clock, copy.step, copy.bytes)
        except SyncFault as cause:
            self.fault(Fault(rule=cause.rule, message=cause.message, step=copy.step))
            raise StopExecution(cause) from None
        for touch in copy.touches:
            if isinstance(touch.access.region, SmemRegion):
                self.shared.settle(touch, end)
            touch.end = end
        self.recent.append((copy.step, True))

    def _unfenced_init(self, b: Barrier, chain: Chain, step: Step) -> None:
        own = b.comp in chain.initialised
        who = "the same thread" if own else "another thread"
        message = f"{b.key} is used by the async proxy; its init by {who} is not fenced for it"
        self.fault(
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

    def _commit(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.CommitGroup)
        for chain in self._chains(agent, step):
            queue = self._queue(chain, op.kind)
            for flight in queue.open:
                assert isinstance(flight, Flight)
                flight.commit = step
                flight.commits[step.warp.index] = step.pos
            queue.commit()
        return True

    def _wait_group(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.WaitGroup)
        for chain in self._chains(agent, step):
            queue = self._queue(chain, op.kind)
            groups = queue.covered(op.n) if op.read else queue.retire(op.n)
            for group in groups:
                for flight in group:
                    assert isinstance(flight, Flight)
                    self._retire(chain, flight, step, source_only=op.read)
            waits = chain.waits.setdefault(op.kind, deque(maxlen=16))
            waits.append(step)
        return True

    def _retire(self, chain: Chain, flight: Flight, step: Step, *, source_only: bool) -> None:
        """A wait covers a flight: its source has been read, or all of it is done."""
        end = self._epoch(chain, step)
        for touch in flight.touches:
            if touch.end or (source_only and touch.access.write):
                continue
            if touch.access.proxy is Proxy.ASYNC:
                touch_end = end & self.layout.masks[Section.MEMORY]
            else:
                touch_end = end
            if isinstance(touch.access.region, SmemRegion):
                self.shared.settle(touch, touch_end)
            touch.end = touch_end
        flight.source_read = flight.source_read or step
        if not source_only:
            flight.retired = step

    def _fence_init(self, agent: Agent, step: Step) -> bool:
        for chain in self._chains(agent, step):
            chain.now(step.pos)
            for comp in chain.initialised:
                field = 1 << self.layout.shift(Section.SHARED_FENCE, comp)
                chain.clock = self.layout.join(chain.clock, field)
        return True

    def _fence_proxy(self, agent: Agent, step: Step) -> bool:
        op = step.dyn.op
        assert isinstance(op, ops.FenceProxyAsync)
        for chain in self._chains(agent, step):
            chain.now(step.pos)
            own = (step.pos + 1) << chain.shift_memory
            seen = self.layout.join(chain.clock, own)
            for section, spaces in _FENCED:
                if op.space in spaces:
                    fenced = self.layout.fence(seen, section) & self.layout.masks[section]
                    chain.clock = self.layout.join(chain.clock, fenced)
        return True

    # -- the warp as one -----------------------------------------------------------------------

    def _join(self, agent: Agent, step: Step, more: int = 0) -> int:
        """All lanes of the warp have met: they know what each of them knew, and ``more``."""
        warp = agent.warp
        clock = self.layout.join(warp.elected.publish(step.pos), warp.others.publish(step.pos))
        clock = self.layout.join(clock, more)
        for chain in (warp.elected, warp.others):
            chain.clock = clock
        return clock

    def _warp_sync(self, agent: Agent, step: Step) -> bool:
        if not self._joined(agent):
            return False
        self._join(agent, step)
        return True

    def _bar_sync(self, agent: Agent, step: Step) -> bool:
        if agent.token is None:
            if not self._joined(agent):
                return False
            self._count_in(agent, step, agent)
        if agent.token == -1:
            return False
        self._join(agent, step, agent.token or 0)
        return True

    def _bar_arrive(self, agent: Agent, step: Step) -> bool:
        if not self._joined(agent):
            return False
        self._count_in(agent, step, None)
        return True

    def _count_in(self, agent: Agent, step: Step, waiter: Agent | None) -> None:
        op = step.dyn.op
        assert isinstance(op, ops.BarSync | ops.BarArrive)
        clock = self._join(agent, step)
        epoch = (step.pos + 1) << agent.warp.elected.shift_control
        b = self.named.by_id[op.barrier]
        self.named.arrive(b, step, clock, epoch, step.dyn.value, waiter)

    def _wgmma_fence(self, agent: Agent, step: Step) -> bool:
        if not self._joined(agent):
            return False
        self.tensor.reach(self.tensor.groups[step.warp.index], step)
        self.tensor.fence(step)
        self._join(agent, step)
        return True

    def _wgmma(self, agent: Agent, step: Step) -> bool:
        if not self._joined(agent):
            return False
        op = step.dyn.op
        assert isinstance(op, ops.WgmmaMmaAsync)
        group = self.tensor.groups[step.warp.index]
        first = self.tensor.reach(group, step)
        clock = self._join(agent, step)
        flight = Flight(GroupKind.WGMMA, self._warpgroup_chains(step.warp.index), step)
        for access in step.dyn.accesses:
            if isinstance(access.region, RegisterRegion):
                self.tensor.mma(group, step, op, access.region)
                continue
            self._seq += 1
            touch = Touch(step, Who.BOTH, access, self._seq)
            touch.flight = flight
            self.shared.check(touch, clock)
            if first:
                self.shared.record([touch])
                flight.touches.append(touch)
        if first:
            group.open.append(flight)
        return True

    def _warpgroup_chains(self, warp: int) -> tuple[Chain, ...]:
        group = self.tensor.groups[warp]
        return tuple(w.elected for w in self.warps if self.tensor.groups.get(w.index) is group)

    def _wgmma_commit(self, agent: Agent, step: Step) -> bool:
        if not self._joined(agent):
            return False
        group = self.tensor.groups[step.warp.index]
        self.tensor.reach(group, step)
        self.tensor.commit(group, step, self._join(agent, step))
        return True

    def _wgmma_wait(self, agent: Agent, step: Step) -> bool:
        if not self._joined(agent):
            return False
        group = self.tensor.groups[step.warp.index]
        learned = self.tensor.wait(group, step, step.dyn.value, agent)
        if learned is None:
            return False
        self.tensor.reach(group, step)
        self._join(agent, step, learned)
        waits = agent.warp.elected.waits.setdefault(GroupKind.WGMMA, deque(maxlen=16))
        waits.append(step)
        return True


_LOCAL = (
    *get_args(ops.MemoryOp),
    *get_args(ops.TensorOp),
    ops.CpAsync,
    ops.TmaLoad,
    ops.BarWarpSync,
)
_TENSOR_MAP_OPS = (ops.TmaLoad, ops.TmaStore)
_FENCED = (
    (Section.SHARED_FENCE, (FenceSpace.SHARED, FenceSpace.ALL)),
    (Section.GLOBAL_FENCE, (FenceSpace.GLOBAL, FenceSpace.ALL)),
)
