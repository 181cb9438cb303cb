"""Bytes as atoms, and data as values: element by element, without swizzles and addresses.

Two views of a tile overlap if they share logical elements; the layout is a bijection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from asyncsim.ir.schedule import Schedule
from tests.oracle.acts import ANY


class Buffer(NamedTuple):
    """A stage of a tile in the CTA of a rank; -1 and 0 for a tensor."""

    name: str
    stage: int = -1
    rank: int = 0


OUTSIDE, FILLED = -9, -8  # elements outside the tensor; zeros in place of elements


@dataclass(slots=True)
class Touch:
    """Elements of a buffer that an observer touches in one op: flat indices, and the global
    elements that a write brings or a read means (None: anything)."""

    buffer: Buffer
    elements: np.ndarray
    write: bool
    is_async: bool
    data: np.ndarray | None = None
    lane: np.ndarray | None = None  # which lane touches each element; None: every lane all of them


@dataclass(slots=True)
class Atoms:
    """Numbers the atoms of the touches that it was shown."""

    schedule: Schedule
    labels: dict[Buffer, np.ndarray] = field(default_factory=dict)
    first: dict[Buffer, int] = field(default_factory=dict)
    values: dict[bytes, int] = field(default_factory=dict)
    shown: set[tuple[Buffer, bytes]] = field(default_factory=set)
    masks: dict[tuple[Buffer, bytes], int] = field(default_factory=dict)
    count: int = 0
    shared: int = 0
    of_rank: dict[int, int] = field(default_factory=dict)  # atoms of each CTA's shared memory

    def size(self, buffer: Buffer) -> int:
        of = self.schedule.tile if buffer.stage >= 0 else self.schedule.tensor
        return prod(of(buffer.name).shape)

    def show(self, touch: Touch) -> None:
        """Refine the partition of the buffer by one touch."""
        seen = touch.buffer, touch.elements.tobytes()
        if seen in self.shown:
            return
        self.shown.add(seen)
        label = self.labels.get(touch.buffer)
        if label is None:
            label = np.zeros(self.size(touch.buffer), dtype=np.int64)
        inside = np.zeros_like(label)
        inside[touch.elements] = 1
        self.labels[touch.buffer] = np.unique(2 * label + inside, return_inverse=True)[1]

    def number(self) -> None:
        """After the last touch: a number for every atom, those of shared memory first."""
        for buffer in sorted(self.labels, key=lambda b: b.stage < 0):
            self.first[buffer] = self.count
            n = int(self.labels[buffer].max()) + 1
            if buffer.stage >= 0:
                atoms = ((1 << n) - 1) << self.count
                self.of_rank[buffer.rank] = self.of_rank.get(buffer.rank, 0) | atoms
                self.shared = self.count + n
            self.count += n

    def mask(self, touch: Touch) -> int:
        key = touch.buffer, touch.elements.tobytes()
        if key not in self.masks:
            first = self.first[touch.buffer]
            found = np.unique(self.labels[touch.buffer][touch.elements])
            self.masks[key] = sum(1 << (first + int(i)) for i in found)
        return self.masks[key]

    def data(self, touch: Touch) -> tuple[tuple[int, int], ...]:
        """(atom, value) of each atom that is touched."""
        first = self.first[touch.buffer]
        label = self.labels[touch.buffer][touch.elements]
        if touch.data is None:
            return tuple((first + int(i), ANY) for i in np.unique(label))
        order = np.unique(touch.elements, return_index=True)[1]
        label, data = label[order], touch.data[order]
        found = []
        for i in np.unique(label):
            key = data[label == i].tobytes()
            found.append((first + int(i), self.values.setdefault(key, len(self.values))))
        return tuple(found)


@lru_cache(maxsize=100_000)
def box_elements(
    shape: tuple[int, ...], start: tuple[int, ...], extent: tuple[int, ...]
) -> np.ndarray:
    """Flat row-major indices of a box; OUTSIDE for what lies outside the shape."""
    flat = np.zeros(extent, dtype=np.int64)
    outside = np.zeros(extent, dtype=bool)
    for d, (have, at, n) in enumerate(zip(shape, start, extent, strict=True)):
        index = np.arange(at, at + n)
        outside_d = (index < 0) | (index >= have)
        along = [1] * len(shape)
        along[d] = n
        flat = flat * have + index.reshape(along)
        outside |= outside_d.reshape(along)
    flat[outside] = OUTSIDE
    found = flat.reshape(-1)
    found.flags.writeable = False
    return found
