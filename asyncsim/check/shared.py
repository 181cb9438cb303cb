"""Shared memory: who touched which bytes last, and whether the next access is ordered after it.

One cell per distinct region. A write resets the cells that it covers, so that a cell holds the
last writes and the reads since. Overlap between regions is exact, by byte, and computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from asyncsim.check.clashes import Clashes
from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.contents import commute, reduction
from asyncsim.check.lanes import LaneOverlap
from asyncsim.check.model import Touch, Who
from asyncsim.check.reads import stale
from asyncsim.check.report import Fault, Reason
from asyncsim.ir.op import Tcgen05Cp, Tcgen05Mma
from asyncsim.memory.region import SmemRegion
from asyncsim.stream.dyn import Access, Proxy, Tag


@dataclass(slots=True)
class Near:
    """A cell that overlaps: ``inside`` me, ``covers`` me, and which of my bytes (``bits``)."""

    cell: Cell
    inside: bool
    covers: bool
    bits: int


class Cell:
    """The frontier of one region: the last writes, and the reads since."""

    __slots__ = (
        "before",
        "filled",
        "first",
        "flying",
        "near",
        "reads",
        "region",
        "writes",
    )

    def __init__(self, region: SmemRegion) -> None:
        self.region = region
        self.near: list[Near] = []
        self.before: Tag | None = None  # the data before the last write
        self.first = 0  # the first write ever, by its number; 0 for none
        self.filled = False  # a read has found every byte written, which is so for good
        self.writes: list[Touch] = []
        self.reads: dict[object, Touch] = {}
        self.flying: list[Touch] = []  # issued, and nobody knows yet when they end

    def overwrite(self, y: Touch) -> None:
        """Forget what ``y`` overwrites; the part of the same op by the other observer stays."""
        if self.writes and not _same_step(self.writes[-1], y):
            self.before = self.writes[-1].access.tag
        self.writes = [x for x in self.writes if _same_step(x, y)]
        self.reads = {}

    def read(self, y: Touch) -> None:
        self.reads[y.step.warp.index, y.who, y.access.proxy] = y


class SharedMemory:
    """The cells of one CTA. Findings go to ``clashes`` and ``fault`` (a read of wrong data)."""

    def __init__(
        self,
        layout: ClockLayout,
        lanes: LaneOverlap,
        clashes: Clashes,
        fault: Callable[[Fault], None],
    ) -> None:
        self._layout, self._lanes = layout, lanes
        self._clashes, self._fault = clashes, fault
        self._cells: dict[int, Cell] = {}
        self._ordered = layout.guards[Section.MEMORY]
        self._fenced = self._ordered | layout.guards[Section.SHARED_FENCE]
        self._fenced |= layout.guard & layout.guards[Section.PEER_FENCE]
        self._tensor = layout.carried != layout.masks[Section.CONTROL]

    def cells(self) -> Iterable[Cell]:
        """All that is remembered, in the order in which it was first touched."""
        return self._cells.values()

    def check(self, y: Touch, clock: int) -> None:
        """Compare a touch by an observer with this clock with what has been recorded."""
        region = y.access.region
        cell = self._cells.get(id(region)) or self._new_cell(region)
        fenced = y.access.proxy is Proxy.ASYNC or (y.access.write and self._tensor)
        need = self._fenced if fenced else self._ordered
        guarded, write, clean = clock | self._layout.guard, y.access.write, True
        for near in cell.near:
            other = near.cell
            for x in other.writes:
                if (guarded - x.end) & need != need:
                    clean &= self._examine(x, y, clock)
            if write:
                for x in other.reads.values():
                    if (guarded - x.end) & need != need:
                        clean &= self._examine(x, y, clock)
            if other.flying:
                clean &= self._against_flying(other, y, clock)
        reads = not write or reduction(y.step) is not None
        if clean and reads and (cell.filled or self._reads_something(cell, y)) and not write:
            self._reads_meant(cell, y)

    def record(self, touches: Sequence[Touch]) -> None:
        """Remember the touches of one access, by one observer or by both of a warp."""
        access = touches[0].access
        cell = self._cells[id(access.region)]
        if access.write:
            cell.first = cell.first or touches[0].seq
        replaces = access.write and reduction(touches[0].step) is None
        if replaces and (len(touches) > 1 or _is_whole(cell, touches[0])):
            for near in cell.near:
                if near.inside:
                    near.cell.overwrite(touches[0])
        for y in touches:
            if not y.end:
                cell.flying.append(y)
            elif access.write:
                cell.writes.append(y)
            else:
                cell.read(y)

    def settle(self, y: Touch, end: int) -> None:
        """An access in flight is over after ``end``."""
        cell = self._cells[id(y.access.region)]
        if y in cell.flying:
            cell.flying.remove(y)
        y.end = end
        if not y.access.write:
            cell.read(y)
        elif not any(_later(x, y) for x in cell.writes):
            cell.writes.append(y)

    # -- checking ------------------------------------------------------------------------------

    def _examine(self, x: Touch, y: Touch, clock: int) -> bool:
        """A touch that is not ordered, or not fenced, before ``y``; False if the two race."""
        if _same_step(x, y) or not self._lanes.conflict(x, y) or commute(x, y):
            return True
        if not self._clashes.over(x, clock, self._ordered):
            self._report(Reason.RACE, x, y, clock)
            return False
        if _needs_fence(x, y) and not self._clashes.over(x, clock, self._fenced):
            self._report(Reason.PROXY, x, y, clock)
        return True

    def _against_flying(self, other: Cell, y: Touch, clock: int) -> bool:
        clean = True
        for x in other.flying:
            if not (x.access.write or y.access.write) or _same_step(x, y) or commute(x, y):
                continue
            if self._lanes.overlap(x, y):
                clean = False
                self._report(Reason.RACE, x, y, clock)
        return clean

    def _report(self, reason: Reason, x: Touch, y: Touch, clock: int) -> None:
        region = y.access.region
        assert isinstance(region, SmemRegion)
        cell = self._cells[id(x.access.region)]
        written = (near.cell.first for near in cell.near if near.cell.first)
        first = min(written, default=x.seq) >= x.seq
        self._clashes.report(reason, x, y, region.name, clock, cell.before, first=first)

    def _reads_meant(self, cell: Cell, y: Touch) -> None:
        """Condition H: each byte's last writer brought the data that the reader means."""
        if y.access.tag is None and not y.access.parts:
            return
        writers = [near for near in cell.near if near.cell.writes]
        if len(writers) == 1 and writers[0].covers:
            self._compare(writers[0].cell.writes, y, cell.region.mask)
            return
        writers.sort(key=lambda near: -near.cell.writes[-1].seq)
        rest = cell.region.mask
        for near in writers:
            if rest & near.bits:
                self._compare(near.cell.writes, y, rest & near.bits)
                rest &= ~near.bits

    def _reads_something(self, cell: Cell, y: Touch) -> bool:
        """Whether each byte of a read, or of a reduction, has been written."""
        rest = cell.region.mask
        for near in cell.near:
            if near.cell.writes:
                rest &= ~near.bits
        cell.filled = not rest
        if rest:
            self._fault(stale(y, None, None, y.access.tags[0][1]))
        return not rest

    def _compare(self, writes: list[Touch], y: Touch, visible: int) -> None:
        """``visible``: the bytes of the read's region that these writes have written last."""
        for x in writes:
            if not (x.access.parts or y.access.parts):
                if not same_data(x.access.tag, y.access.tag):
                    self._fault(stale(y, x, x.access.tag, y.access.tag))
            elif wrong := self._differ(x.access, y.access, visible):
                self._fault(stale(y, x, *wrong))

    def _differ(self, x: Access, y: Access, visible: int) -> tuple[Tag | None, Tag | None] | None:
        """The first tags, of a write and a read, that differ on a visible byte."""
        if x.tags == y.tags:
            return None
        assert isinstance(y.region, SmemRegion)
        brought = _by_tag(x, y.region)
        for meant, mine in _by_tag(y, y.region).items():
            for tag, theirs in brought.items():
                if mine & theirs & visible and not same_data(tag, meant):
                    return tag, meant
        return None

    # -- cells ---------------------------------------------------------------------------------

    def _new_cell(self, region: object) -> Cell:
        assert isinstance(region, SmemRegion)
        cell = Cell(region)
        end = region.low + region.mask.bit_length()
        for other in self._cells.values():
            r = other.region
            if r.low < end and region.low < r.low + r.mask.bit_length() and r.overlaps(region):
                inside, covers = region.covers(r), r.covers(region)
                cell.near.append(Near(other, inside, covers, _aligned(r, region)))
                other.near.append(Near(cell, covers, inside, _aligned(region, r)))
        cell.near.append(Near(cell, True, True, region.mask))
        self._cells[id(region)] = cell
        return cell


