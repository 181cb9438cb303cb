"""Integer expressions as C text.

Sums are put into the form ``terms + constant`` first, so that address arithmetic folds to a base
and an immediate offset. Division is Python's floor division, by compile-time constants only.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir.expr import Arg, Binary, Builtin, BuiltinRef, Const, Expr, Unary, Var, binary

BUILTIN_TEXT = {
    Builtin.BLOCK_IDX_X: "block_x",
    Builtin.BLOCK_IDX_Y: "block_y",
    Builtin.BLOCK_IDX_Z: "block_z",
    Builtin.CTA_RANK: "cta_rank",
    Builtin.WARP_IN_ROLE: "warp_in_role",
    Builtin.THREAD_IN_ROLE: "thread_in_role",
    Builtin.LANE: "lane",
}

Affine = tuple[dict[Expr, int], int]
"""Coefficients of the terms that are not sums, and the constant."""


def affine(expr: Expr) -> Affine:
    """``expr`` as a sum of coefficient times term, plus a constant."""
    match expr:
        case Const(value):
            return {}, value
        case Var() | Arg() | BuiltinRef():
            return {expr: 1}, 0
        case Unary("-", operand):
            return _scaled(affine(operand), -1)
        case Binary("+", lhs, rhs):
            return _added(affine(lhs), affine(rhs))
        case Binary("-", lhs, rhs):
            return _added(affine(lhs), _scaled(affine(rhs), -1))
        case Binary("*", lhs, rhs):
            return _product(affine(lhs), affine(rhs))
        case Binary("<<", lhs, Const(n)) if 0 <= n < 31:
            return _scaled(affine(lhs), 1 << n)
        case Binary(("//" | "%") as op, lhs, Const(d)) if d > 0:
            return _divided(op, affine(lhs), d)
        case Unary() | Binary():
            return {expr: 1}, 0
        case _ as unreachable:
            assert_never(unreachable)


def _added(a: Affine, b: Affine) -> Affine:
    terms = dict(a[0])
    for term, factor in b[0].items():
        terms[term] = terms.get(term, 0) + factor
    return {t: f for t, f in terms.items() if f}, a[1] + b[1]


def _scaled(a: Affine, factor: int) -> Affine:
    return ({t: f * factor for t, f in a[0].items()} if factor else {}), a[1] * factor


def _product(a: Affine, b: Affine) -> Affine:
    if not b[0]:
        return _scaled(a, b[1])
    if not a[0]:
        return _scaled(b, a[1])
    return {Binary("*", from_affine(a), from_affine(b)): 1}, 0


def _divided(op: str, a: Affine, d: int) -> Affine:
    """Multiples of ``d`` leave a floor division whole, and vanish from a remainder."""
    whole = {t: f // d for t, f in a[0].items() if f % d == 0}
    rest = {t: f for t, f in a[0].items() if f % d}
    carry, constant = divmod(a[1], d)
    if not rest:
        return (whole, carry) if op == "//" else ({}, constant)
    term: Affine = ({Binary(op, from_affine((rest, constant)), Const(d)): 1}, 0)
    return term if op == "%" else _added(term, (whole, carry))


def from_affine(a: Affine) -> Expr:
    out: Expr = Const(0)
    for term, factor in a[0].items():
        out = binary("+", out, binary("*", term, Const(factor)))
    return binary("+", out, Const(a[1]))


def c_text(expr: Expr) -> str:
    """C text of an expression. Raises ScheduleError on division by a run-time value."""
    terms, constant = affine(expr)
    return _sum_text(terms, constant)


def condition(expr: Expr) -> str:
    """C text in parentheses, as ``if`` wants it."""
    text = c_text(expr)
    return text if _closed(text) else f"({text})"


def _sum_text(terms: dict[Expr, int], constant: int) -> str:
    parts: list[str] = []
    for term, factor in terms.items():
        text = _term_text(term)
        scaled = text if abs(factor) == 1 else f"{text} * {abs(factor)}"
        parts.append(("- " if factor < 0 else "+ " if parts else "") + scaled)
    if constant or not parts:
        sign = "- " if constant < 0 and parts else "+ " if parts else ""
        parts.append(f"{sign}{abs(constant) if parts else constant}")
    text = " ".join(parts)
    return text.replace("- ", "-", 1) if text.startswith("- ") else text


def _term_text(term: Expr) -> str:
    """A term as a primary expression (a name or parenthesised)."""
    match term:
        case Const(value):
            return str(value) if value >= 0 else f"({value})"
        case Var(name):
            return f"v_{name}"
        case Arg(name):
            return f"a_{name}"
        case BuiltinRef(which):
            return BUILTIN_TEXT[which]
        case Unary(op, operand):
            return f"({op}{_inner(operand)})"
        case Binary(("//" | "%") as op, lhs, rhs):
            return _division_text(op, lhs, rhs)
        case Binary(("min" | "max") as op, lhs, rhs):
            return f"{op}({c_text(lhs)}, {c_text(rhs)})"
        case Binary(op, lhs, rhs):
            return f"({_inner(lhs)} {op} {_inner(rhs)})"
        case _ as unreachable:
            assert_never(unreachable)


def _inner(expr: Expr) -> str:
    text = c_text(expr)
    return text if text.isidentifier() or text.isdigit() or _closed(text) else f"({text})"


def _closed(text: str) -> bool:
    """Whether the text is one parenthesised group."""
    if not text.startswith("("):
        return False
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def _division_text(op: str, lhs: Expr, rhs: Expr) -> str:
    if not isinstance(rhs, Const):
        raise ScheduleError(
            "a division by a run-time value cannot be rendered: it costs dozens of instructions",
            fix="divide by a compile-time integer, or count with a var (pipeline_state)",
        )
    d = rhs.value
    if d <= 0:
        raise ScheduleError(f"division by {d}", fix="divide by a positive integer")
    if d & (d - 1) == 0:  # an arithmetic shift is floor division, also of negative values
        if op == "//":
            return f"({_inner(lhs)} >> {d.bit_length() - 1})"
        return f"({_inner(lhs)} & {d - 1})"
    return f"{'floor_div' if op == '//' else 'floor_mod'}<{d}>({c_text(lhs)})"


def known_multiple(expr: Expr) -> int:
    """A number that divides ``expr`` whatever its variables are (0: it is zero)."""
    terms, constant = affine(expr)
    return gcd_all([constant, *(f * _term_multiple(t) for t, f in terms.items())])


def _term_multiple(term: Expr) -> int:
    match term:
        case Binary("*", lhs, rhs):
            return known_multiple(lhs) * known_multiple(rhs)
        case Binary(("min" | "max"), lhs, rhs):
            return gcd(known_multiple(lhs), known_multiple(rhs))
        case _:
            return 1


def gcd_all(values: Iterable[int]) -> int:
    out = 0
    for value in values:
        out = gcd(out, value)
    return out
