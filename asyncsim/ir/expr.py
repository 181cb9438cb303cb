"""Integer expressions of a schedule.

Plain frozen trees with structural equality. The builder's traced values wrap them; readers
compile them (``python_source``) or print them as C (hw/render).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum


class Builtin(Enum):
    """Values that the hardware supplies. LANE and THREAD_IN_ROLE differ from lane to lane."""

    BLOCK_IDX_X = "block_idx.x"
    BLOCK_IDX_Y = "block_idx.y"
    BLOCK_IDX_Z = "block_idx.z"
    CTA_RANK = "cta_rank"
    WARP_IN_ROLE = "warp_in_role"
    THREAD_IN_ROLE = "thread_in_role"
    LANE = "lane"


LANE_VARYING = frozenset({Builtin.THREAD_IN_ROLE, Builtin.LANE})


@dataclass(frozen=True, slots=True)
class Const:
    """An integer known when the schedule is built."""

    value: int


@dataclass(frozen=True, slots=True)
class Var:
    """A loop variable or a role-local integer."""

    name: str


@dataclass(frozen=True, slots=True)
class Arg:
    """A kernel argument: known to check, simulate and evaluate, a parameter of the CUDA code."""

    name: str


@dataclass(frozen=True, slots=True)
class BuiltinRef:
    builtin: Builtin


class _Inner:
    """A node with parts. What is kept of it is found once; it is neither compared nor copied."""

    __slots__ = ("_hash", "_leaves", "_varies")
    _hash: int
    _leaves: tuple[Var | Arg | BuiltinRef, ...]
    _varies: bool

    def _keep(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Unary(_Inner):
    op: str  # - ~
    operand: Expr

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._keep("_hash", hash((self.op, self.operand)))
            return self._hash


@dataclass(frozen=True, slots=True)
class Binary(_Inner):
    op: str  # + - * // % & | ^ << >> min max < <= > >= == !=
    lhs: Expr
    rhs: Expr

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._keep("_hash", hash((self.op, self.lhs, self.rhs)))
            return self._hash


Expr = Const | Var | Arg | BuiltinRef | Unary | Binary

ZERO, ONE = Const(0), Const(1)

_FOLD: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}


def binary(op: str, lhs: Expr, rhs: Expr) -> Expr:
    """``lhs op rhs`` with constants folded; division and shifts fold for valid operands only."""
    if isinstance(lhs, Const) and isinstance(rhs, Const):
        a, b = lhs.value, rhs.value
        if op in _FOLD:
            return Const(_FOLD[op](a, b))
        if op in ("//", "%") and b > 0:
            return Const(a // b if op == "//" else a % b)
        if op in ("<<", ">>") and 0 <= b < 63:
            return Const(a << b if op == "<<" else a >> b)
    if rhs == ZERO and op in ("+", "-", "^", "|", "<<", ">>"):
        return lhs
    if lhs == ZERO and op in ("+", "^", "|"):
        return rhs
    if rhs == ONE and op in ("*", "//"):
        return lhs
    if lhs == ONE and op == "*":
        return rhs
    return Binary(op, lhs, rhs)


def never_negative(expr: Expr, counters: frozenset[str]) -> bool:
    """Whether the text says so: of builtins, of ``counters`` (loop variables), of what is not
    negative, and of sums, products, quotients and remainders of those."""
    match expr:
        case Const(value):
            return value >= 0
        case Var(name):
            return name in counters
        case BuiltinRef():
            return True
        case Binary("+" | "*" | "//" | "%" | ">>" | "&" | "|" | "min" | "max", lhs, rhs):
            return never_negative(lhs, counters) and never_negative(rhs, counters)
        case _:
            return False


def walk(expr: Expr) -> Iterator[Expr]:
    """The nodes of an expression, parents first; a subtree that is used twice is walked once."""
    if not isinstance(expr, Unary | Binary):
        yield expr
        return
    stack: list[Expr] = [expr]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        match node:
            case Unary(_, operand):
                stack.append(operand)
            case Binary(_, lhs, rhs):
                stack += (rhs, lhs)
            case _:
                pass


def leaves(expr: Expr) -> tuple[Var | Arg | BuiltinRef, ...]:
    """What an expression depends on, each once, from left to right."""
    if not isinstance(expr, Unary | Binary):
        return () if isinstance(expr, Const) else (expr,)
    try:
        return expr._leaves
    except AttributeError:
        found = (n for n in walk(expr) if isinstance(n, Var | Arg | BuiltinRef))
        expr._keep("_leaves", tuple(dict.fromkeys(found)))
        return expr._leaves


def is_lane_varying(expr: Expr) -> bool:
    if not isinstance(expr, Unary | Binary):
        return isinstance(expr, BuiltinRef) and expr.builtin in LANE_VARYING
    try:
        return expr._varies
    except AttributeError:
        expr._keep("_varies", any(map(is_lane_varying, leaves(expr))))
        return expr._varies


def python_source(
    expr: Expr, name: Callable[[Expr], str], number: Callable[[int], str] | None = None
) -> str:
    """Python text of an expression; ``name`` spells the leaves (Var, Arg, BuiltinRef), ``number``
    constants."""
    match expr:
        case Const(value):
            if number is not None:
                return number(value)
            return str(value) if value >= 0 else f"({value})"
        case Var() | Arg() | BuiltinRef():
            return name(expr)
        case Unary(op, operand):
            return f"({op}{python_source(operand, name, number)})"
        case Binary(("min" | "max") as op, lhs, rhs):
            return f"{op}({python_source(lhs, name, number)}, {python_source(rhs, name, number)})"
        case Binary(op, lhs, rhs):
            return f"({python_source(lhs, name, number)} {op} {python_source(rhs, name, number)})"


_PRECEDENCE = {
    "|": 1,
    "^": 2,
    "&": 3,
    "<<": 4,
    ">>": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "//": 6,
    "%": 6,
}
_UNARY = 7


def text(expr: Expr) -> str:
    """The expression as the text form prints it: Python's syntax, with no needless parentheses."""
    return _text(expr, 0)


def _text(expr: Expr, outer: int) -> str:
    """``outer``: how strongly the surrounding operator binds."""
    match expr:
        case Const(value):
            return str(value) if value >= 0 or outer == 0 else f"({value})"
        case Var(name) | Arg(name):
            return name
        case BuiltinRef(builtin):
            return builtin.value
        case Unary(op, operand):
            own, out = _UNARY, f"{op}{_text(operand, _UNARY)}"
        case Binary(("min" | "max") as op, lhs, rhs):
            return f"{op}({_text(lhs, 0)}, {_text(rhs, 0)})"
        case Binary(op, lhs, rhs):
            own = _PRECEDENCE.get(op, 0)  # a comparison binds least, and does not chain
            left = own if own else 1
            out = f"{_text(lhs, left)} {op} {_text(rhs, own + 1)}"
    return f"({out})" if own < outer else out
