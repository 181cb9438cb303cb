"""One benchmark launch as data, and the reduction of its raw words to samples.

Imports numpy only.  See docs/machine.md.
"""

__all__ = ["Box", "Case", "Context", "Reduce", "Samples", "first", "per_step", "split"]

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from .sources import Variant

Words = NDArray[np.int64]
Samples = dict[str, NDArray[np.float64]]


@dataclass(slots=True)
class Context:
    """What earlier cases found out about the GPU: the SMs of each GPC."""

    gpcs: list[list[int]] = field(default_factory=list)


Reduce = Callable[[Words, Context], Samples]


@dataclass(frozen=True, slots=True)
class Box:
    """A box of 2-byte elements, outermost first, of a tensor map of its own: a box of ``shape``, or
    an im2col window of pixels x channels over images of 16 x 16."""

    shape: tuple[int, ...]
    swizzle: int
    im2col: bool = False

    @property
    def bytes(self) -> int:
        """Of one copy."""
        return 2 * prod(self.shape)


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel launch: what to compile, how to launch, and what its output words mean.

    `args` are the kernel's p0..p3.  `cold` evicts L2 before every launch.  `rows` > 0 passes a
    tensor map with a box of rows x row_bytes (128 or 64, swizzled so), rows `pitch` bytes apart,
    of elements of `element` bytes (4: floats); ``promotion``: bytes that a miss brings to L2 at
    least, 0 for what is asked for.
    `box` passes a map of any rank instead.  `mask` chooses SMs for kernels that read one.
    `dependent` launches the kernel a second time, allowed to start early, with 1 as its p3.
    `seconds` > 0 launches it again and again for so long and reads the board's power meanwhile, on
    data of `fill` (kernels/power.cu) in elements of `width` bits.
    """

    bench: str
    params: dict[str, int | str]
    variant: Variant
    kernel: str
    reduce: Reduce
    grid: int = 1
    block: int = 32
    smem: int = 40_000
    args: tuple[int, int, int, int] = (0, 0, 0, 0)
    words: int = 256
    repeat: int = 1
    warmups: int = 1
    cold: bool = False
    rows: int = 0
    row_bytes: int = 128
    pitch: int = 128
    element: int = 2
    promotion: int = 0
    cluster: int = 0
    mask: Callable[[Context], list[int]] | None = None
    series: bool = False
    unit: str = "cycles"
    box: Box | None = None
    dependent: bool = False
    seconds: float = 0.0
    fill: int = 1
    width: int = 16


def first(count: int, name: str = "cycles", skip: int = 0) -> Reduce:
    """The first `count` words are samples; `skip` of them are warm-up."""

    def reduce(words: Words, context: Context) -> Samples:
        return {name: words[skip:count].astype(np.float64)}

    return reduce


def split(count: int, names: tuple[str, ...]) -> Reduce:
    """Blocks of `count` samples, one for each name."""

    def reduce(words: Words, context: Context) -> Samples:
        blocks = words[: count * len(names)].reshape(len(names), count).astype(np.float64)
        return dict(zip(names, blocks, strict=True))

    return reduce


def per_step(steps: int, warps: int = 1, name: str = "cycles") -> Reduce:
    """One total for each warp: samples are cycles of one step."""

    def reduce(words: Words, context: Context) -> Samples:
        return {name: words[:warps] / steps}

    return reduce
