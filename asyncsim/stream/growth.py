"""What a warp executes when a loop gets more rounds: a kernel argument grows, and nothing else.

Before the window that repeats, the same. In the window, the same whatever the argument is and
however often it has been repeated. After it, the same from there on, with the data moved as the
window moves it. Each part is executed once with numbers that move (tracer.py), and for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from asyncsim.ir.alignment import aligned_addresses
from asyncsim.ir.expr import Arg, Const, Expr, walk
from asyncsim.ir.op import CpAsync, LoadOp, OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.stream.kept import Kept, Part
from asyncsim.stream.linear import FOR_EVER, Linear, NotLinear, Number, Windows, slope
from asyncsim.stream.period import Vector, own_views
from asyncsim.stream.program import WarpPlace
from asyncsim.stream.tracer import ExprTable, Tracer

Slopes = tuple[tuple[int, int], ...]
"""Per dimension of a box, the least and the greatest step a period."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where a warp's stream repeats: ``events`` from ``begin`` on, until the op at ``after``.

    ``events`` are those of a whole period, in which parities come back.
    """

    begin: int
    events: int
    after: int


@dataclass(slots=True)
class Growth:
    """The streams of a schedule while kernel argument ``arg`` grows by ``step`` a period.

    ``moves``: how far the data of each tensor moves then; ``frozen``: ops whose own global boxes
    may not move, because they are compared with each other; ``paces``: how far those of all ops do;
    ``kept``: what variables hold.
    """

    schedule: Schedule
    arg: str
    step: int
    moves: Mapping[str, Vector]
    frozen: frozenset[int]
    paces: dict[int, Slopes] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    _table: ExprTable = field(default_factory=ExprTable)

    def check(self, place: WarpPlace, stretch: Stretch) -> None:
        """Raises NotLinear if a warp's stream depends on the argument in another way."""
        # before, and in the window the first time
        tracer = Tracer(self.schedule, place, self._table)
        tracer.move({f"a_{self.arg}": self.step})
        tracer.kept = partial(self.kept.enter, Part.FIRST)
        self._run(tracer, stretch.begin, {})
        grown = tracer.slopes()
        self._run(tracer, stretch.events, {})
        if tracer.slopes() != grown:
            raise NotLinear(f"what a round adds to a variable depends on {self.arg}")
        # in the window, later and later, and after it
        before, window = self._window(place, stretch)
        slopes = {name: by + grown.get(name, 0) for name, by in window.items()}
        if stretch.events:
            windows = -(-(stretch.after - stretch.begin) // stretch.events)
            self.kept.windows = max(self.kept.windows, windows)
            tracer = self._at(place, stretch.begin, slopes, Part.WINDOW)
            self._run(tracer, stretch.events, self.moves)
            if not tracer.arrived(before, slopes, window):
                raise NotLinear(f"what a round adds to a variable depends on {self.arg}")
        tracer = self._at(place, stretch.after, slopes, Part.LAST)
        self._run(tracer, None, self.moves)

    def _window(self, place: WarpPlace, stretch: Stretch) -> tuple[dict[str, int], dict[str, int]]:
        """The variables where the loop begins to repeat, and how far each moves in a period."""
        tracer = Tracer(self.schedule, place, self._table)
        _pass(tracer, stretch.begin)
        before = tracer.state()
        _pass(tracer, stretch.events)
        after = tracer.state()
        return before, {name: after[name] - v for name, v in before.items()}

    def _at(self, place: WarpPlace, op: int, slopes: dict[str, int], part: Part) -> Tracer:
        tracer = Tracer(self.schedule, place, self._table)
        _pass(tracer, op)
        if not tracer.state().keys() <= slopes.keys():
            raise NotLinear("a variable is set in the rounds that repeat, and not before")
        tracer.move(slopes)
        tracer.kept = partial(self.kept.enter, part)
        return tracer

    def _run(self, tracer: Tracer, ops: int | None, moves: Mapping[str, Vector]) -> None:
        """``ops`` ops (None: to the end) whose operands stay, but for data that moves."""
        done, op = 0, None
        while ops is None or done < ops:
            last = op
            try:
                op = tracer.next()
            except NotLinear:
                raise NotLinear(f"what follows {_named(last)} depends on {self.arg}") from None
            if tracer.windows.limit != FOR_EVER:
                raise NotLinear(f"what follows {_named(last)} is not the same for every {self.arg}")
            if op is None:
                if ops is not None:
                    raise NotLinear(f"a warp ends after {_named(last)}")
                break
            done += 1
            try:
                self._operands(op, tracer, moves)
            except NotLinear as cause:
                why = str(cause) or f"an operand of {_named(op)} depends on {self.arg}"
                raise NotLinear(why) from None
            if tracer.windows.limit != FOR_EVER:
                raise NotLinear(f"an operand of {_named(op)} changes at some {self.arg}")

    def _operands(self, op: OpBase, tracer: Tracer, moves: Mapping[str, Vector]) -> None:
        operands, env = tracer.operands(op), tracer.env
        if any(map(slope, operands.fixed(env))):
            raise NotLinear
        own = own_views(op)
        for view, start in operands.boxes:
            by = tuple(map(slope, start(env)))
            mine = any(view is v for v in own)
            tagged = isinstance(op, LoadOp | CpAsync) or not mine
            if tagged and by != moves.get(view.tensor, (0,) * len(by)):
                raise NotLinear(f"{_named(op)} is not as far in {view.tensor} as other copies")
            if mine and any(by) and op.id in self.frozen:
                raise NotLinear(f"{_named(op)} touches other elements of {view.tensor} each round")
            if mine and not _stays_aligned(op, self.schedule, view.tensor, by):
                raise NotLinear(f"{_named(op)} is not aligned in {view.tensor} at every {self.arg}")
            if mine:
                old = self.paces.setdefault(op.id, tuple((d, d) for d in by))
                self.paces[op.id] = tuple(
                    (min(low, d), max(high, d)) for (low, high), d in zip(old, by, strict=True)
                )


def _stays_aligned(op: OpBase, schedule: Schedule, tensor: str, by: Vector) -> bool:
    return all(
        sum(d * stride for d, stride in zip(by, address.strides, strict=True)) % address.align == 0
        for address in aligned_addresses(op, schedule)
        if address.name == tensor
    )


def _named(op: OpBase | None) -> str:
    return f"{type(op).__name__} at {op.loc}" if op is not None else "the start"


def _pass(tracer: Tracer, ops: int) -> None:
    for _ in range(ops):
        if tracer.next() is None:
            raise NotLinear("a warp ends inside the rounds that repeat")


def grows_with(count: Expr, schedule: Schedule) -> list[tuple[str, int]]:
    """The kernel arguments in a trip count of arguments and constants alone, and by how much it
    grows with each of them."""
    leaves = [n for n in walk(count) if not hasattr(n, "op")]
    if not all(isinstance(n, Arg | Const) for n in leaves):
        return []
    found: list[tuple[str, int]] = []
    for name in dict.fromkeys(n.name for n in leaves if isinstance(n, Arg)):
        env: dict[str, Number] = {f"a_{n}": v for n, v in schedule.args}
        env[f"a_{name}"] = Linear(dict(schedule.args)[name], 1, Windows())
        try:
            by = slope(ExprTable().value(count, False)(env))
        except NotLinear:
            continue
        if by > 0:
            found.append((name, by))
    return found
