"""Which CTAs fetch the same boxes: what is merged in a GPC, what comes from DRAM, what hits in L2.

Two CTAs whose first execution of a load names the same box share that load's boxes throughout.
From the coordinates of the whole launch this gives, for a load of a CTA: the part of its bytes that
its GPC port carries (the SMs of a GPC that read the same lines are merged), the part that DRAM
carries, and whether an earlier wave has left the box in L2. It is coarse: waves, not times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from asyncsim.ir import op as ops
from asyncsim.ir.expr import Arg, Builtin, BuiltinRef, Expr, Var, python_source, walk
from asyncsim.ir.op import GlobalView, OpBase
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import Elect, For, Role, Set, Specialize, Stmt, When
from asyncsim.sim.placement import Placement
from asyncsim.sim.reach import Line, Reach, ReachedWave, Touch
from asyncsim.sim.rounds import block_of

Key = tuple[str, tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Share:
    """A load of one CTA: fractions (numerator, denominator) of its bytes, and whether it misses.

    gpc: the part that a GPC port carries while the SMs are in step; apart: what comes on top when
    they have come apart, because lines are fetched again; copies: partitions of L2 that hold it.
    """

    miss: bool
    dram: tuple[int, int]
    gpc: tuple[int, int]
    apart: tuple[int, int]
    copies: int = 1


PRIVATE_MISS = Share(True, (1, 1), (1, 1), (0, 1))
PRIVATE_HIT = Share(False, (1, 1), (1, 1), (0, 1))
_TMA_READS = ops.LoadOp | ops.BulkPrefetch | ops.TmaPrefetch
_BLOCK = (Builtin.BLOCK_IDX_X, Builtin.BLOCK_IDX_Y, Builtin.BLOCK_IDX_Z)
LINE_BYTES = 128  # of rows below it all that is repeated comes again when SMs are apart
# Of L2: lines that GPCs of both read are in both (NVIDIA A100 whitepaper); lines that are written
# take as much room.
PARTITIONS = 2


class Sharing:
    """The shares of every load of a launch, computed wave by wave when first asked for."""

    def __init__(
        self,
        schedule: Schedule,
        placement: Placement,
        capacity_bytes: int,
        again: Fraction,
        *,
        warm: bool,
    ) -> None:
        self._again = again  # part of the repeated lines that SMs fetch again when not in step
        self._schedule, self._placement, self._capacity = schedule, placement, capacity_bytes
        self._boxes = _touches(schedule)
        self._uneven = _uneven_loads(schedule)
        self._reached: list[ReachedWave] = []
        self._held: dict[Line, list[tuple[int, int, int]]] = {}  # reaches: start, end, fetched
        self._row_bytes = _row_bytes(schedule)
        self._hints = {op.id for op in schedule.ops() if isinstance(op, ops.PrefetchOp)}
        self._waves: list[dict[int, _Wave]] = []
        self._seen: dict[Key, int] = {}  # first box of a load -> bytes fetched before, in all
        self._fetched = 0
        touched = _bytes(schedule, reads=True) + PARTITIONS * _bytes(schedule, reads=False)
        self.warm = warm and touched <= capacity_bytes  # all is in L2 from the launch before
        waves = max(1, -(-schedule.ctas // placement.wave_ctas))
        self._written = _bytes(schedule, reads=False) // waves

    def of(self, cta: int, op_id: int) -> Share:
        """The share of a load of a CTA."""
        number = cta // self._placement.wave_ctas
        while len(self._waves) <= number:
            self._waves.append(self._wave(len(self._waves)))
        wave = self._waves[number].get(op_id)
        if wave is None:
            return PRIVATE_HIT if self.warm else PRIVATE_MISS
        share = wave.share(cta)
        reached = self._reached[number]
        part, first = reached.part(cta, op_id), reached.first(cta, op_id)
        if part is None or first is None:
            return share
        return replace(share, miss=share.miss and 2 * first >= 1, dram=part.as_integer_ratio())

    def _wave(self, number: int) -> dict[int, _Wave]:
        size = self._placement.wave_ctas
        ctas = range(number * size, min((number + 1) * size, self._schedule.ctas))
        waves: dict[int, _Wave] = {}
        fetched = self._written
        keys: dict[int, dict[int, Key]] = {}
        for cta in ctas:
            for op_id, key in self._boxes(*block_of(self._schedule, cta), False).items():
                keys.setdefault(op_id, {})[cta] = key
        reached = self._reach(ctas, keys)
        for op_id, by_cta in keys.items():
            known = {key: self._recent(key) for key in set(by_cta.values())}
            along = {cta: reached.load(cta, op_id) for cta in by_cta} if reached.lines else {}
            for cta, load in along.items():
                if load:
                    known[by_cta[cta]] = self.warm or self._holds(*load)
            again = self._again if self._row_bytes[op_id] >= LINE_BYTES else Fraction(1)
            waves[op_id] = _Wave(self._placement, by_cta, known, again)
            wave = waves[op_id]
            if op_id not in self._hints:  # what a prefetch brings, a load brings, too
                lone = known.keys() - {by_cta[cta] for cta, load in along.items() if load}
                fetched += sum(key[-1] * wave.copies(key) for key in lone)
        fetched += int(sum(PARTITIONS * reached.bytes(line) for line in reached.lines))
        for by_cta in keys.values():
            for key in by_cta.values():
                self._seen[key] = self._fetched
        for line in reached.lines:
            spans = [(*span, self._fetched) for span in reached.spans(line)]
            self._held.setdefault(line, []).extend(spans)
        self._fetched += fetched
        return waves

    def _reach(self, ctas: range, keys: dict[int, dict[int, Key]]) -> ReachedWave:
        """The loads of a wave that go over lines: none if every CTA makes the same turns."""
        touches: dict[tuple[int, int], Touch] = {}
        for cta in ctas if self._uneven else ():
            last = self._boxes(*block_of(self._schedule, cta), True)
            for op_id in self._uneven.keys() & last.keys():
                tensor, first, amount = keys[op_id][cta]
                box, size = self._uneven[op_id]
                touches[cta, op_id] = Touch(
                    tensor, first, last[op_id][1], box, amount // size, size
                )
        self._reached.append(ReachedWave(touches))
        return self._reached[-1]

    def _recent(self, key: Key) -> bool:
        """Whether L2 still holds what an earlier wave fetched."""
        at = self._seen.get(key)
        return self.warm or (at is not None and self._fetched - at <= self._capacity)

    def _holds(self, line: Line, load: Reach) -> bool:
        """The same for all boxes of a load along a line, by what one earlier wave has fetched."""
        return any(
            start <= load.start and load.end <= end and self._fetched - at <= self._capacity
            for start, end, at in self._held.get(line, ())
        )


class _Wave:
    """One load of one wave."""

    def __init__(
        self,
        placement: Placement,
        by_cta: dict[int, Key],
        known: dict[Key, bool],
        again: Fraction,
    ) -> None:
        self._by_cta, self._known = by_cta, known
        self._count = Counter(by_cta.values())
        active = placement.active_sms
        self._again = again
        # CTAs of one round of launches run in step; a second CTA of an SM is half a turn off.
        self._gpc = {cta: (cta // active, placement.gpc_of[cta % active]) for cta in by_cta}
        readers = {(placement.gpc_of[c % active], k) for c, k in by_cta.items()}
        self._readers = Counter(k for _, k in readers)
        members = Counter(self._gpc.values())
        distinct = Counter(g for g, _ in {(self._gpc[c], k) for c, k in by_cta.items()})
        self._distinct = {g: Fraction(distinct[g], members[g]) for g in members}

    def copies(self, key: Key) -> int:
        """Partitions of L2 that hold the box: both if several GPCs read it."""
        return PARTITIONS if self._readers[key] > 1 else 1

    def share(self, cta: int) -> Share:
        key = self._by_cta.get(cta)
        if key is None:
            return PRIVATE_MISS
        distinct = self._distinct[self._gpc[cta]]
        return Share(
            miss=not self._known[key],
            dram=(1, self._count[key]),
            gpc=distinct.as_integer_ratio(),
            apart=(self._again * (1 - distinct)).as_integer_ratio(),
            copies=self.copies(key),
        )


def _views(schedule: Schedule) -> dict[int, GlobalView]:
    """The global box of every load, by op id."""
    return {
        op.id: op.src
        for op in schedule.ops()
        if isinstance(op, _TMA_READS | ops.CpAsync | ops.LdGlobal)
    }


def _row_bytes(schedule: Schedule) -> dict[int, int]:
    """The innermost extent of every load by op id; a warp's copies and loads lie side by side."""
    rows: dict[int, int] = {}
    for op in schedule.ops():
        if isinstance(op, ops.TmaLoad | ops.TmaPrefetch):
            rows[op.id] = op.src.shape[-1] * schedule.tensor(op.src.tensor).dtype.bytes
        elif isinstance(op, ops.BulkLoad | ops.BulkPrefetch | ops.CpAsync | ops.LdGlobal):
            rows[op.id] = LINE_BYTES
    return rows


