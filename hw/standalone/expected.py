"""What the host program compares with: samples of the outputs, and a checksum of the exact ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncsim.evaluate.inputs import hashed
from asyncsim.hw.launch.verify import Expected
from asyncsim.ir.decl import GlobalTensor

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

MOST_SAMPLES = 1024
MOST_RUNS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Of one output, by row-major index: ``samples`` are (index, bits of the element), ``runs``
    (first index, elements), and ``checksum`` is over all elements of the runs; 0 where a
    tolerance holds."""

    tensor: GlobalTensor
    samples: tuple[tuple[int, int], ...]
    runs: tuple[tuple[int, int], ...]
    checksum: int


def comparisons(tensors: tuple[GlobalTensor, ...], expected: Expected) -> tuple[Comparison, ...]:
    """Of the outputs that something is written to."""
    found = (_comparison(t, expected.values[t.name], expected.masks[t.name]) for t in tensors)
    return tuple(c for c in found if c.runs)


def _comparison(tensor: GlobalTensor, values: Array, mask: Array) -> Comparison:
    bits = _bits(values)
    runs = _spread(_runs(mask), MOST_RUNS)
    indices = np.concatenate([np.arange(a, a + n) for a, n in runs] or [np.arange(0)])
    picks = _spread(indices, MOST_SAMPLES)
    total = np.sum(hashed(bits[indices], 0) ^ hashed(indices, 0), dtype=np.uint64)
    return Comparison(
        tensor=tensor,
        samples=tuple((int(i), int(bits[i])) for i in picks),
        runs=tuple((int(a), int(n)) for a, n in runs),
        checksum=0 if tensor.tolerance else int(total),
    )


def _bits(values: Array) -> Array:
    """The elements as unsigned integers of 32 bits; not a number is one value."""
    flat = np.ascontiguousarray(values).reshape(-1)
    bits = flat.view(np.dtype(f"u{flat.itemsize}")).astype(np.uint32)
    bits[flat != flat] = 0xFFFFFFFF
    return bits


def _runs(mask: Array) -> Array:
    """(first, length) of the runs of True, in row-major order."""
    edges = np.flatnonzero(np.diff(mask.reshape(-1), prepend=False, append=False))
    return np.stack([edges[::2], edges[1::2] - edges[::2]], axis=1)


def _spread(items: Array, most: int) -> Array:
    """At most ``most`` of them: one at a hashed place in each of as many equal parts, so that no
    column of a tile is left out."""
    if len(items) <= most:
        return items
    bounds = np.arange(most + 1) * len(items) // most
    widths = (bounds[1:] - bounds[:-1]).astype(np.uint32)
    chosen: Array = items[bounds[:-1] + hashed(np.arange(most), 0) % widths]
    return chosen
