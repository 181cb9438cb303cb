"""All CTAs of a launch from one: bounds of global accesses, and disjoint writes.

Where every CTA executes the same, moved by a fixed step per block axis (affine.py), both follow
exactly from the accesses of CTA 0. Otherwise the CTAs are enumerated (ctas.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from asyncsim.check.affine import Coefficients, Move
from asyncsim.check.global_memory import SPAN, Row
from asyncsim.check.model import Step
from asyncsim.check.report import Fault
from asyncsim.ir import op as ops
from asyncsim.ir.alignment import aligned_addresses
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.op import OpBase
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access
from asyncsim.stream.period import own_views

Reach = tuple[tuple[int, int], ...]
"""Per dimension, how far other CTAs move a box down and up."""

MAX_DELTAS = 20_000
MAX_WIDTH = 1 << 20


def may_lie_outside(op: OpBase) -> bool:
    """Whether the op leaves out what lies outside the tensor: tensor maps do, clipped stores."""
    match op:
        case ops.TmaLoad() | ops.TmaStore():
            return True
        case ops.StGlobal(clip=clip):
            return clip
        case _:
            return False


class Bounds:
    """Bounds and alignment of the plain global accesses of every CTA, from those of one. A box of a
    tensor map may lie outside."""

    def __init__(self, schedule: Schedule, moves: Mapping[int, Move]) -> None:
        self._misaligned = {
            op.id: found
            for op in schedule.ops()
            if op.id in moves
            for found in _misaligned(op, schedule, moves[op.id])
        }
        self._shapes = {t.name: t.shape for t in schedule.of_kind(GlobalTensor)}
        self._grid = schedule.clusters
        self._reach = {id: tuple(self._ends(c) for c in move) for id, move in moves.items()}

    def reach(self, op: OpBase, dimensions: int) -> Reach:
        """How far other CTAs move the op's own box."""
        return self._reach.get(op.id) or ((0, 0),) * dimensions

    def check(self, step: Step, access: Access) -> Fault | None:
        """The fault of an access that leaves its tensor in some CTA."""
        box, op = access.region, step.dyn.op
        assert isinstance(box, GlobalBox)
        shape = self._shapes[box.tensor]
        if op.id in self._misaligned:
            message, rule = self._misaligned[op.id], Rule.ALIGNMENT
            return Fault(rule=rule, message=message, step=step, name=box.tensor)
        reach = self.reach(op, len(shape))
        if _inside(box, shape, reach):
            return None
        sizes = step.dyn.ints if isinstance(op, ops.CpAsync) else ()
        for i, lane in enumerate(access.lanes or (box,)):
            assert isinstance(lane, GlobalBox)
            if sizes and sizes[i % len(sizes)] == 0:
                continue  # such a lane reads nothing and fills with zero
            if not _inside(lane, shape, reach):
                moved = _farthest(lane, shape, reach)
                return Fault(
                    rule=Rule.OUT_OF_BOUNDS,
                    message=f"{moved} leaves the tensor of shape {shape}",
                    step=step,
                    name=box.tensor,
                )
        return None

    def _ends(self, c: Coefficients) -> tuple[int, int]:
        ends = [k * (n - 1) for k, n in zip(c, self._grid, strict=True)]
        return sum(min(0, e) for e in ends), sum(max(0, e) for e in ends)


def _misaligned(op: OpBase, schedule: Schedule, move: Move) -> Iterator[str]:
    """What moves the op's own box to where its instruction cannot start, if it can where it is."""
    tensors = {view.tensor for view in own_views(op)}
    for address in aligned_addresses(op, schedule):
        if address.name not in tensors:
            continue
        for axis, name in enumerate("xyz"):
            by = sum(c[axis] * stride for c, stride in zip(move, address.strides, strict=True))
            if by % address.align:
                yield (
                    f"the next CTA in {name} moves the start in {address.name} by {by} bytes, "
                    f"no multiple of {address.align}"
                )


def _inside(box: GlobalBox, shape: tuple[int, ...], reach: Reach) -> bool:
    return all(
        a + down >= 0 and a + n + up <= have
        for a, n, have, (down, up) in zip(box.start, box.shape, shape, reach, strict=True)
    )


def _farthest(box: GlobalBox, shape: tuple[int, ...], reach: Reach) -> GlobalBox:
    """The box in the CTA where it leaves the tensor."""
    start = [
        a + down if a + down < 0 else a + up if a + n + up > have else a
        for a, n, have, (down, up) in zip(box.start, box.shape, shape, reach, strict=True)
    ]
    return GlobalBox(box.tensor, tuple(start), box.shape)


