"""The state of a run: everything that decides what follows, with its ticks apart from the rest.

Two states are alike when all that is no tick is equal and all ticks are as far from now. A tick so
far back that nothing asks for it any more counts as any other such tick. What is left out: causes
and sums, which decide nothing; what L2 holds, which ``period`` follows box by box; the boxes of
steps, which it moves; and streams, whose ops it compares. See docs/decisions/0016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from asyncsim.sim import (
    do_bulk,
    do_compute,
    do_copy,
    do_matrix,
    do_registers,
    do_store,
    do_sync,
    do_tcgen05,
    machine_state,
)
from asyncsim.sim.role import Agent
from asyncsim.sim.servers import Fifo, Pipe
from asyncsim.sim.warpgroup import Warpgroup

if TYPE_CHECKING:
    from asyncsim.sim.barriers import TimedMbarrier, TimedNamedBarrier
    from asyncsim.sim.clusters import ClusterState
    from asyncsim.sim.engine import Posted
    from asyncsim.sim.machine_state import Cta, Model, SmState
    from asyncsim.sim.steps import StateKey, Step
    from asyncsim.sync import ArriveState, GroupQueue


class Unknown(Exception):
    """An event is posted whose ticks nobody has told apart."""


@dataclass(slots=True)
class State:
    """``what``: no ticks; ``when``: ticks; ``clocks``: of servers, (numerator, per tick);
    ``local``: of the agents that run, (local time, what each is at); ``parities``: of the barriers
    of each CTA, which may differ: a parity that a wait names is told from there."""

    now: int
    slack: int
    what: list[object] = field(default_factory=list)
    when: list[int] = field(default_factory=list)
    clocks: list[tuple[int, int]] = field(default_factory=list)
    local: list[tuple[int, object]] = field(default_factory=list)
    parities: dict[int, list[int]] = field(default_factory=dict)

    def asleep(self, later: State) -> list[bool]:
        """Of each agent: whether it has not moved from this state to a later one."""
        return [
            t == u and step is other
            for (t, step), (u, other) in zip(self.local, later.local, strict=True)
        ]

    def flips(self, later: State) -> dict[int, list[bool]]:
        """By CTA: the barriers whose parity is another one later."""
        return {
            cta: [p != q for p, q in zip(parities, later.parities[cta], strict=True)]
            for cta, parities in self.parities.items()
        }

    def recurs_in(self, later: State) -> bool:
        """Whether the later state is this one, moved in time."""
        if self.what != later.what or len(self.local) != len(later.local):
            return False
        asleep = self.asleep(later)
        mine, theirs = self._floor(asleep), later._floor(asleep)
        return (
            all(
                sleeps or t - mine == u - theirs
                for (t, _), (u, _), sleeps in zip(self.local, later.local, asleep, strict=True)
            )
            and self.now - mine == later.now - theirs
            and _since(self.when, mine) == _since(later.when, theirs)
            and _left(self.clocks, mine) == _left(later.clocks, theirs)
        )

    def _floor(self, asleep: list[bool]) -> int:
        """A tick that nothing looks back to: whoever goes on has a later local time."""
        times = [t for (t, _), sleeps in zip(self.local, asleep, strict=True) if not sleeps]
        return min([self.now, *times]) - self.slack


def _since(ticks: list[int], floor: int) -> list[int]:
    return [t - floor if t > floor else 0 for t in ticks]


def _left(clocks: list[tuple[int, int]], floor: int) -> list[tuple[int, int]]:
    return [(free - floor * num if free > floor * num else 0, num) for free, num in clocks]


def state_of(model: Model, pending: list[Posted]) -> State:
    """The state before the first of the posted events. Raises Unknown."""
    s = State(pending[0].time, model.spread // 2 + 1)  # a margin beyond half the spread is ample
    s.what += [tuple(model.open), len(model.unplaced)]
    for event in pending:
        _event(s, event)
    for cta in model.open.values():
        _cta(s, cta)
    for sm in model.sms:
        _sm(s, sm)
    for fifo in model.memory.fifos():
        _fifo(s, fifo)
    flight = model.memory.in_flight()
    s.what += [read[1:] for read in flight]
    s.when += [landing for landing, *_ in flight]
    free = model.launcher.free
    s.clocks.append((free.numerator, free.denominator))
    return s


# -- events --------------------------------------------------------------------------------------

Told = tuple[object, list[int]]
"""What an event's argument says beside its ticks, and those."""


