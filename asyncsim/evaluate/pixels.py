"""Which pixels an im2col load brings: through the space of an image, or along W alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Im2col, Im2colMode, TensorMap
from asyncsim.ir.validate.im2col import WIDE_PIXELS, WIDE_RUN
from asyncsim.rules import Rule

Fetch = Callable[[Array], None]
"""Fills what a copy writes with what it reads when it lands."""


def pixels(
    op: ops.TmaLoad,
    m: TensorMap,
    corners: Im2col,
    tensor: Array,
    outside: Any,
    start: tuple[int, ...],
    offset: tuple[int, ...],
) -> Fetch:
    """Pixels from ``start`` on through the box of the corners, each read ``offset`` further; from
    the end of the box on, those of the next image. Raises ScheduleError for a start outside."""
    walked = slice(-1 - len(corners.lower), -1)  # dimensions that the pixels follow each other in
    (batch, *still), first, channel = start[: walked.start], start[walked], start[-1]
    steps = m.element_strides[walked]
    lasts = [n + upper for n, upper in zip(tensor.shape[walked], corners.upper, strict=True)]
    ranges = list(zip(corners.lower, lasts, steps, strict=True))
    counts = [-(-(last - lower) // step) for lower, last, step in ranges]
    left = corners.mode is not Im2colMode.SPACE  # along W a load may begin before the box
    places = []
    for at, (lower, last, step) in zip(first, ranges, strict=True):
        if not (left or lower <= at) or at >= last or (at - lower) % step:
            raise ScheduleError(
                f"im2col load from pixel {start}, outside the box from {corners.lower} to "
                f"{tuple(lasts)}",
                fix="start inside the box of the map's corners, at a multiple of its strides",
                loc=op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )
        places.append((at - lower) // step)
    number = _number(places, counts) + _order(op, m, corners.mode)
    image, *within = _places(number, counts)
    index: list[Array] = [batch + image, *(np.full_like(number, at) for at in still)]
    for place, lower, step, further in zip(within, corners.lower, steps, offset, strict=True):
        index.append(lower + place * step + further)
    columns = channel + np.arange(m.box[1])
    inside = np.ones(len(number), bool)
    for i, extent in zip(index, tensor.shape, strict=False):
        inside &= (i >= 0) & (i < extent)
    kept = inside[:, None] & ((columns >= 0) & (columns < tensor.shape[-1]))
    clipped = [np.clip(i, 0, n - 1)[:, None] for i, n in zip(index, tensor.shape, strict=False)]
    chosen = (*clipped, np.clip(columns, 0, tensor.shape[-1] - 1))

    def fetch(target: Array) -> None:
        target[...] = np.where(kept, tensor[chosen], outside)

    return fetch


def _order(op: ops.TmaLoad, m: TensorMap, mode: Im2colMode) -> Array:
    """How many pixels after the first each row of the tile is.

    The halo of im2col::w comes last. That of im2col::w::128, the pixels after each run of 32, lies
    behind all 128: first the pixel after each run, then the second after each, and so on.
    """
    halo = op.halo or 0
    match mode:
        case Im2colMode.SPACE | Im2colMode.W:
            return np.arange(m.box[0] + halo)
        case Im2colMode.W128:
            ends = np.arange(WIDE_RUN, WIDE_PIXELS + 1, WIDE_RUN)
            halos = ends[None, :] + np.arange(halo)[:, None]
            return np.concatenate([np.arange(WIDE_PIXELS), halos.ravel()])


def _number(places: list[int], counts: list[int]) -> int:
    number = 0
    for place, count in zip(places, counts, strict=True):
        number = number * count + place
    return number


def _places(number: Array, counts: list[int]) -> list[Array]:
    """The image, and the place in each dimension; what is before the box stays in its row."""
    places: list[Array] = []
    for count in reversed(counts):
        before = np.minimum(number, 0)
        number, place = np.divmod(np.maximum(number, 0), count)
        places.insert(0, place + before)
    return [number, *places]
