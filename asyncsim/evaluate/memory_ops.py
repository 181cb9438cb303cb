"""What plain loads and stores, and compute, do in an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.copy_ops import tile_stage
from asyncsim.evaluate.cta import Cta
from asyncsim.evaluate.operands import Operands, box_slices
from asyncsim.evaluate.sync_ops import Step
from asyncsim.ir import op as ops
from asyncsim.ir.decl import AccessMode
from asyncsim.ir.op import FragmentRef, GlobalView, MemoryOp, SmemView
from asyncsim.stream.operands import Values

Target = Callable[[Values], tuple[Array, tuple[Array, ...]]]
"""An array and, per lane, the indices of the elements that the lane accesses."""


def memory_step(op: MemoryOp, use: Operands, warp: int, cta: Cta) -> Step:
    match op:
        case ops.LdGlobal(dst=registers, src=box):
            return _load(registers, _box(box, use, cta), use, warp, cta)
        case ops.LdShared(dst=registers, src=view):
            return _load(registers, _view(view, use, cta), use, warp, cta)
        case ops.StGlobal(dst=box, src=registers, clip=True):
            return _store_inside(registers, box, use, warp, cta)
        case ops.StGlobal(dst=box, src=registers):
            return _store(registers, _box(box, use, cta), use, warp, cta)
        case ops.StShared(dst=view, src=registers):
            return _store(registers, _view(view, use, cta), use, warp, cta)
        case ops.Compute():
            return _compute(op, use, warp, cta)
        case _ as unreachable:
            assert_never(unreachable)


def _box(box: GlobalView, use: Operands, cta: Cta) -> Target:
    tensor = cta.tensors[box.tensor]
    index = use.elements(box, tensor.shape)
    return lambda v: (tensor, index(v))


def _view(view: SmemView, use: Operands, cta: Cta) -> Target:
    stage = tile_stage(view, use, cta)
    index = use.elements(view, cta.schedule.tile(view.tile).shape)
    return lambda v: (stage(v), index(v))


def _load(ref: FragmentRef, source: Target, use: Operands, warp: int, cta: Cta) -> Step:
    def step(values: Values) -> None:
        array, index = source(values)
        cta.write_registers(ref, warp, use.span, array[index])

    return step


def _store(ref: FragmentRef, target: Target, use: Operands, warp: int, cta: Cta) -> Step:
    """Where lanes store to one place, the last lane's value stays."""

    def step(values: Values) -> None:
        array, index = target(values)
        array[index] = cta.registers(ref, warp)[use.span]

    return step


def _store_inside(ref: FragmentRef, box: GlobalView, use: Operands, warp: int, cta: Cta) -> Step:
    """The elements inside the tensor only."""
    tensor = cta.tensors[box.tensor]
    index_of = use.elements(box, None)

    def step(values: Values) -> None:
        elements = cta.registers(ref, warp)[use.span]
        index = np.broadcast_arrays(*index_of(values), elements)[:-1]
        inside = np.ones(elements.shape, bool)
        for i, extent in zip(index, tensor.shape, strict=True):
            inside &= (i >= 0) & (i < extent)
        tensor[tuple([i[inside] for i in index])] = elements[inside]

    return step


def _compute(op: ops.Compute, use: Operands, warp: int, cta: Cta) -> Step:
    """Call the NumPy body on the lanes that execute the op; fragments written are written back."""
    makers: dict[str, Callable[[Values], Any]] = {}
    written: list[tuple[str, FragmentRef]] = []
    for formal, actual in zip(op.defn.operands, op.operands, strict=True):
        match actual:
            case FragmentRef():
                makers[formal.name] = _registers(actual, use, warp, cta)
                if formal.mode is not AccessMode.READ:
                    written.append((formal.name, actual))
            case SmemView():
                makers[formal.name] = _window(actual, use, cta)
            case _:
                makers[formal.name] = use.value(actual)
    body, name, loc = op.defn.numpy, op.defn.name, op.loc

    def step(values: Values) -> None:
        arguments = {key: make(values) for key, make in makers.items()}
        try:
            body(**arguments, lane=use.lane, thread_in_role=use.thread)
        except Exception as error:
            raise ScheduleError(
                f"the NumPy body of compute {name!r} fails: {type(error).__name__}: {error}",
                fix="it gets the operands by keyword, and lane and thread_in_role",
                loc=loc,
            ) from error
        for key, ref in written:
            cta.write_registers(ref, warp, use.span, arguments[key])

    return step


def _registers(ref: FragmentRef, use: Operands, warp: int, cta: Cta) -> Callable[[Values], Array]:
    return lambda values: cta.registers(ref, warp)[use.span]


def _window(view: SmemView, use: Operands, cta: Cta) -> Callable[[Values], Array]:
    stage, shape = tile_stage(view, use, cta), view.shape
    starts = use.window(view, cta.schedule.tile(view.tile).shape)
    return lambda values: stage(values)[box_slices(starts(values), shape)]
