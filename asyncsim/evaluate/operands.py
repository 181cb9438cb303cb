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
    is_lane_varying,
)
from asyncsim.ir.op import GlobalView, OpBase, Scope, SmemView
from asyncsim.rules import Rule
from asyncsim.stream.operands import Values, constant, shared_operands

Starts = tuple[int | Array, ...]
Index = tuple[Array, ...]


class Operands:
    """Compiles the expressions of ``op`` for the lanes that execute it in one warp.

    ``lanes``: how many execute it; ``lane`` and ``thread`` are their indices in warp and role.
    """

    def __init__(self, op: OpBase, warp_in_role: int) -> None:
        self.op = op
        self.lanes = 1 if op.scope is Scope.ELECTED else 32
        self.lane = np.arange(self.lanes)
        self.thread = self.lane + 32 * warp_in_role
        self._slots = {e: i for i, e in enumerate(shared_operands(op))}

    def value(self, expr: Expr) -> Callable[[Values], int]:
        """The value of an expression that lanes share."""
        if isinstance(expr, Const):
            return constant(expr.value)
        return itemgetter(self._slots[expr])

    def lane_values(self, exprs: tuple[Expr, ...]) -> Callable[[Values], Starts]:
        """The values of expressions: an int where lanes agree, an array of the lanes elsewhere."""
        text = "".join(f"{self._source(e)}, " for e in exprs)
        scope = {
            "__builtins__": {},
            "lane": self.lane,
            "thread": self.thread,
            "minimum": np.minimum,
            "maximum": np.maximum,
            "integer": _integer,
            "divisor": _divisor,
        }
        return eval(f"lambda v: ({text})", scope)  # type: ignore[no-any-return]

    def _source(self, expr: Expr) -> str:
        if expr in self._slots:
            return f"v[{self._slots[expr]}]"
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
                if op in ("//", "%"):
                    return f"({a} {op} divisor({b}))"
                if op in ("<", "<=", ">", ">=", "==", "!="):
                    return f"integer({a} {op} {b})"
                return f"({a} {op} {b})"
            case Var() | Arg():
                raise AssertionError(f"{expr} is no shared operand of {self.op}")
            case _ as unreachable:
                assert_never(unreachable)

    def smem(self, view: SmemView, extent: tuple[int, ...]) -> Callable[[Values], Starts]:
        """Starts of a view in a tile of shape ``extent``, checked to lie inside."""
        return self._inside(view.start, view.shape, extent, view.tile)

    def box(self, view: GlobalView, extent: tuple[int, ...]) -> Callable[[Values], Starts]:
        """Starts of a box in a tensor of shape ``extent``, checked to lie inside."""
        return self._inside(view.start, view.shape, extent, view.tensor)

    def _inside(
        self, start: tuple[Expr, ...], shape: tuple[int, ...], extent: tuple[int, ...], name: str
    ) -> Callable[[Values], Starts]:
        compute = self.lane_values(start)
        limits = tuple(have - n for have, n in zip(extent, shape, strict=True))

        def starts(values: Values) -> Starts:
            found = compute(values)
            for first, limit in zip(found, limits, strict=True):
                low, high = (first, first) if isinstance(first, int) else _span(first)
                if low < 0 or high > limit:
                    raise ScheduleError(
                        f"{name} of shape {extent} is accessed outside: start {low}..{high} of "
                        f"extent {shape}",
                        fix="guard the access or enlarge it",
                        loc=self.op.loc,
                        rule=Rule.OUT_OF_BOUNDS,
                    )
            return found

        return starts

    def varies(self, start: tuple[Expr, ...]) -> bool:
        return self.lanes > 1 and any(is_lane_varying(e) for e in start)


def box_offsets(shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Per dimension, the offset of each element of a box, row-major, as a row."""
    grid = np.indices(shape).reshape(len(shape), 1, -1)
    return tuple(grid)


def lane_index(starts: Starts, offsets: tuple[Array, ...]) -> Index:
    """Index arrays (lanes or 1, elements) of the boxes that the lanes access."""
    return tuple(
        offset + (start if isinstance(start, int) else start[:, None])
        for start, offset in zip(starts, offsets, strict=True)
    )


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
