"""One execution of a cluster: the schedule's ops on the state machines, with clocks and checks.

The warps run in lockstep (both observers of a warp together) and round robin, one op each. The
policy decides who may run and when copies land. What each op does is in steps.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from asyncsim.check.alike import Crowd
from asyncsim.check.barrier import Barrier
from asyncsim.check.barriers import Barriers
from asyncsim.check.clashes import Clashes
from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.cluster import ClusterBarrier, Peers
from asyncsim.check.copies import Landing
from asyncsim.check.counting import Counting
from asyncsim.check.cp_async import TrackedCopies
from asyncsim.check.early import Early
from asyncsim.check.elections import Elections, Meetings
from asyncsim.check.everything import everything
from asyncsim.check.global_memory import GlobalMemory
from asyncsim.check.grid import Bounds
from asyncsim.check.lanes import LaneOverlap
from asyncsim.check.model import Agent, Chain, Step, Warp, Who
from asyncsim.check.named import NamedBarrier, NamedBarriers
from asyncsim.check.policy import Policy
from asyncsim.check.proxies import ProxyFences
from asyncsim.check.registers import Registers
from asyncsim.check.report import Breach, Clash, End, Fault, Report, StopExecution, Unproven
from asyncsim.check.shared import SharedMemory
from asyncsim.check.steps import Handler, Steps
from asyncsim.check.tcgen05 import Tcgen05Steps
from asyncsim.check.tensor import TensorCores, Warpgroup, of_warpgroup
from asyncsim.check.tensormaps import TensorMaps
from asyncsim.check.tmem import TensorClock
from asyncsim.check.witness import KEPT, LOCAL
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier
from asyncsim.ir.op import Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import RegisterRegion
from asyncsim.stream.dyn import BarrierKey
from asyncsim.stream.program import Event, WarpPlace
from asyncsim.sync import SyncFault

if TYPE_CHECKING:
    from asyncsim.check.jump import Jumper


class Execution:
    """Runs the warps of one cluster (of one CTA, mostly) to the end, to a hang, or to a fault.

    ``places`` are all warps of the CTAs by rank, ``events`` their streams. ``chain_phases``: a wait
    also acquires what earlier phases of its barrier have released, as any single execution does;
    off for the certificate, which speaks for all executions. ``bounds`` checks the plain global
    accesses. ``counting``: barriers decided by counting. ``meets``: lanes wait behind an election.
    ``even``: the last warp at a block barrier does not get ahead, so that rounds repeat sooner.
    ``crowds``: warps of which two are executed for all; ``places`` lacks the others.
    ``shared_with_primary``: tensors of which early accesses are kept (dependent.py).
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
        meets: bool = False,
        even: bool = False,
        crowds: Sequence[Crowd] = (),
        shared_with_primary: frozenset[str] = frozenset(),
    ) -> None:
        self._meetings = Meetings(Elections(schedule) if meets else None)
        self.bounds, self.even = bounds, even
        self.schedule, self.policy = schedule, policy
        self.report = Report()
        used = sorted(
            {o.barrier for o in schedule.ops() if isinstance(o, ops.BarSync | ops.BarArrive)}
        )
        ranks = range(schedule.cluster_ctas)
        keys = [
            BarrierKey(rank, b.name, s)
            for rank in ranks
            for b in schedule.of_kind(Mbarrier)
            for s in range(b.stages)
        ]
        named = [(rank, id) for rank in ranks for id in used]
        n = len(places)
        first_named = 2 * n + len(keys)
        first_group = first_named + len(named)
        groups = list(self._warpgroups(n)) if any(map(of_warpgroup, schedule.ops())) else []
        cluster = first_group + len(groups)
        tensor = any(isinstance(op, ops.Tcgen05Op) for op in schedule.ops())
        tracks = any(isinstance(op, ops.CpAsyncMbarrierArrive) for op in schedule.ops())
        first_tracked = cluster + 1 + 2 * n * tensor
        self.primary = first_tracked + 2 * n * tracks  # whether the kernel before is over
        self.layout = ClockLayout(self.primary + 1, tensor=tensor, peers=schedule.cluster_ctas > 1)
        early = Early(shared_with_primary, self.primary, self.layout)
        self.early = early if shared_with_primary else None
        self.warps = [
            self._warp(i, p, e) for i, (p, e) in enumerate(zip(places, events, strict=True))
        ]
        self._thinned = bool(crowds)
        for crowd in crowds:
            crowd.enter(self.warps)
        lanes = LaneOverlap()
        clashes = Clashes(self.layout, self.warps, self.clash)
        self.shared = SharedMemory(self.layout, lanes, clashes, self.fault)
        self.globals = GlobalMemory(self.layout, lanes, clashes)
        self.barriers = Barriers(
            self.layout,
            self.breach,
            self.fault,
            self.wake,
            chain_phases=chain_phases,
            counting=counting,
            everything=partial(everything, self),
            late=self.late,
        )
        self.named = NamedBarriers(self.layout, self.breach, self.wake)
        self.registers = Registers(schedule, self.layout, self.fault, self.wake)
        self.tensor = TensorCores(self.layout, self.shared, self.fault, self.wake)
        for i, key in enumerate(keys):
            self.barriers.by_key[key] = Barrier(key, 2 * n + i)
        for i, (rank, id) in enumerate(named):
            self.named.by_id[rank, id] = NamedBarrier(id, first_named + i)
        owners = [(key.cta, 2 * n + i) for i, key in enumerate(keys)]
        self.fences = ProxyFences(self.layout, self.warps, owners, schedule.cluster_ctas)
        for i, first in enumerate(groups):
            self.tensor.add(Warpgroup(first_group + i, 4), range(first, first + 4))
        self.cluster = ClusterBarrier(self.layout, cluster, n, self.fault, self.wake)
        self.peers = Peers(self.layout, self.warps, self.fault)
        self.agents = [Agent(w, Who.BOTH, 0) for w in self.warps]
        self.ready: deque[Agent] = deque()
        self.flying: deque[Landing] = deque()  # copies that have not landed
        self._handlers: dict[int, tuple[Handler, bool]] = {}
        self.recent: deque[tuple[Step, bool]] = deque(maxlen=KEPT)
        self.tcgen05 = Tcgen05Steps(self, TensorClock(self.layout, cluster + 1))
        self.tracked = TrackedCopies(self, first_tracked) if tracks else None
        self.maps = TensorMaps(self)
        self.changes_maps = any(isinstance(op, ops.TensormapReplace) for op in schedule.ops())
        self.steps = Steps(self)
        self._seq = 0
        self.jumper: Jumper | None = None
        asynchronous = (ops.WgmmaFence, ops.WgmmaMmaAsync, ops.Tcgen05Op)
        self._watches = any(isinstance(op, asynchronous) for op in schedule.ops())
        self._relaxed = any(getattr(op, "relaxed", False) for op in schedule.ops())

    def _warp(self, index: int, place: WarpPlace, events: Iterator[Event]) -> Warp:
        warp = Warp(index, place, events)

        def chain(who: Who, component: int) -> Chain:
            control = self.layout.shift(Section.CONTROL, component)
            return Chain(
                warp, who, component, (control, self.layout.shift(Section.MEMORY, component))
            )

        warp.meet(chain(Who.ELECTED, 2 * index), chain(Who.OTHERS, 2 * index + 1))
        return warp

    def _warpgroups(self, warps: int) -> Iterator[int]:
        """The first warp of each."""
        for cta in range(0, warps, self.schedule.warps):
            for role in self.schedule.roles():
                for i in range(role.warps // 4):
                    yield cta + role.first_warp + 4 * i

    # -- scheduling ----------------------------------------------------------------------------

    def run(self) -> Report:
        """Execute everything that can be executed."""
        self.ready.extend(self.agents)
        try:
            while True:
                while (agent := self.policy.next(self)) is not None:
                    self._step(agent)
                if not (self.diverge() or self._part()):
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
                self._end(agent)
                self.wake(self._meetings.freed(agent.warp))
                return
        if agent.who is not _BOTH and self._meetings.holds(agent, self._twin(agent)):
            agent.blocked = True
            return
        step = Step(agent.warp, agent.who, agent.pos, event)
        bound = self._handlers.get(event[0].op.id)
        if bound is None:
            op = event[0].op
            bound = self._handlers[op.id] = self.steps.bind(op), not isinstance(op, LOCAL)
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
            agent.blocked = agent.token is None or agent.token == -1
            return
        agent.current = agent.token = agent.since = None
        agent.pos += 1
        self.report.steps += agent.warp.stands_for
        self.ready.append(agent)
        if self._meetings.held:
            self.wake(self._meetings.freed(agent.warp))
        if logged:
            self.recent.append((step, False))

    def _end(self, agent: Agent) -> None:
        if agent.done:
            return  # it was woken, and went on by itself: once is enough
        agent.done = True
        warp = agent.warp
        if all(a.done for a in self.agents if a.warp is warp):
            others = warp.others.publish(agent.pos - 1) if agent.pos else 0
            clock = self.layout.join(warp.elected.now(agent.pos), others)
            self.cluster.ended(warp, clock)
            self.named.ended(warp, clock)

    def _fetch(self, agent: Agent) -> Event | None:
        """The agent's next event; observers on their own skip what is for the other one only."""
        both = agent.who is _BOTH
        foreign = None if both else _FOREIGN[agent.who]
        try:
            event = agent.warp.event(agent.pos, last=both)
            while event is not None and event[0].op.scope is foreign:
                agent.pos += 1
                event = agent.warp.event(agent.pos)
        except ScheduleError as cause:
            self._schedule_error(cause, None)
            raise StopExecution(cause) from None
        agent.current = event
        jumper = self.jumper
        if jumper is None or (jumper.leader is not None and jumper.leader is not agent):
            return event
        jumper.fetched(agent, event)
        return agent.current

    def _schedule_error(self, cause: ScheduleError, step: Step | None) -> None:
        """An operand that breaks a rule is a finding; any other error makes no schedule at all."""
        if cause.rule is None:
            raise cause
        message, repair = cause.message, cause.fix
        self.fault(Fault(rule=cause.rule, message=message, repair=repair, step=step, loc=cause.loc))

    def wake(self, agents: list[Agent]) -> None:
        for agent in agents:
            agent.blocked = False
            self.ready.append(agent)

    def split(self, agent: Agent, keeps: Who = Who.ELECTED) -> Agent:
        """From here on the observers of a warp run on their own. The agent is that of ``keeps``;
        returns that of the others."""
        if agent.warp.kin is not None:
            raise Unproven
        agent.who = keeps
        twin = Agent(agent.warp, Who(Who.BOTH - keeps), agent.pos)
        self.agents.append(twin)
        self.ready.append(twin)
        return twin

    def diverge(self) -> bool:
        """Nobody can run: let the lanes pass that those who are blocked do not hold."""
        found = False
        for agent in list(self.agents):
            event = agent.current
            if agent.who is not Who.BOTH or not agent.blocked or event is None:
                continue
            scope = event[0].op.scope
            if scope in (Scope.ELECTED, Scope.OTHERS):
                self.split(agent, Who.ELECTED if scope is Scope.ELECTED else Who.OTHERS)
                found = True
        return found

    def _twin(self, agent: Agent) -> Agent:
        """The agent of the other lanes of a warp that has diverged."""
        return next(a for a in self.agents if a.warp is agent.warp and a is not agent)

    def _part(self) -> bool:
        """Nobody can run: let the lanes that are held go on, against what elections promise."""
        held = self._meetings.end()
        if not held:
            return False
        twin = self._twin(held[0])
        if twin.current is not None:
            self.report.parted = Step(twin.warp, twin.who, twin.pos, twin.current)
        self.wake(held)
        return True

    def joined(self, agent: Agent) -> bool:
        """Whether all lanes of the warp are here; lanes that diverged meet and become one again."""
        if agent.who is Who.BOTH:
            return True
        twin = self._twin(agent)
        if twin.pos != agent.pos or not twin.blocked:
            return False
        self.agents.remove(twin)
        self._meetings.freed(agent.warp)
        agent.who = Who.BOTH
        return True

    def land_next(self, index: int = 0) -> None:
        """One copy in flight lands."""
        self.steps.copies.land(index)

    def reach(self, chain: Chain, step: Step, b: Barrier) -> None:
        """An op counts on a barrier, perhaps of another CTA."""
        if b.key.cta != chain.warp.place.rank:
            self.peers.reach(chain, step, b.key.cta)
            self.steps.copies.published(b, chain, step)

    def touch_registers(self, step: Step, region: RegisterRegion) -> None:
        """A synchronous instruction touches registers."""
        if not self._watches:
            return
        self.tensor.touch_registers(step, region)
        self.tcgen05.touch_registers(step, region)

    def next_seq(self) -> int:
        """A number for the next access, in order of execution."""
        self._seq += 1
        return self._seq

    # -- what steps report ---------------------------------------------------------------------

    def _entered(self) -> None:
        """Something is to be reported: that takes an execution of all warps."""
        self.report.changes += 1
        if self._thinned:
            raise Unproven

    def fault(self, fault: Fault) -> None:
        op = fault.step.dyn.op.id if fault.step else -1
        key = fault.rule, op, fault.name
        known = self.report.faults.get(key)
        if known is None or (known.warning and not fault.warning):
            self._entered()
            self.report.faults[key] = replace(fault, recent=tuple(self.recent))

    def breach(self, breach: Breach) -> None:
        key = (breach.condition, breach.array, breach.step.dyn.op.id)
        if key not in self.report.breaches:
            self._entered()
            self.report.breaches[key] = breach

    def late(self, breach: Breach) -> None:
        if breach.array not in self.report.late:
            self._entered()
            self.report.late[breach.array] = breach

    def clash(self, clash: Clash) -> None:
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
            self._entered()
            self.report.clashes[key] = replace(
                clash, recent=tuple(self.recent), relaxed=self._relaxed
            )


_BOTH = Who.BOTH
_FOREIGN = {Who.ELECTED: Scope.OTHERS, Who.OTHERS: Scope.ELECTED}
"""What an observer on its own does not execute."""
