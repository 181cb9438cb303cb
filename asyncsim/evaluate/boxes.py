"""Which elements a tensor copy brings: a box, every so many-th element of one, or pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.cta import Cta
from asyncsim.evaluate.operands import Operands, Starts
from asyncsim.evaluate.pixels import Fetch, pixels
from asyncsim.ir import op as ops
from asyncsim.ir.decl import OobFill, TensorMap
from asyncsim.stream.operands import Values

Slices = tuple[slice, ...]


def fetches(op: ops.TmaLoad, use: Operands, cta: Cta) -> Callable[[Values], list[Fetch]]:
    """What a load brings, for each lane that executes it."""
    tensor, m = cta.tensors[op.src.tensor], cta.schedule.tensor_map(op.tensor_map)
    outside = tensor.dtype.type(np.nan if m.oob_fill is OobFill.NAN else 0)
    start = use.lane_values(op.src.start)
    if m.im2col is not None:
        corners, offset = m.im2col, use.lane_values(op.offsets)
        return lambda v: [
            pixels(op, m, corners, tensor, outside, first, further)
            for first, further in zip(
                _by_lane(start(v), use), _by_lane(offset(v), use), strict=True
            )
        ]
    if op.rows:
        rows = [start, *(use.lane_values(row.start) for row in op.rows)]
        return lambda v: [
            _four_rows([_box(m, tensor, outside, of_lane(row(v), lane)) for row in rows])
            for lane in range(use.lanes)
        ]
    if m.in_global:
        return lambda v: [
            _box(m, cta.maps.behind(m), outside, at) for at in _by_lane(start(v), use)
        ]
    return lambda v: [_box(m, tensor, outside, first) for first in _by_lane(start(v), use)]


def _by_lane(starts: Starts, use: Operands) -> list[tuple[int, ...]]:
    return [of_lane(starts, lane) for lane in range(use.lanes)]


def _four_rows(fetched: list[Fetch]) -> Fetch:
    """gather4: each row of the matrix into a row of its own."""

    def fetch(target: Array) -> None:
        for i, row in enumerate(fetched):
            row(target[i : i + 1])

    return fetch


def _box(m: TensorMap, tensor: Array, outside: Any, start: tuple[int, ...]) -> Fetch:
    source, part = clip_box(start, m.tile, tensor.shape, m.element_strides)

    def fetch(target: Array) -> None:
        if target[part].shape != target.shape:
            target.fill(outside)
        target[part] = tensor[source]

    return fetch


def clip_box(
    start: tuple[int, ...],
    shape: tuple[int, ...],
    extent: tuple[int, ...],
    steps: tuple[int, ...] = (),
) -> tuple[Slices, Slices]:
    """The part of a box inside a tensor, as slices of the tensor and of the box; ``shape`` counts
    the elements of the box, which are ``steps`` apart in the tensor."""
    of_tensor, of_box = [], []
    for first, n, have, step in zip(start, shape, extent, steps or (1,) * len(shape), strict=True):
        low = min(max(-(first // step), 0), n)  # the first element that is not before the tensor
        high = max(min(-(-(have - first) // step), n), low)
        begin = first + low * step
        of_tensor.append(
            slice(begin, begin + (high - low - 1) * step + 1, step) if high > low else slice(0, 0)
        )
        of_box.append(slice(low, high))
    return tuple(of_tensor), tuple(of_box)


def of_lane(starts: Starts, lane: int) -> tuple[int, ...]:
    """The start of one lane's box."""
    return tuple(s if isinstance(s, int) else int(s[lane]) for s in starts)