def _bytes(schedule: Schedule, *, reads: bool) -> int:
    """Bytes of the tensors that the schedule loads, or stores."""
    if reads:
        names = {view.tensor for view in _views(schedule).values()}
    else:
        stores = (op for op in schedule.ops() if isinstance(op, ops.StoreOp | ops.StGlobal))
        names = {op.dst.tensor for op in stores}
    tensors = [schedule.tensor(name) for name in names]
    return sum(prod(t.shape) * t.dtype.bytes for t in tensors)


def _turn_bytes(schedule: Schedule, op: OpBase, view: GlobalView) -> int:
    """Bytes that a load brings each time a warp executes it."""
    moved = op.dst.shape if isinstance(op, ops.TmaLoad) else view.shape
    size = prod(moved) * schedule.tensor(view.tensor).dtype.bytes
    return size if isinstance(op, _TMA_READS) else 32 * size


def _uneven_loads(schedule: Schedule) -> dict[int, tuple[tuple[int, ...], int]]:
    """Extents and bytes of the box of every TMA load of a tensor of which CTAs load differently
    many: one such load is in a loop whose trip count depends on the block."""
    views = _views(schedule)
    tensors = {
        views[op.id].tensor
        for s in statements(schedule.body)
        if isinstance(s, For) and any(map(_tells_blocks_apart, walk(s.trip_count)))
        for op in statements(s.body)
        if isinstance(op, OpBase) and op.id in views
    }
    return {
        op.id: (op.src.shape, _turn_bytes(schedule, op, op.src))
        for op in schedule.ops()
        if isinstance(op, ops.TmaLoad) and op.src.tensor in tensors
    }


