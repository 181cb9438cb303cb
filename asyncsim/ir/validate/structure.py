"""Statements and expressions that every reader can take: bounded depth, lanes that agree."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Binary, Expr, Unary, Var, is_lane_varying, leaves
from asyncsim.ir.op import GlobalView, MbarrierRef, OpBase, Scope, SmemView, TmemView
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When

# The op stream is the text of a Python generator, whose compiler has limits of its own: 20 nested
# loops, 100 levels of indentation, 200 nested parentheses.
MAX_LOOP_DEPTH = 16
MAX_BLOCK_DEPTH = 64
MAX_EXPR_DEPTH = 64
MAX_EXPR_NODES = 4096


def _depth(s: Schedule) -> Iterator[ScheduleError]:
    stack: list[tuple[Stmt, int, int]] = [(statement, 0, 0) for statement in reversed(s.body)]
    while stack:
        statement, loops, blocks = stack.pop()
        inner: tuple[Stmt, ...] = ()
        match statement:
            case For(body=body):
                loops, inner = loops + 1, body
            case When(body=body, orelse=orelse):
                inner = body + orelse
            case Elect(body=body, others=others):
                inner = body + others
            case Specialize(roles=roles):
                inner = tuple(s for role in roles for s in role.body)
            case _:
                continue
        for depth, limit, what in (
            (loops, MAX_LOOP_DEPTH, "loops"),
            (blocks + 1, MAX_BLOCK_DEPTH, "blocks"),
        ):
            if depth > limit:
                yield ScheduleError(
                    f"{depth} {what} inside each other",
                    fix=f"nest at most {limit}",
                    loc=statement.loc,
                )
                return
        stack += [(child, loops, blocks + 1) for child in reversed(inner)]


def _expression_size(s: Schedule) -> Iterator[ScheduleError]:
    for statement in statements(s.body):
        for expr in expressions(statement):
            if not _is_small(expr):
                yield ScheduleError(
                    f"an expression of more than {MAX_EXPR_DEPTH} levels or {MAX_EXPR_NODES} terms",
                    fix="keep a part of it in k.var",
                    loc=getattr(statement, "loc", None),
                )


def _variables(s: Schedule) -> Iterator[ScheduleError]:
    """A variable is known in the block that declares it, from there on, and in blocks inside."""
    yield from _undeclared(s.body, frozenset())


def _undeclared(body: tuple[Stmt, ...], known: frozenset[str]) -> Iterator[ScheduleError]:
    for statement in body:
        used = {n.name for e in expressions(statement) for n in leaves(e) if isinstance(n, Var)}
        match statement:
            case Set(var=var, declare=True):
                declared = known | {var}
            case Set(var=var):
                declared, used = known, used | {var}
            case _:
                declared = known
        for name in sorted(used - known):
            yield ScheduleError(
                f"variable {name!r} is used outside the loop, block or role that it belongs to",
                fix="declare it with k.var before the block",
                loc=statement.loc,
            )
        known = declared
        match statement:
            case For(var=var, body=inner):
                yield from _undeclared(inner, known | {var})
            case When(body=inner, orelse=orelse):
                yield from _undeclared(inner, known)
                yield from _undeclared(orelse, known)
            case Elect(body=inner, others=others):
                yield from _undeclared(inner, known)
                yield from _undeclared(others, known)
            case Specialize(roles=roles):
                for role in roles:
                    yield from _undeclared(role.body, known)
            case _:
                pass


def _lanes_agree(s: Schedule) -> Iterator[ScheduleError]:
    """Only starts of views, and the source bytes of cp.async, may differ from lane to lane."""
    for op in s.ops():
        for name in type(op).__dataclass_fields__:
            if isinstance(op, ops.CpAsync) and name == "src_bytes":
                continue
            for expr in _uniform_parts(getattr(op, name)):
                if is_lane_varying(expr):
                    yield ScheduleError(
                        f"{type(op).__name__}: this operand differs from lane to lane",
                        fix="lanes may differ in where they access, not in stages, counts, "
                        "parities, bytes and integers of a compute",
                        loc=op.loc,
                    )
        if isinstance(op, ops.Compute):
            views = [o for o in op.operands if isinstance(o, SmemView)]
        elif isinstance(op, ops.WgmmaMmaAsync | ops.Tcgen05Mma):
            views = [view for view in (op.a, op.b) if isinstance(view, SmemView)]
        elif isinstance(op, ops.Tcgen05Cp):
            views = [op.src]
        else:
            continue
        if any(is_lane_varying(e) for view in views for e in view.start):
            yield ScheduleError(
                f"{type(op).__name__}: a shared-memory operand starts elsewhere in each lane",
                fix="pass one view for the warp; a compute body can index it by lane",
                loc=op.loc,
            )


def _elected_lane_is_unknown(s: Schedule) -> Iterator[ScheduleError]:
    """``elect.sync`` names no lane: what it runs must not depend on which one it is, nor what the
    others run on which one is missing."""
    for op in s.ops():
        elects = op.scope in (Scope.ELECTED, Scope.OTHERS)
        if elects and any(is_lane_varying(e) for e in expressions(op)):
            yield ScheduleError(
                f"{type(op).__name__}: an operand depends on the lane, and elect may pick any lane",
                fix="use warp_in_role, or move it out of elect",
                loc=op.loc,
            )


def _uniform_parts(value: object) -> Iterator[Expr]:
    match value:
        case MbarrierRef(stage=stage, rank=rank) | SmemView(stage=stage, rank=rank):
            yield stage
            if rank is not None:
                yield rank
        case TmemView(stage=stage, start=start):
            yield stage
            yield from start
        case GlobalView():
            return
        case tuple():
            for item in value:
                yield from _uniform_parts(item)
        case _ if isinstance(value, Expr):
            yield value


def expressions(statement: Stmt) -> Iterator[Expr]:
    """What one statement computes, without those inside it."""
    match statement:
        case For(trip_count=expr) | When(condition=expr) | Set(value=expr):
            yield expr
        case OpBase():
            for name in type(statement).__dataclass_fields__:
                yield from _operand_expressions(getattr(statement, name))
        case _:
            return


def _operand_expressions(value: object) -> Iterator[Expr]:
    match value:
        case SmemView(start=start, expects=expects):
            yield from start
            yield from _operand_expressions(expects)
        case GlobalView(start=start):
            yield from start
        case tuple():
            for item in value:
                yield from _operand_expressions(item)
        case _:
            pass
    yield from _uniform_parts(value)


def _is_small(expr: Expr) -> bool:
    """Within the limits when written out, where a subtree that is used twice stands twice."""
    level, nodes = {id(expr): (expr, 1)}, 0
    for _ in range(MAX_EXPR_DEPTH):
        below: dict[int, tuple[Expr, int]] = {}
        for node, times in level.values():
            nodes += times
            match node:
                case Unary(_, operand):
                    children: tuple[Expr, ...] = (operand,)
                case Binary(_, lhs, rhs):
                    children = (lhs, rhs)
                case _:
                    children = ()
            for child in children:
                below[id(child)] = (child, below.get(id(child), (child, 0))[1] + times)
        if nodes > MAX_EXPR_NODES:
            return False
        if not below:
            return True
        level = below
    return False


CHECKS = (_depth, _expression_size, _variables, _lanes_agree, _elected_lane_is_unknown)
