"""Clusters (of one CTA, mostly) that differ by more than a move: enumerated, grouped by what they
execute.

Two are alike if what their place in the launch reaches (slices.py) is equal after renaming what
shared data means, in order of appearance: then every order, race and meaning is the same, and one
of them is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from asyncsim.check.affine import BlockUse, only_reduced
from asyncsim.check.global_memory import Row, rows
from asyncsim.check.grid import Bounds, may_lie_outside
from asyncsim.check.model import Step, Warp, Who
from asyncsim.check.report import Fault
from asyncsim.check.slices import Parts, SliceBinder, Slices, telling_slices
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, Dyn, Tag
from asyncsim.stream.program import Program, StreamLimit, run_checked
from asyncsim.stream.resolve import Resolver
from asyncsim.stream.tables import SharedTables

Block = tuple[int, int, int]

EVENT_LIMIT = 2_000_000  # of what CTAs tell (slices.py)
SEEN = 10  # times as much, about, for an op whose accesses are looked at
PROBED = 1_000  # clusters after which a launch that is far too large is known
HOPELESS = 4  # times the limit that it would take


@dataclass(slots=True)
class Survey:
    """``blocks``: one CTA of each kind. ``complete`` is False if the limit was reached, or would be
    by far. ``alike``: of the first CTA of each cluster, which of ``blocks`` is as it is; without
    entries all are."""

    blocks: list[Block] = field(default_factory=list)
    faults: dict[object, Fault] = field(default_factory=dict)
    complete: bool = True
    alike: dict[Block, Block] = field(default_factory=dict)

    def kind(self, first: Block) -> Block | None:
        """The CTA that stands for this one; None if it was not looked at."""
        return self.alike.get(first) if self.alike else self.blocks[0]


def survey(schedule: Schedule, use: BlockUse) -> Survey:
    """Enumerate the CTAs of a launch."""
    found = Survey()
    bounds = Bounds(schedule, {})
    stores = (o for o in schedule.ops() if isinstance(o, ops.StGlobal | ops.StoreOp))
    written = {o.dst.tensor for o in stores} - only_reduced(schedule)
    slices = _Slices(telling_slices(schedule, use))
    owners: dict[Row, int] = {}  # written so far
    users: dict[Row, int] = {}  # touched so far
    kinds: dict[object, Block] = {}
    events = 0
    clusters = schedule.ctas // schedule.cluster_ctas
    for number, block in enumerate(_blocks(schedule)):
        if number == PROBED and events * clusters > HOPELESS * EVENT_LIMIT * PROBED:
            found.complete = False
            break
        cta = _Cluster(slices, block, bounds, written, found)
        events += cta.events
        if events > EVENT_LIMIT:
            found.complete = False
            break
        for row, bits in cta.touched.items():
            if owners.get(row, 0) & bits or users.get(row, 0) & cta.writes.get(row, 0):
                step = cta.users[row[0]]
                what = "CTA" if schedule.cluster_ctas == 1 else "the cluster of CTA"
                message = (
                    f"{what} {block} and another one touch elements of {row[0]}, and one writes"
                )
                rule = Rule.GLOBAL_WRITE_OVERLAP
                fault = Fault(rule=rule, message=message, step=step, name=row[0])
                found.faults.setdefault((rule, row[0]), fault)
            owners[row] = owners.get(row, 0) | cta.writes.get(row, 0)
            users[row] = users.get(row, 0) | bits
        found.alike[block] = kinds.setdefault(cta.signature, block)
    found.blocks = list(kinds.values())
    return found


def _blocks(schedule: Schedule) -> Iterator[Block]:
    """The first CTA of each cluster."""
    steps = zip(reversed(schedule.grid), reversed(schedule.cluster), strict=True)
    for z, y, x in product(*(range(0, n, c) for n, c in steps)):
        yield (x, y, z)


class _Slices:
    """The programs of the slices of a schedule."""

    def __init__(self, slices: Slices) -> None:
        self._first, self._others = Program(slices.first), Program(slices.others)
        self.schedule, self.dimensions = slices.first, slices.dimensions
        self.tables = SharedTables()
        self.parts: Parts = {}
        warps = reversed(range(self.schedule.warps))
        self._firsts = set({self._first.place((0, 0, 0), w).role: w for w in warps}.values())

    def of(self, warp: int) -> Program:
        """What a warp tells: the first of a role tells for the others too."""
        return self._first if warp in self._firsts else self._others


class _Cluster:
    """The streams of a cluster: their signature, writes, and accesses out of bounds."""

    def __init__(
        self,
        slices: _Slices,
        block: Block,
        bounds: Bounds,
        written: set[str],
        found: Survey,
    ) -> None:
        self.events = 0
        self.writes: dict[Row, int] = {}
        self.touched: dict[Row, int] = {}
        self.users: dict[str, Step] = {}
        self._names: dict[object, int] = {}
        self._origins: dict[str, tuple[int, ...]] = {}
        self._written = written
        self._dimensions = slices.dimensions
        schedule = slices.schedule
        self._shapes = {t.name: t.shape for t in schedule.of_kind(GlobalTensor)}
        parts: list[object] = []
        ctas = schedule.cluster_of(block)
        for index, (cta, w) in enumerate(product(ctas, range(schedule.warps))):
            program = slices.of(w)
            place = program.place(cta, w)
            resolver = Resolver(program.schedule, w, slices.tables, place.rank)
            binder = SliceBinder(resolver, slices.parts, self._number)
            stream = run_checked(program.bound(binder, cta, w), EVENT_LIMIT + 1)
            warp = Warp(index, place, iter(()))
            try:
                for pos, event in enumerate(stream):
                    dyn, indices = event
                    self.events += SEEN if isinstance(dyn, Dyn) else 1
                    if self.events > EVENT_LIMIT:
                        break
                    if not isinstance(dyn, Dyn):
                        parts.append(dyn)
                        continue
                    step = Step(warp, Who.BOTH, pos, (dyn, indices))
                    parts.append((dyn.op.id, dyn.barrier, dyn.value, dyn.ints))
                    for access in dyn.accesses:
                        self._access(access, step, bounds, found, parts)
            except StreamLimit:
                self.events = EVENT_LIMIT + 1
            except ScheduleError as error:
                parts.append(str(error))  # found again when this CTA is checked
        self.signature = tuple(parts)

    def _access(
        self, access: Access, step: Step, bounds: Bounds, found: Survey, parts: list[object]
    ) -> None:
        box = access.region
        if not isinstance(box, GlobalBox):
            tags = [(r, self._meaning(t)) for r, t in access.tags]
            parts.append((access.region, tuple(tags)))
            return
        if not may_lie_outside(step.dyn.op):
            fault = bounds.check(step, access)
            if fault is not None:
                found.faults.setdefault((fault.rule, step.dyn.op.id), fault)
        if box.tensor in self._written:
            origin = self._origins.setdefault(box.tensor, box.start)
            moved = tuple(a - b for a, b in zip(box.start, origin, strict=True))
            parts.append((box.tensor, moved, box.shape))
            self.users.setdefault(box.tensor, step)
            for row, bits in rows(access, self._shapes[box.tensor]):
                self.touched[row] = self.touched.get(row, 0) | bits
                if access.write:
                    self.writes[row] = self.writes.get(row, 0) | bits

    def _meaning(self, tag: Tag | None) -> object:
        """What data mean: where no CTA differs from others, as it is."""
        if tag is None or tag[0] not in self._dimensions:
            return tag
        tensor, at = tag
        dims = self._dimensions[tensor]
        rest = tuple([a for d, a in enumerate(at) if d not in dims])
        return tensor, rest, self._number((tensor, tuple([at[d] for d in dims])))

    def _number(self, tag: object) -> int:
        return self._names.setdefault(tag, len(self._names))
