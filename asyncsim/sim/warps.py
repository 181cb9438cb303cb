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
    Builtin,
    BuiltinRef,
    Const,
    Expr,
    Var,
    python_source,
    walk,
)
from asyncsim.ir.op import OpBase, Scope
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
    for s in statements(body):
        if isinstance(s, Elect) and s.of_role:
            traits.append(lambda warp, args: warp == 0)
        for expr in _deciding(s):
            nodes = list(walk(expr))
            if not any(n == BuiltinRef(Builtin.WARP_IN_ROLE) for n in nodes):
                continue
            static = not isinstance(s, Set) and all(
                isinstance(n, Const | Arg)
                or n == BuiltinRef(Builtin.WARP_IN_ROLE)
                or not isinstance(n, Var | BuiltinRef)
                for n in nodes
            )
            traits.append(_value_of(expr) if static else lambda warp, args: warp)
    return traits


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
        case (
            ops.MbarrierInit(mbarrier=ref)
            | ops.MbarrierInval(mbarrier=ref)
            | ops.MbarrierArrive(mbarrier=ref)
            | ops.MbarrierWaitState(mbarrier=ref)
            | ops.TmaLoad(mbarrier=ref)
            | ops.CpAsyncMbarrierArrive(mbarrier=ref)
        ):
            yield ref.stage
        case (
            ops.MbarrierExpectTx(mbarrier=ref, bytes=e)
            | ops.MbarrierCompleteTx(mbarrier=ref, bytes=e)
            | ops.MbarrierArriveExpectTx(mbarrier=ref, bytes=e)
        ):
            yield ref.stage
            yield e
        case (
            ops.MbarrierWait(mbarrier=ref, parity=e) | ops.MbarrierTestWait(mbarrier=ref, parity=e)
        ):
            yield ref.stage
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
