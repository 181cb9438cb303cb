"""Operands of one op in one warp: shared values, lane by lane indices, bounds.

A function that takes ``values`` gets those of ``shared_operands(op)`` from the op stream.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import assert_never

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.ir.expr import (
    Arg,
    Binary,
    Builtin,
    BuiltinRef,
    Const,
    Expr,
    Unary,
    Var,
    walk,
)
from asyncsim.ir.matrix import addressing_lanes
from asyncsim.ir.op import GlobalView, OpBase, Scope, SmemView
from asyncsim.rules import Rule
from asyncsim.stream.operands import Values, constant, shared_operands

_PARTS = {Scope.ELECTED: (0, 1), Scope.OTHERS: (1, 32)}  # lanes of a warp, if not all

Starts = tuple[int | Array, ...]
Index = tuple[Array, ...]


class Operands:
    """Compiles the expressions of ``op`` for the lanes that execute it in one warp.

    ``lanes``: how many execute it (of ldmatrix and stmatrix: name a row), ``span`` which (lane 0 is
    the elected one); ``lane`` and
    ``thread`` are their indices in warp and role. ``observers``: elected (True), others (False).
    """

    def __init__(self, op: OpBase, warp_in_role: int) -> None:
        self.op = op
        first, end = _PARTS.get(op.scope, (0, addressing_lanes(op)))
        self.lanes, self.span = end - first, slice(first, end)
        self.observers = tuple([o for o, runs in ((True, first == 0), (False, end > 1)) if runs])
        self.lane = np.arange(first, end)
        self.thread = self.lane + 32 * warp_in_role
        self._slots = {e: i for i, e in enumerate(shared_operands(op))}
        self._scope: dict[str, object] = {
            "__builtins__": {},
            "lane": self.lane,
            "thread": self.thread,
            "minimum": np.minimum,
            "maximum": np.maximum,
            "integer": _integer,
            "divisor": _divisor,
        }

    def value(self, expr: Expr) -> Callable[[Values], int]:
        """The value of an expression that lanes share."""
        if isinstance(expr, Const):
            return constant(expr.value)
        return itemgetter(self._slots[expr])

    def lane_values(self, exprs: tuple[Expr, ...]) -> Callable[[Values], Starts]:
        """The values of expressions: an int where lanes agree, an array of the lanes elsewhere."""
        text = "".join(f"{self._source(e)}, " for e in exprs)
        return eval(f"lambda v: ({text})", self._scope)  # type: ignore[no-any-return]

    def _source(self, expr: Expr) -> str:
        if expr in self._slots:
            return f"v[{self._slots[expr]}]"
        if isinstance(expr, Unary | Binary) and not self._depends(expr):
            # Known now: the lanes' arrays are computed once.
            name = f"k{len(self._scope)}"
            self._scope[name] = eval(self._operator(expr), self._scope)
            return name
        return self._operator(expr)

    def _depends(self, expr: Expr) -> bool:
        return any(node in self._slots for node in walk(expr))

    def _operator(self, expr: Expr) -> str:
        match expr:
            case Const(value):
                return f"({value})"
            case BuiltinRef(builtin):
                return "lane" if builtin is Builtin.LANE else "thread"
            case Unary(op, operand):
                return f"({op}{self._source(operand)})"
            case Binary(op, lhs, rhs):
                a, b = self._source(lhs), self._source(rhs)
                if op in ("min", "max"):
                    return f"{op}imum({a}, {b})"
                if op in ("//", "%") and (not isinstance(rhs, Const) or rhs.value == 0):
                    return f"({a} {op} divisor({b}))"
                if op in ("<", "<=", ">", ">=", "==", "!="):
                    return f"integer({a} {op} {b})"
                return f"({a} {op} {b})"
            case Var() | Arg():
                raise AssertionError(f"{expr} is no shared operand of {self.op}")
            case _ as unreachable:
                assert_never(unreachable)

    def window(self, view: SmemView, extent: tuple[int, ...]) -> Callable[[Values], Starts]:
        """Starts of a view in a tile of shape ``extent``, checked to lie inside."""
        axes = self._axes(view.start, view.shape, extent, view.tile)
        return lambda values: tuple([axis(values) for axis in axes])

    def elements(
        self, view: SmemView | GlobalView, extent: tuple[int, ...] | None
    ) -> Callable[[Values], Index]:
        """Index arrays (lanes or 1, elements) of the boxes that the lanes access, in an array of
        shape ``extent``: checked to lie inside, unless None."""
        name = view.tile if isinstance(view, SmemView) else view.tensor
        axes = self._axes(view.start, view.shape, extent, name)
        offsets = box_offsets(view.shape)
        fixed: dict[int, Array] = {}
        constant_axes = [not self._depends(e) for e in view.start]

        def index(values: Values) -> Index:
            found = []
            for d, axis in enumerate(axes):
                column = fixed.get(d)
                if column is None:
                    column = lane_column(axis(values), offsets[d])
                    if constant_axes[d]:
                        fixed[d] = column
                found.append(column)
            return tuple(found)

        return index

    def _axes(
        self,
        start: tuple[Expr, ...],
        shape: tuple[int, ...],
        extent: tuple[int, ...] | None,
        name: str,
    ) -> list[Callable[[Values], int | Array]]:
        if extent is None:
            return [self._lane_value(expr) for expr in start]
        return [
            self._axis(expr, have - n, f"dimension {d} of {name!r} ({have}), {n} elements from")
            for d, (expr, n, have) in enumerate(zip(start, shape, extent, strict=True))
        ]

    def _lane_value(self, expr: Expr) -> Callable[[Values], int | Array]:
        compute = self.lane_values((expr,))
        return lambda values: compute(values)[0]

    def _axis(self, expr: Expr, limit: int, what: str) -> Callable[[Values], int | Array]:
        """The start in one dimension, checked when it is used."""
        compute, loc = self._lane_value(expr), self.op.loc

        def axis(values: Values) -> int | Array:
            first = compute(values)
            low, high = (first, first) if isinstance(first, int) else _span(first)
            if low < 0 or high > limit:
                raise ScheduleError(
                    f"access outside {what} {low if low < 0 else high}",
                    fix="guard the access or enlarge it",
                    loc=loc,
                    rule=Rule.OUT_OF_BOUNDS,
                )
            return first

        return axis


def box_offsets(shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Per dimension, the offset of each element of a box, row-major, as a row."""
    grid = np.indices(shape).reshape(len(shape), 1, -1)
    return tuple(grid)


def lane_column(start: int | Array, offset: Array) -> Array:
    """Indices (lanes or 1, elements) in one dimension."""
    column: Array = offset + (start if isinstance(start, int) else start[:, None])
    return column


def box_slices(starts: Starts, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Slices of a box whose start all lanes share."""
    return tuple(slice(int(s), int(s) + n) for s, n in zip(starts, shape, strict=True))


def _span(values: Array) -> tuple[int, int]:
    return int(values.min()), int(values.max())


def _integer(condition: bool | Array) -> int | Array:
    """0 or 1: NumPy's booleans do not add up."""
    return int(condition) if isinstance(condition, bool) else condition.astype(np.int64)


def _divisor(value: int | Array) -> int | Array:
    """The divisor, or ZeroDivisionError where NumPy would warn and go on."""
    if not np.all(value):
        raise ZeroDivisionError
    return value
