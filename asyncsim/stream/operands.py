"""Which values an op depends on, and how its expressions are computed from them.

The stream evaluates ``shared_operands(op)`` for a warp; an Evaluator turns those values into what
each operand needs, lane by lane where lanes differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import NoReturn, TypeVar

from asyncsim.ir.expr import (
    Builtin,
    BuiltinRef,
    Const,
    Expr,
    is_lane_varying,
    leaves,
    python_source,
)
from asyncsim.ir.op import GlobalView, MbarrierRef, OpBase, SmemView, TmemView
from asyncsim.stream.compiled import function

Values = tuple[int, ...]
LaneValues = Callable[[Values, int], list[Values]]

T = TypeVar("T")


def operand_exprs(op: OpBase) -> Iterator[Expr]:
    """Every expression among the operands of an op, in field order."""
    for part in op.parts():
        if isinstance(part, Expr):
            yield part
        elif isinstance(part, MbarrierRef | SmemView | GlobalView | TmemView):
            yield from _exprs(part)


def _exprs(ref: MbarrierRef | SmemView | GlobalView | TmemView) -> Iterator[Expr]:
    match ref:
        case MbarrierRef(_, stage, rank):
            yield stage
            if rank is not None:
                yield rank
        case SmemView(_, stage, start, _, expects, rank):
            yield stage
            if rank is not None:
                yield rank
            yield from start
            if expects is not None:
                yield from expects.start
        case GlobalView(_, start, _):
            yield from start
        case TmemView(_, stage, start, _):
            yield stage
            yield from start


def shared_operands(op: OpBase) -> tuple[Expr, ...]:
    """What the stream evaluates for an op, each once: lane-invariant expressions whole, and the
    variables inside lane-varying ones."""
    found: dict[Expr, None] = {}
    for expr in operand_exprs(op):
        if is_lane_varying(expr):
            for leaf in leaves(expr):
                if not is_lane_varying(leaf):
                    found[leaf] = None
        elif not isinstance(expr, Const):
            found[expr] = None
    return tuple(found)


class Evaluator:
    """Compiles an op's expressions to functions of the values of its shared operands, or of those
    of them that are ``given``."""

    def __init__(self, op: OpBase, given: tuple[Expr, ...] | None = None) -> None:
        self._slots = {e: i for i, e in enumerate(shared_operands(op) if given is None else given)}
        self.valued: set[int] = set()  # those that somebody wants the value of
        self._compiled: dict[tuple[tuple[Expr, ...], bool], LaneValues] = {}

    def value(self, expr: Expr) -> Callable[[Values], int]:
        """The value of a lane-invariant expression."""
        if isinstance(expr, Const):
            return constant(expr.value)
        self.valued.add(self._slots[expr])
        return itemgetter(self._slots[expr])

    def inputs(self, exprs: tuple[Expr, ...]) -> Callable[[Values], object]:
        """What of the shared values the expressions depend on, as a key."""
        nodes = {n for e in exprs for n in (leaves(e) if is_lane_varying(e) else (e,))}
        slots = sorted(self._slots[n] for n in nodes if n in self._slots)
        return itemgetter(*slots) if slots else constant(())

    def lanes(self, exprs: tuple[Expr, ...], *, one: bool) -> LaneValues:
        """The values in each lane, from (shared values, first thread); ``one``: lane 0 only."""
        known = self._compiled.get((exprs, one))
        if known is None:
            numbers: list[int] = []
            text = "".join(f"{self._source(e, numbers)}, " for e in exprs)
            if one:
                code = f"lambda v, thread, lane=0: [({text})]"
            else:
                code = f"lambda v, first: [({text}) for lane in R for thread in (first + lane,)]"
            # numbers are arguments: what differs in them alone is compiled once
            names = ", ".join(f"c{i}" for i in range(len(numbers)))
            known = self._compiled[exprs, one] = function(f"lambda {names}: {code}")(*numbers)
        return known

    def _source(self, expr: Expr, numbers: list[int]) -> str:
        if expr in self._slots:
            return f"v[{self._slots[expr]}]"

        def spelled(value: int) -> str:
            numbers.append(value)
            return f"c{len(numbers) - 1}"

        return python_source(expr, self._leaf, spelled)

    def _leaf(self, node: Expr) -> str:
        if node == BuiltinRef(Builtin.LANE):
            return "lane"
        if node == BuiltinRef(Builtin.THREAD_IN_ROLE):
            return "thread"
        return f"v[{self._slots[node]}]"


class Noting(Evaluator):
    """Notes which of the shared operands somebody asks for; what it gives must not be called."""

    def __init__(self, op: OpBase) -> None:
        super().__init__(op)
        self._asked: set[Expr] = set()
        self.by_lane = False  # of an operand, addresses mostly, what it is in single lanes

    @property
    def asked(self) -> tuple[Expr, ...]:
        return tuple(e for e in self._slots if e in self._asked)

    def value(self, expr: Expr) -> Callable[[Values], int]:
        self._note((expr,))
        return _not_called

    def inputs(self, exprs: tuple[Expr, ...]) -> Callable[[Values], object]:
        self._note(exprs)
        return _not_called

    def lanes(self, exprs: tuple[Expr, ...], *, one: bool) -> LaneValues:
        self._note(exprs)
        self.by_lane = True
        return _not_called

    def _note(self, exprs: tuple[Expr, ...]) -> None:
        for expr in exprs:
            nodes = (expr,) if expr in self._slots else leaves(expr)
            self._asked.update(node for node in nodes if node in self._slots)


def _not_called(*args: object) -> NoReturn:
    raise AssertionError("a maker that only says what it reads")


def constant(value: T) -> Callable[[Values], T]:
    """A function of the shared values that ignores them."""
    return lambda values: value
