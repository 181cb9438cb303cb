"""Loads whose CTAs go over the same boxes from different first ones, or to different last ones.

As keys and values under a causal mask: how many blocks a CTA visits depends on its place, so a
first box alone does not tell what is shared. Here the boxes of a CTA are a reach on a line, one
dimension of a tensor at fixed other coordinates, gone over at one box a turn. Of the CTAs of a wave
the one that touches a box at the earliest turn fetches it, and the others find it in L2.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

Line = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Touch:
    """The boxes of one load of a CTA: the first, the last, their extents and how many turns."""

    tensor: str
    first: tuple[int, ...]
    last: tuple[int, ...]
    extents: tuple[int, ...]
    turns: int
    box_bytes: int


@dataclass(frozen=True, slots=True, order=True)
class Reach:
    """From ``start`` up to ``end``, in elements along the line; mirrored if it is gone down."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Way:
    """How the CTAs of a launch go over a tensor: along a dimension, up or down."""

    dimension: int
    down: bool

    def reach(self, t: Touch) -> Reach | None:
        """Of one load; None if it does not go box by box along this dimension."""
        d = self.dimension
        size = t.extents[d]
        if t.first[:d] != t.last[:d] or t.first[d + 1 :] != t.last[d + 1 :]:
            return None
        if t.last[d] - t.first[d] != (t.turns - 1) * (-size if self.down else size):
            return None
        if self.down:
            return Reach(-t.first[d] - size, -t.last[d])
        return Reach(t.first[d], t.last[d] + size)

    def line(self, t: Touch) -> Line:
        d = self.dimension
        bytes_each = Fraction(t.box_bytes, t.extents[d])
        return t.tensor, t.first[:d], t.first[d + 1 :], bytes_each


def way_of(touches: Iterable[Touch]) -> Way | None:
    """How loads of a tensor move, told by one of several turns; None if none says it."""
    for t in touches:
        moved = [d for d, (a, b) in enumerate(zip(t.first, t.last, strict=True)) if a != b]
        if len(moved) == 1:
            return Way(moved[0], t.last[moved[0]] < t.first[moved[0]])
    return None


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a line over which the same go first: where they began, and how many they are."""

    start: int
    end: int
    began: int
    ties: int


def segments(reaches: Iterable[Reach]) -> Iterator[Segment]:
    """A line by who is first: of those that go over a box, who has begun nearest before it."""
    waiting = sorted(reaches, reverse=True)
    edges = sorted({r.start for r in waiting} | {r.end for r in waiting})
    active: list[Reach] = []
    for low, high in pairwise(edges):
        while waiting and waiting[-1].start <= low:
            insort(active, waiting.pop())
        while active and active[-1].end <= low:
            active.pop()
        if active:
            began = active[-1].start
            ties = sum(1 for r in active if r.start == began and r.end > low)
            yield Segment(low, high, began, ties)


class ReachedWave:
    """The loads of one wave that go over lines, by CTA and op."""

    def __init__(self, touches: dict[tuple[int, int], Touch]) -> None:
        ways = {n: way_of(t for t in touches.values() if t.tensor == n) for n in _names(touches)}
        loads: dict[tuple[int, int], tuple[Line, Reach]] = {}
        astray = {name for name, way in ways.items() if way is None}
        for at, t in touches.items():
            way = ways[t.tensor]
            reach = way.reach(t) if way else None
            if way and reach:
                loads[at] = way.line(t), reach
            else:
                astray.add(t.tensor)
        self._loads = {at: load for at, load in loads.items() if load[0][0] not in astray}
        self._own = self._joined()
        by_line: dict[Line, list[Reach]] = {}
        for (_, line), reach in self._own.items():
            by_line.setdefault(line, []).append(reach)
        self.lines = {line: tuple(segments(reaches)) for line, reaches in by_line.items()}

    def _joined(self) -> dict[tuple[int, Line], Reach]:
        """By CTA and line, all its loads as one reach: a first box, say, then those of a loop."""
        own: dict[tuple[int, Line], Reach] = {}
        for (cta, _), (line, r) in self._loads.items():
            o = own.get((cta, line), r)
            own[cta, line] = Reach(min(o.start, r.start), max(o.end, r.end))
        return own

    def spans(self, line: Line) -> list[tuple[int, int]]:
        """What the wave goes over of a line, without gaps."""
        spans: list[tuple[int, int]] = []
        for s in self.lines[line]:
            if spans and spans[-1][1] == s.start:
                spans[-1] = spans[-1][0], s.end
            else:
                spans.append((s.start, s.end))
        return spans

    def bytes(self, line: Line) -> Fraction:
        """The bytes of all that the wave goes over of a line."""
        *_, each = line
        assert isinstance(each, Fraction)
        return each * sum(s.end - s.start for s in self.lines[line])

    def load(self, cta: int, op_id: int) -> tuple[Line, Reach] | None:
        return self._loads.get((cta, op_id))

    def part(self, cta: int, op_id: int) -> Fraction | None:
        """The part of a load that DRAM carries for this CTA: of what it is first to touch its own
        part, if others are so at the same turn; None for a load that does not go over a line."""
        return self._first(cta, op_id, shared=True)

    def first(self, cta: int, op_id: int) -> Fraction | None:
        """The part of a load that nobody has touched at an earlier turn."""
        return self._first(cta, op_id, shared=False)

    def _first(self, cta: int, op_id: int, *, shared: bool) -> Fraction | None:
        found = self._loads.get((cta, op_id))
        if found is None:
            return None
        line, load = found
        began, total = self._own[cta, line].start, Fraction(0)
        for s in self.lines[line]:
            overlap = min(s.end, load.end) - max(s.start, load.start)
            if s.began == began and overlap > 0:
                total += Fraction(overlap, s.ties if shared else 1)
        return total / (load.end - load.start)


def _names(touches: dict[tuple[int, int], Touch]) -> set[str]:
    return {t.tensor for t in touches.values()}
