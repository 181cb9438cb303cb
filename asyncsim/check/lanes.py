"""Which lanes of two accesses touch common bytes.

The lanes of a warp are not ordered with each other: what one lane wrote, another may read only
after a warp barrier or more. Within one lane, program order is enough.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

from asyncsim.check.model import Touch, Who
from asyncsim.memory.region import LaneBoxes, Region, SmemRegion
from asyncsim.stream.dyn import Access

KEPT = 50_000  # answers, before all are forgotten


class LaneOverlap:
    """Exact overlap of two touches, with the answers kept (accesses and regions are shared).

    elect.sync picks any lane: the elected one may be each of an access's lanes, and so may each of
    the others. Only that two lanes are the same, or are not, is known.
    """

    def __init__(self) -> None:
        self._overlaps: dict[tuple[int, int], tuple[Region, Region, bool]] = {}
        self._crossings: dict[tuple[int, int], tuple[Access, Access, bool]] = {}

    def overlap(self, x: Touch, y: Touch) -> bool:
        """Some bytes are touched by both."""
        if not self._regions(x.access.region, y.access.region):
            return False
        if x.step.warp is y.step.warp and x.who is not y.who:
            return self._crosses(x.access, y.access)
        return True

    def conflict(self, x: Touch, y: Touch) -> bool:
        """Some bytes are touched by both, and not only by the same lane of one warp."""
        if not self.overlap(x, y):
            return False
        own = x.step.warp is y.step.warp and not x.landed
        if own and x.who is Who.OTHERS and y.who is Who.OTHERS:
            return self._crosses(x.access, y.access)
        return True

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
        """Whether some lane touches bytes that another lane touches in ``y``."""
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
    """The bytes of the lanes as bits from address 0."""
    lanes = access.lanes
    if not all(isinstance(r, SmemRegion) for r in lanes):
        return None
    return [r.mask << r.low for r in lanes if isinstance(r, SmemRegion)]


def lanes_collide(access: Access) -> bool:
    """Whether two lanes of an op of all lanes touch common bytes."""
    if not access.lanes:
        return True
    if isinstance(access.lanes, LaneBoxes) and access.lanes.in_rows:
        width, starts = access.lanes.shape[-1], sorted(access.lanes.starts)
        return any(
            b[-1] - a[-1] < width and a[:-1] == b[:-1] for a, b in pairwise(starts)
        )  # neighbours suffice
    first = access.lanes[0]
    if isinstance(first, SmemRegion) and isinstance(access.region, SmemRegion):
        each = sum(r.bytes for r in access.lanes if isinstance(r, SmemRegion))
        return each > access.region.bytes
    return any(a.overlaps(b) for a, b in combinations(access.lanes, 2))
