"""Maps and loads of pixels (im2col): what cuTensorMapEncodeIm2col and the instruction take."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor, Im2col, Im2colMode, Swizzle, TensorMap
from asyncsim.ir.expr import Const
from asyncsim.ir.op import SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import parts_of
from asyncsim.rules import Rule

MAX_CHANNELS = 256
MAX_PIXELS = 1024
_CORNER_BITS = {3: 16, 4: 8, 5: 5}
"""Bits of each corner distance, signed, and of each offset of a load, unsigned, by rank. Along W
alone a corner has those of rank 3, an offset fewer."""
MAX_W_OFFSET = 32
HALO_LIMIT = {Im2colMode.W: 512, Im2colMode.W128: 32}
WIDE_PIXELS, WIDE_RUN = 128, 32
"""Of im2col::w::128: the pixels of a load, and how many of them a halo follows."""
WIDE_SWIZZLES = (Swizzle.B64, Swizzle.B128)


def offset_limit(op: ops.TmaLoad, rank: int) -> int:
    """Offsets of a load from a tensor of this rank are below it."""
    return 1 << _CORNER_BITS[rank] if op.halo is None else MAX_W_OFFSET


def rows_of(op: ops.TmaLoad | ops.TmaStore, m: TensorMap) -> int | None:
    """How many pixels a load by a map of im2col::w brings, with its halo; of other copies None."""
    if not isinstance(op, ops.TmaLoad) or op.halo is None or m.im2col is None:
        return None
    runs = {Im2colMode.SPACE: 0, Im2colMode.W: 1, Im2colMode.W128: WIDE_PIXELS // WIDE_RUN}
    return m.box[0] + runs[m.im2col.mode] * op.halo


def map_faults(m: TensorMap, corners: Im2col, t: GlobalTensor) -> Iterator[tuple[str, str]]:
    """As (what, how to fix)."""
    rank = len(t.shape)
    if rank not in _CORNER_BITS:
        yield f"im2col of rank {rank}", "the tensor has 3 to 5 dimensions"
        return
    pixels, channels = m.box
    if pixels > MAX_PIXELS:
        yield f"{pixels} pixels", f"a load brings at most {MAX_PIXELS}"
    if channels > MAX_CHANNELS:
        yield f"{channels} channels", f"a load brings at most {MAX_CHANNELS}"
    wide = corners.mode is not Im2colMode.SPACE
    if wide:
        yield from _wide_faults(m, corners.mode)
    space = t.shape[-2:-1] if wide else t.shape[1:-1]
    if not len(corners.lower) == len(corners.upper) == len(space):
        which = "W alone" if wide else "the dimensions between batch and channels"
        yield (
            f"corners {corners.lower} and {corners.upper}",
            f"each has {len(space)} number{'' if len(space) == 1 else 's'}, for {which}",
        )
        return
    half = 1 << (_CORNER_BITS[3 if wide else rank] - 1)
    if any(not -half <= c < half for c in chain(corners.lower, corners.upper)):
        where = f"in {corners.mode.value}" if wide else f"at rank {rank}"
        yield (
            f"corners {corners.lower} and {corners.upper}",
            f"{where} each number is {-half} to {half - 1}",
        )
    ends = zip(space, corners.lower, corners.upper, strict=True)
    if any(extent + last - first < 1 for extent, first, last in ends):
        yield f"no pixels between corners {corners.lower} and {corners.upper}", "move them apart"


def _wide_faults(m: TensorMap, mode: Im2colMode) -> Iterator[tuple[str, str]]:
    """cuTensorMapEncodeIm2colWide, PTX ISA 5.5.5."""
    if mode is Im2colMode.W128 and m.box[0] != WIDE_PIXELS:
        yield f"{m.box[0]} pixels by {mode.value}", f"it brings {WIDE_PIXELS}: say so"
    if m.swizzle not in WIDE_SWIZZLES:
        yield f"{mode.value} with swizzle {m.swizzle.value}", "use the 64- or 128-byte swizzle"


def _loads(s: Schedule) -> Iterator[ops.TmaLoad]:
    for op in s.ops():
        if isinstance(op, ops.TmaLoad) and s.tensor_map(op.tensor_map).im2col is not None:
            yield op


def _offsets(s: Schedule) -> Iterator[ScheduleError]:
    for op in _loads(s):
        rank = len(op.src.shape)
        if op.halo is not None and len(op.offsets) != 1:
            yield ScheduleError(
                f"{len(op.offsets)} offsets along W",
                fix="give one",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        elif op.halo is None and len(op.offsets) != rank - 2:
            yield ScheduleError(
                f"{len(op.offsets)} offsets for a tensor of rank {rank}",
                fix=f"give {rank - 2}, one per dimension between batch and channels",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        for offset in op.offsets:
            if isinstance(offset, Const) and not 0 <= offset.value < offset_limit(op, rank):
                yield bad_offset(op, offset.value)


def _halos(s: Schedule) -> Iterator[ScheduleError]:
    """Loads along W have one, of a size that the instruction holds; others have none."""
    for op in _loads(s):
        pixels = s.tensor_map(op.tensor_map).im2col
        assert pixels is not None
        limit = HALO_LIMIT.get(pixels.mode)
        if (limit is None) != (op.halo is None):
            yield ScheduleError(
                f"a load by {pixels.mode.value} map {op.tensor_map!r} "
                f"{'without' if op.halo is None else 'with'} a halo",
                fix="leave out halo=" if limit is None else "say halo=, 0 for none",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        elif limit is not None and op.halo is not None and not 0 <= op.halo < limit:
            yield ScheduleError(
                f"{pixels.mode.value} load with a halo of {op.halo}",
                fix=f"halos are 0 to {limit - 1}",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )


def bad_offset(op: ops.TmaLoad, value: int) -> ScheduleError:
    """What is said of an offset that the instruction cannot hold."""
    rank = len(op.src.shape)
    mode, where = ("im2col", f"at rank {rank}") if op.halo is None else ("im2col::w", "there")
    return ScheduleError(
        f"{mode} load with offset {value}",
        fix=f"{where} offsets are 0 to {offset_limit(op, rank) - 1}",
        loc=op.loc,
        rule=Rule.TENSOR_MAP,
    )


def _inputs(s: Schedule) -> Iterator[ScheduleError]:
    """Which elements a load by pixels, with strides, or by a map that moves reads is not followed:
    it takes a tensor that stays as it is, and nothing claims to know what it brings."""
    loads = [(op, s.tensor_map(op.tensor_map)) for op in s.ops() if isinstance(op, ops.TmaLoad)]
    moved = moved_maps(s)
    loose = {op.src.tensor: m for op, m in loads if _loose(m) or m.name in moved}
    for op in s.ops():
        if isinstance(op, ops.StGlobal | ops.StoreOp) and op.dst.tensor in loose:
            how = _kind(loose[op.dst.tensor], moved)
            yield ScheduleError(
                f"{type(op).__name__} to {op.dst.tensor!r}, from which {how} loads",
                fix="read by it what the kernel does not write",
                loc=op.loc,
            )
        if isinstance(op, ops.TmaStore) and op.tensor_map in moved:
            yield ScheduleError(
                f"TmaStore by map {op.tensor_map!r}, whose address or extents change",
                fix="store by a map that stays: where such a store goes is not followed",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        if isinstance(op, ops.TmaStore) and s.tensor_map(op.tensor_map).strided:
            yield ScheduleError(
                f"TmaStore by map {op.tensor_map!r}, which has element strides",
                fix="store by a map without: strides are for loads",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
    tiles = {op.dst.tile: m for op, m in loads if _loose(m) or m.name in moved}
    for op in s.ops():
        for view in parts_of(op, SmemView):
            if view.tile in tiles and view.expects is not None:
                yield ScheduleError(
                    f"{type(op).__name__} expects a box in {view.tile!r}, which "
                    f"{_kind(tiles[view.tile], moved)} fills",
                    fix="leave out .expecting(...): what it brings is no box",
                    loc=op.loc,
                )


def moved_maps(s: Schedule) -> frozenset[str]:
    """Maps that the kernel gives another address or other extents."""
    changes = (op for op in s.ops() if isinstance(op, ops.TensormapReplace))
    return frozenset(op.tensor_map for op in changes if op.value is not None)


def _loose(m: TensorMap) -> bool:
    return m.im2col is not None or m.strided


def _kind(m: TensorMap, moved: frozenset[str]) -> str:
    if m.name in moved:
        return f"map {m.name!r}, which the kernel moves,"
    return f"{'im2col map' if m.im2col is not None else 'map with element strides'} {m.name!r}"


CHECKS = (_halos, _offsets, _inputs)
