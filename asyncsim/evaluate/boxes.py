"""Which elements a tensor copy brings: a box, every so many-th element of one, or pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.evaluate.cta import Cta
from asyncsim.evaluate.operands import Operands, Starts
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Im2col, OobFill, TensorMap
from asyncsim.rules import Rule
from asyncsim.stream.operands import Values

Slices = tuple[slice, ...]
Fetch = Callable[[Array], None]
"""Fills what a copy writes with what it reads when it lands."""


def fetches(op: ops.TmaLoad, use: Operands, cta: Cta) -> Callable[[Values], list[Fetch]]:
    """What a load brings, for each lane that executes it."""
    tensor, m = cta.tensors[op.src.tensor], cta.schedule.tensor_map(op.tensor_map)
    outside = tensor.dtype.type(np.nan if m.oob_fill is OobFill.NAN else 0)
    start = use.lane_values(op.src.start)
    if m.im2col is not None:
        corners, offset = m.im2col, use.lane_values(op.offsets)
        return lambda v: [
            _pixels(op, m, corners, tensor, outside, first, further)
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


def _pixels(
    op: ops.TmaLoad,
    m: TensorMap,
    corners: Im2col,
    tensor: Array,
    outside: Any,
    start: tuple[int, ...],
    offset: tuple[int, ...],
) -> Fetch:
    """Pixels from ``start`` on through the box of the corners, each read ``offset`` further."""
    pixels, channels = m.box
    (batch, *first, channel), space = start, tensor.shape[1:-1]
    steps = m.element_strides[1:-1]
    lasts = [n + upper for n, upper in zip(space, corners.upper, strict=True)]
    ranges = list(zip(corners.lower, lasts, steps, strict=True))
    counts = [-(-(last - lower) // step) for lower, last, step in ranges]
    places = []
    for at, (lower, last, step) in zip(first, ranges, strict=True):
        if not lower <= at < last or (at - lower) % step:
            raise ScheduleError(
                f"im2col load from pixel {start}, outside the box from {corners.lower} to "
                f"{tuple(lasts)}",
                fix="start inside the box of the map's corners, at a multiple of its strides",
                loc=op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )
        places.append((at - lower) // step)
    number = int(np.ravel_multi_index([0, *places], [1, *counts])) + np.arange(pixels)
    row, *numbers = np.unravel_index(number, [1 + pixels, *counts])
    index: list[Array] = [batch + row]
    for place, lower, step, further in zip(numbers, corners.lower, steps, offset, strict=True):
        index.append(lower + place * step + further)
    columns = channel + np.arange(channels)
    inside = np.ones(pixels, bool)
    for i, extent in zip(index, tensor.shape, strict=False):
        inside &= (i >= 0) & (i < extent)
    kept = inside[:, None] & ((columns >= 0) & (columns < tensor.shape[-1]))
    clipped = [np.clip(i, 0, n - 1)[:, None] for i, n in zip(index, tensor.shape, strict=False)]
    chosen = (*clipped, np.clip(columns, 0, tensor.shape[-1] - 1))

    def fetch(target: Array) -> None:
        target[...] = np.where(kept, tensor[chosen], outside)

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
