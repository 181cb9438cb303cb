"""What a warp executes when a loop gets more rounds: a kernel argument grows, and nothing else.

Before the window that repeats, the same. In the window, the same whatever the argument is and
however often it has been repeated. After it, the same from there on, with the data moved as the
window moves it. Each part is executed once with numbers that move (tracer.py), and for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir.expr import Arg, Const, Expr, walk
from asyncsim.ir.op import CpAsync, LoadOp
from asyncsim.ir.schedule import Schedule
from asyncsim.stream.linear import FOR_EVER, Linear, NotLinear, Number, Windows, slope
from asyncsim.stream.period import Vector, own_views
from asyncsim.stream.program import WarpPlace
from asyncsim.stream.tracer import ExprTable, Tracer


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where a warp's stream repeats: ``events`` from ``begin`` on, until the op at ``after``.

    ``events`` are those of a whole period, in which parities come back.
    """

    begin: int
    events: int
    after: int


class Growth:
    """The streams of a schedule while kernel argument ``arg`` grows by ``step`` a period.

    ``moves``: how far the data of each tensor moves then; ``held``: ops whose global boxes may not
    move, because they are compared with a tensor's bounds or with each other.
    """

    def __init__(
        self,
        schedule: Schedule,
        arg: str,
        step: int,
        moves: dict[str, Vector],
        held: set[int],
    ) -> None:
        self._schedule, self._table = schedule, ExprTable()
        self._arg, self._step = f"a_{arg}", step
        self._moves, self._held = moves, held

    def check(self, place: WarpPlace, stretch: Stretch) -> None:
        """Raises NotLinear if a warp's stream depends on the argument in another way."""
        # before, and in the window the first time
        tracer = Tracer(self._schedule, place, self._table)
        tracer.move({self._arg: self._step})
        self._run(tracer, stretch.begin + stretch.events, {})
        # in the window, later and later, and after it
        slopes = self._slopes(place, stretch)
        if stretch.events:
            tracer = self._at(place, stretch.begin, slopes)
            self._run(tracer, stretch.events, self._moves)
        tracer = self._at(place, stretch.after, slopes)
        self._run(tracer, None, self._moves)

    def _slopes(self, place: WarpPlace, stretch: Stretch) -> dict[str, int]:
        tracer = Tracer(self._schedule, place, self._table)
        _pass(tracer, stretch.begin)
        before = tracer.state()
        _pass(tracer, stretch.events)
        slopes = {name: v - before[name] for name, v in tracer.state().items()}
        return slopes | {self._arg: self._step}

    def _at(self, place: WarpPlace, op: int, slopes: dict[str, int]) -> Tracer:
        tracer = Tracer(self._schedule, place, self._table)
        _pass(tracer, op)
        if not tracer.state().keys() <= slopes.keys():
            raise NotLinear
        tracer.move(slopes)
        return tracer

    def _run(self, tracer: Tracer, ops: int | None, moves: dict[str, Vector]) -> None:
        """``ops`` ops (None: to the end) whose operands stay, but for data that moves."""
        done = 0
        while ops is None or done < ops:
            op = tracer.next()
            if op is None:
                if ops is not None:
                    raise NotLinear
                break
            done += 1
            operands, env = tracer.operands(op), tracer.env
            if any(map(slope, operands.fixed(env))):
                raise NotLinear
            own = own_views(op)
            for view, start in operands.boxes:
                by = tuple(map(slope, start(env)))
                tagged = isinstance(op, LoadOp | CpAsync) or not any(view is v for v in own)
                if tagged and by != moves.get(view.tensor, (0,) * len(by)):
                    raise NotLinear
                if any(by) and op.id in self._held:
                    raise NotLinear
        if tracer.windows.limit != FOR_EVER:
            raise NotLinear


def _pass(tracer: Tracer, ops: int) -> None:
    for _ in range(ops):
        if tracer.next() is None:
            raise NotLinear


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