def overlapping_deltas(
    touched: Mapping[Row, int],
    written: Mapping[Row, int],
    move: Move,
    grid: tuple[int, int, int],
    shape: tuple[int, ...] = (),
) -> tuple[int, int, int] | None | bool:
    """A difference of block indices such that one CTA writes what the other touches.

    ``touched`` contains ``written``. If ``shape`` is given, only what lies in the tensor counts.
    None: all CTAs are disjoint. False: too many differences.
    """
    low, high = _bounding(touched)
    exact: list[tuple[tuple[int, ...], int]] | None = None
    mine: dict[tuple[int, ...], int] = {}
    seen = 0
    widths = [b - a for a, b in zip(low, high, strict=True)]
    for delta in _deltas(grid, move, widths):
        shift = tuple(sum(k * d for k, d in zip(c, delta, strict=True)) for c in move)
        seen += 1
        if seen > MAX_DELTAS:
            return False
        if any(abs(s) >= b - a for s, a, b in zip(shift, low, high, strict=True)):
            continue
        if high[-1] - low[-1] > MAX_WIDTH:
            return False
        if exact is None:
            exact, mine = _flat(written, low[-1]), dict(_flat(touched, low[-1]))
        back = tuple(-s for s in shift)
        inside = _Inside(move, grid, delta, shape, low[-1]).at
        behind = _Inside(move, grid, (-delta[0], -delta[1], -delta[2]), shape, low[-1]).at
        if _meet(mine, exact, shift, inside) or _meet(mine, exact, back, behind):
            return delta
    return None


class _Inside:
    """Where common elements of a CTA and the one ``delta`` further on may lie in the tensor."""

    def __init__(
        self,
        move: Move,
        grid: tuple[int, int, int],
        delta: tuple[int, int, int],
        shape: tuple[int, ...],
        first: int,
    ) -> None:
        self._first, self._shape = first, shape
        blocks = [range(max(0, -d), n - max(0, d)) for n, d in zip(grid, delta, strict=True)]
        self._reach: list[tuple[int, int]] = []
        for c in move:
            ends = [(k * r.start, k * (r.stop - 1)) for k, r in zip(c, blocks, strict=True)]
            self._reach.append((sum(map(min, ends)), sum(map(max, ends))))

    def at(self, outer: tuple[int, ...], bits: int) -> bool:
        """Elements in the place of CTA 0, that the CTA ``delta`` further on writes."""
        first = self._first + (bits & -bits).bit_length() - 1
        spans = [(i, i + 1) for i in outer] + [(first, self._first + bits.bit_length())]
        return not self._shape or all(
            a + down < have and b + up > 0
            for (a, b), (down, up), have in zip(spans, self._reach, self._shape, strict=True)
        )


def _deltas(
    grid: tuple[int, int, int], move: Move, widths: list[int]
) -> Iterator[tuple[int, int, int]]:
    """The differences of two block indices, one of each pair of opposites, small ones first.

    An axis that moves nothing needs only the differences 0 and 1; one that moves a dimension is
    bounded by the ``widths`` of what a CTA touches.
    """
    reach = [n - 1 for n in grid]
    for axis in range(3):
        if all(c[axis] == 0 for c in move):
            reach[axis] = min(reach[axis], 1)
    for _ in range(2):  # a bound on one axis may bound another
        for c, width in zip(move, widths, strict=True):
            for axis in range(3):
                if c[axis]:
                    rest = sum(abs(c[a]) * reach[a] for a in range(3) if a != axis)
                    reach[axis] = min(reach[axis], (width - 1 + rest) // abs(c[axis]))
    spans = [sorted(range(-r, r + 1), key=abs) for r in reach]
    for delta in product(*spans):
        if delta > (0, 0, 0):
            yield delta  # type: ignore[misc]


def _bounding(written: Mapping[Row, int]) -> tuple[list[int], list[int]]:
    low: list[int] = []
    high: list[int] = []
    for (_, index), bits in written.items():
        *outer, span = index
        first = span * SPAN + (bits & -bits).bit_length() - 1
        at = [*outer, first]
        end = [*(i + 1 for i in outer), span * SPAN + bits.bit_length()]
        low = [min(a, b) for a, b in zip(low, at, strict=True)] if low else at
        high = [max(a, b) for a, b in zip(high, end, strict=True)] if high else end
    return low, high


def _flat(written: Mapping[Row, int], first: int) -> list[tuple[tuple[int, ...], int]]:
    """Rows without spans: (outer index, bits of the last dimension from ``first`` on)."""
    merged: dict[tuple[int, ...], int] = {}
    for (_, index), bits in written.items():
        *outer, span = index
        shift = span * SPAN - first
        moved = bits << shift if shift >= 0 else bits >> -shift
        merged[tuple(outer)] = merged.get(tuple(outer), 0) | moved
    return list(merged.items())


def _meet(
    mine: dict[tuple[int, ...], int],
    others: list[tuple[tuple[int, ...], int]],
    shift: tuple[int, ...],
    inside: Callable[[tuple[int, ...], int], bool],
) -> bool:
    """Whether the moved rows share an element with the rows."""
    for outer, bits in others:
        index = tuple(i + s for i, s in zip(outer, shift, strict=False))
        here = mine.get(index)
        if here is not None:
            last = shift[-1]
            common = here & (bits << last if last >= 0 else bits >> -last)
            if common and inside(index, common):
                return True
    return False
