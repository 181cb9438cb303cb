"""What a warp executes in one window of a loop, and how it moves from window to window.

A window is a stretch of the stream after which the warp stands at the same op with its variables
moved by fixed steps. The statements are executed once with numbers that move (tracer.py): what
comes out holds for every window in which no comparison changes, and the last of them is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from asyncsim.ir.expr import Builtin, BuiltinRef, leaves
from asyncsim.ir.op import (
    CpAsync,
    GlobalView,
    LoadOp,
    MbarrierTestWait,
    MbarrierWait,
    OpBase,
    Scope,
)
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.stream.linear import Linear, NotLinear, Number, slope, value
from asyncsim.stream.operands import operand_exprs
from asyncsim.stream.program import WarpPlace
from asyncsim.stream.tracer import ExprTable, Tracer

Vector = tuple[int, ...]


@dataclass(slots=True)
class Period:
    """``length`` ops that repeat ``more`` times after the first time, at least.
    ``rounds``: how far the loop comes until all operands are back, parities too; ``outer``: whether
    that is an outermost loop.

    ``moves``: per tensor, how far the data that copies bring, and that reads mean, moves in one
    window. ``flips``: per mbarrier (name, stage), whether the parity that is waited for does.
    """

    length: int
    more: int
    rounds: int = 0
    outer: bool = False
    scopes: set[Scope] = field(default_factory=set)
    moves: dict[str, Vector] = field(default_factory=dict)
    flips: dict[tuple[str, int], bool] = field(default_factory=dict)

    def moved(self, tensor: str, by: Vector) -> None:
        if self.moves.setdefault(tensor, by) != by:
            raise NotLinear

    def flipped(self, barrier: tuple[str, int], flips: bool) -> None:
        if self.flips.setdefault(barrier, flips) is not flips:
            raise NotLinear


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One execution of an op: the starts of its global boxes, its other operands, and the
    variables in what differs from lane to lane."""

    op: OpBase
    boxes: tuple[tuple[Number, ...], ...]
    fixed: tuple[Number, ...]
    inside: tuple[Number, ...]


