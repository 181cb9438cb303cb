"""Maps and loads of pixels (im2col): what cuTensorMapEncodeIm2col and the instruction take."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor, Im2col
from asyncsim.ir.expr import Const
from asyncsim.ir.op import SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import parts_of
from asyncsim.rules import Rule

MAX_CHANNELS = 256
MAX_PIXELS = 1024
_CORNER_BITS = {3: 16, 4: 8, 5: 5}
"""Bits of each corner distance, signed, and of each offset of a load, unsigned, by rank."""


def offset_limit(rank: int) -> int:
    """Offsets of a load from a tensor of this rank are below it."""
    return 1 << _CORNER_BITS[rank]


def map_faults(box: tuple[int, ...], corners: Im2col, t: GlobalTensor) -> Iterator[tuple[str, str]]:
    """As (what, how to fix)."""
    rank = len(t.shape)
    if rank not in _CORNER_BITS:
        yield f"im2col of rank {rank}", "the tensor has 3 to 5 dimensions"
        return
    pixels, channels = box
    if pixels > MAX_PIXELS:
        yield f"{pixels} pixels", f"a load brings at most {MAX_PIXELS}"
    if channels > MAX_CHANNELS:
        yield f"{channels} channels", f"a load brings at most {MAX_CHANNELS}"
    space = t.shape[1:-1]
    if not len(corners.lower) == len(corners.upper) == len(space):
        yield (
            f"corners {corners.lower} and {corners.upper}",
            f"each has {len(space)} numbers, for the dimensions between batch and channels",
        )
        return
    half = offset_limit(rank) // 2
    if any(not -half <= c < half for c in chain(corners.lower, corners.upper)):
        yield (
            f"corners {corners.lower} and {corners.upper}",
            f"at rank {rank} each number is {-half} to {half - 1}",
        )
    ends = zip(space, corners.lower, corners.upper, strict=True)
    if any(extent + last - first < 1 for extent, first, last in ends):
        yield f"no pixels between corners {corners.lower} and {corners.upper}", "move them apart"


def _loads(s: Schedule) -> Iterator[ops.TmaLoad]:
    for op in s.ops():
        if isinstance(op, ops.TmaLoad) and s.tensor_map(op.tensor_map).im2col is not None:
            yield op


def _offsets(s: Schedule) -> Iterator[ScheduleError]:
    for op in _loads(s):
        rank = len(op.src.shape)
        if len(op.offsets) != rank - 2:
            yield ScheduleError(
                f"{len(op.offsets)} offsets for a tensor of rank {rank}",
                fix=f"give {rank - 2}, one per dimension between batch and channels",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        for offset in op.offsets:
            if isinstance(offset, Const) and not 0 <= offset.value < offset_limit(rank):
                yield bad_offset(op, offset.value)


def bad_offset(op: ops.TmaLoad, value: int) -> ScheduleError:
    """What is said of an offset that the instruction cannot hold."""
    limit = offset_limit(len(op.src.shape))
    return ScheduleError(
        f"im2col load with offset {value}",
        fix=f"at rank {len(op.src.shape)} offsets are 0 to {limit - 1}",
        loc=op.loc,
        rule=Rule.TENSOR_MAP,
    )


def _inputs(s: Schedule) -> Iterator[ScheduleError]:
    """Which elements a load reads is not followed: it takes a tensor that stays as it is, and
    nothing claims to know what it brings."""
    tensors = {op.src.tensor for op in _loads(s)}
    for op in s.ops():
        if isinstance(op, ops.StGlobal | ops.StoreOp) and op.dst.tensor in tensors:
            yield ScheduleError(
                f"{type(op).__name__} to {op.dst.tensor!r}, from which an im2col map loads",
                fix="read by im2col what the kernel does not write",
                loc=op.loc,
            )
    tiles = {op.dst.tile for op in _loads(s)}
    for op in s.ops():
        for view in parts_of(op, SmemView):
            if view.tile in tiles and view.expects is not None:
                yield ScheduleError(
                    f"{type(op).__name__} expects a box in {view.tile!r}, which im2col loads fill",
                    fix="leave out .expecting(...): pixels are no box",
                    loc=op.loc,
                )


CHECKS = (_offsets, _inputs)