def _load_request(arg: Any) -> Told:
    a, step, _, start, _ = arg
    return (a.key, step), [start]


def _loads(arg: Any) -> Told:
    a, loads = arg
    return (a.key, *(step for step, _ in loads)), [t for _, t in loads]


def _stores(arg: Any) -> Told:
    a, start, _, stores = arg
    return (a.key, *stores), [start]


def _run(arg: Any) -> Told:
    a, run = arg
    return (a.key, *run), []


def _issue(arg: Any) -> Told:
    time, _, step = arg
    return step, [time]


def _begin(arg: Any) -> Told:
    number, begin, _ = arg
    return number, [begin]


ARGUMENTS: dict[Callable[..., None], Callable[[Any], Told]] = {
    do_copy._load_request: _load_request,
    do_compute._loads: _loads,
    do_compute._stores: _stores,
    do_matrix._serve: _run,
    do_tcgen05._asked: lambda arg: ((arg[0].key, arg[1]), []),
    Warpgroup._serve: _issue,
    machine_state.Cta.replace: _begin,
    machine_state.Cta._retire: lambda end: (None, [end]),
}
"""Of events whose argument is not an agent alone."""

OF_AGENTS: frozenset[Callable[..., None]] = frozenset(
    {
        do_bulk._prefetched,
        do_bulk._sent,
        do_compute._serve_pipes,
        do_compute._serve_port,
        do_copy._copies_issued,
        do_copy._load_issued,
        do_store._store_issued,
        do_copy._tracked,
        do_registers._asked,
        do_registers._given,
        do_sync._fenced,
        do_sync._released,
        do_tcgen05._issued,
    }
)


def _event(s: State, event: Posted) -> None:
    call, arg = event.call, event.arg
    function = getattr(call, "__func__", call)
    owner = getattr(call, "__self__", None)
    told: Told
    if function in OF_AGENTS:
        told = arg.key, []
    elif function in ARGUMENTS:
        told = ARGUMENTS[function](arg)
    else:
        raise Unknown(function)
    s.what += [event.key, function, getattr(owner, "key", None), told[0]]
    s.when += [event.time, *told[1]]


# -- CTAs and their agents -----------------------------------------------------------------------


def _cta(s: State, cta: Cta) -> None:
    s.what += [cta.live, cta.scatter.drawn, tuple(cta.tmem.items()), len(cta.exits)]
    s.when += [time for time, _, _ in cta.exits]
    s.when.append(cta.end)
    _cluster(s, cta.cluster)
    s.parities[cta.number] = [parity(b) for b in cta.mbarriers]
    for b in cta.mbarriers:
        _mbarrier(s, b)
    for number, named in cta.named.items():
        s.what.append(number)
        _named_barrier(s, named)
    pool = cta.registers
    s.what += [pool.free, tuple(pool.held), [len(did) for did in pool._executed]]
    s.what.append([(a.key, tuple(warps)) for a, warps in pool.waiting])
    pending, *ticks = cta.flights.state()
    s.what.append(pending)
    s.when += ticks
    for index, pace in cta.paces.items():
        told, changes = pace.state()
        s.what += [index, told]
        s.when += changes
    seen: set[int] = set()
    for a in cta.agents:
        _agent(s, a)
        group = a.warpgroup
        if group is not None and id(group) not in seen:
            seen.add(id(group))
            _warpgroup(s, group)


