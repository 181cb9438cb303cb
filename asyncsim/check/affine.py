"""How operands depend on the block index, and whether control does.

A launch is a set of clusters (of one CTA, mostly) whose streams are equal up to coordinates if the
place of the cluster appears in coordinates only. Then one cluster speaks for all, as long as those
coordinates are affine in its place. A step is one cluster further; the rank in it is no move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.expr import (
    Arg,
    Binary,
    Builtin,
    BuiltinRef,
    Const,
    Expr,
    Unary,
    Var,
)
from asyncsim.ir.op import GlobalView, OpBase, SmemView
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import For, Set, When

Coefficients = tuple[int, int, int]
"""What one step of the cluster in x, y and z adds."""

NONE: Coefficients = (0, 0, 0)
_AXES = {Builtin.BLOCK_IDX_X: 0, Builtin.BLOCK_IDX_Y: 1, Builtin.BLOCK_IDX_Z: 2}


Move = tuple[Coefficients, ...]
"""How a box moves with the block index: coefficients per dimension of its tensor."""


@dataclass(frozen=True, slots=True)
class BlockUse:
    """``uniform``: every CTA executes the same, moved by ``moves`` (op id: move of its global box).

    Not uniform: the block index decides what is executed, is used in a way that is not affine, or
    moves a copy and the read that means it differently.
    ``private``: ops whose other operands it reaches; ``uneven``: tensors whose boxes in shared
    memory it does not move alike; ``deciding``: trip counts and conditions that it reaches.
    """

    uniform: bool
    moves: Mapping[int, Move]
    private: frozenset[int]
    uneven: frozenset[str]
    deciding: frozenset[Expr]


def block_use(schedule: Schedule, values: Mapping[str, int] | None = None) -> BlockUse:
    """How a schedule uses the block index. ``values``: of the arguments, if they are others."""
    args = dict(schedule.args) if values is None else values
    step = schedule.cluster
    place = tainted(schedule, args)
    live = tuple(int(n > c) for n, c in zip(schedule.grid, step, strict=True))

    def depends(expr: Expr) -> bool:
        return coefficients(expr, args, place, step) != NONE

    deciding = {
        expr
        for s in statements(schedule.body)
        if isinstance(s, For | When)
        for expr in ((s.trip_count if isinstance(s, For) else s.condition),)
        if depends(expr)
    }
    private = {o.id for o in schedule.ops() if any(map(depends, private_operands(o)))}
    moves: dict[int, Move] = {}
    meanings: dict[str, list[Move | None]] = {}  # no two are equal
    for op in schedule.ops():
        for view, brings in global_views(op):
            move = _move(view, args, place, live, step)
            if move is None and not brings:
                private.add(op.id)
            elif _may_fill(op) and any(c != NONE for c in move or ()):
                private.add(op.id)  # which lanes lie outside may differ
            known = meanings.setdefault(view.tensor, [])
            if brings and move not in known:
                known.append(move)
            if move is not None and not isinstance(op, ops.Compute):
                first = moves.setdefault(op.id, move)
                if first != move and isinstance(op, ops.TmaStore) and op.rows:
                    private.add(op.id)  # rows that do not move alike
    uneven = {t for t, found in meanings.items() if len(found) > 1 or None in found}
    uniform = schedule.ctas == schedule.cluster_ctas or not (deciding or private or uneven)
    return BlockUse(uniform, moves, frozenset(private), frozenset(uneven), frozenset(deciding))


def _may_fill(op: OpBase) -> bool:
    return isinstance(op, ops.CpAsync) and op.src_bytes is not None


def global_views(op: OpBase) -> list[tuple[GlobalView, bool]]:
    """The global boxes of an op, its own first, and whether shared memory is compared with them:
    sources of copies, and the data that shared operands mean. Which pixels an im2col load brings
    is not followed: it is taken to read all of a tensor that stays as it is."""
    found: list[tuple[GlobalView, bool]] = []
    pixels = isinstance(op, ops.TmaLoad) and bool(op.offsets)
    for value in op.parts():
        if isinstance(value, GlobalView) and pixels:
            continue
        if isinstance(value, GlobalView):
            found.insert(0, (value, isinstance(op, ops.LoadOp | ops.CpAsync)))
        elif isinstance(value, SmemView) and value.expects is not None:
            found.append((value.expects, True))
    return found


def only_reduced(schedule: Schedule) -> frozenset[str]:
    """Tensors in which no order counts: nothing but reductions of one operator touches them, or no
    two accesses meet."""
    uses: dict[str, set[object]] = {}
    for op in schedule.ops():
        how = op.reduce if isinstance(op, ops.StoreOp) else None
        for value in op.parts():
            if isinstance(value, GlobalView):
                uses.setdefault(value.tensor, set()).add(how)
    apart = {t.name for t in schedule.of_kind(GlobalTensor) if t.apart}
    reduced = {t for t, found in uses.items() if len(found) == 1 and None not in found}
    return frozenset(apart | reduced)


def coefficients(
    expr: Expr, args: Mapping[str, int], tainted: set[str], step: Coefficients
) -> Coefficients | None:
    """The coefficients of the cluster's place in an expression; None if it is not affine.

    ``step``: CTAs of a cluster per axis.
    """
    match expr:
        case Const() | Arg():
            return NONE
        case Var(name):
            return None if name in tainted else NONE
        case BuiltinRef(builtin):
            axis = _AXES.get(builtin)
            if axis is None:
                return NONE
            return (step[0] * (axis == 0), step[1] * (axis == 1), step[2] * (axis == 2))
        case Unary(op, operand):
            inner = coefficients(operand, args, tainted, step)
            if op == "-" and inner is not None:
                return _scaled(inner, -1)
            return NONE if inner == NONE else None
        case Binary(op, lhs, rhs):
            a = coefficients(lhs, args, tainted, step)
            b = coefficients(rhs, args, tainted, step)
            if a is None or b is None:
                return None
            if a == NONE and b == NONE:
                return NONE
            if op in ("+", "-"):
                sign = 1 if op == "+" else -1
                return (a[0] + sign * b[0], a[1] + sign * b[1], a[2] + sign * b[2])
            if op == "*":
                factor = constant(rhs if b == NONE else lhs, args) if NONE in (a, b) else None
                return None if factor is None else _scaled(a if b == NONE else b, factor)
            if op in ("//", "%") and b == NONE:  # whole multiples of the divisor step evenly
                divisor = constant(rhs, args)
                if divisor and divisor > 0 and not any(c % divisor for c in a):
                    x, y, z = (c // divisor for c in a)
                    return NONE if op == "%" else (x, y, z)
            return None


def constant(expr: Expr, args: Mapping[str, int]) -> int | None:
    """The value of an expression of constants and kernel arguments."""
    match expr:
        case Const(value):
            return value
        case Arg(name):
            return args[name]
        case Binary(op, lhs, rhs) if op in ("+", "-", "*"):
            a, b = constant(lhs, args), constant(rhs, args)
            if a is None or b is None:
                return None
            return a + b if op == "+" else a - b if op == "-" else a * b
        case _:
            return None


def _scaled(c: Coefficients, factor: int) -> Coefficients:
    return (c[0] * factor, c[1] * factor, c[2] * factor)


def _move(
    view: GlobalView,
    args: Mapping[str, int],
    tainted: set[str],
    live: tuple[int, ...],
    step: Coefficients,
) -> Move | None:
    """The move of a box, without the axes that have one cluster."""
    found: list[Coefficients] = []
    for e in view.start:
        c = coefficients(e, args, tainted, step)
        if c is None:
            return None
        found.append((c[0] * live[0], c[1] * live[1], c[2] * live[2]))
    return tuple(found)


def tainted(schedule: Schedule, args: Mapping[str, int]) -> set[str]:
    """Variables whose value depends on the cluster's place."""
    tainted: set[str] = set()
    sets = [s for s in statements(schedule.body) if isinstance(s, Set)]
    while True:
        before = len(tainted)
        for s in sets:
            if coefficients(s.value, args, tainted, schedule.cluster) != NONE:
                tainted.add(s.var)
        if len(tainted) == before:
            return tainted


def private_operands(op: OpBase) -> list[Expr]:
    """The expressions of an op that are not global coordinates."""
    found: list[Expr] = []
    for value in op.parts():
        match value:
            case ops.MbarrierRef(stage=stage, rank=rank):
                found += [stage] if rank is None else [stage, rank]
            case SmemView(stage=stage, start=start, rank=rank):
                found += [stage, *start] if rank is None else [stage, rank, *start]
            case ops.TmemView(stage=stage, start=start):
                found += [stage, *start]
            case GlobalView() | ops.FragmentRef():
                pass
            case Const() | Var() | Arg() | BuiltinRef() | Unary() | Binary():
                if not isinstance(op, ops.Compute):
                    found.append(value)
            case _:
                pass
    return found
