"""Global memory written by the kernel itself: order of the accesses inside one CTA.

Tensors that the kernel only reads are never entered here. Accesses are kept by row (all indices
but the last) as bit sets over the last dimension, so that disjoint accesses cost one ``&``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from asyncsim.check.clashes import Clashes
from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.lanes import LaneOverlap
from asyncsim.check.model import Step, Touch
from asyncsim.check.report import Reason, Unproven
from asyncsim.ir.op import Scope
from asyncsim.memory.region import GlobalBox, LaneBoxes
from asyncsim.stream.dyn import Access, Proxy

SPAN = 4096  # elements of the last dimension in one bit set

Row = tuple[str, tuple[int, ...]]
"""Tensor, and the index of a row: all dimensions but the last, then the span of the last."""


class GlobalMemory:
    """The rows of the tensors that one CTA writes."""

    def __init__(self, layout: ClockLayout, lanes: LaneOverlap, clashes: Clashes) -> None:
        self._layout, self._lanes, self._clashes = layout, lanes, clashes
        self._ordered = layout.guards[Section.MEMORY]
        self._fenced = self._ordered | layout.guards[Section.GLOBAL_FENCE]
        self.touched: dict[Row, int] = {}
        self.writes: dict[Row, int] = {}
        self.writers: dict[str, Step] = {}  # the first write to each tensor
        self.ops: dict[str, set[int]] = {}  # those that touch each tensor
        self.passed: dict[Row, int] = {}  # entered, but not executed
        self._touches: dict[Row, list[tuple[int, Touch]]] = {}

    def access(self, touches: Sequence[Touch], clocks: Sequence[int]) -> None:
        """Check the touches of one op by some observers with these clocks, and record them."""
        first = touches[0]
        region, write = first.access.region, first.access.write
        assert isinstance(region, GlobalBox)
        self.ops.setdefault(region.tensor, set()).add(first.step.dyn.op.id)
        if write:
            self.writers.setdefault(region.tensor, first.step)
        for row, bits in rows(first.access):
            touched = self.touched.get(row, 0)
            if (touched if write else self.writes.get(row, 0)) & bits:
                if self.passed.get(row, 0) & bits:
                    raise Unproven
                for y, clock in zip(touches, clocks, strict=True):
                    self._examine(row, bits, y, clock, last=y is touches[-1] is not first)
            self.touched[row] = touched | bits
            if write:
                self.writes[row] = self.writes.get(row, 0) | bits
            self._touches.setdefault(row, []).extend([(bits, y) for y in touches])

    def pass_over(self, access: Access) -> bool:
        """Enter an access that is not executed; whether it meets nothing that has been touched."""
        alone = True
        for row, bits in rows(access):
            alone &= not (self.touched if access.write else self.writes).get(row, 0) & bits
            self.touched[row] = self.touched.get(row, 0) | bits
            self.passed[row] = self.passed.get(row, 0) | bits
            if access.write:
                self.writes[row] = self.writes.get(row, 0) | bits
        return alone

    def _examine(self, row: Row, bits: int, y: Touch, clock: int, *, last: bool) -> None:
        """Check against the touches of a row, and forget those that ``y`` makes redundant.
        ``last``: the other lanes of the warp have been here."""
        touches = self._touches[row]
        whole = y.access.write and (
            last
            or y.step.dyn.op.scope is Scope.ELECTED
            or any(_same_step(x, y) and x.who is not y.who for _, x in touches)
        )
        kept = []
        for mask, x in touches:
            ordered = True
            if mask & bits and (x.access.write or y.access.write):
                ordered = self._ordered_before(x, y, clock)
            if _supersedes(y, x) or (whole and ordered and mask & ~bits == 0):
                continue
            kept.append((mask, x))
        self._touches[row] = kept

    def _ordered_before(self, x: Touch, y: Touch, clock: int) -> bool:
        if _same_step(x, y):
            return False
        if not (self._lanes.conflict(x, y) if x.end else self._lanes.overlap(x, y)):
            return False
        if not x.end or not self._clashes.over(x, clock, self._ordered):
            self._report(Reason.RACE, x, y, clock)
            return False
        if (
            y.access.proxy is Proxy.ASYNC
            and x.access.proxy is Proxy.GENERIC
            and not self._clashes.over(x, clock, self._fenced)
        ):
            self._report(Reason.PROXY, x, y, clock)
        return True

    def _report(self, reason: Reason, x: Touch, y: Touch, clock: int) -> None:
        region = y.access.region
        assert isinstance(region, GlobalBox)
        self._clashes.report(reason, x, y, region.tensor, clock)


def _same_step(x: Touch, y: Touch) -> bool:
    return x.step.pos == y.step.pos and x.step.warp is y.step.warp


def _supersedes(y: Touch, x: Touch) -> bool:
    """Whether whatever is ordered after ``y`` is so after ``x``, and conflicts with no more: each
    lane touches again what it has touched."""
    return (
        x.who is y.who
        and x.step.warp is y.step.warp
        and x.step.dyn.op.scope is y.step.dyn.op.scope
        and x.access.proxy is Proxy.GENERIC
        and y.access.proxy is Proxy.GENERIC
        and bool(x.end and y.end)
        and (y.access.write or not x.access.write)
        and x.step.pos < y.step.pos
        and x.access.lanes == y.access.lanes
        and x.access.region == y.access.region
    )


def _tiled(access: Access) -> bool:
    """Whether the region is exactly what the lanes touch: equal pieces of rows, side by side."""
    if not access.lanes:
        return True
    whole, lanes = access.region, access.lanes
    assert isinstance(whole, GlobalBox) and isinstance(lanes, LaneBoxes)
    width, first = lanes.shape[-1], whole.start[-1]
    starts = {at for at in lanes.starts if (at[-1] - first) % width == 0}
    return lanes.in_rows and len(starts) * width == whole.elements


def rows(access: Access, shape: tuple[int, ...] = ()) -> Iterator[tuple[Row, int]]:
    """(row, bits of a span of the last dimension) of what an op touches, clipped to a shape."""
    boxes = (access.region,) if _tiled(access) else access.lanes
    merged: dict[Row, int] = {}
    for box in boxes:
        assert isinstance(box, GlobalBox)
        ranges = [range(a, a + n) for a, n in zip(box.start, box.shape, strict=True)]
        if shape:
            ranges = [
                range(max(0, r.start), min(have, r.stop))
                for r, have in zip(ranges, shape, strict=True)
            ]
        *outer, last = ranges
        first, end = last.start, last.stop
        if first >= end:
            continue
        for index in product(*outer):
            for span in range(first // SPAN, -(-end // SPAN)):
                low, high = max(first, span * SPAN), min(end, (span + 1) * SPAN)
                row = box.tensor, (*index, span)
                bits = ((1 << (high - low)) - 1) << (low - span * SPAN)
                merged[row] = merged.get(row, 0) | bits
    yield from merged.items()
