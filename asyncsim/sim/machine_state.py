"""The state of a run: the model as a whole, its SMs, and the CTAs on them."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.ir.decl import TensorMap
from asyncsim.ir.op import Scope
from asyncsim.ir.schedule import statements
from asyncsim.machine import TICKS_PER_CYCLE, Curve, ticks
from asyncsim.sim import do_cluster, do_sync
from asyncsim.sim.barriers import TimedMbarrier, TimedNamedBarrier
from asyncsim.sim.begin import Begin
from asyncsim.sim.beside import Late
from asyncsim.sim.clocks import Clocks
from asyncsim.sim.clusters import ClusterState
from asyncsim.sim.do_compute import KINDS, PIPES
from asyncsim.sim.do_registers import TimedPool
from asyncsim.sim.engine import Clock
from asyncsim.sim.flights import Flights
from asyncsim.sim.launcher import Launcher
from asyncsim.sim.memory import Latency, Line, Memory
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.pace import Pace
from asyncsim.sim.partitions import partition_counts, told_apart
from asyncsim.sim.path import LAUNCH, LSU, PIPE, PORT, SMEM, STORE, TENSOR, TMA, Cause, after
from asyncsim.sim.plan import Plan
from asyncsim.sim.role import Agent, noted
from asyncsim.sim.rounds import block_of
from asyncsim.sim.scatter import Scatter
from asyncsim.sim.servers import Fifo, Pipe
from asyncsim.sim.sharing import Share
from asyncsim.sim.steps import Step
from asyncsim.sim.tiles import HandedOut
from asyncsim.sim.warpgroup import Warpgroup
from asyncsim.sync.tmem import TmemAllocator

if TYPE_CHECKING:
    from asyncsim.sim.period import Jump
    from asyncsim.sim.tracing import Recorder

_BY_MAP = frozenset({ops.TmaLoad, ops.TmaPrefetch, ops.PrefetchTensorMap})
_READ_BY_TMA = frozenset({ops.TmaLoad, ops.BulkLoad, ops.BulkPrefetch, ops.TmaPrefetch})
_BY_TMA = _READ_BY_TMA | {ops.TmaStore, ops.BulkStore, ops.BulkSend}


class Model:
    """Everything that the SMs share, and the numbers that handlers read often (in ticks)."""

    def __init__(
        self,
        plan: Plan,
        clock: Clock,
        *,
        strict: bool,
        clock_mhz: Fraction,
        begin: Begin,
    ) -> None:
        self.plan, self.clock, self.strict = plan, clock, strict
        self.schedule, self.placement = schedule, placement = plan.schedule, plan.placement
        self.numbers = n = plan.numbers
        self.ready: deque[Agent] = deque()
        self.program, self.binders, self.barriers = plan.program, plan.binders, plan.barriers
        self.classes, self.in_warpgroup = plan.classes, plan.in_warpgroup
        counts = [partition_counts(c.warps) for c in self.classes]
        self.partitions, self.alike = told_apart(counts)
        self.sharing = plan.sharing
        clocks = Clocks(n, clock_mhz)
        self.memory = Memory(n, placement, clocks, keeps=self.sharing.warm)
        self.begin = begin
        self.triggers: dict[int, tuple[int, Cause]] = {}  # first launch_dependents, by CTA
        self.launcher = Launcher(n, placement, schedule.ctas, begin.at)
        kinds = {type(op) for op in schedule.ops()}
        self.handover = self.remote_handover = self.poll = 0
        self.clusters: dict[int, ClusterState] = {}  # that run, by number
        self.spread = 0
        if ops.MbarrierInit in kinds:
            self.handover = _wake(n, 1)
            self.poll = n.ticks("mbarrier.poll")
            if schedule.cluster_ctas > 1:
                self.remote_handover = n.ticks("mbarrier.remote_wake")
        self.tma_latency = self.tma_far = self.cp_latency = self.ld_latency = NO_LATENCY
        self.descriptor = 0
        if kinds & _READ_BY_TMA:
            self.tma_latency = near = _latency(n, clocks, "tma")
            far = _landings(n, clocks, "tma", "landing_dram_far")
            self.tma_far = replace(near, alone=far, near=near.alone)
            self.spread = n.ticks("l2.spread")
        if kinds & _BY_MAP:
            self.descriptor = n.ticks("tma.descriptor_first_use")
        if ops.CpAsync in kinds:
            self.cp_latency = _latency(n, clocks, "cp_async")
        if ops.LdGlobal in kinds:
            hit = n.exact("l2.latency") + n.exact("l2.through_l1")
            miss = clocks.latency(n.exact("dram.latency"), hit)
            alone = Line(Curve(((0, miss),)))
            self.ld_latency = Latency(ticks(clocks.latency(hit, hit)), ticks(miss), alone)
        self.queue_depth = n.count("tma.queue_depth") if kinds & _BY_TMA else 1
        self.wgmma_queue = n.count("wgmma.queue_depth") if ops.WgmmaMmaAsync in kinds else 1
        self.prologue, self.ending = n.ticks("launch.prologue"), n.ticks("launch.end")
        changing = [m.name for m in schedule.of_kind(TensorMap) if m.in_global]
        self.descriptors = {name: n.ticks("tma.descriptor_fetch") for name in changing}
        self.map_names = frozenset(m.name for m in schedule.of_kind(TensorMap))
        self.extras = self._wake_extras(n)
        self.tensor_issuers = self._tensor_issuers()
        self.stalls: list[dict[int, list[int]]] = [{} for _ in self.classes]
        self.clock_mhz = clock_mhz
        self.open: dict[int, Cta] = {}  # CTAs that run, by number
        self.unplaced: deque[int] = deque()
        self.handed_out = HandedOut(schedule, placement, self.unplaced)
        self.sms: list[SmState] = []
        self.jumps: list[Jump] = []
        self.passed = 0  # ticks that were not simulated so far; results count them in
        self.end: int = 0
        self.end_cause: Cause | None = None
        # Of every agent that ended: CTA, index of its class, start, end, stalls
        self.finished: list[tuple[int, int, int, int, int]] = []

    def drain(self) -> None:
        """Let every agent that can go on do so."""
        ready = self.ready
        while ready:
            ready.popleft().advance()

    def _tensor_issuers(self) -> int:
        """How many threads of an SM issue to its tensor core, at most (tcgen05)."""
        issuing = ops.Tcgen05Mma | ops.Tcgen05Cp | ops.Tcgen05Shift
        bodies = [role.body for role in self.schedule.roles()]
        count = sum(any(isinstance(s, issuing) for s in statements(body)) for body in bodies)
        return max(1, count) * self.placement.ctas_per_sm

    def _wake_extras(self, numbers: Numbers) -> dict[str, int]:
        """How much later than a lone waiter the last of a barrier's waiting warps passes."""
        waiting: dict[str, int] = {}
        for role in self.schedule.roles():
            names = {
                s.mbarrier.name
                for s in statements(role.body)
                if isinstance(s, ops.MbarrierWaitOp) and s.scope is not Scope.ELECTED
            }
            for name in names:
                waiting[name] = waiting.get(name, 0) + role.warps
        return {name: _wake(numbers, n) - _wake(numbers, 1) for name, n in waiting.items()}


