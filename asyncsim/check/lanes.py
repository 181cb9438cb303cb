"""Which lanes of two accesses touch common bytes.

The lanes of a warp are not ordered with each other: what one lane wrote, another may read only
after a warp barrier or more. Within one lane, program order is enough.
"""

from __future__ import annotations

from typing import Any

from asyncsim.check.model import Touch, Who
from asyncsim.memory.region import Region, SmemRegion
from asyncsim.stream.dyn import Access
from asyncsim.stream.resolve import union

KEPT = 50_000  # answers, before all are forgotten


class LaneOverlap:
    """Exact overlap of two touches, with the answers kept (accesses and regions are shared)."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, Who], tuple[Access, Region]] = {}
        self._overlaps: dict[tuple[int, int], tuple[Region, Region, bool]] = {}
        self._crossings: dict[tuple[int, int], tuple[Access, Access, bool]] = {}

    def overlap(self, x: Touch, y: Touch) -> bool:
        """Some bytes are touched by both."""
        return self._regions(self.part(x.access, x.who), self.part(y.access, y.who))

    def conflict(self, x: Touch, y: Touch) -> bool:
        """Some bytes are touched by both, and not only by the same lane of one warp."""
        if not self.overlap(x, y):
            return False
        if x.step.warp is y.step.warp and x.who is Who.OTHERS and y.who is Who.OTHERS:
            return self._crosses(x.access, y.access)
        return True

    def part(self, access: Access, who: Who) -> Region:
        """What the given observers of the warp touch."""
        if not access.lanes or who is Who.BOTH:
            return access.region
        if who is Who.ELECTED:
            return access.lanes[0]
        key = (id(access), who)
        known = self._parts.get(key)
        if known is None:
            _bound(self._parts)
            known = self._parts[key] = (access, union(access.lanes[1:]))
        return known[1]

    def _regions(self, a: Region, b: Region) -> bool:
        if a is b:
            return True
        key = (id(a), id(b))
        known = self._overlaps.get(key)
        if known is None:
            _bound(self._overlaps)
            known = self._overlaps[key] = (a, b, a.overlaps(b))
        return known[2]

    def _crosses(self, x: Access, y: Access) -> bool:
        """Whether some lane 1..31 touches bytes that another of them touches in ``y``."""
        key = (id(x), id(y))
        known = self._crossings.get(key)
        if known is None:
            _bound(self._crossings)
            known = self._crossings[key] = (x, y, _crosses(x, y))
        return known[2]


def _bound(answers: dict[Any, Any]) -> None:
    if len(answers) >= KEPT:
        answers.clear()


def _crosses(x: Access, y: Access) -> bool:
    if not x.lanes or not y.lanes:
        return True
    mine, others = _masks(x), _masks(y)
    if mine is None or others is None:
        pairs = ((a, b) for i, a in enumerate(x.lanes) for j, b in enumerate(y.lanes) if i != j)
        return any(a.overlaps(b) for a, b in pairs)
    before, after = [0], [0]
    for mask in others[:-1]:
        before.append(before[-1] | mask)
    for mask in reversed(others[1:]):
        after.append(after[-1] | mask)
    after.reverse()
    return any(m & (b | a) for m, b, a in zip(mine, before, after, strict=True))


def _masks(access: Access) -> list[int] | None:
    """The bytes of lanes 1..31 as bits from address 0."""
    lanes = access.lanes[1:]
    if not all(isinstance(r, SmemRegion) for r in lanes):
        return None
    return [r.mask << r.low for r in lanes if isinstance(r, SmemRegion)]
