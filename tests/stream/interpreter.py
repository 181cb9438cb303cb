"""A slow reading of the statements, op by op: what a warp's stream must yield."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import replace

from asyncsim.ir.expr import Arg, Binary, Builtin, BuiltinRef, Const, Expr, Unary, Var
from asyncsim.ir.op import OpBase, Scope
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When

_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "min": min,
    "max": max,
}

Env = dict[str, int]


def value_of(expr: Expr, env: Env) -> int:
    """The value of an expression; names, arguments and builtins are looked up in ``env``."""
    match expr:
        case Const(value):
            return value
        case Var(name) | Arg(name):
            return env[name]
        case BuiltinRef(builtin):
            return env[builtin.value]
        case Unary("-", operand):
            return -value_of(operand, env)
        case Unary("~", operand):
            return ~value_of(operand, env)
        case Binary(op, lhs, rhs):
            return int(_OPERATORS[op](value_of(lhs, env), value_of(rhs, env)))
    raise AssertionError(expr)


def interpret(
    schedule: Schedule, block: tuple[int, int, int], warp: int
) -> Iterator[tuple[OpBase, Env, tuple[int, ...]]]:
    """(op, environment, loop indices) of everything a warp executes."""
    env = dict(schedule.args)
    for builtin, value in zip(
        (Builtin.BLOCK_IDX_X, Builtin.BLOCK_IDX_Y, Builtin.BLOCK_IDX_Z), block, strict=True
    ):
        env[builtin.value] = value
    env[Builtin.CTA_RANK.value] = schedule.rank(block)
    env[Builtin.WARP_IN_ROLE.value] = warp
    yield from _block(schedule.body, env, warp, ())


def _block(
    body: tuple[Stmt, ...], env: Env, warp: int, loops: tuple[int, ...]
) -> Iterator[tuple[OpBase, Env, tuple[int, ...]]]:
    for s in body:
        match s:
            case For(var=var, trip_count=count, body=inner):
                for i in range(value_of(count, env)):
                    env[var] = i
                    yield from _block(inner, env, warp, (*loops, i))
            case When(condition=condition, body=inner, orelse=orelse):
                chosen = inner if value_of(condition, env) else orelse
                yield from _block(chosen, env, warp, loops)
            case Set(var=var, value=value):
                env[var] = value_of(value, env)
            case Elect(body=inner, of_role=of_role, others=others):
                elected = not of_role or env[Builtin.WARP_IN_ROLE.value] == 0
                if elected:
                    yield from _block(inner, env, warp, loops)
                for op, then, at in _block(others, env, warp, loops):
                    yield (op if elected else replace(op, scope=Scope.ALL_LANES)), then, at
            case Specialize(roles=roles):
                for role in roles:
                    if role.first_warp <= warp < role.first_warp + role.warps:
                        inside = env | {Builtin.WARP_IN_ROLE.value: warp - role.first_warp}
                        yield from _block(role.body, inside, warp, loops)
            case _:
                yield s, dict(env), loops
