"""The period jump: where a run repeats, whole periods of it are not simulated.

Before some events of one agent the state is compared with an earlier one. When it recurs, the run
goes on as it did since, as long as the streams bring the same ops and L2 answers as before: both
are followed, period by period, and all else is a sum or moves with time. Nothing in the queue is
touched: later ticks lack the passed ones, which ``Model.passed`` counts. See docs/decisions/0016.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import islice, tee
from typing import TYPE_CHECKING, Any

from asyncsim.ir import op as ops
from asyncsim.ir.schedule import statements
from asyncsim.sim import do_sync
from asyncsim.sim.contents import Fetch, Move
from asyncsim.sim.role import Agent
from asyncsim.sim.servers import Fifo, Pipe
from asyncsim.sim.state import State, Unknown, state_of
from asyncsim.sim.steps import Box, Step

if TYPE_CHECKING:
    from asyncsim.sim.engine import Posted, SimPyClock
    from asyncsim.sim.machine_state import Model

FIRST_GAP = 8  # marks from one state that is kept to the next, at first
PATIENCE = 512  # marks without a jump after which looking stops
STATES = 64  # states compared in vain after which it does
MOST_SMS = 16
_TEE: type = type(tee(())[0])
_LOADS = ops.LoadOp | ops.CpAsync | ops.LdGlobal
# Absolute ticks count, of other kernels and of waits that may fail, or who reads a stream first.
_NEVER = (
    ops.MbarrierTestWait | ops.GriddepcontrolWait | ops.GriddepcontrolLaunchDependents | ops.TileOp
)


@dataclass(frozen=True, slots=True)
class Jump:
    """``times`` more periods like that from ``begin`` to ``end``, ticks of the simulation."""

    begin: int
    end: int
    times: int


@dataclass(slots=True)
class _Anchor:
    """A state, the streams from there on, and the sums so far."""

    mark: int
    key: object
    state: State
    streams: dict[int, Iterator[Block]]
    left: dict[int, Block]
    read: dict[int, int]
    fetches: list[Fetch]
    posted: int
    busy: list[int]
    held: list[int]
    asked: int
    stalls: list[dict[int, tuple[int, int]]]
    stalled: dict[int, int]


@dataclass(slots=True)
class _Tape:
    """An agent and what it executed in the period."""

    agent: Agent
    blocks: list[Block]
    boxes: list[tuple[int, int, Box]]
    flips: list[bool]
    flipped: list[Block] | None = None  # the same in every other period, with other parities

    def brings(self, blocks: list[Block], times: int) -> bool:
        """Whether it executes these ``times`` periods later."""
        if times % 2 == 0 or not any(self.flips):
            return blocks == self.blocks
        alike = self.flipped is None and len(blocks) == len(self.blocks)
        if alike and all(map(self.once_later, self.blocks, blocks)):
            self.flipped = blocks
            return True
        return blocks == self.flipped

    def once_later(self, block: Block, other: Block) -> bool:
        """Whether a block is another one in the period after."""
        return len(block) == len(other) and all(map(self._flips, block, other))

    def _flips(self, step: Step, other: Step) -> bool:
        if step.run is not do_sync.wait or step.states or not self.flips[step.barrier]:
            return step == other
        told = step.op_id, step.barrier, step.value ^ 1
        return told == (other.op_id, other.barrier, other.value)


Block = tuple[Step, ...]
"""What a stream yields at once."""

Moves = dict[tuple[int, str], Move]
"""By CTA and tensor: how far boxes move in a period."""


def reference(model: Model) -> int | None:
    """The key of the agent whose events are looked at; None where no jump is to be had."""
    if len(model.sms) > MOST_SMS or model.strict or any(sm.rec for sm in model.sms):
        return None
    if any(isinstance(op, _NEVER) for op in model.schedule.ops()):
        return None
    loading = [i for i, c in enumerate(model.classes) if _loads(model, c.first)]
    return model.sms[0].key + 1 + (loading[0] if loading else 0)


def _loads(model: Model, warp: int) -> bool:
    role = model.schedule.role_of(warp)
    body = role.body if role else model.schedule.body
    return any(isinstance(s, _LOADS) for s in statements(body))


class Periods:
    """Looks for a period and passes over its repetitions."""

    def __init__(self, model: Model, clock: SimPyClock) -> None:
        self._model, self._clock = model, clock
        self._anchor: _Anchor | None = None
        self._mark = self._since = self._vain = 0
        self._gap = FIRST_GAP

    def look(self) -> bool:
        """Before an event of the reference agent: False when it is no use to look again."""
        self._mark += 1
        self._since += 1
        if self._since > PATIENCE or self._vain > STATES:
            self._leave()
            return False
        try:
            self._compare()
        except Unknown:
            self._leave()
        return True

    def _compare(self) -> None:
        anchor, key = self._anchor, self._key()
        if anchor is not None and key == anchor.key:
            state = state_of(self._model, self._clock.pending())
            self._vain += 1
            if anchor.state.recurs_in(state):
                if self._jump(anchor, state):
                    self._since = self._vain = 0
                    self._gap = self._mark - anchor.mark
                anchor = None
        if anchor is None or self._mark - anchor.mark >= self._gap:
            if anchor is not None and self._since > 8 * self._gap:
                self._gap *= 2
            self._keep(key)

    def _key(self) -> object:
        """What differs between most states, cheaply."""
        clock = self._clock
        first = clock.next()
        agent = first.arg if isinstance(first.arg, Agent) else None
        if agent is None or agent.blocked is None:
            return first.call, clock.waiting
        step, now = agent.blocked, first.time
        ahead = [max(a.t - now, 0) for a in agent.cta.agents]
        return step.op_id, step.barrier, step.value, ahead, clock.waiting

    def _agents(self) -> list[Agent]:
        return [a for cta in self._model.open.values() for a in cta.agents if not a.done]

    def _keep(self, key: object) -> None:
        model, streams = self._model, dict[int, Iterator[Block]]()
        self._anchor = None
        state = state_of(model, self._clock.pending())
        for a in self._agents():
            if not isinstance(a.stream, _TEE):
                (a.stream,) = tee(a.stream, 1)
            streams[a.key] = copy(a.stream)
        fetches: list[Fetch] = []
        model.memory.contents.record = fetches
        self._anchor = _Anchor(
            mark=self._mark,
            key=key,
            state=state,
            streams=streams,
            left={a.key: a.block[a.at :] for a in self._agents()},
            read={a.key: a.read for a in self._agents()},
            fetches=fetches,
            posted=self._clock.posted,
            busy=[server.busy for server in _servers(model)],
            held=[sm.tensor.held for sm in model.sms],
            asked=model.memory.asked,
            stalls=[{op: (t, n) for op, (t, n) in s.items()} for s in model.stalls],
            stalled={a.key: a.stall_total for a in self._agents()},
        )

    def _leave(self) -> None:
        self._anchor = None
        self._model.memory.contents.record = None

    # -- the jump ------------------------------------------------------------------------------

    def _jump(self, anchor: _Anchor, state: State) -> bool:
        """Pass over as many more periods as there are; whether there are any."""
        contents = self._model.memory.contents
        contents.record = None
        tapes = self._tapes(anchor, state)
        period = state.now - anchor.state.now
        if tapes is None or period <= 0:
            return False
        times, moves = self._pass(tapes, anchor.fetches, period)
        if not times:
            return False
        self._skip(anchor, state, period, times)
        for step, cta in _waiting(self._agents(), self._clock.pending()):
            if step.box is not None:
                step.box = _moved(step.box, moves, cta, times)
        return True

    def _tapes(self, anchor: _Anchor, state: State) -> list[_Tape] | None:
        """What every agent executed; None if that cannot be once more."""
        tapes: list[_Tape] = []
        flips = anchor.state.flips(state)
        for a, asleep in zip(self._agents(), anchor.state.asleep(state), strict=True):
            left = a.block[a.at :]
            if not left and next(copy(a.stream), None) is None:  # it will end, and has not before
                return None
            blocks = list(islice(anchor.streams[a.key], a.read - anchor.read[a.key]))
            if asleep and blocks:
                return None
            boxes = [
                (i, j, step.box)
                for i, block in enumerate(blocks)
                for j, step in enumerate(block)
                if step.box is not None
            ]
            tape = _Tape(a, blocks, boxes, flips[a.cta.number])
            if not tape.once_later(anchor.left[a.key], left):
                return None
            tapes.append(tape)
        anchor.streams.clear()  # what lags behind keeps all that follows
        return tapes if any(tape.blocks for tape in tapes) else None

    def _pass(self, tapes: list[_Tape], fetches: list[Fetch], period: int) -> tuple[int, Moves]:
        """How many more periods bring the same, and how far each moves the boxes."""
        contents = self._model.memory.contents
        moves: Moves = {}
        moving: list[tuple[Fetch, Move | None]] = []
        before, times = contents.copy(), 0
        both = 2 if any(any(tape.flips) for tape in tapes) else 1  # parities have to come back
        ahead = [tape.agent.stream for tape in tapes]
        done = True
        while done and (further := _again(tapes, ahead, moves, times + 1)) is not None:
            if not moving:
                moving = [(f, moves.get((f.cta, f.box[0]))) for f in fetches]
            done = contents.repeat(moving, (times + 1) * period, times + 1)
            ahead, times = (further, times + 1) if done else (ahead, times)
            if times % both == 0:
                for tape, stream in zip(tapes, ahead, strict=True):
                    tape.agent.stream = stream
        if not done or times % both:
            times -= times % both
            contents.restore(before)
            for passed in range(1, times + 1):
                contents.repeat(moving, passed * period, passed)
        return times, moves

    def _skip(self, anchor: _Anchor, state: State, period: int, times: int) -> None:
        """Sums grow, and who slept has slept longer."""
        model = self._model
        model.passed += times * period
        model.memory.contents.passed = model.passed
        model.jumps.append(Jump(anchor.state.now, state.now, times))
        self._clock.posted += times * (self._clock.posted - anchor.posted)
        for server, busy in zip(_servers(model), anchor.busy, strict=True):
            server.busy += times * (server.busy - busy)
        for sm, held in zip(model.sms, anchor.held, strict=True):
            sm.tensor.held += times * (sm.tensor.held - held)
        model.memory.asked += times * (model.memory.asked - anchor.asked)
        for stalls, old in zip(model.stalls, anchor.stalls, strict=True):
            for op, entry in stalls.items():
                t, n = old.get(op, (0, 0))
                entry[:] = entry[0] + times * (entry[0] - t), entry[1] + times * (entry[1] - n)
        for a, asleep in zip(self._agents(), anchor.state.asleep(state), strict=True):
            a.stall_total += times * (a.stall_total - anchor.stalled[a.key])
            if asleep:
                a.t -= times * period
                a.seg_t -= times * period


def _servers(model: Model) -> list[Fifo | Pipe]:
    own = [server for sm in model.sms for server in sm.servers()]
    return [*own, *model.memory.fifos()]


def _again(
    tapes: list[_Tape], streams: list[Iterator[Block]], moves: Moves, times: int
) -> list[Iterator[Block]] | None:
    """The streams after one more period; None if one of them brings something else."""
    after: list[Iterator[Block]] = []
    for tape, before in zip(tapes, streams, strict=True):
        stream = copy(before)
        blocks = list(islice(stream, len(tape.blocks)))
        if not tape.brings(blocks, times):
            return None
        cta = tape.agent.cta.number
        for i, j, (tensor, start) in tape.boxes:
            box = blocks[i][j].box
            assert box is not None
            if (cta, tensor) not in moves:
                moves[cta, tensor] = tuple(x - y for x, y in zip(box[1], start, strict=True))
            if box != _moved((tensor, start), moves, cta, times):
                return None
        after.append(stream)
    return after


def _moved(box: Box, moves: Moves, cta: int, times: int) -> Box:
    tensor, start = box
    by = moves.get((cta, tensor))
    if by is None:
        return box
    return tensor, tuple([x + times * d for x, d in zip(start, by, strict=True)])


def _waiting(agents: list[Agent], pending: list[Posted]) -> Iterator[tuple[Step, int]]:
    """The steps that are begun, or read, and not done, once each, with their CTAs."""
    found: dict[int, tuple[Step, int]] = {}
    for a in agents:
        begun = a.held, a.blocked, a.deferred, *(s for _, s in a.copies)
        for step in (*begun, *a.block[a.at :]):
            if step is not None:
                found[id(step)] = step, a.cta.number
    for event in pending:
        for a, step in _steps(event.arg):
            found[id(step)] = step, a.cta.number
    yield from found.values()


def _steps(arg: Any) -> Iterable[tuple[Agent, Step]]:
    """The steps in the argument of an event, if an agent stands first in it."""
    if not isinstance(arg, tuple) or not isinstance(arg[0], Agent):
        return
    rest = list(arg[1:])
    while rest:
        part = rest.pop()
        if isinstance(part, Step):
            yield arg[0], part
        elif isinstance(part, list):
            rest += part
        elif isinstance(part, tuple) and part and isinstance(part[0], Step):
            rest.append(part[0])
