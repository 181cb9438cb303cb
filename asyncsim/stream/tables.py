"""What the resolvers of one program share, and what is said of the lanes of one op."""

from __future__ import annotations

from dataclasses import dataclass, field

from asyncsim.ir.expr import Binary, Expr, is_lane_varying
from asyncsim.memory.region import GlobalBox, Region, SmemRegion
from asyncsim.stream.operands import Evaluator

SmemKey = tuple[int, str, int, tuple[int, ...], tuple[int, ...]]
"""CTA, tile, stage, start and extent of a region: shared by the warps of a program."""


@dataclass(slots=True)
class SharedTables:
    """What the resolvers of one program share."""

    smem: dict[SmemKey, SmemRegion] = field(default_factory=dict)
    unions: dict[tuple[int, ...], SmemRegion] = field(default_factory=dict)
    evaluators: dict[int, Evaluator] = field(default_factory=dict)


def lanes_cancel(a: Expr, b: Expr) -> bool:
    """Whether ``a - b`` is the same in all lanes: what varies in both is one sum of equal terms."""
    return sorted(_varying(a)) == sorted(_varying(b))


def _varying(e: Expr, sign: int = 1) -> list[tuple[int, str]]:
    """The lane-varying terms of a sum, with their signs."""
    if isinstance(e, Binary) and e.op in ("+", "-"):
        other = sign if e.op == "+" else -sign
        return _varying(e.lhs, sign) + _varying(e.rhs, other)
    return [(sign, repr(e))] if is_lane_varying(e) else []


def union(regions: tuple[Region, ...]) -> Region:
    """The union of the lanes' regions; for global boxes their bounding box."""
    first = regions[0]
    if isinstance(first, SmemRegion):
        low = min(r.low for r in regions if isinstance(r, SmemRegion))
        mask = 0
        for r in regions:
            assert isinstance(r, SmemRegion)
            mask |= r.mask << (r.low - low)
        return SmemRegion(first.owner, first.name, low, mask)
    assert isinstance(first, GlobalBox)
    boxes = [r for r in regions if isinstance(r, GlobalBox)]
    start = tuple(map(min, *(b.start for b in boxes))) if len(boxes) > 1 else first.start
    end = [max(b.start[d] + b.shape[d] for b in boxes) for d in range(len(first.start))]
    return GlobalBox(first.tensor, start, tuple(e - s for s, e in zip(start, end, strict=True)))
