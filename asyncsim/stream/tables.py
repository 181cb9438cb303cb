"""What the resolvers of one program share, and what is said of the lanes of one op."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from asyncsim.ir.expr import Binary, Builtin, BuiltinRef, Expr, is_lane_varying, leaves
from asyncsim.ir.op import FragmentRef, OpBase, Scope, SmemView
from asyncsim.memory.region import SmemRegion
from asyncsim.stream.dyn import Access, Dyn
from asyncsim.stream.operands import Evaluator, Values

SmemKey = tuple[int, str, int, tuple[int, ...], tuple[int, ...]]
"""CTA, tile, stage, start and extent of a region: shared by the warps of a program."""


T = TypeVar("T")

Maker = Callable[[Values], Dyn]
AccessOf = Callable[[Values], Access]


@dataclass(slots=True)
class SharedTables:
    """What the resolvers of one program share.

    ``tiles``: by op and its scope (the other part of an election runs one op with two), CTA, view
    (by identity, so it is kept) and direction; ``makers``: by op, scope and CTA. Both hold only
    what is the same in all warps.
    """

    smem: dict[SmemKey, SmemRegion] = field(default_factory=dict)
    unions: dict[tuple[int, ...], SmemRegion] = field(default_factory=dict)
    evaluators: dict[int, Evaluator] = field(default_factory=dict)
    tiles: dict[tuple[int, Scope, int, int, bool], tuple[SmemView, AccessOf]] = field(
        default_factory=dict
    )
    makers: dict[tuple[int, Scope, int], Maker] = field(default_factory=dict)
    private: set[int] = field(default_factory=set)  # ops that each warp resolves for itself


def lanes_cancel(a: Expr, b: Expr) -> bool:
    """Whether ``a - b`` is the same in all lanes: what varies in both is one sum of equal terms."""
    return sorted(_varying(a)) == sorted(_varying(b))


def _varying(e: Expr, sign: int = 1) -> list[tuple[int, str]]:
    """The lane-varying terms of a sum, with their signs."""
    if isinstance(e, Binary) and e.op in ("+", "-"):
        other = sign if e.op == "+" else -sign
        return _varying(e.lhs, sign) + _varying(e.rhs, other)
    return [(sign, repr(e))] if is_lane_varying(e) else []


def same_in_all_warps(exprs: Iterable[Expr]) -> bool:
    """Whether expressions do not depend on which warp of its role evaluates them, but for their
    inputs."""
    thread = BuiltinRef(Builtin.THREAD_IN_ROLE)
    return not any(thread in leaves(e) for e in exprs)


def names_registers(op: OpBase) -> bool:
    """Whether an operand is registers, which every warp has its own of."""
    return any(isinstance(part, FragmentRef) for part in op.parts())


def remembered(
    function: Callable[[Values], T],
    limit: int,
    key_of: Callable[[Values], object] | None = None,
) -> Callable[[Values], T]:
    """The function with up to ``limit`` results kept, by its argument or what ``key_of`` it is."""
    table: dict[object, T] = {}
    look_up = table.get

    def by_argument(values: Values) -> T:
        found = look_up(values)
        if found is None:
            if len(table) >= limit:
                table.clear()
            found = table[values] = function(values)
        return found

    def by_key(values: Values) -> T:
        assert key_of is not None
        key = key_of(values)
        found = look_up(key)
        if found is None:
            if len(table) >= limit:
                table.clear()
            found = table[key] = function(values)
        return found

    return by_argument if key_of is None else by_key


def union(regions: tuple[SmemRegion, ...]) -> SmemRegion:
    """The union of the lanes' regions."""
    first = regions[0]
    low = min(r.low for r in regions)
    mask = 0
    for r in regions:
        mask |= r.mask << (r.low - low)
    return SmemRegion(first.owner, first.name, low, mask)
