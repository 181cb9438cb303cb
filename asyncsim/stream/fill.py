"""cp.async with src_bytes: the bytes that are filled with zero hold no element of the tensor."""

from __future__ import annotations

from asyncsim.memory.region import GlobalBox, Region, SmemRegion
from asyncsim.stream.dyn import FILL, Access, Tag


def zero_filled(
    write: Access, read: Access, read_bytes: tuple[int, ...], size: int, shape: tuple[int, ...]
) -> Access:
    """The write of a cp.async whose lanes read ``read_bytes`` of ``size`` bytes each.

    ``shape``: of the tensor. Zeros in place of elements outside it are what a read of such an
    element means, as with a tensor map.
    """
    if all(n == size for n in read_bytes):
        return write
    lanes = max(len(read_bytes), len(write.lanes), len(read.lanes), len(write.parts), 1)
    regions = write.lanes or (write.region,) * lanes
    boxes = read.lanes or (read.region,) * lanes
    sizes = read_bytes if len(read_bytes) == lanes else read_bytes * lanes
    tags: list[Tag | None] = [t for _, t in write.parts] or [write.tag] * lanes
    parts: list[tuple[Region, Tag]] = []
    for region, box, n, tag in zip(regions, boxes, sizes, tags, strict=True):
        assert isinstance(region, SmemRegion) and isinstance(box, GlobalBox) and tag is not None
        if n == size or _outside(box, n * box.elements // size, shape):
            parts.append((region, tag))
            continue
        kept = region.mask & ((1 << max(0, n)) - 1)  # a chunk of 4 to 16 bytes is never swizzled
        if kept:
            parts.append((SmemRegion(region.owner, region.name, region.low, kept), tag))
        filled = SmemRegion(region.owner, region.name, region.low, region.mask & ~kept)
        parts.append((filled, FILL))
    return Access(write.region, True, write.proxy, write.lanes, None, tuple(parts))


def _outside(box: GlobalBox, first: int, shape: tuple[int, ...]) -> bool:
    """Whether all elements of a lane's box from ``first`` on lie outside the tensor."""
    if any(a >= have or a + n <= 0 for a, n, have in zip(box.start, box.shape, shape, strict=True)):
        return True
    return box.elements == box.shape[-1] and box.start[-1] + first >= shape[-1]