@dataclass(slots=True)
class _Resting:
    """A tracer that has come to ``at``. For ``limit`` more times ``stride`` ops only move its
    variables, by ``slopes``."""

    at: int
    tracer: Tracer
    stride: int
    limit: int
    slopes: dict[str, int]

    def go(self, to: int) -> Tracer:
        """The tracer, taken to a later op. Raises NotLinear."""
        times = min(self.limit, (to - self.at) // self.stride)
        self.tracer.skip(self.slopes, times)
        _pass(self.tracer, to - self.at - times * self.stride)
        return self.tracer


class Periods:
    """The windows of the warps of one schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._table = schedule, ExprTable()
        self._telling = _telling(schedule.body)
        self._found: dict[object, Period | None] = {}
        self._resting: dict[object, list[_Resting]] = {}

    def window(self, place: WarpPlace, begin: int, length: int, halves: int) -> Period:
        """``length`` ops from ``begin`` on; ``halves``: 2 if operands repeat only after two
        windows (parities do), else 1. Raises NotLinear."""
        key = self.kind(place), begin, length, halves
        if key not in self._found:
            try:
                self._found[key] = self._trace(place, begin, length, halves)
            except NotLinear:
                self._found[key] = None
        found = self._found[key]
        if found is None:
            raise NotLinear
        return found

    def kind(self, place: WarpPlace) -> object:
        """Equal for warps that execute the same."""
        index = place.warp if self._telling & {"", place.role} else -1
        first = place.warp == 0, place.warp_in_role == 0
        return place.role, index, *first, place.block, place.rank

    def _tracer(self, place: WarpPlace, begin: int) -> Tracer:
        resting = self._resting.get(self.kind(place), [])
        if resting and resting[-1].at <= begin:
            return resting.pop().go(begin)
        tracer = Tracer(self._schedule, place, self._table)
        _pass(tracer, begin)
        return tracer

    def _trace(self, place: WarpPlace, begin: int, length: int, halves: int) -> Period:
        plain = self._tracer(place, begin)
        before = plain.state()
        _pass(plain, halves * length)
        after = plain.state()
        if before.keys() != after.keys():
            raise NotLinear
        slopes = {name: after[name] - v for name, v in before.items()}
        moving = self._tracer(place, begin)
        moving.move(slopes)
        seen, half = [], 0
        for i in range(halves * length):
            seen.append(_occurrence(moving))
            if i == length:  # for so long the first half repeats, and the op after it
                half = moving.windows.limit
        if not moving.arrived(before, slopes) or moving.next() is not seen[0].op:
            raise NotLinear  # the op after the last window is that of one more, too
        limit = moving.windows.limit
        period = Period(length, halves * (limit + 1) - 1 + (half > limit))
        period.rounds = max((r.slope for r in moving.rounds), default=0)
        period.outer = bool(moving.rounds and moving.rounds[0].slope)
        for i, one in enumerate(seen):
            self._enter(period, one, moving, halves)
            if halves == 2 and i < length:
                _same_but_flipped(period, one, seen[i + length], moving)
        if plain.next() is seen[0].op and moving.rest() and moving.state() == plain.state():
            stride = halves * length
            self._resting[self.kind(place)] = [
                _Resting(begin + stride + 1, t, stride, limit, slopes) for t in (plain, moving)
            ]
        return period

    def _enter(self, period: Period, one: Occurrence, tracer: Tracer, halves: int) -> None:
        """What one execution of an op says of the window."""
        if any(map(slope, one.fixed)):
            raise NotLinear
        op = one.op
        period.scopes.add(op.scope)
        operands = tracer.operands(op)
        copies = isinstance(op, LoadOp | CpAsync)
        for (view, _), start in zip(operands.boxes, one.boxes, strict=True):
            steps = [slope(x) for x in start]
            if any(step % halves for step in steps):
                raise NotLinear
            if isinstance(op, CpAsync) and op.src_bytes is not None and any(steps):
                raise NotLinear  # which lanes lie outside, and are filled with zero, may change
            if copies or not any(view is v for v in own_views(op)):
                period.moved(view.tensor, tuple(step // halves for step in steps))
        if halves == 1 and operands.parity >= 0:
            period.flipped(_waited(one), False)


def own_views(op: OpBase) -> list[GlobalView]:
    """The global boxes that the op itself touches."""
    found = [getattr(op, name, None) for name in ("src", "dst")]
    return [view for view in found if isinstance(view, GlobalView)]


def _waited(one: Occurrence) -> tuple[str, int]:
    stage = value(one.fixed[0])
    op = one.op
    if stage is None or not isinstance(op, MbarrierWait | MbarrierTestWait):
        raise NotLinear
    if op.mbarrier.rank is not None:
        raise NotLinear
    return op.mbarrier.name, stage


def _pass(tracer: Tracer, ops: int) -> None:
    for _ in range(ops):
        if tracer.next() is None:
            raise NotLinear


def _occurrence(tracer: Tracer) -> Occurrence:
    op = tracer.next()
    if op is None:
        raise NotLinear
    of, env = tracer.operands(op), tracer.env
    boxes = tuple(start(env) for _, start in of.boxes)
    return Occurrence(op, boxes, of.fixed(env), of.inside(env))


def _same_but_flipped(period: Period, a: Occurrence, b: Occurrence, tracer: Tracer) -> None:
    """The second half of a double window is the first one, moved half as far, parities aside."""
    if a.op is not b.op or len(a.fixed) != len(b.fixed):
        raise NotLinear
    parity = tracer.operands(a.op).parity
    for i, (x, y) in enumerate(zip(a.fixed, b.fixed, strict=True)):
        if i == parity:
            period.flipped(_waited(a), value(x) != value(y))
        elif value(x) != value(y):
            raise NotLinear
    for x, y in zip(a.inside, b.inside, strict=True):
        if isinstance(x, Linear) or isinstance(y, Linear) or x != y:
            raise NotLinear
    for mine, theirs in zip(a.boxes, b.boxes, strict=True):
        for x, y in zip(mine, theirs, strict=True):
            v, w = value(x), value(y)
            if (v is None) is not (w is None) or slope(x) != slope(y):
                raise NotLinear
            if v is not None and w is not None and 2 * (w - v) != slope(x):
                raise NotLinear


def _telling(body: tuple[Stmt, ...], role: str = "") -> set[str]:
    """The roles that name the index of the warp ("": outside roles)."""
    found: set[str] = set()
    for s in body:
        match s:
            case For(trip_count=expr, body=inner):
                exprs, parts = [expr], inner
            case When(condition=expr, body=inner, orelse=other):
                exprs, parts = [expr], inner + other
            case Set(value=expr):
                exprs, parts = [expr], ()
            case Elect(body=inner, others=other):
                exprs, parts = [], inner + other
            case Specialize(roles=roles):
                for r in roles:
                    found |= _telling(r.body, r.name)
                continue
            case _:
                exprs, parts = list(operand_exprs(s)), ()
        if any(BuiltinRef(Builtin.WARP_IN_ROLE) in leaves(e) for e in exprs):
            found.add(role)
        found |= _telling(parts, role)
    return found
