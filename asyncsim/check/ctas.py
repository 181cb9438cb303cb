"""Clusters (of one CTA, mostly) that differ by more than a move: enumerated, grouped by what they
execute.

Two are alike if what their place in the launch reaches (slices.py) is equal, but for where they
write, if the same accesses meet there (places.py), and for what shared data means. Then every order
and race is the same. Of data, all that is asked is that a read finds what it means; so a cluster
also stands for another one if data that are one in it are one there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from asyncsim.check.affine import BlockUse, only_reduced
from asyncsim.check.grid import Bounds, may_lie_outside
from asyncsim.check.model import Step, Warp, Who
from asyncsim.check.places import Accesses, meetings
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
Data = tuple[int, ...]
"""Of what each access means, in order, a number: equal for equal data."""

EVENT_LIMIT = 2_000_000  # of what CTAs tell (slices.py)
SEEN = 10  # times as much, about, for an op whose accesses are looked at
PROBED = 1_000  # clusters after which a launch that is far too large is known
HOPELESS = 4  # times the limit that it would take
COMPARED = 16  # kinds that may stand for another one


@dataclass(slots=True)
class Survey:
    """``blocks``: one CTA of each kind. ``complete`` is False if the limit was reached, or would be
    by far. ``alike``: of the first CTA of each cluster, which of ``blocks`` is as it is; without
    entries all are. ``shapes``: of each of them, one that differs in nothing but which data are
    one; ``once``: written tensors of which no cluster touches an element twice."""

    blocks: list[Block] = field(default_factory=list)
    faults: dict[object, Fault] = field(default_factory=dict)
    complete: bool = True
    alike: dict[Block, Block] = field(default_factory=dict)
    shapes: dict[Block, Block] = field(default_factory=dict)
    once: frozenset[str] = frozenset()

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
    kinds: dict[object, dict[Data, Block]] = {}
    seen: list[_Cluster] = []
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
        seen.append(cta)
        found.alike[block] = kinds.setdefault(cta.signature, {}).setdefault(cta.data, block)
    _meet(schedule, written, seen, found)
    touched = [(tensor, accesses.once()) for c in seen for tensor, accesses in c.accesses.items()]
    found.once = frozenset(written - {tensor for tensor, once in touched if not once})
    stands: dict[Block, Block] = {}
    for same in kinds.values():
        standing = _standing(same)
        found.shapes |= dict.fromkeys(standing.values(), next(iter(standing.values())))
        stands |= standing
    found.alike = {block: stands[kind] for block, kind in found.alike.items()}
    found.blocks = list(dict.fromkeys(found.alike.values()))
    return found


def _meet(schedule: Schedule, written: set[str], seen: Sequence[_Cluster], found: Survey) -> None:
    """Clusters that touch what another one writes."""
    for tensor in schedule.of_kind(GlobalTensor):
        if tensor.name not in written:
            continue
        users = [cta for cta in seen if tensor.name in cta.accesses]
        for number in meetings([cta.accesses[tensor.name] for cta in users], tensor.shape):
            cta = users[number]
            what = "CTA" if schedule.cluster_ctas == 1 else "the cluster of CTA"
            message = (
                f"{what} {cta.block} and another one touch elements of {tensor.name}, and one "
                "writes"
            )
            step, rule = cta.users[tensor.name], Rule.GLOBAL_WRITE_OVERLAP
            fault = Fault(rule=rule, message=message, step=step, name=tensor.name)
            found.faults.setdefault((rule, tensor.name), fault)
            break


def _standing(same: Mapping[Data, Block]) -> dict[Block, Block]:
    """Which block stands for each of some that differ in data alone: where the most data differ,
    the others follow."""
    stands: dict[Block, Block] = {}
    kept: list[tuple[Data, Block]] = []
    for data, block in sorted(same.items(), key=lambda item: -len(set(item[0]))):
        for finer, kind in kept[:COMPARED]:
            if follows(data, finer):
                stands[block] = kind
                break
        else:
            kept.append((data, block))
            stands[block] = block
    return stands


def follows(data: Data, finer: Data) -> bool:
    """Whether data that are equal in ``finer`` are equal here."""
    here: dict[int, int] = {}
    return len(data) == len(finer) and all(
        here.setdefault(b, a) == a for a, b in zip(data, finer, strict=True)
    )


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
    """The streams of a cluster: their signature, which data they mean, and where they touch what
    the kernel writes."""

    def __init__(
        self,
        slices: _Slices,
        block: Block,
        bounds: Bounds,
        written: set[str],
        found: Survey,
    ) -> None:
        self.events, self.block = 0, block
        self.accesses: dict[str, Accesses] = {}  # of each tensor that is written
        self.users: dict[str, Step] = {}
        self._names: dict[object, int] = {}
        self._data: list[int] = []
        self._written = written
        self._dimensions = slices.dimensions
        schedule = slices.schedule
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
        patterns = [(tensor, a.pattern()) for tensor, a in self.accesses.items()]
        self.signature = tuple(parts), tuple(patterns)
        self.data = tuple(self._data)

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
            parts.append((box.tensor, access.write))
            self.users.setdefault(box.tensor, step)
            self.accesses.setdefault(box.tensor, Accesses()).add(access)

    def _meaning(self, tag: Tag | None) -> object:
        """What data mean: where no CTA differs from others, as it is."""
        if tag is None or tag[0] not in self._dimensions:
            return tag
        tensor, at = tag
        dims = self._dimensions[tensor]
        rest = tuple([a for d, a in enumerate(at) if d not in dims])
        return tensor, rest, self._number((tensor, tuple([at[d] for d in dims])))

    def _number(self, tag: object) -> int:
        """Data are compared apart from all else: their place here says nothing of them."""
        self._data.append(self._names.setdefault(tag, len(self._names)))
        return 0
