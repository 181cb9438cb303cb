"""Steps: dynamic ops as timing needs them, made by a binder of the op stream.

A step holds what its handler wants: own cost, barrier, bytes, counts over the lanes and warps that
one agent stands for. Data operands (tags, shared-memory regions) are not resolved at all. Steps
are shared between executions with equal operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING

from asyncsim.errors import ScheduleError
from asyncsim.ir.expr import Expr
from asyncsim.ir.matrix import written_later
from asyncsim.ir.op import GlobalView, MbarrierRef, Op, OpBase, Scope, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stamped import StampCost
from asyncsim.machine import TICKS_PER_CYCLE
from asyncsim.rules import Rule
from asyncsim.sim.beside import Beside, runs
from asyncsim.sim.code import Code
from asyncsim.sim.numbers import Numbers
from asyncsim.sim.warps import WarpClass
from asyncsim.stream.operands import Evaluator, Noting, Values
from asyncsim.stream.segments import Joined, Key, Segment

if TYPE_CHECKING:
    from asyncsim.sim.role import Agent
    from asyncsim.sim.sectors import Sectors

Run = Callable[["Agent", "Step"], bool]
"""Executes a step for an agent: True when it is done, False when the agent is parked."""

Maker = Callable[[Values], "Step"]

StateKey = tuple[str, bool]
"""A state register: its name, and whether it is that of the elected lane."""

Box = tuple[str, tuple[int, ...]]
"""A tensor, and where in it a box starts."""

Registers = tuple[str, int, int]
"""Elements of a fragment: its name, the first, and the one behind the last."""

LANES = {Scope.ELECTED: 1, Scope.OTHERS: 31}
"""Lanes of a warp that execute an op, where it is not the whole warp."""


class Step:
    """One op, ready to be timed.

    cost: ticks of the op itself; turn: ticks of generated code before it; count: arrivals, copies
    or instructions of the agent; amount: bytes of all of them; value: parity, N, threads;
    states: state registers of the lanes that execute it, written by an arrive or tested by a wait;
    name: of the tensor or map of a copy, of the token of a peek or wait; rank, peers: of another
    CTA whose barrier it is, and of those that a multicast reaches;
    box: a global box, like: a step that differs in that alone; far: its rows are not adjacent;
    in_registers: A of a wgmma is; work: further ticks, by handler; beside: what a computation takes
    while wgmma run; instructions: of a warp in it, of do_compute.KINDS. light: register arithmetic
    before it may be finished after it. polls: a wait that only some lanes execute. shared: others
    of the SM want the same pipes. reads: registers that it waits for, where they are written some
    time after the issue; writes: those that it writes so. aside: ticks that the products of a warp
    lose to what is issued among them.
    """

    __slots__ = (
        "amount",
        "aside",
        "barrier",
        "beside",
        "box",
        "cost",
        "count",
        "far",
        "in_registers",
        "instructions",
        "light",
        "like",
        "name",
        "op",
        "op_id",
        "peers",
        "polls",
        "rank",
        "reads",
        "run",
        "shared",
        "states",
        "turn",
        "value",
        "work",
        "writes",
    )

    def __init__(self, op: Op, run: Run, cost: int, turn: int) -> None:
        self.op, self.op_id, self.run, self.cost, self.turn = op, op.id, run, cost, turn
        self.name = ""
        self.barrier = self.value = self.amount = self.aside = 0
        self.count = 1
        self.rank = -1
        self.peers: tuple[int, ...] = ()
        self.states: tuple[StateKey, ...] = ()
        self.polls = self.light = self.shared = self.far = self.in_registers = False
        self.box: Box | None = None
        self.work: tuple[int, ...] = ()
        self.instructions: tuple[int, ...] = ()
        self.beside: Beside | None = None
        self.reads: tuple[Registers, ...] = ()
        self.writes: Registers | None = None
        self.like: Step | None = None

    def at(self, box: Box) -> Step:
        """The same step at a box."""
        step = object.__new__(Step)
        step.op, step.op_id, step.run = self.op, self.op_id, self.run
        step.cost, step.turn, step.count = self.cost, self.turn, self.count
        step.amount, step.value, step.barrier = self.amount, self.value, self.barrier
        step.rank, step.peers, step.states = self.rank, self.peers, self.states
        step.name, step.polls, step.light = self.name, self.polls, self.light
        step.shared, step.far, step.in_registers = self.shared, self.far, self.in_registers
        step.work, step.beside, step.instructions = self.work, self.beside, self.instructions
        step.aside = self.aside
        step.reads, step.writes, step.like, step.box = self.reads, self.writes, self, box
        return step

    def __eq__(self, other: object) -> bool:
        """Whether it takes the same, wherever in global memory it does."""
        if not isinstance(other, Step):
            return False
        if self.like is not None and self.like is other.like:
            return True
        return self._told() == other._told()

    __hash__ = None  # type: ignore[assignment]

    def _told(self) -> tuple[object, ...]:
        return (
            *(self.op_id, self.run, self.cost, self.turn, self.count, self.amount, self.value),
            *(self.barrier, self.rank, self.peers, self.states, self.name, self.work),
            self.instructions,
            *(self.light, self.polls, self.shared, self.far, self.reads, self.writes),
            *(self.in_registers, self.beside, self.box is None, self.aside),
        )


class Bound:
    """What a family needs to make steps of an op: the op, its evaluator, and who executes it."""

    __slots__ = ("ev", "first_thread", "lanes", "model", "op", "turn", "warps")

    def __init__(
        self, model: StepBinder, op: Op, ev: Evaluator, turn: int, warp_in_role: int
    ) -> None:
        self.model, self.op, self.ev, self.turn = model, op, ev, turn
        self.warps = len(model.warps.warps)
        self.lanes = LANES.get(op.scope, 32)
        self.first_thread = 32 * warp_in_role

    @property
    def times(self) -> int:
        """How many lanes of how many warps execute the op."""
        return self.lanes * self.warps

    def step(self, run: Run, cost: int) -> Step:
        return Step(self.op, run, cost, self.turn)

    def constant(self, step: Step) -> Maker:
        return lambda values: step

    def table(self, key: Callable[[Values], object], build: Callable[[Values], Step]) -> Maker:
        """Steps shared by equal keys."""
        return _Table(key, build).__getitem__

    def barrier(self, ref: MbarrierRef) -> Callable[[Values], int]:
        """The index of a barrier in its CTA."""
        base, stages = self.model.barriers[ref.name]
        stage = self.ev.value(ref.stage)
        op = self.op

        def index(values: Values) -> int:
            s = stage(values)
            if not 0 <= s < stages:
                raise ScheduleError(
                    f"mbarrier {ref.name}[{s}] of {stages}",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                    fix=f"the stage must be 0..{stages - 1}",
                )
            return base + s

        return index

    def place(self, ref: MbarrierRef) -> Callable[[Values], tuple[int, int]]:
        """The CTA that owns a barrier (its rank, -1: the own CTA), and its index there."""
        index = self.barrier(ref)
        if ref.rank is None:
            return lambda values: (-1, index(values))
        rank = self.ev.value(ref.rank)
        return lambda values: (rank(values), index(values))

    def boxed(self, view: GlobalView, build: Callable[[Values], Step]) -> Maker:
        """Steps with the box of the op. They differ in that alone where the values that somebody
        asked for are equal."""
        slots = sorted(self.ev.valued)
        key: Callable[[Values], object] = itemgetter(*slots) if slots else lambda values: ()
        box = self.box(view)
        made: dict[object, Step] = {}

        def at(values: Values) -> Step:
            alike = key(values)
            step = made.get(alike)
            if step is None:
                step = made[alike] = build(values)
            return step.at(box(values))

        return at

    def box(self, view: GlobalView) -> Callable[[Values], Box]:
        """The global box of the op (of its first lane), to tell first touches from later ones."""
        at = self.ev.lanes(view.start, one=True)
        tensor, first = view.tensor, self.first_thread
        return lambda values: (tensor, at(values, first)[0])

    def bytes(self, view: GlobalView) -> int:
        return prod(view.shape) * self.model.schedule.tensor(view.tensor).dtype.bytes

    def lane_bytes(self, view: SmemView) -> int:
        return prod(view.shape) * self.model.schedule.tile(view.tile).dtype.bytes


class _Table(dict[Values, Step]):
    """Steps by the values that they are made from."""

    def __init__(self, key: Callable[[Values], object], build: Callable[[Values], Step]) -> None:
        super().__init__()
        self._key, self._build = key, build
        self._by_key: dict[object, Step] = {}

    def __missing__(self, values: Values) -> Step:
        key = self._key(values)
        step = self._by_key.get(key)
        if step is None:
            step = self._by_key[key] = self._build(values)
        self[values] = step
        return step


class StepBinder:
    """Binds the ops of one warp class; makers are kept over the streams of all CTAs."""

    def __init__(
        self,
        schedule: Schedule,
        warps: WarpClass,
        numbers: Numbers,
        barriers: dict[str, tuple[int, int]],
        code: Code,
        contended: bool,
        alone: frozenset[int],
        products: bool,
        stamps: StampCost | None,
    ) -> None:
        self.alone = alone  # ops of an elected lane whose warp's other lanes have exited
        self.schedule, self.warps, self.numbers = schedule, warps, numbers
        self.barriers = barriers
        self.written_later = written_later(schedule.ops())
        self.contended = contended  # several warps of the SM compute on one sub-partition
        self.products = products  # wgmma run beside computations
        self.runs = runs(schedule) if products else {}
        self._code, self._stamps = code, stamps
        self._makers: dict[int, Maker] = {}
        self._reads: dict[int, tuple[Expr, ...]] = {}
        self._stores: dict[Sectors, tuple[int, int]] = {}
        self._moving: set[int] = set()  # ops of which hardly two steps are alike
        self._joined: dict[Segment, Joined[Step]] = {}

    def reads(self, op: OpBase) -> tuple[Expr, ...]:
        """The operands that time depends on: those that making a maker asks for."""
        known = self._reads.get(op.id)
        if known is None:
            noting = Noting(op)
            self._maker(op, noting, 0)
            known = self._reads[op.id] = noting.asked
            if noting.by_lane:
                self._moving.add(op.id)
        return known

    def bind(self, op: OpBase, warp_in_role: int) -> Maker:
        """A function from the values of what the op's time depends on to its step."""
        maker = self._makers.get(op.id)
        if maker is None:
            values = Evaluator(op, self.reads(op))
            maker = self._makers[op.id] = self._maker(op, values, warp_in_role)
        return maker

    def store_costs(self, sectors: Sectors) -> tuple[int, int]:
        """Ticks of the store port, and what it is worth in bytes of whole sectors."""
        found = self._stores.get(sectors)
        if found is None:
            found = sectors.issue(self.numbers), sectors.device_bytes(self.numbers)
            self._stores[sectors] = found
        return found

    def joined(
        self, segment: Segment, ops: Sequence[OpBase], makers: Sequence[Maker]
    ) -> Mapping[Key, tuple[Step, ...]]:
        """The steps of a stretch of ops without a loop, by the values that they depend on."""
        known = self._joined.get(segment)
        if known is None:
            keeps = not any(op.id in self._moving for op in ops)
            by_index = dict(zip(segment.ops, makers, strict=True))
            known = self._joined[segment] = Joined(segment, by_index, keeps=keeps)
        return known

    def _maker(self, op: OpBase, ev: Evaluator, warp_in_role: int) -> Maker:
        from asyncsim.sim.families import make

        turn = self._code.before(op.id, self.numbers)
        if self._stamps is not None:
            turn += round(self._stamps.of(op) * TICKS_PER_CYCLE)  # type: ignore[arg-type]
        return make(Bound(self, op, ev, turn, warp_in_role))  # type: ignore[arg-type]

    def among(self, op: OpBase) -> int:
        """Ticks that the products of a warp lose to an op and its addresses; 0 without products."""
        return self._code.among(op, self.numbers)
