"""Traced values: what ``k.loop`` and ``k.var`` hand out.

A traced value stands for an integer of the kernel. It can be computed with, but it has no value
while the schedule is built: ``bool``, ``iter`` and ``index`` are refused with the form to use.
"""

from __future__ import annotations

from operator import index
from typing import NoReturn

from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir.expr import Const, Expr, Unary, binary


class Value:
    """An integer of the kernel, as an expression."""

    __slots__ = ("expr",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __repr__(self) -> str:
        from asyncsim.ir.expr import text

        return f"Value({text(self.expr)})"

    def _refuse(self, use: str, form: str) -> NoReturn:
        raise ScheduleError(f"a value of the kernel cannot be used {use}", fix=form, loc=caller())

    def __bool__(self) -> bool:
        self._refuse("as a Python condition", "write `with k.when(condition):`")

    def __iter__(self) -> NoReturn:
        self._refuse("as a Python sequence", "write `with k.loop(n) as i:`")

    def __index__(self) -> int:
        self._refuse(
            "as a Python integer",
            "write `with k.loop(n) as i:` or pass a compile-time integer",
        )

    __int__ = __index__

    def __add__(self, other: Value | int) -> Value:
        return Value(binary("+", self.expr, as_expr(other)))

    def __radd__(self, other: int) -> Value:
        return Value(binary("+", as_expr(other), self.expr))

    def __sub__(self, other: Value | int) -> Value:
        return Value(binary("-", self.expr, as_expr(other)))

    def __rsub__(self, other: int) -> Value:
        return Value(binary("-", as_expr(other), self.expr))

    def __mul__(self, other: Value | int) -> Value:
        return Value(binary("*", self.expr, as_expr(other)))

    def __rmul__(self, other: int) -> Value:
        return Value(binary("*", as_expr(other), self.expr))

    def __floordiv__(self, other: Value | int) -> Value:
        return Value(binary("//", self.expr, as_expr(other)))

    def __rfloordiv__(self, other: int) -> Value:
        return Value(binary("//", as_expr(other), self.expr))

    def __mod__(self, other: Value | int) -> Value:
        return Value(binary("%", self.expr, as_expr(other)))

    def __rmod__(self, other: int) -> Value:
        return Value(binary("%", as_expr(other), self.expr))

    def __and__(self, other: Value | int) -> Value:
        return Value(binary("&", self.expr, as_expr(other)))

    def __rand__(self, other: int) -> Value:
        return Value(binary("&", as_expr(other), self.expr))

    def __or__(self, other: Value | int) -> Value:
        return Value(binary("|", self.expr, as_expr(other)))

    def __ror__(self, other: int) -> Value:
        return Value(binary("|", as_expr(other), self.expr))

    def __xor__(self, other: Value | int) -> Value:
        return Value(binary("^", self.expr, as_expr(other)))

    def __rxor__(self, other: int) -> Value:
        return Value(binary("^", as_expr(other), self.expr))

    def __lshift__(self, other: Value | int) -> Value:
        return Value(binary("<<", self.expr, as_expr(other)))

    def __rlshift__(self, other: int) -> Value:
        return Value(binary("<<", as_expr(other), self.expr))

    def __rshift__(self, other: Value | int) -> Value:
        return Value(binary(">>", self.expr, as_expr(other)))

    def __rrshift__(self, other: int) -> Value:
        return Value(binary(">>", as_expr(other), self.expr))

    def __neg__(self) -> Value:
        return Value(Unary("-", self.expr))

    def __invert__(self) -> Value:
        return Value(Unary("~", self.expr))

    def __lt__(self, other: Value | int) -> Value:
        return Value(binary("<", self.expr, as_expr(other)))

    def __le__(self, other: Value | int) -> Value:
        return Value(binary("<=", self.expr, as_expr(other)))

    def __gt__(self, other: Value | int) -> Value:
        return Value(binary(">", self.expr, as_expr(other)))

    def __ge__(self, other: Value | int) -> Value:
        return Value(binary(">=", self.expr, as_expr(other)))

    def __eq__(self, other: Value | int) -> Value:  # type: ignore[override]
        return Value(binary("==", self.expr, as_expr(other)))

    def __ne__(self, other: Value | int) -> Value:  # type: ignore[override]
        return Value(binary("!=", self.expr, as_expr(other)))


Index = Value | int


def as_expr(value: Index) -> Expr:
    """The expression of a value or of a plain integer; anything else is refused."""
    if isinstance(value, Value):
        return value.expr
    if isinstance(value, int):  # a bool is an int
        return Const(int(value))
    raise ScheduleError(
        f"{value!r} is not an integer of the schedule",
        fix="pass an int, a loop variable, k.var or k.arg",
        loc=caller(),
    )


def minimum(a: Index, b: Index) -> Value:
    """The smaller of two kernel integers."""
    return Value(binary("min", as_expr(a), as_expr(b)))


def maximum(a: Index, b: Index) -> Value:
    """The larger of two kernel integers."""
    return Value(binary("max", as_expr(a), as_expr(b)))


def whole(value: int) -> int:
    """A compile-time integer. Raises ScheduleError for a float, which ``int`` would cut off."""
    try:
        return index(value)
    except TypeError:
        raise ScheduleError(
            f"{value!r} is not an integer", fix="pass an int; // divides integers", loc=caller()
        ) from None


def word(what: str, value: int) -> int:
    """The same, of 32 bits: an int of the CUDA kernel."""
    if not -(1 << 31) <= whole(value) < 1 << 31:
        raise ScheduleError(
            f"{what} = {value}: it is an int of the kernel", fix="-2^31 to 2^31 - 1", loc=caller()
        )
    return whole(value)
