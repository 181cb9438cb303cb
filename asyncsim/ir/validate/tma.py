"""Tensor maps and tensor copies: what fails at launch or gives wrong data in silence."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor, Interleave, OobFill, Swizzle, TensorMap
from asyncsim.ir.dtype import DType
from asyncsim.ir.expr import ZERO, never_negative
from asyncsim.ir.op import Scope, SmemView
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import For
from asyncsim.ir.validate import im2col
from asyncsim.ir.validate.bulk import REDUCED
from asyncsim.ir.validate.views import is_contiguous
from asyncsim.rules import Rule

MAX_RANK = 5
MIN_RANK_OF_SLICES = 3
ROWS = 4  # of gather4 and scatter4
MAX_BOX = 256
MAX_EXTENT = 1 << 32
MAX_STRIDE_BYTES = 1 << 40
MAX_ELEMENT_STRIDE = 8
_INTEGERS = frozenset({DType.I8, DType.U8, DType.I32, DType.U32})


def _tensor_maps(s: Schedule) -> Iterator[ScheduleError]:
    for m in s.of_kind(TensorMap):
        for what, fix in _map_faults(m, s.tensor(m.tensor)):
            yield ScheduleError(
                f"tensor map {m.name!r}: {what}", fix=fix, loc=m.loc, rule=Rule.TENSOR_MAP
            )


def _map_faults(m: TensorMap, t: GlobalTensor) -> Iterator[tuple[str, str]]:
    """The constraints of cuTensorMapEncodeTiled and Im2col, as (what, how to fix)."""
    if m.im2col is not None:
        yield from im2col.map_faults(m, m.im2col, t)
    elif len(m.box) != len(t.shape):
        yield f"box of {len(m.box)} dimensions, tensor of {len(t.shape)}", "make them equal"
        return
    elif max(m.box) > MAX_BOX:
        yield f"box {m.box}", f"each extent is at most {MAX_BOX}"
    if m.sliced:
        yield from _slice_faults(m, t)
    elif not 1 <= len(t.shape) <= MAX_RANK:
        yield f"rank {len(t.shape)}", f"a map has 1 to {MAX_RANK} dimensions"
    if t.strides[-1] != 1:
        yield f"inner stride {t.strides[-1]}", "the innermost dimension must be contiguous"
    unit = m.interleave.value or 16
    for stride in t.strides[:-1]:
        size = stride * t.dtype.bytes
        if size % unit:
            yield f"stride of {size} bytes", f"strides are multiples of {unit} bytes"
        if not 0 < size < MAX_STRIDE_BYTES:
            yield f"stride of {size} bytes", "strides are positive and below 2^40 bytes"
    if max(t.shape) > MAX_EXTENT:
        yield f"tensor of shape {t.shape}", "each extent is at most 2^32"
    inner = m.box[-1] * t.dtype.bytes
    if inner % unit:
        yield f"inner extent of {inner} bytes", f"it must be a multiple of {unit} bytes"
    if not m.sliced and m.swizzle is not Swizzle.NONE and inner > m.swizzle.value:
        yield (
            f"inner extent of {inner} bytes over the {m.swizzle.value}-byte swizzle",
            "split the box or widen the swizzle",
        )
    if any(not 1 <= step <= MAX_ELEMENT_STRIDE for step in m.element_strides):
        yield f"element strides {m.element_strides}", f"each is 1 to {MAX_ELEMENT_STRIDE}"
    still = (0, -1) if m.im2col is not None else (-1,)
    if any(m.element_strides[d] != 1 for d in still):
        where = "batch and channels" if m.im2col is not None else "the innermost dimension"
        yield f"element strides {m.element_strides}", f"{where} can leave nothing out"
    if m.oob_fill is OobFill.NAN and t.dtype in _INTEGERS:
        yield f"NaN fill for {t.dtype.value}", "integers can be filled with zero only"
    if m.l2_promotion_bytes not in (0, 64, 128, 256):
        yield f"L2 promotion of {m.l2_promotion_bytes} bytes", "use 0, 64, 128 or 256"


def _slice_faults(m: TensorMap, t: GlobalTensor) -> Iterator[tuple[str, str]]:
    """Of interleaved maps: the last dimension is a slice, and slices lie side by side."""
    size, least = m.interleave.value, MIN_RANK_OF_SLICES
    if not least <= len(t.shape) - 1 <= MAX_RANK:
        yield (
            f"interleave and rank {len(t.shape)}",
            f"there are {least} to {MAX_RANK} dimensions before that of a slice",
        )
    if not t.shape[-1] * t.dtype.bytes == m.box[-1] * t.dtype.bytes == size:
        yield (
            f"slices of {size} bytes, a last dimension of {t.shape[-1]} {t.dtype.value} and "
            f"{m.box[-1]} of them in the box",
            "the last dimension, of tensor and box, is one slice",
        )
    if len(t.shape) == 1:
        return
    if t.strides[-2] * t.dtype.bytes != size:
        yield (
            f"slices of {size} bytes, {t.strides[-2] * t.dtype.bytes} bytes apart",
            "along the dimension before the last they lie side by side",
        )
    if m.box[1] != 1 or m.element_strides[1] != 1:  # an H200 takes one, whatever the box says
        yield (
            f"box {m.box} of slices",
            "of the second dimension, that of the channels' slices, a copy takes 1",
        )
    if m.box[-2] * t.dtype.bytes % 16:  # refused by the driver, though an element is a slice
        yield (
            f"box of {m.box[-2]} slices of {t.dtype.value}",
            f"the driver wants a multiple of {16 // t.dtype.bytes} of them",
        )
    if m.interleave is Interleave.B32 and m.swizzle is not Swizzle.B32:
        yield (
            f"slices of 32 bytes with swizzle {m.swizzle.value}",
            "they need the 32-byte swizzle",
        )


def _slices(s: Schedule) -> Iterator[ScheduleError]:
    """A copy by an interleaved map begins with a slice, and one that writes not before the tensor:
    that traps on an H200, where a load is filled."""
    loops = frozenset(f.var for f in statements(s.body) if isinstance(f, For))
    for op in s.ops():
        if not isinstance(op, ops.TmaLoad | ops.TmaStore | ops.TmaPrefetch):
            continue
        if not s.tensor_map(op.tensor_map).sliced:
            continue
        box = op.dst if isinstance(op, ops.TmaStore) else op.src
        by = f"{type(op).__name__} by interleaved map {op.tensor_map!r} begins"
        if box.start[-1] != ZERO:
            yield ScheduleError(
                f"{by} inside a slice",
                fix="give 0 as the last coordinate: a copy takes whole slices",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        before = [d for d, e in enumerate(box.start) if not never_negative(e, loops)]
        if isinstance(op, ops.TmaStore) and before:
            yield ScheduleError(
                f"{by} before the tensor in dimension {before[0]}, for all that is known",
                fix="give a coordinate without minus signs: of the block, of loop variables",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )


def _operands(s: Schedule) -> Iterator[ScheduleError]:
    for op, view in _copies(s):
        tile, m = s.tile(view.tile), s.tensor_map(op.tensor_map)
        t = s.tensor(m.tensor)
        rows = ROWS if op.rows else im2col.rows_of(op, m)
        box = m.tile if rows is None else (rows, *m.box[1:])
        if view.shape != box or tile.dtype is not t.dtype:
            what = "a box of" if rows is None else f"{rows} rows of"
            yield ScheduleError(
                f"{view.tile} view of shape {view.shape} {tile.dtype.value}, map {m.name!r} has "
                f"{what} {m.box if rows else m.tile} {t.dtype.value}",
                fix="make view and box equal" if rows is None else f"make the view {box}",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        if tile.swizzle is not m.swizzle:
            yield ScheduleError(
                f"tile {tile.name!r} has swizzle {tile.swizzle.value}, map {m.name!r} "
                f"{m.swizzle.value}",
                fix="give both the same swizzle",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )


def _rows(s: Schedule) -> Iterator[ScheduleError]:
    """gather4 and scatter4: by a map of rows, by one thread."""
    for op, _ in _copies(s):
        m = s.tensor_map(op.tensor_map)
        mode = "gather4" if isinstance(op, ops.TmaLoad) else "scatter4"
        if not op.rows:
            continue
        if len(m.box) != 2 or m.box[0] != 1:
            yield ScheduleError(
                f"{mode} by map {m.name!r} with a box of {m.box}",
                fix="it takes a map of 2 dimensions whose box is one row",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        if op.scope is not Scope.ELECTED:
            yield ScheduleError(
                f"{mode} by several lanes",
                fix="put it into k.elect() or k.elect_thread()",
                loc=op.loc,
            )


def _shared_boxes(s: Schedule) -> Iterator[ScheduleError]:
    """The box is dense in shared memory."""
    for op, view in _copies(s):
        tile = s.tile(view.tile)
        if len(view.shape) != len(tile.shape) or not is_contiguous(view.shape, tile.shape):
            yield ScheduleError(
                f"box of {view.shape} inside tile {tile.name!r} of {tile.shape}: a tensor copy "
                "writes it without gaps",
                fix="give it whole rows of the tile, or a tile of its own",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )


_FIELDS = (
    "global_address",
    "rank",
    "box_dim",
    "global_dim",
    "global_stride",
    "element_stride",
    "elemtype",
    "interleave_layout",
    "swizzle_mode",
    "fill_mode",
)


def _changes(s: Schedule) -> Iterator[ScheduleError]:
    """Only maps in global memory can be changed, one field at a time, by one thread."""
    for op in s.ops():
        if not isinstance(op, ops.TensormapReplace | ops.FenceProxyTensormap):
            continue
        if op.tensor_map is not None and not s.tensor_map(op.tensor_map).in_global:
            yield ScheduleError(
                f"tensor map {op.tensor_map!r} is a kernel parameter, which nothing changes",
                fix="declare it with in_global=True",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )
        if not isinstance(op, ops.TensormapReplace):
            continue
        if op.field not in _FIELDS:
            yield ScheduleError(
                f"tensormap.replace of {op.field!r}",
                fix=f"use one of {', '.join(_FIELDS)}",
                loc=op.loc,
            )
        if op.value is not None and op.field not in ("global_address", "global_dim"):
            yield ScheduleError(
                f"tensormap.replace of {op.field!r} by another value",
                fix="give values for global_address and global_dim; others are written as at first",
                loc=op.loc,
            )
        m = s.tensor_map(op.tensor_map)
        rank = len(s.tensor(m.tensor).shape) - m.sliced
        if not 0 <= op.dim < rank:
            yield ScheduleError(
                f"tensormap.replace of dimension {op.dim}",
                fix=f"the tensor has dimensions 0 to {rank - 1}",
                loc=op.loc,
            )
        if op.scope is not Scope.ELECTED:
            yield ScheduleError(
                "tensormap.replace by several lanes",
                fix="put it into k.elect() or k.elect_thread()",
                loc=op.loc,
            )


def _copies(s: Schedule) -> Iterator[tuple[ops.TmaLoad | ops.TmaStore, SmemView]]:
    for op in s.ops():
        if isinstance(op, ops.TmaLoad):
            yield op, op.dst
        elif isinstance(op, ops.TmaStore):
            yield op, op.src


def _reductions(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        if not isinstance(op, ops.TmaStore) or op.reduce is None:
            continue
        dtype, known = s.tensor(op.dst.tensor).dtype, REDUCED[op.reduce]
        if dtype not in known:
            names = ", ".join(d.value for d in known)
            yield ScheduleError(
                f"TMA reduction {op.reduce.value!r} of {dtype.value}",
                fix=f"it works on {names}",
                loc=op.loc,
                rule=Rule.TENSOR_MAP,
            )


CHECKS = (_tensor_maps, _slices, _rows, _operands, _shared_boxes, _reductions, _changes)
