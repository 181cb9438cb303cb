"""What can be said of an integer expression without its variables: its value modulo something.

``Congruence(m, r)``: the value is r plus a multiple of m; m = 0 means that it is exactly r. Enough
to refuse an address that is misaligned whatever the variables are; never refuses a good one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import assert_never

from asyncsim.ir.expr import Arg, Binary, BuiltinRef, Const, Expr, Unary, Var


@dataclass(frozen=True, slots=True)
class Congruence:
    """All integers ``remainder + k * modulus``, with 0 <= remainder < modulus unless that is 0."""

    modulus: int
    remainder: int

    def __post_init__(self) -> None:
        if self.modulus:
            object.__setattr__(self, "remainder", self.remainder % self.modulus)

    def __add__(self, other: Congruence) -> Congruence:
        return Congruence(gcd(self.modulus, other.modulus), self.remainder + other.remainder)

    def __mul__(self, other: Congruence) -> Congruence:
        a, r, b, s = self.modulus, self.remainder, other.modulus, other.remainder
        return Congruence(gcd(a * b, a * s, b * r), r * s)

    def never_multiple_of(self, n: int) -> bool:
        """No value of the expression is a multiple of ``n``."""
        return self.remainder % gcd(self.modulus, n) != 0

    def always_multiple_of(self, n: int) -> bool:
        """Every value of the expression is a multiple of ``n``."""
        return self.modulus % n == 0 and self.remainder % n == 0


ANYTHING = Congruence(1, 0)


def congruence(expr: Expr) -> Congruence:
    """A congruence that every value of the expression satisfies."""
    match expr:
        case Const(value):
            return Congruence(0, value)
        case Var() | Arg() | BuiltinRef():
            return ANYTHING
        case Unary("-", operand):
            return congruence(operand) * Congruence(0, -1)
        case Unary():
            return ANYTHING
        case Binary("+", lhs, rhs):
            return congruence(lhs) + congruence(rhs)
        case Binary("-", lhs, rhs):
            return congruence(lhs) + congruence(rhs) * Congruence(0, -1)
        case Binary("*", lhs, rhs):
            return congruence(lhs) * congruence(rhs)
        case Binary("<<", lhs, Const(shift)) if 0 <= shift < 63:
            return congruence(lhs) * Congruence(0, 1 << shift)
        case Binary("%", lhs, Const(divisor)) if divisor > 0:
            left = congruence(lhs)
            return Congruence(gcd(left.modulus, divisor), left.remainder)
        case Binary():
            return ANYTHING
        case _ as unreachable:
            assert_never(unreachable)