def _by_tag(access: Access, to: SmemRegion) -> dict[Tag | None, int]:
    """The bytes of each tag of an access, as bits of ``to``."""
    found: dict[Tag | None, int] = {}
    for region, tag in access.tags:
        assert isinstance(region, SmemRegion)
        found[tag] = found.get(tag, 0) | _aligned(region, to)
    return found


def same_data(brought: Tag | None, meant: Tag | None) -> bool:
    """Whether a write's data may be what a read means; data computed in place may be anything."""
    return brought is None or meant is None or brought == meant


def _is_whole(cell: Cell, y: Touch) -> bool:
    """Whether this observer's write completes the op's write: nobody else's part is missing."""
    if not y.access.lanes or y.who is Who.BOTH:
        return True
    return any(_same_step(x, y) and x.who is not y.who for x in (*cell.writes, *cell.flying))


def _needs_fence(x: Touch, y: Touch) -> bool:
    """Between proxies. The completion of a copy by the async proxy contains the fence; that of a
    tcgen05 op, which reads shared memory, does not."""
    if y.access.proxy is Proxy.ASYNC:
        return x.access.proxy is Proxy.GENERIC
    read_by_tcgen05 = isinstance(x.step.dyn.op, Tcgen05Mma | Tcgen05Cp)
    return read_by_tcgen05 and x.access.proxy is Proxy.ASYNC and y.access.write


def _later(x: Touch, y: Touch) -> bool:
    """Whether ``x`` has overwritten what ``y`` brings."""
    return x.seq > y.seq and not _same_step(x, y) and reduction(x.step) is None


def _same_step(x: Touch, y: Touch) -> bool:
    return x.step.pos == y.step.pos and x.step.warp is y.step.warp


def _aligned(region: SmemRegion, to: SmemRegion) -> int:
    """The bytes of ``region`` as bits of ``to``."""
    shift = region.low - to.low
    return (region.mask << shift if shift >= 0 else region.mask >> -shift) & to.mask
