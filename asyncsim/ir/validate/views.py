"""Bounds and contiguity of views, as far as the text decides them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from asyncsim.ir.expr import Const, Expr
from asyncsim.ir.operand import OpBase

T = TypeVar("T")


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


def parts_of(op: OpBase, kind: type[T]) -> Iterator[T]:
    """The operands of one kind; what a view expects to find is no access."""
    return (item for item in op.parts() if isinstance(item, kind))