def _wake(numbers: Numbers, warps: int) -> int:
    return round(numbers.curve("mbarrier.wake_by_warps").at(warps) * 64)


NO_LATENCY = Latency(0, 0, Line(Curve(((0, Fraction(0)),))))


def _latency(n: Numbers, clocks: Clocks, group: str) -> Latency:
    hit, miss = n.exact(f"{group}.latency_l2"), n.exact(f"{group}.latency_dram")
    return Latency(
        ticks(clocks.latency(hit, hit)),
        ticks(clocks.latency(miss, hit)),
        _landings(n, clocks, group, "landing_dram"),
    )


def _landings(n: Numbers, clocks: Clocks, group: str, key: str) -> Line:
    port = n.rate("tma.fill" if group == "tma" else "cp_async.port") * TICKS_PER_CYCLE
    hit = n.exact(f"{group}.latency_l2")
    return Line(clocks.landings(n.curve(f"{group}.{key}"), hit, port))


class SmState:
    """One simulated SM: engine, ports, tensor core, pipes. ``key`` breaks ties of its requests."""

    def __init__(self, model: Model, index: int, key: int) -> None:
        n = model.numbers
        self.model, self.index, self.key = model, index, key
        self.tma, self.reader = Pipe(TMA), Pipe(TMA)  # reader: of what is stored
        self.queue_depth = model.queue_depth
        self.starts: deque[tuple[int, Cause]] = deque(maxlen=model.queue_depth)
        self.landing: tuple[int, Cause] = (0, model.begin.cause)  # the last one of all its loads
        self.port = Fifo(PORT, n.fill())
        self.tensor, self.late = Pipe(TENSOR), Late(len(model.alike))
        self.warpgroups = 1  # that share the tensor core
        self.operand_bytes = self.operand_ticks = 0  # of the last wgmma
        self.operands_in_registers = False
        self.smem = Fifo(SMEM, n.rate("smem.port"))
        self.lsu, self.store = Pipe(LSU), Pipe(STORE)
        self.products = [Pipe(TENSOR) for _ in model.alike]  # mma.sync, by sub-partition
        self.pipes = [[Pipe(PIPE) for _ in PIPES] for _ in model.alike]
        self.issued = [Pipe(kind) for kind in KINDS]  # warp instructions; they serve nothing
        self.tmem = TmemAllocator()
        self.tmem_waiters: list[Agent] = []
        self.maps: dict[str, int] = {}
        self.rec: Recorder | None = None

    @property
    def tensor_shared(self) -> bool:
        return self.warpgroups > 1

    def servers(self) -> list[Pipe | Fifo]:
        """All that serves in order on this SM."""
        pipes = [self.tma, self.reader, self.tensor, self.lsu, self.store, *self.products]
        return [self.port, self.smem, *chain(pipes, self.issued, *self.pipes)]

    def accept(self, now: int, cause: Cause) -> tuple[int, Cause]:
        """When the engine's queue takes one more copy."""
        starts = self.starts
        if len(starts) < self.queue_depth or starts[0][0] <= now:
            return now, cause
        return starts[0]

    def descriptor(self, name: str, now: int) -> int:
        """When the engine has the tensor map: its first use on an SM fetches it. A copy without a
        map, of a tensor ``name``, waits for none."""
        if name not in self.model.map_names:
            return now
        ready = self.maps.get(name)
        if ready is None:
            fetch = self.model.descriptors.get(name, self.model.descriptor)
            ready = self.maps[name] = now + fetch
        return max(now, ready)

    def use_port(self, time: int, amount: int, cause: Cause) -> tuple[int, Cause]:
        """LSU traffic on the shared-memory port gets what wgmma operand reads leave."""
        if self.tensor.free > time and self.operand_ticks:
            port = self.model.numbers.rate("smem.port")
            rest = port - Fraction(self.operand_bytes, self.operand_ticks)
            slowed = max(rest, port / 16)
            amount = int(amount * port / slowed)
        _, end, _, why = self.smem.serve(time, amount, cause)
        return end, why

    def launch(self, number: int, slot: int, time: int, cause: Cause) -> None:
        """Start a CTA on one of the SM's slots."""
        model, size = self.model, self.model.schedule.cluster_ctas
        cluster = model.clusters.get(number // size)
        if cluster is None:
            cluster = ClusterState(size, model.schedule.warps)
            model.clusters[number // size] = cluster
        cta = model.open[number] = Cta(self, number, slot, time, cause, cluster)
        model.ready.extend(cta.agents)
        model.drain()


class Cta:
    """A CTA on an SM: its barriers and agents."""

    def __init__(
        self,
        sm: SmState,
        number: int,
        slot: int,
        start: int,
        cause: Cause,
        cluster: ClusterState,
    ) -> None:
        model = sm.model
        self.cluster, self.rank = cluster, number % model.schedule.cluster_ctas
        cluster.join(self.rank, self)
        self.sm, self.number, self.slot = sm, number, slot
        self.weight = model.memory.weight(number)
        self.launched, self.start = start, start + model.prologue
        self.began = self.start + model.passed
        self.cause = after(cause, self.start, LAUNCH)
        self.mbarriers = [
            TimedMbarrier(self, f"{name}[{s}]", model.extras.get(name, 0), do_sync.released)
            for name, (_, stages) in model.barriers.items()
            for s in range(stages)
        ]
        self.named: dict[int, TimedNamedBarrier] = {}
        self.exits: list[tuple[int, int, Cause]] = []
        self.registers = TimedPool(model.schedule.warps, model.schedule.maxnreg)
        self.flights = Flights()
        self.tmem: dict[str, int] = {}  # the first column of an allocation, by its word
        self.scatter = Scatter(model.spread, number)
        self.paces: dict[int, Pace] = {}
        self._shares: dict[int, Share] = {}
        self.agents: list[Agent] = []
        groups: dict[tuple[str, int], list[Agent]] = {}
        block = block_of(model.schedule, number)
        given = model.handed_out.given(number // model.schedule.cluster_ctas)
        for i, c in enumerate(model.classes):
            a = Agent(model, self, i, sm.key + 1 + slot * len(model.classes) + i)
            a.rec = sm.rec
            program, binder = model.program, model.binders[i]
            of = (binder, block, c.first, given)
            if a.rec is None:
                a.stream = program.joined(*of)
            else:
                a.stream = noted(a, program.bound(*of, reads=binder.reads))
            self.agents.append(a)
            if model.in_warpgroup[i]:
                groups.setdefault((c.role, c.first // 4), []).append(a)
        for members in groups.values():
            group = Warpgroup(self, len(members), members[0].key, model.wgmma_queue)
            for slot, a in enumerate(members):
                a.warpgroup, a.slot = group, slot
        self.live = len(self.agents)
        self.end, self.end_cause = self.start, self.cause

    def barrier(self, step: Step) -> TimedMbarrier:
        """The mbarrier of a step: its own, or that of another CTA of the cluster."""
        cta = self if step.rank < 0 else self.cluster.cta(step.rank)
        return cta.mbarriers[step.barrier]

    def share(self, op_id: int) -> Share:
        share = self._shares.get(op_id)
        if share is None:
            share = self._shares[op_id] = self.sm.model.sharing.of(self.number, op_id)
        return share

    def pace(self, a: Agent) -> Pace:
        """What the waits of an agent say."""
        pace = self.paces.get(a.index)
        if pace is None:
            pace = self.paces[a.index] = Pace(self.sm.model.spread // 2)
        return pace

    def apart(self, time: int) -> bool:
        """Whether this CTA's SM is not in step with its neighbours."""
        return any(pace.apart(time) for pace in self.paces.values())

    def named_barrier(self, number: int) -> TimedNamedBarrier:
        barrier = self.named.get(number)
        if barrier is None:
            barrier = self.named[number] = TimedNamedBarrier(number)
            for time, warps, cause in self.exits:
                barrier.exit_at(time, warps, cause)
        return barrier

    def exited(self, time: int, warps: int, cause: Cause) -> list[TimedNamedBarrier]:
        """Warps have ended: the barriers whose open round that completes."""
        self.exits.append((time, warps, cause))
        return [b for b in self.named.values() if b.exit_at(time, warps, cause)]

    def ended(self, a: Agent) -> None:
        """An agent is at its end; the CTA ends with the last of them."""
        model = self.sm.model
        end = a.t + model.passed
        model.finished.append((self.number, a.index, self.began, end, a.stall_total))
        self.live -= 1
        a.done = True
        do_cluster.exited(a)
        do_sync.exited(a)
        if a.t >= self.end:
            self.end, self.end_cause = a.t, a.cause()
        if self.live == 0:
            end = self.end + model.ending
            last = self.end_cause
            self.end_cause = after(last, end, LAUNCH)
            model.clock.post(end, self.sm.key, self._retire, end)

    def _retire(self, end: int) -> None:
        """The CTA has left the SM; the next of the launch takes its slot."""
        model = self.sm.model
        del model.open[self.number]
        if end + model.passed >= model.end:
            model.end, model.end_cause = end + model.passed, self.end_cause
        if self.sm.rec is not None:
            self.sm.rec.cta(self, end)
        self.cluster.left -= 1
        if self.cluster.left == 0:
            del model.clusters[self.number // model.schedule.cluster_ctas]
            if model.unplaced:
                self._replace_cluster(end)

    def _replace_cluster(self, end: int) -> None:
        """The next cluster takes the slots of this one, which has left."""
        model = self.sm.model
        for cta in self.cluster.members():
            number = model.unplaced.popleft()
            begin = model.launcher.next(end + model.numbers.ticks("launch.replacement"))
            cause = after(self.end_cause, begin, LAUNCH)
            model.clock.post(begin, cta.sm.key, cta.replace, (number, begin, cause))

    def replace(self, args: tuple[int, int, Cause]) -> None:
        """Start another CTA in this one's place."""
        number, begin, cause = args
        self.sm.launch(number, self.slot, begin, cause)
