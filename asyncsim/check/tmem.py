"""Tensor memory: who touched which cells last, and whether the next access is ordered after it.

Ordered means: complete (a commit that somebody waited for, wait::ld, wait::st), and known by way of
tcgen05.fence on both sides; or of a pair that the hardware keeps in order of issue, then only the
issue must be known (PTX ISA, memory consistency model of tcgen05).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.model import Chain, Touch
from asyncsim.check.report import Clash, Reason
from asyncsim.ir import op as ops
from asyncsim.ir.tcgen05 import CpShape
from asyncsim.memory.region import TmemRegion


class TensorClock:
    """What a clock says of tcgen05 ops: two components a warp, from ``first`` on.

    DONE counts the warp's mma, cp and shift that are complete; ISSUED, in TENSOR alone, those that
    a fence has released. In TENSOR the observers' own components count its ld and st.
    """

    def __init__(self, layout: ClockLayout, first: int) -> None:
        self._layout, self._first = layout, first
        self.mask = layout.masks[Section.TENSOR]
        self.ordered = layout.guards[Section.TENSOR]
        self.control = layout.guards[Section.CONTROL]

    def field(self, section: Section, component: int, value: int) -> int:
        """A clock of one field."""
        return value << self._layout.shift(section, component)

    def done(self, warp: int, value: int, *sections: Section) -> int:
        """The warp's mma, cp and shift before position ``value`` are complete."""
        return sum(self.field(s, self._first + 2 * warp, value) for s in sections)

    def issued(self, warp: int, value: int) -> int:
        """... and have been issued before a fence."""
        return self.field(Section.TENSOR, self._first + 2 * warp + 1, value)

    def covers(self, clock: int, epoch: int, guards: int) -> bool:
        return self._layout.covers(clock, epoch, guards)

    def join(self, a: int, b: int) -> int:
        return self._layout.join(a, b)

    def knows(self, chain: Chain, pos: int) -> int:
        """What an observer's next tcgen05 op comes after: what it acquired, and its own issues."""
        return self.join(chain.acquired, self.issued(chain.warp.index, pos))


@dataclass(slots=True, eq=False)
class Cell:
    """The last writes of a region, and the reads since."""

    region: TmemRegion
    near: list[Cell] = field(default_factory=list)
    writes: list[Touch] = field(default_factory=list)
    reads: dict[object, Touch] = field(default_factory=dict)

    def before_write(self) -> list[Touch]:
        """What a write must come after; a write that the hardware orders before a read is not
        asked again."""
        reads = list(self.reads.values())
        kept = [
            x
            for x in self.writes
            if not any(r.step.warp is x.step.warp and in_order(x, r) for r in reads)
        ]
        return [*kept, *reads]


class TensorMemory:
    """The tensor memory of the CTAs of a cluster."""

    def __init__(self, clock: TensorClock, clash: Callable[[Clash], None]) -> None:
        self._clock, self._clash = clock, clash
        self._spaces: dict[tuple[int, str], dict[TmemRegion, Cell]] = {}
        self.committed: dict[int, int] = {}  # warp: position of its last commit

    def access(self, y: Touch, chains: tuple[Chain, ...]) -> bool:
        """Compare an access with those before it, and remember it; whether it reads anything."""
        cell = self._cell(_region(y))
        write = y.access.write
        for near in cell.near:
            for x in near.before_write() if write else near.writes:
                if x.step.pos != y.step.pos or x.step.warp is not y.step.warp:
                    self._compare(x, y, chains)
        found = any(near.writes for near in cell.near)
        self._record(cell, y)
        return found

    def completes(self, x: Touch) -> bool:
        """Whether its wait::ld or wait::st is over, or a commit that covers it has been issued."""
        if isinstance(x.step.dyn.op, ops.Tcgen05Ld | ops.Tcgen05St):
            return x.end != 0
        return self.committed.get(x.step.warp.index, -1) > x.step.pos

    def touches(self, owner: int, address: str) -> list[Touch]:
        """All that is remembered of an allocation."""
        cells = self._spaces.get((owner, address), {}).values()
        return [x for cell in cells for x in (*cell.writes, *cell.reads.values())]

    def forget(self, owner: int, address: str) -> None:
        """An allocation has been freed."""
        self._spaces.pop((owner, address), None)

    def _compare(self, x: Touch, y: Touch, chains: tuple[Chain, ...]) -> None:
        c, pos, pair = self._clock, y.step.pos, in_order(x, y)
        issue = x.step.pos + 1
        for chain in chains:
            known, clock = c.knows(chain, pos), chain.now(pos)
            if x.end and c.covers(known, x.end, c.ordered):
                continue
            need, over = x.end, x.end
            if pair:
                need = c.issued(x.step.warp.index, issue)
                over = issue << x.step.warp.elected.shift_control
                if c.covers(known, need, c.ordered):
                    continue
            reason = Reason.RACE
            if over and c.covers(clock, over, c.control):
                released = c.covers(clock, need, c.ordered)
                reason = Reason.AFTER_FENCE if released else Reason.BEFORE_FENCE
            committed = self.completes(x)
            name = _region(y).name
            self._clash(Clash(reason=reason, earlier=x, later=y, name=name, committed=committed))
            return

    def _record(self, cell: Cell, y: Touch) -> None:
        if not y.access.write:
            cell.reads[y.step.warp.index, type(y.step.dyn.op), y.step.dyn.op.id] = y
            return
        for near in cell.near:
            if cell.region.covers(near.region):
                near.writes, near.reads = [], {}
        cell.writes.append(y)

    def _cell(self, region: TmemRegion) -> Cell:
        space = self._spaces.setdefault((region.owner, region.address), {})
        cell = space.get(region)
        if cell is None:
            cell = space[region] = Cell(region)
            for other in space.values():
                if other.region.overlaps(region):
                    cell.near.append(other)
                    if other is not cell:
                        other.near.append(cell)
        return cell


def _region(touch: Touch) -> TmemRegion:
    region = touch.access.region
    assert isinstance(region, TmemRegion)
    return region


def in_order(x: Touch, y: Touch) -> bool:
    """Whether the hardware keeps these two in order of issue (PTX ISA, pipelined tcgen05)."""
    first, second = x.step.dyn.op, y.step.dyn.op
    match first, second:
        case ops.Tcgen05Mma(), ops.Tcgen05Mma():
            shapes = [(o.m, o.n, o.k, o.kind, o.cta_group) for o in (first, second)]
            same = shapes[0] == shapes[1] and _region(x).same(_region(y))
            return same and _accumulates(x) and _accumulates(y)
        case ops.Tcgen05Cp(), ops.Tcgen05Mma():
            return True
        case ops.Tcgen05Shift(), ops.Tcgen05Mma():
            return True
        case ops.Tcgen05Shift(), ops.Tcgen05Cp(shape=CpShape.S4X256B):
            return True
        case ops.Tcgen05Mma(), ops.Tcgen05Shift():
            return True
        case _:
            return False


def _accumulates(touch: Touch) -> bool:
    """Whether an access of an mma is one of its accumulator."""
    written = (a.region for a in touch.step.dyn.accesses if a.write)
    return any(isinstance(r, TmemRegion) and r.same(_region(touch)) for r in written)
