"""Which warps of a block may be simulated as one agent.

Warps of a role are alike when nothing that decides time tells them apart: conditions, trip counts,
barriers, byte counts and integer operands have the same values. Addresses may differ. Merging is
an optimisation: it must give the totals of the run with every warp on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from asyncsim.ir import op as ops
from asyncsim.ir.expr import (
    Arg,
    Binary,
    Builtin,
    BuiltinRef,
    Expr,
    Unary,
    Var,
    python_source,
    walk,
)
from asyncsim.ir.op import MbarrierRef, OpBase, Scope
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Set, Specialize, Stmt, When

_SAFE: dict[str, object] = {"__builtins__": {}, "min": min, "max": max}


@dataclass(frozen=True, slots=True)
class WarpClass:
    """Warps (indices in the block) of one role that behave alike; ``first`` speaks for them."""

    role: str
    first_of_role: int
    warps: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.warps[0]


def warp_classes(schedule: Schedule, *, merge: bool = True) -> tuple[WarpClass, ...]:
    """Partition of the block's warps, in warp order."""
    common = _traits(_outside_roles(schedule.body))
    groups: dict[tuple[object, ...], list[int]] = {}
    owners: dict[tuple[object, ...], tuple[str, int]] = {}
    for warp in range(schedule.warps):
        role = schedule.role_of(warp)
        name, first = (role.name, role.first_warp) if role else ("block", 0)
        traits = _traits(role.body) if role else []
        key: tuple[object, ...] = (name, first)
        key += tuple(t(warp, dict(schedule.args)) for t in common)
        key += tuple(t(warp - first, dict(schedule.args)) for t in traits)
        if role and any(
            isinstance(s, OpBase) and s.scope is Scope.WARPGROUP for s in statements(role.body)
        ):
            key += (warp // 4,)
        if not merge:
            key += (warp,)
        groups.setdefault(key, []).append(warp)
        owners[key] = (name, first)
    classes = [WarpClass(*owners[key], tuple(warps)) for key, warps in groups.items()]
    return tuple(sorted(classes, key=lambda c: c.first))


Trait = Callable[[int, dict[str, int]], object]


def _outside_roles(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(s for s in body if not isinstance(s, Specialize))


def _traits(body: tuple[Stmt, ...]) -> list[Trait]:
    """What may tell one warp from another: functions of the warp's index in its role."""
    traits: list[Trait] = []
    timing = _timing_vars(body)
    for s in statements(body):
        if isinstance(s, Elect) and s.of_role:
            traits.append(lambda warp, args: warp == 0)
        if isinstance(s, Set) and s.var not in timing:
            continue
        for expr in _deciding(s):
            traits += [_value_of(part) for part in _of_the_warp(expr)]
    return traits


def _timing_vars(body: tuple[Stmt, ...]) -> set[str]:
    """The variables that something which decides time depends on."""
    sets = [s for s in statements(body) if isinstance(s, Set)]
    others = (s for s in statements(body) if not isinstance(s, Set))
    found = {v for s in others for expr in _deciding(s) for v in _vars(expr)}
    while more := {v for s in sets if s.var in found for v in _vars(s.value)} - found:
        found |= more
    return found


def _vars(expr: Expr) -> Iterator[str]:
    return (n.name for n in walk(expr) if isinstance(n, Var))


def _of_the_warp(expr: Expr) -> Iterator[Expr]:
    """The largest parts of an expression that the index of the warp alone decides: warps for which
    they are the same have the same expression."""
    nodes = list(walk(expr))
    if BuiltinRef(Builtin.WARP_IN_ROLE) not in nodes:
        return
    if all(_is_static(n) for n in nodes):
        yield expr
        return
    match expr:
        case Unary(operand=operand):
            yield from _of_the_warp(operand)
        case Binary(lhs=lhs, rhs=rhs):
            yield from _of_the_warp(lhs)
            yield from _of_the_warp(rhs)
        case _:
            raise AssertionError(expr)


def _is_static(node: Expr) -> bool:
    return not isinstance(node, Var | BuiltinRef) or node == BuiltinRef(Builtin.WARP_IN_ROLE)


def _value_of(expr: Expr) -> Trait:
    def leaf(node: Expr) -> str:
        return f"args[{node.name!r}]" if isinstance(node, Arg) else "warp"

    function: Trait = eval(f"lambda warp, args: {python_source(expr, leaf)}", dict(_SAFE))
    return function


def _deciding(s: Stmt) -> Iterator[Expr]:
    """The expressions of a statement that decide time."""
    match s:
        case For(trip_count=e) | When(condition=e) | Set(value=e):
            yield e
        case OpBase():
            for part in s.parts():
                if isinstance(part, MbarrierRef):
                    yield part.stage
                    if part.rank is not None:
                        yield part.rank
            yield from _numbers(s)
        case _:
            pass


def _numbers(op: OpBase) -> Iterator[Expr]:
    """The numbers among the operands of an op that decide time."""
    match op:
        case (
            ops.MbarrierExpectTx(bytes=e)
            | ops.MbarrierCompleteTx(bytes=e)
            | ops.MbarrierArriveExpectTx(bytes=e)
            | ops.MbarrierWait(parity=e)
            | ops.MbarrierTestWait(parity=e)
        ):
            yield e
        case ops.TmaLoad(multicast=e) | ops.BulkLoad(multicast=e) | ops.Tcgen05Commit(multicast=e):
            if e is not None:
                yield e
        case ops.Compute(operands=operands):
            for operand in operands:
                if not isinstance(operand, ops.FragmentRef | ops.SmemView):
                    yield operand
        case _:
            pass


def uses_warpgroup(schedule: Schedule, c: WarpClass) -> bool:
    """Whether its warps issue wgmma together."""
    role = schedule.role_of(c.first)
    body = role.body if role else schedule.body
    return any(
        isinstance(s, OpBase) and s.scope is Scope.WARPGROUP and not isinstance(s, ops.SetMaxNReg)
        for s in statements(body)
    )
