"""Bulk copies without a tensor map: one run of whole 16 bytes, plainly laid out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import GlobalView, OpBase, ReduceOp, Scope, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.validate.views import is_contiguous
from asyncsim.rules import Rule

UNIT = 16
_WORDS = (DType.I32, DType.U32)
_SUMS = (*_WORDS, DType.F16, DType.BF16, DType.F32)
REDUCED: Mapping[ReduceOp, tuple[DType, ...]] = {
    ReduceOp.ADD: _SUMS,
    ReduceOp.MIN: _SUMS[:-1],
    ReduceOp.MAX: _SUMS[:-1],
    ReduceOp.AND: _WORDS,
    ReduceOp.OR: _WORDS,
    ReduceOp.XOR: _WORDS,
}
"""What each reduction into global memory works on (PTX ISA, cp.reduce.async.bulk)."""


def _copied(op: OpBase) -> tuple[GlobalView | SmemView, ...]:
    """Both sides of a bulk copy; the one side of a prefetch."""
    match op:
        case ops.BulkLoad(dst=dst, src=src):
            return (src, dst)
        case ops.BulkStore(dst=box, src=view):
            return (view, box)
        case ops.BulkSend(dst=to, src=view):
            return (view, to)
        case ops.BulkPrefetch(src=src):
            return (src,)
        case _:
            return ()


def _layout(view: GlobalView | SmemView, s: Schedule) -> tuple[str, DType, bool]:
    """Name, element type, and whether the view is one run of bytes."""
    if isinstance(view, GlobalView):
        tensor = s.tensor(view.tensor)
        run = tensor.strides[-1] == 1 and is_contiguous(view.shape, tensor.shape)
        return tensor.name, tensor.dtype, run and _dense(tensor.shape, tensor.strides, view.shape)
    tile = s.tile(view.tile)
    plain = tile.swizzle is Swizzle.NONE
    return tile.name, tile.dtype, plain and is_contiguous(view.shape, tile.shape)


def _dense(shape: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...]) -> bool:
    """Whether the rows that a box has more than one of follow each other without gaps."""
    return all(
        n == 1 or stride == prod(shape[d + 1 :])
        for d, (n, stride) in enumerate(zip(box, strides, strict=True))
    )


def _runs(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        sides = _copied(op)
        for view in sides:
            name, dtype, run = _layout(view, s)
            if not run:
                yield ScheduleError(
                    f"{type(op).__name__}: the part of {name!r} is not one run of bytes",
                    fix="copy whole rows of an unswizzled tile, or use a tensor map",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )
            size = prod(view.shape) * dtype.bytes
            if size % UNIT:
                yield ScheduleError(
                    f"{type(op).__name__} of {size} bytes",
                    fix=f"a bulk copy moves a multiple of {UNIT} bytes",
                    loc=op.loc,
                    rule=Rule.ALIGNMENT,
                )


def _same(s: Schedule) -> Iterator[ScheduleError]:
    for op in s.ops():
        sides = [(view.shape, _layout(view, s)[1].value) for view in _copied(op)]
        if len(set(sides)) > 1:
            (a, of_a), (b, of_b) = sides
            yield ScheduleError(
                f"{type(op).__name__} from {a} of {of_a} to {b} of {of_b}",
                fix="give both sides the same shape and type",
                loc=op.loc,
            )


def _peers(s: Schedule) -> Iterator[ScheduleError]:
    """Data and mbarrier of a send are in one other CTA, the source in the own one."""
    for op in s.ops():
        if not isinstance(op, ops.BulkSend | ops.RedAsync):
            continue
        if op.dst.rank is None or op.dst.rank != op.mbarrier.rank:
            yield ScheduleError(
                f"{type(op).__name__}: its data and its mbarrier are not named in the same CTA",
                fix="give both at(rank)",
                loc=op.loc,
            )


def _reductions(s: Schedule) -> Iterator[ScheduleError]:
    """PTX ISA, cp.reduce.async.bulk and red.async: operators and types."""
    known: tuple[DType, ...]
    for op in s.ops():
        match op:
            case ops.RedAsync(dst=view, src=regs, reduce=how):
                dtype, known = s.tile(view.tile).dtype, _WORDS
                if s.fragment(regs.name).dtype is not dtype or prod(view.shape) != 1:
                    yield ScheduleError(
                        f"red.async of {view.shape} of {dtype.value} from {regs.name!r}",
                        fix="a lane reduces one register into one element of its type",
                        loc=op.loc,
                    )
            case ops.BulkSend(dst=view, reduce=ReduceOp() as how):
                dtype, known = s.tile(view.tile).dtype, _WORDS
            case ops.BulkStore(src=view, reduce=ReduceOp() as how):
                dtype, known = s.tile(view.tile).dtype, REDUCED[how]
            case _:
                continue
        if dtype not in known:
            yield ScheduleError(
                f"{type(op).__name__}: {how.value} of {dtype.value}",
                fix=f"this reduction works on {', '.join(t.value for t in known)}",
                loc=op.loc,
            )


def _responses(s: Schedule) -> Iterator[ScheduleError]:
    """clusterlaunchcontrol: a response is 16 bytes, at an address that is a multiple of it."""
    for op in s.ops():
        if not isinstance(op, ops.ClcOp):
            continue
        view = op.dst if isinstance(op, ops.ClcTryCancel) else op.src
        name, dtype, run = _layout(view, s)
        size = prod(view.shape) * dtype.bytes
        if size != UNIT or not run or dtype is not DType.U32:
            yield ScheduleError(
                f"{type(op).__name__}: {size} bytes of {name!r} ({dtype.value}) for a response",
                fix="a response is one run of 4 u32",
                loc=op.loc,
                rule=Rule.ALIGNMENT,
            )
        if isinstance(op, ops.ClcTryCancel) and op.scope is not Scope.ELECTED:
            yield ScheduleError(
                "clusterlaunchcontrol.try_cancel by several lanes",
                fix="put it into k.elect() or k.elect_thread()",
                loc=op.loc,
            )
        if isinstance(op, ops.ClcQueryCancel) and op.dst.count != 1:
            yield ScheduleError(
                f"clusterlaunchcontrol.query_cancel to {op.dst.count} registers",
                fix="name one register, for the tile",
                loc=op.loc,
            )


CHECKS = (_runs, _same, _peers, _reductions, _responses)
