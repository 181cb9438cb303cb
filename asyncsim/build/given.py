"""What an author gives for a declaration, as the IR has it."""

from __future__ import annotations

from collections.abc import Sequence

from asyncsim.build.value import whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir.decl import Im2colMode, Interleave, Swizzle
from asyncsim.ir.dtype import DType


def extents_of(shape: Sequence[int], what: str) -> tuple[int, ...]:
    """The extents of a tile or tensor. Raises ScheduleError."""
    extents = tuple(whole(n) for n in shape)
    if not extents or min(extents) < 1:
        raise ScheduleError(
            f"{what} has shape {extents}", fix="every extent is at least 1", loc=caller()
        )
    return extents


def dtype_of(name: str | DType) -> DType:
    """An element type by its name. Raises ScheduleError."""
    if isinstance(name, DType):
        return name
    try:
        return DType(name)
    except ValueError:
        known = ", ".join(d.value for d in DType)
        raise ScheduleError(
            f"unknown element type {name!r}", fix=f"use one of {known}", loc=caller()
        ) from None


def swizzle_of(span: int) -> Swizzle:
    """A swizzle by its span in bytes. Raises ScheduleError."""
    try:
        return Swizzle(span)
    except ValueError:
        raise ScheduleError(
            f"swizzle {span!r}", fix="use 0, 32, 64 or 128 (bytes)", loc=caller()
        ) from None


def strides_of(given: Sequence[int] | None, rank: int, name: str) -> tuple[int, ...]:
    """Element strides, one per dimension; 1 where none are given. Raises ScheduleError."""
    strides = (1,) * rank if given is None else tuple(map(whole, given))
    if len(strides) != rank:
        raise ScheduleError(
            f"tensor map {name!r}: {len(strides)} element strides",
            fix=f"give {rank}, one per dimension",
            loc=caller(),
        )
    return strides


def im2col_of(name: str) -> Im2colMode:
    """An im2col mode by its name. Raises ScheduleError."""
    try:
        return Im2colMode(name)
    except ValueError:
        known = ", ".join(m.value for m in Im2colMode)
        raise ScheduleError(
            f"im2col mode {name!r}", fix=f"use one of {known}", loc=caller()
        ) from None


def interleave_of(slice_bytes: int) -> Interleave:
    """An interleave by the bytes of a slice. Raises ScheduleError."""
    try:
        return Interleave(slice_bytes)
    except ValueError:
        raise ScheduleError(
            f"interleave {slice_bytes!r}", fix="use 0, 16 or 32 (bytes)", loc=caller()
        ) from None
