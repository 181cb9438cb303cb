"""Places in tensors that a kernel writes: which of them meet.

Tiles side by side meet only if they are one tile. So where all places of a tensor lie on a lattice
one number for each says what meets, whatever the size; elsewhere it takes their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from asyncsim.check.global_memory import rows
from asyncsim.memory.region import GlobalBox
from asyncsim.stream.dyn import Access

Place = tuple[tuple[int, ...], tuple[int, ...]]
"""Start and extent."""


class Accesses:
    """What a cluster touches of one tensor. ``order``: the place of each access; ``distinct``: the
    accesses, each once."""

    __slots__ = ("distinct", "order")

    def __init__(self) -> None:
        self.order: list[Place] = []
        self.distinct: dict[object, Access] = {}

    def add(self, access: Access) -> None:
        box = access.region
        assert isinstance(box, GlobalBox)
        self.order.append((box.start, box.shape))
        key = len(self.order) if access.lanes else (box, access.write)
        self.distinct.setdefault(key, access)

    def places(self) -> list[Place] | None:
        """All of them, each once; None if lanes have places of their own."""
        if any(access.lanes for access in self.distinct.values()):
            return None
        return list(dict.fromkeys(self.order))

    def once(self) -> bool:
        """Whether no element is touched twice."""
        places = self.places()
        return places is not None and len(places) == len(self.order) and _on_lattice(places)

    def pattern(self) -> tuple[object, ...]:
        """Equal for clusters whose accesses meet alike: places by which are the same where all
        others are apart; else by how far they are from the first."""
        places = self.places()
        if places is not None and _on_lattice(places):
            names: dict[tuple[int, ...], int] = {}
            return tuple([(names.setdefault(at, len(names)), shape) for at, shape in self.order])
        first = self.order[0][0]
        return tuple(
            [
                (tuple([a - b for a, b in zip(at, first, strict=True)]), shape)
                for at, shape in self.order
            ]
        )


def meetings(clusters: Sequence[Accesses], shape: tuple[int, ...]) -> Iterator[int]:
    """Which clusters touch elements of the tensor, of this shape, that an earlier one writes, or
    write what an earlier one touches."""
    places = [c.places() for c in clusters]
    known = [place for found in places if found is not None for place in found]
    inside = all(a >= 0 for at, _ in known for a in at)
    simple = None not in places and inside and _on_lattice(known)
    owners: Bits = {}  # written so far
    users: Bits = {}  # touched so far
    for number, c in enumerate(clusters):
        touched, written = _bits(c, shape, simple)
        if any(
            owners.get(row, 0) & bits or users.get(row, 0) & written.get(row, 0)
            for row, bits in touched.items()
        ):
            yield number
        for row, bits in touched.items():
            owners[row] = owners.get(row, 0) | written.get(row, 0)
            users[row] = users.get(row, 0) | bits


def _on_lattice(places: Sequence[Place]) -> bool:
    """Whether places that do not start together have nothing in common."""
    if not places:
        return True
    pitch = [max(extents) for extents in zip(*(shape for _, shape in places), strict=True)]
    first = places[0][0]
    return all(
        (a - b) % p == 0 for at, _ in places for a, b, p in zip(at, first, pitch, strict=True)
    )


Bits = dict[object, int]


def _bits(c: Accesses, shape: tuple[int, ...], simple: bool) -> tuple[Bits, Bits]:
    """What a cluster touches, and what it writes. If it is ``simple``, one bit for each place that
    begins in the tensor: all places that begin there have that element in common."""
    touched: Bits = {}
    written: Bits = {}
    for access in c.distinct.values():
        box = access.region
        assert isinstance(box, GlobalBox)
        found: Iterable[tuple[object, int]]
        if not simple:
            found = rows(access, shape)
        elif all(a < n for a, n in zip(box.start, shape, strict=True)):
            found = [(box.start, 1)]
        else:
            found = []
        for row, bits in found:
            touched[row] = touched.get(row, 0) | bits
            if access.write:
                written[row] = written.get(row, 0) | bits
    return touched, written
