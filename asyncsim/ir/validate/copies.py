"""cp.async: sizes, types, contiguity; groups."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const
from asyncsim.ir.op import GroupKind, WaitGroup
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import is_contiguous
from asyncsim.rules import Rule


def _sizes(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if not isinstance(op, ops.CpAsync):
            continue
        tile, tensor = s.tile(op.dst.tile), s.tensor(op.src.tensor)
        if tile.dtype is not tensor.dtype:
            yield ScheduleError(
                f"cp.async from {tensor.dtype.value} {tensor.name!r} to {tile.dtype.value} "
                f"{tile.name!r}",
                fix="give both the same type",
                loc=op.loc,
            )
        for name, shape in ((tile.name, op.dst.shape), (tensor.name, op.src.shape)):
            size = prod(shape) * tile.dtype.bytes
            if size != op.bytes:
                yield ScheduleError(
                    f"cp.async of {op.bytes} bytes with a box of {size} bytes in {name!r}",
                    fix="one instruction of a lane copies exactly its bytes",
                    loc=op.loc,
                )
        kept = op.src_bytes
        if isinstance(kept, Const) and not 0 <= kept.value <= op.bytes:
            yield ScheduleError(
                f"cp.async with src_bytes {kept.value} of {op.bytes}",
                fix=f"keep 0 to {op.bytes} bytes; the rest is zero",
                loc=op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )


def _contiguous(s: Schedule) -> Iterator[ScheduleError]:
    """Source and destination are one run each."""
    for op in s.ops():
        if not isinstance(op, ops.CpAsync):
            continue
        tile, tensor = s.tile(op.dst.tile), s.tensor(op.src.tensor)
        dense = tensor.strides[-1] == 1 and is_contiguous(op.src.shape, tensor.shape)
        for name, fits in (
            (tile.name, is_contiguous(op.dst.shape, tile.shape)),
            (tensor.name, dense),
        ):
            if not fits:
                yield ScheduleError(
                    f"cp.async: the box in {name!r} is not one run of bytes",
                    fix="copy along the innermost dimension",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )


def _group_reads(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if isinstance(op, WaitGroup) and op.read and op.kind is not GroupKind.BULK:
            yield ScheduleError(
                f"wait_group.read of {op.kind.value} groups",
                fix="only bulk groups have .read",
                loc=op.loc,
            )


CHECKS = (_sizes, _contiguous, _group_reads)
