"""Tiles, fragments and plain accesses: shapes, bounds, types."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Fragment, GlobalTensor, SmemTile, Swizzle
from asyncsim.ir.expr import Const
from asyncsim.ir.op import FragmentRef, GlobalView, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import leaves, parts_of
from asyncsim.memory.swizzle import REPEAT_BYTES
from asyncsim.rules import Rule

MAX_REGISTERS = 255


def _tile_alignment(s: Schedule) -> Iterator[ScheduleError]:
    of_slices = set(_tiles_of_slices(s))
    for tile in s.of_kind(SmemTile):
        repeat = REPEAT_BYTES[tile.swizzle]
        if tile.align < 1 or tile.align % repeat or tile.align & (tile.align - 1):
            yield ScheduleError(
                f"tile {tile.name!r} is aligned to {tile.align} bytes, its swizzle repeats every "
                f"{repeat}",
                fix=f"align it to a power of two, at least {repeat}",
                loc=tile.loc,
                rule=Rule.ALIGNMENT,
            )
        row = tile.shape[-1] * tile.dtype.bytes
        whole = tile.swizzle is Swizzle.NONE or row == tile.swizzle.value
        if not whole and tile.name not in of_slices:
            yield ScheduleError(
                f"tile {tile.name!r} has rows of {row} bytes under a {tile.swizzle.value}-byte "
                "swizzle",
                fix="make a row exactly as long as the swizzle",
                loc=tile.loc,
                rule=Rule.ALIGNMENT,
            )


def _tiles_of_slices(s: Schedule) -> Iterator[str]:
    """Tiles of copies by interleaved maps: their slices lie without gaps, whatever the swizzle."""
    for op in s.ops():
        if isinstance(op, ops.TmaLoad | ops.TmaStore) and s.tensor_map(op.tensor_map).sliced:
            yield op.dst.tile if isinstance(op, ops.TmaLoad) else op.src.tile


def _fragments(s: Schedule) -> Iterator[ScheduleError]:
    for f in s.of_kind(Fragment):
        if not 1 <= f.registers <= MAX_REGISTERS:
            yield ScheduleError(
                f"fragment {f.name!r} has {f.registers} registers",
                fix=f"a thread has 1 to {MAX_REGISTERS}",
                loc=f.loc,
            )
    for op in s.ops():
        for ref in parts_of(op, FragmentRef):
            have = s.fragment(ref.name).registers
            if ref.count < 1 or ref.first < 0 or ref.first + ref.count > have:
                yield ScheduleError(
                    f"registers {ref.first}..{ref.first + ref.count - 1} of fragment "
                    f"{ref.name!r}, which has {have}",
                    fix=f"stay in 0..{have - 1}",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                )


def _views(s: Schedule) -> Iterator[ScheduleError]:
    """Views that leave their tile whatever the variables are; boxes of plain accesses too."""
    for op in s.ops():
        for view in parts_of(op, SmemView):
            tile = s.tile(view.tile)
            outside = leaves(view.start, view.shape, tile.shape)
            bad_stage = isinstance(view.stage, Const) and not 0 <= view.stage.value < tile.stages
            if outside is not None or bad_stage:
                what = f"stage {view.stage.value}" if bad_stage else f"dimension {outside}"  # type: ignore[union-attr]
                yield ScheduleError(
                    f"{type(op).__name__}: a view of tile {view.tile!r} leaves it in {what}",
                    fix=f"stages 0..{tile.stages - 1}, shape {tile.shape}",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                )
        if isinstance(op, ops.TmaLoad | ops.TmaStore | ops.TmaPrefetch):
            continue  # a box of a tensor map may hang over: it is filled or clipped
        if isinstance(op, ops.StGlobal) and op.clip:
            continue
        if isinstance(op, ops.CpAsync) and op.src_bytes is not None:
            continue  # what src_bytes leaves out may lie outside
        for box in parts_of(op, GlobalView):
            shape = s.tensor(box.tensor).shape
            if (d := leaves(box.start, box.shape, shape)) is not None:
                yield ScheduleError(
                    f"{type(op).__name__}: a box of {box.tensor!r} leaves it in dimension {d}",
                    fix=f"its shape is {shape}",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                )


def _moves(s: Schedule) -> Iterator[ScheduleError]:
    """ld and st move the bits of as many elements as registers."""
    for op in s.ops():
        view: GlobalView | SmemView
        match op:
            case ops.LdGlobal(dst=ref, src=box):
                view, dtype = box, s.tensor(box.tensor).dtype
            case ops.StGlobal(dst=box, src=ref):
                view, dtype = box, s.tensor(box.tensor).dtype
            case ops.LdShared(dst=ref, src=tile_view):
                view, dtype = tile_view, s.tile(tile_view.tile).dtype
            case ops.StShared(dst=tile_view, src=ref):
                view, dtype = tile_view, s.tile(tile_view.tile).dtype
            case _:
                continue
        have = s.fragment(ref.name).dtype
        if prod(view.shape) != ref.count:
            yield ScheduleError(
                f"{type(op).__name__} of {prod(view.shape)} elements and {ref.count} registers",
                fix="a lane moves one element a register",
                loc=op.loc,
            )
        if have is not dtype:
            yield ScheduleError(
                f"{type(op).__name__} of {dtype.value} elements and {have.value} registers",
                fix="ld and st move bits: convert in a compute, or give both the same type",
                loc=op.loc,
            )


def _outputs_are_injective(s: Schedule) -> Iterator[ScheduleError]:
    """Elements of a tensor that is written are apart in memory, so that indices tell them apart."""
    written = {o.dst.tensor for o in s.ops() if isinstance(o, ops.StGlobal | ops.StoreOp)}
    for t in s.of_kind(GlobalTensor):
        if t.name in written and _aliased(t):
            yield ScheduleError(
                f"{t.name} is written, and strides {t.strides} of shape {t.shape} put two of its "
                "elements at one address",
                loc=t.loc,
                rule=Rule.GLOBAL_WRITE_OVERLAP,
                fix="each stride must exceed the extent of all dimensions with smaller strides",
            )


def _aliased(t: GlobalTensor) -> bool:
    last = 0  # offset of the last element of the dimensions so far
    for stride, extent in sorted((abs(k), n) for k, n in zip(t.strides, t.shape, strict=True)):
        if extent > 1 and stride <= last:
            return True
        last += stride * (extent - 1)
    return False


CHECKS = (_tile_alignment, _fragments, _views, _moves, _outputs_are_injective)
