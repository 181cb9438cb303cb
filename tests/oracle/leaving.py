"""Warps that end, and barriers for all threads of their CTA, which do not wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.acts import Do
from tests.oracle.updates import put

if TYPE_CHECKING:
    from tests.oracle.states import Explorer

Named = tuple[tuple[int, int, int], ...]


def uneven(x: Explorer) -> dict[int, int]:
    """The barriers, with their CTA, that some of its warps come to less often than others."""
    found = {}
    for b, rank in x.m.block.items():
        own = [acts for i, acts in enumerate(x.chains) if x.rank_of[i] == rank and i % 2 == 0]
        if len({sum(a.do is Do.BAR_ARRIVE and a.target == b for a in acts) for acts in own}) > 1:
            found[b] = rank
    return found


def gone(x: Explorer, pcs: list[int], rank: int) -> int:
    """How many warps of a CTA have ended."""
    warps = [w for w in range(len(pcs) // 2) if x.rank_of[2 * w] == rank]
    return sum(all(pcs[i] == len(x.chains[i]) for i in (2 * w, 2 * w + 1)) for w in warps)


def settled(x: Explorer, pcs: list[int], i: int, named: Named) -> Named:
    """A barrier for all threads is over when all have come that have not ended."""
    for b, rank in x.left.items():
        done, agreed, arrived = named[b]
        if rank == x.rank_of[i] and arrived:
            there = arrived.bit_count() + gone(x, pcs, rank)
            named = put(named, b, (done + 1, 0, 0)) if 32 * there >= agreed else named
    return named
