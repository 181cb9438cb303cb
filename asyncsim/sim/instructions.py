"""Instructions of generated code that are no ops: conditions, variables, addresses.

How many there are follows from the schedule by the rules of ``sim/instructions.toml``, which
are counts of SASS. What the benchmarks of a loop's turn contain is in its measured cost, and not
counted again: an advance of a stage (two with cp.async), and a conditional release. See
docs/model-notes.md.
"""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.expr import Binary, Expr, Unary, Var, walk
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When
from asyncsim.sim.instruction_table import INSTRUCTIONS

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")

Counts = dict[int, int]
"""By op id: how many instructions stand before it, one after the other."""


def counted(schedule: Schedule) -> Counts:
    """Of every op in a loop that some stand before; those of skipped branches are not counted."""
    found: Counts = {}
    _walk(schedule.body, found, _Turn())
    return found


class _Turn:
    """What of the measured cost of a loop's turn has been met in its body so far."""

    def __init__(self, body: tuple[Stmt, ...] = ()) -> None:
        copies = any(isinstance(s, ops.CpAsync) for s in statements(body))
        self.stages = 2 if copies else 1
        self.advanced: set[str] = set()  # the variables that are assigned first, as stages are
        self.released = False
        self.known: set[Expr] = set()  # computed since the last op


def addresses(schedule: Schedule) -> Counts:
    """By op id: instructions for the addresses of a copy or of an ldmatrix. Those of one tile that
    follow each other share what is before the constants."""
    found: Counts = {}
    before: tuple[type[OpBase], str] | None = None
    for s in statements(schedule.body):
        match s:
            case ops.LdMatrix(src=view):
                here: tuple[type[OpBase], str] | None = ops.LdMatrix, view.tile
                found[s.id] = 0 if here == before else INSTRUCTIONS.ldmatrix_run
            case ops.CpAsync(dst=view, src_bytes=filled):
                here = ops.CpAsync, view.tile
                first = 0 if here == before else INSTRUCTIONS.cp_async_run
                part = 0 if filled is None else INSTRUCTIONS.cp_async_part
                found[s.id] = first + INSTRUCTIONS.cp_async + part
            case _:
                here = None
        before = here
    return found


def _walk(body: tuple[Stmt, ...], found: Counts, turn: _Turn, *, looped: bool = False) -> int:
    """Attach what stands between ops to the op behind it; what is behind the last is returned."""
    pending = 0
    for s in body:
        match s:
            case OpBase():
                if pending and looped:
                    found[s.id] = found.get(s.id, 0) + pending
                    turn.known.clear()
                pending = 0
            case For(body=inner):
                left = _walk(inner, found, _Turn(inner), looped=True)
                first = next((o for o in statements(inner) if isinstance(o, OpBase)), None)
                if left and first is not None:
                    found[first.id] = found.get(first.id, 0) + left
            case When() if _wraps(s, turn):
                pass
            case When(condition=condition, body=inner, orelse=other):
                if not _releases(s, turn):
                    pending += instructions(condition, turn.known) + INSTRUCTIONS.condition
                for part in (inner, other):
                    pending += _walk(part, found, turn, looped=looped)
            case Set(var=var, value=value):
                if len(turn.advanced) < turn.stages:
                    turn.advanced.add(var)
                if var not in turn.advanced:
                    pending += max(INSTRUCTIONS.assignment, instructions(value, turn.known))
            case Elect(body=inner, others=others):
                pending += _walk(inner, found, turn, looped=looped)
                pending += _walk(others, found, turn, looped=looped)
            case Specialize(roles=roles):
                for role in roles:
                    _walk(role.body, found, _Turn())
            case _:
                pass
    return pending


def _wraps(s: When, turn: _Turn) -> bool:
    """The rest of the advance that is in the measured cost of a turn: at the last stage."""
    return all(isinstance(i, Set) for i in s.body) and any(
        isinstance(i, Set) and i.var in turn.advanced for i in s.body
    )


def _releases(s: When, turn: _Turn) -> bool:
    """The first release that some warps execute: it is in the measured cost of a turn."""
    inner = [o for i in s.body if not isinstance(i, When) for o in statements((i,))]
    first = not turn.released and any(isinstance(o, ops.MbarrierArrive) for o in inner)
    turn.released = turn.released or first
    return first


def instructions(expr: Expr, known: set[Expr]) -> int:
    """Instructions of an expression in a loop: one for each operator, but a sum with a product is
    one. What no variable is in stands outside the loop, unless it is a predicate. ``known``: what
    has been computed since the last op."""
    if expr in known or not isinstance(expr, Unary | Binary):
        return 0
    if not _is_predicate(expr) and not any(isinstance(n, Var) for n in walk(expr)):
        return 0
    known.add(expr)
    match expr:
        case Binary("+" | "-", Binary("*", a, b), c) | Binary("+" | "-", c, Binary("*", a, b)):
            parts: tuple[Expr, ...] = a, b, c
        case Binary(_, a, b):
            parts = a, b
        case Unary(_, a):
            parts = (a,)
    return INSTRUCTIONS.operator + sum(instructions(part, known) for part in parts)


def _is_predicate(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in COMPARISONS
