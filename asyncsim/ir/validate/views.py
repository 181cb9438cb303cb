"""Addresses of views: bounds, contiguity and alignment, as far as the text decides them."""

from __future__ import annotations

from asyncsim.ir.congruence import Congruence, congruence
from asyncsim.ir.decl import GlobalTensor, SmemTile
from asyncsim.ir.expr import Const, Expr
from asyncsim.ir.op import GlobalView, SmemView


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a dense array."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))


def leaves(start: tuple[Expr, ...], shape: tuple[int, ...], extent: tuple[int, ...]) -> int | None:
    """The first dimension in which a box certainly leaves ``extent``; None if none is certain."""
    for d, (first, n, have) in enumerate(zip(start, shape, extent, strict=True)):
        if n > have or (isinstance(first, Const) and not 0 <= first.value <= have - n):
            return d
    return None


def is_contiguous(shape: tuple[int, ...], extent: tuple[int, ...]) -> bool:
    """A box is one run of a dense array: only its outermost dimension of more than one element
    may be shorter than the array."""
    partial = False
    for n, have in zip(reversed(shape), reversed(extent), strict=True):
        if partial and n != 1:
            return False
        partial = partial or n != have
    return True


def byte_address(
    start: tuple[Expr, ...], strides: tuple[int, ...], element_bytes: int
) -> Congruence:
    """What is known of the byte offset of a box's first element."""
    address = Congruence(0, 0)
    for first, stride in zip(start, strides, strict=True):
        address = address + congruence(first) * Congruence(0, stride * element_bytes)
    return address


def smem_address(view: SmemView, tile: SmemTile) -> Congruence:
    """The byte offset in a stage; stages themselves are aligned to ``tile.align``."""
    return byte_address(view.start, row_major(tile.shape), tile.dtype.bytes)


def global_address(view: GlobalView, tensor: GlobalTensor) -> Congruence:
    """The byte offset in a tensor, whose base is aligned to 256 bytes."""
    return byte_address(view.start, tensor.strides, tensor.dtype.bytes)
