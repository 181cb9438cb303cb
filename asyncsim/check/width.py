"""Expressions that may leave the 32 bits of the kernel's integers.

The other readers compute with Python's integers, a kernel does not. Bounds follow from the grid,
the block, the arguments and the trip counts. What a var holds is seen by the stream that sets it
(``StreamLimit``); terms of it are followed in claims of larger trip counts alone (``last_period``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from asyncsim.check.affine import tainted
from asyncsim.errors import SourceLoc
from asyncsim.ir.expr import Arg, Binary, Builtin, BuiltinRef, Const, Expr, Unary, Var, text
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.stream.kept import Bounds, Kept
from asyncsim.stream.operands import operand_exprs

BIT, WORD = (0, 1), (-(1 << 31), (1 << 31) - 1)


def too_wide(schedule: Schedule) -> str | None:
    """In one line the first expression that may leave an int, None if there is none."""
    return _first_wide(schedule, Ranges(schedule))


def last_period(schedule: Schedule, arg: str, step: int, kept: Kept) -> tuple[int, str]:
    """After how many steps of a kernel argument all expressions are ints still, at most; and what
    is none after one step more. -1: not even now, or that is not known. ``kept``: of the first CTA.

    Bounds for an argument between two values hold all those for less: so halving finds the last.
    """

    value = dict(schedule.args)[arg]
    differ = tainted(schedule, dict(schedule.args)) if schedule.ctas > 1 else set()

    def wide(periods: int) -> str | None:
        ranges = Ranges(schedule)
        ranges.args[arg] = value, value + periods * step
        ranges.of_vars = {n: b for n, b in kept.after(periods).items() if n not in differ}
        ranges.all_known = True
        return _first_wide(schedule, ranges)

    low, high = -1, (WORD[1] - value) // step
    why = wide(high)
    if why is None:
        return high, f"{arg} leaves 32 bits"
    while high - low > 1:
        middle = (low + high) // 2
        found = wide(middle)
        if found is None:
            low = middle
        else:
            high, why = middle, found
    return low, why


def statements_with_ranges(schedule: Schedule) -> Iterator[tuple[Stmt, Ranges]]:
    """Every statement, with what is known there of what terms can be."""
    ranges = Ranges(schedule)
    for statement in statements(schedule.body):
        yield statement, ranges
        if isinstance(statement, For):
            ranges.counts(statement)


def _first_wide(schedule: Schedule, ranges: Ranges) -> str | None:
    for statement in statements(schedule.body):
        for expr in _expressions(statement):
            ranges.of(expr)
            if ranges.unknown is not None:
                return f"how large {text(ranges.unknown)}{_at(statement)} may be is not known"
            if ranges.wide is not None:
                term, how = ranges.wide
                if ranges.all_known:
                    return f"{text(term)}{_at(statement)} leaves 32 bits"
                what = f"{text(term)}{_at(statement)} may {how}"
                return f"{what}, and an integer of the kernel has 32 bits"
        if isinstance(statement, For):
            ranges.counts(statement)
    return None


def _at(statement: Stmt) -> str:
    return f" at {statement.loc}" if isinstance(statement.loc, SourceLoc) else ""


class Ranges:
    """What terms can be. ``wide``: the first one that is no int, or a shift by more bits than one
    has, which C++ does not define; ``unknown``: the first one that may be anything, if
    ``all_known`` is asked for."""

    def __init__(self, schedule: Schedule) -> None:
        self.args = {name: (value, value) for name, value in schedule.args}
        self.of_loops: dict[str, Bounds] = {}
        self.of_vars: dict[str, Bounds] = {}
        self.all_known = False
        self.unknown: Expr | None = None
        self.wide: tuple[Expr, str] | None = None
        x, y, z = schedule.grid
        sizes = {
            Builtin.BLOCK_IDX_X: x,
            Builtin.BLOCK_IDX_Y: y,
            Builtin.BLOCK_IDX_Z: z,
            Builtin.CTA_RANK: schedule.cluster_ctas,
            Builtin.WARP_IN_ROLE: schedule.warps,
            Builtin.THREAD_IN_ROLE: schedule.threads,
            Builtin.LANE: 32,
        }
        self.builtins = {builtin: (0, n - 1) for builtin, n in sizes.items()}

    def counts(self, loop: For) -> None:
        """A loop begins: what its index can be."""
        found = self.of(loop.trip_count)
        if found is not None:
            self.of_loops[loop.var] = (0, max(0, found[1] - 1))

    def of(self, expr: Expr) -> Bounds | None:
        """The bounds of a term; None where they are not known."""
        match expr:
            case Const(value):
                return value, value
            case Arg(name):
                return self.args[name]
            case BuiltinRef(builtin):
                return self.builtins[builtin]
            case Var(name):
                found = self.of_loops.get(name) or self.of_vars.get(name)
            case Unary(op, operand):
                a = self.of(operand)
                found = a and ((-a[1], -a[0]) if op == "-" else (~a[1], ~a[0]))
            case Binary(op, lhs, rhs):
                by = self.of(rhs)
                found = _binary(op, self.of(lhs), by)
                if op in ("<<", ">>") and by is not None and by[1] > 31:
                    self.wide = self.wide or (expr, f"shift by {by[1]:,}")
            case _ as unreachable:
                assert_never(unreachable)
        if found is None and self.all_known:
            self.unknown = self.unknown or expr
        if found is not None and (found[0] < WORD[0] or found[1] > WORD[1]):
            reached = found[1] if found[1] > WORD[1] else found[0]
            self.wide = self.wide or (expr, f"reach {reached:,}")
        return found


def _binary(op: str, a: Bounds | None, b: Bounds | None) -> Bounds | None:
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return BIT
    if op == "%" and b is not None and b[0] > 0:
        return a if a is not None and a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
    if op == "&":
        tops = [x[1] for x in (a, b) if x is not None and x[0] >= 0]
        return (0, min(tops)) if tops else None
    if a is None or b is None:
        return None
    if op in ("|", "^"):
        bits = max(a[1], b[1]).bit_length()
        return (0, (1 << bits) - 1) if min(a[0], b[0]) >= 0 else None
    if (op in ("//", "%") and b[0] <= 0) or (op in ("<<", ">>") and not 0 <= b[0] <= b[1] < 64):
        return None  # refused elsewhere
    corners = [_VALUE[op](x, y) for x in a for y in b]
    return min(corners), max(corners)


_VALUE: dict[str, Callable[[int, int], int]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "min": min,
    "max": max,
}


def _expressions(statement: Stmt) -> Iterator[Expr]:
    match statement:
        case For(trip_count=expr) | When(condition=expr) | Set(value=expr):
            yield expr
        case Elect() | Specialize():
            pass
        case _:
            yield from operand_exprs(statement)
