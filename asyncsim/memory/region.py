"""Regions: exact sets of bytes (shared memory), boxes (global), registers (fragments).

Disjoint regions never race. A shared-memory region is a bit set, one bit a byte, relative to its
lowest address; big-int ``&`` makes the overlap test exact and fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import overload

from asyncsim.ir.decl import Mbarrier, SmemTile, Swizzle
from asyncsim.memory.swizzle import swizzled


@dataclass(frozen=True, slots=True)
class SmemRegion:
    """Bytes ``low + i`` of the shared memory of CTA ``owner`` for each set bit i of ``mask``."""

    owner: int
    name: str
    low: int
    mask: int

    def overlaps(self, other: Region) -> bool:
        if not isinstance(other, SmemRegion) or self.owner != other.owner:
            return False
        shift = other.low - self.low
        if shift >= 0:
            return bool((self.mask >> shift) & other.mask)
        return bool(self.mask & (other.mask >> -shift))

    def covers(self, other: Region) -> bool:
        """Every byte of ``other`` is in this region."""
        if not isinstance(other, SmemRegion) or self.owner != other.owner:
            return False
        shift = other.low - self.low
        return shift >= 0 and not (other.mask & ~(self.mask >> shift))

    @property
    def bytes(self) -> int:
        return self.mask.bit_count()

    def __str__(self) -> str:
        return f"{self.name}[{self.low}..{self.low + self.mask.bit_length() - 1}]"


@dataclass(frozen=True, slots=True)
class GlobalBox:
    """A box of a tensor: start and extent in elements per dimension, clipped to the tensor."""

    tensor: str
    start: tuple[int, ...]
    shape: tuple[int, ...]

    def overlaps(self, other: Region) -> bool:
        if not isinstance(other, GlobalBox) or self.tensor != other.tensor:
            return False
        return all(
            a < b + m and b < a + n
            for a, n, b, m in zip(self.start, self.shape, other.start, other.shape, strict=True)
        )

    def covers(self, other: Region) -> bool:
        if not isinstance(other, GlobalBox) or self.tensor != other.tensor:
            return False
        return all(
            a <= b and b + m <= a + n
            for a, n, b, m in zip(self.start, self.shape, other.start, other.shape, strict=True)
        )

    @property
    def elements(self) -> int:
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def __str__(self) -> str:
        spans = ", ".join(f"{a}:{a + n}" for a, n in zip(self.start, self.shape, strict=True))
        return f"{self.tensor}[{spans}]"


class LaneBoxes(Sequence[GlobalBox]):
    """The boxes of the lanes of one op, which differ in their starts; made when asked for."""

    __slots__ = ("shape", "starts", "tensor")

    def __init__(self, tensor: str, starts: list[tuple[int, ...]], shape: tuple[int, ...]) -> None:
        self.tensor, self.starts, self.shape = tensor, starts, shape

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, i: int) -> GlobalBox: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[GlobalBox, ...]: ...
    def __getitem__(self, i: int | slice) -> GlobalBox | tuple[GlobalBox, ...]:
        if isinstance(i, slice):
            return tuple(GlobalBox(self.tensor, at, self.shape) for at in self.starts[i])
        return GlobalBox(self.tensor, self.starts[i], self.shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LaneBoxes):
            return NotImplemented
        mine = self.tensor, self.shape, self.starts
        return mine == (other.tensor, other.shape, other.starts)

    __hash__ = None  # type: ignore[assignment]

    @property
    def in_rows(self) -> bool:
        """Whether each is a piece of one row."""
        return all(n == 1 for n in self.shape[:-1])

    def hull(self) -> GlobalBox:
        """The smallest box that contains them."""
        axes = list(zip(*self.starts, strict=True))
        start = tuple(map(min, axes))
        shape = tuple(max(a) + n - at for a, n, at in zip(axes, self.shape, start, strict=True))
        return GlobalBox(self.tensor, start, shape)


@dataclass(frozen=True, slots=True)
class RegisterRegion:
    """Registers of a fragment in every thread of one warp; bit r of ``mask`` is register r."""

    cta: int
    warp: int
    name: str
    mask: int

    def overlaps(self, other: Region) -> bool:
        return (
            isinstance(other, RegisterRegion)
            and (self.cta, self.warp, self.name) == (other.cta, other.warp, other.name)
            and bool(self.mask & other.mask)
        )

    def covers(self, other: Region) -> bool:
        return (
            isinstance(other, RegisterRegion)
            and (self.cta, self.warp, self.name) == (other.cta, other.warp, other.name)
            and not (other.mask & ~self.mask)
        )

    def __str__(self) -> str:
        return f"{self.name} registers of warp {self.warp}"


@dataclass(frozen=True, slots=True)
class TmemRegion:
    """Tensor memory of CTA ``owner``: bit i of ``lanes`` is lane i, of ``columns`` columns from
    ``first`` on, counted in the allocation whose address stands in the word ``address``.

    The words of live allocations differ, and so do their columns: other words are other memory.
    """

    owner: int
    address: str
    name: str
    lanes: int
    first: int
    columns: int

    def overlaps(self, other: Region) -> bool:
        return (
            isinstance(other, TmemRegion)
            and (self.owner, self.address) == (other.owner, other.address)
            and bool(self.lanes & other.lanes)
            and self.first < other.first + other.columns
            and other.first < self.first + self.columns
        )

    def covers(self, other: Region) -> bool:
        return (
            isinstance(other, TmemRegion)
            and (self.owner, self.address) == (other.owner, other.address)
            and not (other.lanes & ~self.lanes)
            and self.first <= other.first
            and other.first + other.columns <= self.first + self.columns
        )

    def same(self, other: TmemRegion) -> bool:
        """The same cells, whatever they are called."""
        return self.covers(other) and other.covers(self)

    def __str__(self) -> str:
        return f"{self.name}[columns {self.first}..{self.first + self.columns - 1}]"


Region = SmemRegion | GlobalBox | RegisterRegion | TmemRegion


def lane_mask(first: int, lanes: int) -> int:
    """``lanes`` lanes from ``first`` on."""
    return ((1 << lanes) - 1) << first


def tile_region(
    tile: SmemTile, owner: int, stage: int, start: tuple[int, ...], shape: tuple[int, ...]
) -> SmemRegion:
    """The exact bytes of a box of one stage, after swizzle."""
    base = tile.offset + stage * tile.stage_stride
    form = tile.shape, tile.dtype.bytes, tile.swizzle
    low, mask = _box_mask(*form, base & 1023, start, shape)
    return SmemRegion(owner, tile.name, (base & ~1023) + low if mask else base, mask)


@lru_cache(1024)
def _box_mask(
    whole: tuple[int, ...],
    element: int,
    swizzle: Swizzle,
    first: int,
    start: tuple[int, ...],
    shape: tuple[int, ...],
) -> tuple[int, int]:
    """Where the bytes of a box begin, from a repeat of the swizzle on, in which a tile of so many
    elements begins at byte ``first``; and their bits."""
    mask = 0
    for offset, size in _runs(whole, element, start, shape):
        address = first + offset
        mask |= _physical_mask(address & 1023, size, swizzle) << (address & ~1023)
    low = (mask & -mask).bit_length() - 1
    return (low, mask >> low) if mask else (0, 0)


def mbarrier_region(barrier: Mbarrier, owner: int, stage: int) -> SmemRegion:
    return SmemRegion(owner, barrier.name, barrier.offset + 8 * stage, 0xFF)


def _runs(
    whole: tuple[int, ...], element: int, start: tuple[int, ...], shape: tuple[int, ...]
) -> list[tuple[int, int]]:
    """(byte offset in the stage, bytes) of each contiguous logical run of a box."""
    strides = [1] * len(whole)
    for d in range(len(whole) - 2, -1, -1):
        strides[d] = strides[d + 1] * whole[d + 1]
    inner = len(shape) - 1
    run = shape[inner]
    while inner > 0 and start[inner] == 0 and shape[inner] == whole[inner]:
        inner -= 1
        run *= shape[inner]
    tail = sum(start[d] * strides[d] for d in range(inner, len(shape)))
    outer = product(*(range(start[d], start[d] + shape[d]) for d in range(inner)))
    return [
        ((sum(i * s for i, s in zip(index, strides, strict=False)) + tail) * element, run * element)
        for index in outer
    ]


def _physical_mask(first: int, size: int, mode: Swizzle) -> int:
    """Bits of the physical bytes of a logical run from byte ``first`` of 1024 on.

    Stages are aligned to the swizzle's repeat, so that the permutation never leaves a repeat.
    """
    if mode is Swizzle.NONE or (first == 0 and size % 1024 == 0):
        return ((1 << size) - 1) << first
    return _permuted(first, size, mode)


@lru_cache(1024)
def _permuted(first: int, size: int, mode: Swizzle) -> int:
    """The same, chunk by chunk: mostly of one row."""
    mask = 0
    position = first
    while position < first + size:
        chunk_end = min((position | 15) + 1, first + size)
        physical = swizzled(position & ~15, mode) + (position & 15)
        mask |= ((1 << (chunk_end - position)) - 1) << physical
        position = chunk_end
    return mask