def _agent(s: State, a: Agent) -> None:
    s.what.append(a.done)
    if a.done:
        return
    s.local.append((a.t, a.blocked))
    s.what += [_step(a, step) for step in (a.held, a.blocked, a.deferred)]
    s.what.append(len(a.block) - a.at)  # what these steps are is compared with the streams
    s.what += [a.left, a.copies_landing is None]
    s.what += [[_held(key, held) for key, held in a.states.items()], tuple(a.peeks)]
    s.when += a.peeks.values()
    _groups(s, a.cp)
    _groups(s, a.bulk)
    s.what.append([step for _, step in a.copies])
    s.when += [t for t, _ in a.copies]
    s.when += [a.tensor_done[0], a.tmem_done[0][0], a.tmem_done[1][0], a.tmem_free]
    registers, written = a.scoreboard.state()
    s.what.append(registers)
    s.when += [*written, a.loads_free]
    s.what.append(a.aside)
    if a.copies_landing is not None:
        s.when.append(a.copies_landing[0])


def _step(a: Agent, step: Step | None) -> object:
    """A step; of one that waits for a parity, whether that is the one of the phase before now."""
    if step is None or step.run is not do_sync.wait or step.states:
        return step
    b = a.cta.mbarriers[step.barrier]
    return step.op_id, step.barrier, step.value ^ parity(b)


def _held(key: StateKey, held: ArriveState) -> object:
    """What a wait by state finds: which barrier's phase the register means, from now."""
    b = cast("TimedMbarrier", held.barrier)
    return key, b.cta.number, b.name, b.generation - held.phase, b.life - held.life


def _groups(s: State, queue: GroupQueue) -> None:
    """Members of groups are (tick of completion, cause)."""
    groups = [*queue.committed, tuple(queue.open)]
    s.what.append([len(group) for group in groups])
    s.when += [cast("tuple[int, object]", member)[0] for group in groups for member in group]


def _warpgroup(s: State, g: Warpgroup) -> None:
    told, ticks = g.state()
    s.what += told
    s.what.append(_keys(g.parked))
    s.when += ticks


# -- barriers ------------------------------------------------------------------------------------


def _keys(agents: Iterable[Agent]) -> list[int]:
    return [a.key for a in agents]


def parity(b: TimedMbarrier) -> int:
    """The parity of the phase that is not complete."""
    return (b.generation + b.skipped) & 1


def _mbarrier(s: State, b: TimedMbarrier) -> None:
    s.what += [b.initialised, b.life, b.count, b.next_count, b.pending, b.tx, b.landed]
    s.what += [b.cause is None, b.done_cause is None, _keys(b.waiters)]
    s.when += [b.stamp, b.done]


def _named_barrier(s: State, b: TimedNamedBarrier) -> None:
    s.what += [b.threads, b.arrived, b.exited, tuple(b.warps), b.cause is None, b.left is None]
    s.what.append(_keys(b.waiters))
    s.when.append(b.stamp)
    if b.left is not None:
        s.when.append(b.left[0])


def _cluster(s: State, cluster: ClusterState) -> None:
    b = cluster.barrier
    s.what.append([(at, _keys(alone)) for at, alone in cluster._alone.items()])
    s.what += [cluster.left, b.so_far(), b.cause is None, b.done_cause is None]
    s.what.append(_keys(b.waiters))
    s.when += [b.stamp, b.done]


# -- SMs -----------------------------------------------------------------------------------------


def _fifo(s: State, fifo: Fifo) -> None:
    s.what.append(fifo.last is None)
    s.clocks.append(fifo.clock)


def _pipe(s: State, pipe: Pipe) -> None:
    s.what.append(pipe.last is None)
    s.when.append(pipe.free)


def _sm(s: State, sm: SmState) -> None:
    for server in sm.servers():
        if isinstance(server, Pipe):
            _pipe(s, server)
        else:
            _fifo(s, server)
    s.what += [sm.operand_bytes, sm.operand_ticks, sm.operands_in_registers]
    s.what += [len(sm.starts), tuple(sm.maps)]
    s.when += [start for start, _ in sm.starts]
    s.when += [sm.landing[0], *sm.late.until(sm.tensor)]
    s.when += sm.maps.values()
    s.what += [tuple(sm.tmem.live.items()), frozenset(sm.tmem.relinquished)]
    s.what.append(_keys(sm.tmem_waiters))
