"""Tensor maps and tensor copies: what fails at launch or gives wrong data in silence."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor, Interleave, OobFill, Swizzle, TensorMap
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import GlobalView, Scope, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate import im2col
from asyncsim.ir.validate.bulk import REDUCED
from asyncsim.ir.validate.views import is_contiguous, parts_of
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
    if not 1 <= len(t.shape) <= MAX_RANK:
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
    if m.interleave is not Interleave.NONE:
        yield from _interleave_faults(m, inner)
    elif m.swizzle is not Swizzle.NONE and inner > m.swizzle.value:
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


def _interleave_faults(m: TensorMap, inner: int) -> Iterator[tuple[str, str]]:
    if len(m.box) < MIN_RANK_OF_SLICES:
        yield f"interleave and rank {len(m.box)}", "interleaved maps have 3 to 5 dimensions"
    if m.interleave is Interleave.B32 and m.swizzle is not Swizzle.B32:
        yield (
            f"slices of 32 bytes with swizzle {m.swizzle.value}",
            "they need the 32-byte swizzle",
        )
    if inner > m.interleave.value:  # how several lie in shared memory is not documented
        yield f"{inner} bytes of channels in slices of {m.interleave.value}", "load slice by slice"


def _layouts(s: Schedule) -> Iterator[ScheduleError]:
    """Coordinates of interleaved maps are those of no other access: they name other bytes."""
    sliced = {m.tensor: m for m in s.of_kind(TensorMap) if m.interleave is not Interleave.NONE}
    for m in s.of_kind(TensorMap):
        first = sliced.get(m.tensor, m)
        if m.interleave is not first.interleave:
            yield ScheduleError(
                f"tensor maps {first.name!r} and {m.name!r} of {m.tensor!r} interleave differently",
                fix="a tensor lies in one layout: give all its maps the same interleave",
                loc=m.loc,
                rule=Rule.TENSOR_MAP,
            )
    for op in s.ops():
        if isinstance(op, ops.TmaLoad | ops.TmaStore | ops.TmaPrefetch):
            continue
        for box in parts_of(op, GlobalView):
            if box.tensor in sliced:
                yield ScheduleError(
                    f"{type(op).__name__} of {box.tensor!r}, which map "
                    f"{sliced[box.tensor].name!r} interleaves",
                    fix="access an interleaved tensor by its tensor maps only",
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
        if len(m.box) != 2 or m.box[0] != 1 or m.interleave is not Interleave.NONE:
            yield ScheduleError(
                f"{mode} by map {m.name!r} with a box of {m.box}",
                fix="it takes a map of 2 dimensions, without interleave, whose box is one row",
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
        rank = len(s.tensor(s.tensor_map(op.tensor_map).tensor).shape)
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


CHECKS = (_tensor_maps, _layouts, _rows, _operands, _shared_boxes, _reductions, _changes)