def _tells_blocks_apart(node: Expr) -> bool:
    return isinstance(node, BuiltinRef) and node.builtin in _BLOCK


def _touches(schedule: Schedule) -> Callable[[int, int, int, bool], dict[int, Key]]:
    """A function from block coordinates to the first or last box of every load: (tensor, start,
    bytes).

    It runs the statements once, with every loop at that turn; bytes are those of all turns.
    """
    views = _views(schedule)
    x, y, z = schedule.cluster
    lines: list[str] = [
        "def first(bx, by, bz, last):",
        f"    rank = bx % {x} + {x} * (by % {y} + {y} * (bz % {z}))",
        "    out = {}",
    ]
    bodies = [_outside(schedule.body)] + [
        r.body for s in statements(schedule.body) if isinstance(s, Specialize) for r in s.roles
    ]
    for body in bodies:
        lines.append("    turns = 1")
        _write(schedule, body, 1, lines, views)
    lines.append("    return out")
    scope: dict[str, object] = {"__builtins__": {}, "min": min, "max": max}
    scope.update({f"a_{n}": v for n, v in schedule.args})
    exec(compile("\n".join(lines), f"<first touches of {schedule.name}>", "exec"), scope)
    return scope["first"]  # type: ignore[return-value]


def _outside(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(s for s in body if not isinstance(s, Specialize))


def _write(
    schedule: Schedule,
    body: tuple[Stmt, ...],
    depth: int,
    lines: list[str],
    views: dict[int, GlobalView],
) -> None:
    pad = "    " * depth
    if not any(not isinstance(s, Role) for s in body):
        lines.append(pad + "pass")
    for s in body:
        match s:
            case For(var=var, trip_count=count, body=inner):
                name = f"n{len(lines)}"
                lines.append(f"{pad}{name} = {_expr(count)}")
                lines.append(f"{pad}if {name} > 0:")
                lines.append(f"{pad}    v_{var} = {name} - 1 if last else 0")
                lines.append(f"{pad}    turns = turns * {name}")
                _write(schedule, inner, depth + 1, lines, views)
                lines.append(f"{pad}    turns = turns // {name}")
            case When(condition=test, body=inner, orelse=other):
                lines.append(f"{pad}if {_expr(test)}:")
                _write(schedule, inner, depth + 1, lines, views)
                if other:
                    lines.append(f"{pad}else:")
                    _write(schedule, other, depth + 1, lines, views)
            case Elect(body=inner, others=others):
                _write(schedule, inner, depth, lines, views)
                _write(schedule, others, depth, lines, views)
            case Set(var=var, value=value):
                lines.append(f"{pad}v_{var} = {_expr(value)}")
            case OpBase() if s.id in views:
                view = views[s.id]
                size = _turn_bytes(schedule, s, view)
                start = "".join(f"{_expr(e)}, " for e in view.start)
                key = f"({view.tensor!r}, ({start}), {size} * turns)"
                lines.append(f"{pad}out.setdefault({s.id}, {key})")
            case _:
                lines.append(pad + "pass")


def _expr(expr: Expr) -> str:
    return python_source(expr, _leaf)


def _leaf(node: Expr) -> str:
    match node:
        case Var(name):
            return f"v_{name}"
        case Arg(name):
            return f"a_{name}"
        case BuiltinRef(Builtin.BLOCK_IDX_X):
            return "bx"
        case BuiltinRef(Builtin.BLOCK_IDX_Y):
            return "by"
        case BuiltinRef(Builtin.BLOCK_IDX_Z):
            return "bz"
        case BuiltinRef(Builtin.CTA_RANK):
            return "rank"
        case _:
            return "0"
