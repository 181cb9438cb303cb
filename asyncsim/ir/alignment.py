"""Which addresses an op needs aligned, for the static rules and for the op streams.

An address is in bytes from the start of a stage, or of a tensor, which is an allocation of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asyncsim.ir import op as ops
from asyncsim.ir.congruence import Congruence, congruence
from asyncsim.ir.decl import SmemTile
from asyncsim.ir.expr import Expr
from asyncsim.ir.matrix import ROW_BYTES
from asyncsim.ir.op import GlobalView, OpBase, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.swizzle import REPEAT_BYTES

TMA_ALIGN = 128  # shared-memory side of a tensor copy
BULK_ALIGN = 16  # of a bulk copy in global memory, and of both sides without a tensor map
DESCRIPTOR_ALIGN = 16  # a shared-memory descriptor counts 16 bytes
MMA_ROWS = 8  # rows of one repeat of a wgmma operand's layout
MMA_K_BYTES = 32  # the depth of one wgmma


@dataclass(frozen=True, slots=True)
class AlignedAddress:
    """``sum(start * strides)`` must be a multiple of ``align``; strides in bytes, or in rows.

    ``base`` is the alignment of the tile that it counts from, where one is declared.
    """

    name: str
    start: tuple[Expr, ...]
    strides: tuple[int, ...]
    align: int
    unit: str = "bytes"
    base: int | None = None

    @property
    def known(self) -> Congruence:
        """What the text of the schedule says of the address."""
        address = Congruence(0, 0)
        for first, stride in zip(self.start, self.strides, strict=True):
            address = address + congruence(first) * Congruence(0, stride)
        return address


def aligned_addresses(op: OpBase, s: Schedule) -> Iterator[AlignedAddress]:
    """What the instruction demands (PTX ISA: cp.async, tensor copies, wgmma descriptors)."""
    match op:
        case ops.TmaLoad(dst=view, src=box) | ops.TmaStore(src=view, dst=box):
            tile = s.tile(view.tile)
            yield _in_tile(view, tile, max(TMA_ALIGN, REPEAT_BYTES[tile.swizzle]))
            yield _inner_coordinate(box, s)
        case ops.TmaPrefetch(src=box):
            yield _inner_coordinate(box, s)
        case ops.CpAsync(dst=view, src=box, bytes=size):
            yield _in_tile(view, s.tile(view.tile), size)
            yield _in_tensor(box, s, size)
        case ops.BulkLoad(dst=view, src=box) | ops.BulkStore(dst=box, src=view):
            yield _in_tile(view, s.tile(view.tile), BULK_ALIGN)
            yield _in_tensor(box, s, BULK_ALIGN)
        case ops.BulkSend(dst=to, src=view):
            yield _in_tile(to, s.tile(to.tile), BULK_ALIGN)
            yield _in_tile(view, s.tile(view.tile), BULK_ALIGN)
        case ops.ClcTryCancel(dst=view) | ops.ClcQueryCancel(src=view):
            yield _in_tile(view, s.tile(view.tile), BULK_ALIGN)
        case ops.LdMatrix(src=view) | ops.StMatrix(dst=view):
            yield _in_tile(view, s.tile(view.tile), ROW_BYTES)
        case ops.BulkPrefetch(src=box):
            yield _in_tensor(box, s, BULK_ALIGN)
        case ops.WgmmaMmaAsync(a=a, b=b, trans_a=trans_a, trans_b=trans_b):
            if isinstance(a, SmemView):
                yield from _mma_operand(a, s.tile(a.tile), trans_a)
            yield from _mma_operand(b, s.tile(b.tile), trans_b)
        case ops.Tcgen05Mma(a=a, b=b):
            for view in [v for v in (a, b) if isinstance(v, SmemView)]:
                yield from _mma_operand(view, s.tile(view.tile), trans=False)
        case ops.Tcgen05Cp(src=view):
            yield _in_tile(view, s.tile(view.tile), DESCRIPTOR_ALIGN)
        case _:
            return


def mma_extents(shape: tuple[int, ...], trans: bool) -> tuple[int, int]:
    """(M or N, K) of a shared operand of wgmma, (0, 0) if it is none.

    K-major: (MN, K). MN-major: (K, MN), or (panels, K, MN of a panel). Extents of 1 before these
    do not count.
    """
    keep = 3 if trans else 2
    if len(shape) < 2 or any(n != 1 for n in shape[:-keep]):
        return 0, 0
    if not trans:
        return shape[-2], shape[-1]
    panels = shape[-3] if len(shape) > 2 else 1
    return panels * shape[-1], shape[-2]


def _mma_operand(view: SmemView, tile: SmemTile, trans: bool) -> Iterator[AlignedAddress]:
    """Whole repeats of 8 rows; along a row a k-slice, or (MN-major) the whole swizzle span."""
    *_, row, column = view.start
    yield AlignedAddress(tile.name, (row,), (1,), MMA_ROWS, "rows")
    step = tile.swizzle.value if trans else MMA_K_BYTES
    yield AlignedAddress(tile.name, (column,), (tile.dtype.bytes,), max(step, 1))


def _inner_coordinate(box: GlobalView, s: Schedule) -> AlignedAddress:
    """Of a tensor copy, also where it lies outside the tensor: other ones trap on the hardware."""
    strides = (*(0 for _ in box.start[1:]), s.tensor(box.tensor).dtype.bytes)
    return AlignedAddress(box.tensor, box.start, strides, BULK_ALIGN)


def _in_tensor(box: GlobalView, s: Schedule, align: int) -> AlignedAddress:
    tensor = s.tensor(box.tensor)
    strides = tuple(stride * tensor.dtype.bytes for stride in tensor.strides)
    return AlignedAddress(tensor.name, box.start, strides, align)


def _in_tile(view: SmemView, tile: SmemTile, align: int) -> AlignedAddress:
    strides = [tile.dtype.bytes]
    for extent in reversed(tile.shape[1:]):
        strides.append(strides[-1] * extent)
    start = tuple(reversed(strides))
    return AlignedAddress(tile.name, view.start, start, align, base=tile.align)
