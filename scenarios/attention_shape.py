"""What flash_attention computes and in which blocks; its tensors and rings."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim import ScheduleBuilder, ScheduleError
from asyncsim.build.handles import GlobalHandle

PANEL = 64  # columns of 16 bits under a swizzle of 128 bytes
ROWS = 64  # queries of a warpgroup
REGISTERS = {1: (128, 24, 232), 2: (168, 24, 240), 3: (128, 32, 160)}
"""Of a thread at launch, of the producer, of a consumer: by the number of consumer warpgroups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """``seq`` queries and as many keys for each of ``heads`` heads (of all batches together)."""

    seq: int
    heads: int
    hdim: int
    causal: bool
    block_n: int
    stages: int
    consumers: int
    overlap: bool
    pingpong: bool
    dtype: str
    setmaxnreg: bool

    @property
    def block_m(self) -> int:
        return ROWS * self.consumers

    @property
    def panels(self) -> int:
        return self.hdim // PANEL


class Ring:
    """Blocks of K or of V: a tensor, its map, staged tiles, and when they are full and empty."""

    def __init__(self, b: ScheduleBuilder, x: Shape, name: str, released_by: int) -> None:
        box = (1, x.panels, x.block_n, PANEL)
        self.tensor = head_tensor(b, x, name)
        self.map = b.tensor_map(f"{name}_map", self.tensor, box=box, swizzle=128)
        self.tile = b.smem_tile(f"{name}_tile", box, x.dtype, stages=x.stages, swizzle=128)
        self.full = b.mbarriers(f"{name}_full", count=1, stages=x.stages)
        self.empty = b.mbarriers(f"{name}_empty", count=released_by, stages=x.stages)
        self.bytes = self.tile.decl.stage_bytes


def head_tensor(b: ScheduleBuilder, x: Shape, name: str, *, output: bool = False) -> GlobalHandle:
    """(heads, seq, hdim) in memory, as panels of 64 columns: one box brings them side by side."""
    shape = (x.heads, x.panels, x.seq, PANEL)
    strides = (x.seq * x.hdim, PANEL, x.hdim, 1)
    tolerance = 2**-6 if output else 0.0
    return b.global_tensor(
        name, shape, x.dtype, strides=strides, output=output, tolerance=tolerance
    )


def check_shape(x: Shape) -> None:
    """Raises ScheduleError for what cannot be built."""
    for name, size in (("seq", x.seq), ("heads", x.heads), ("stages", x.stages)):
        if size < 1:
            raise ScheduleError(f"{name} = {size}", fix="give at least 1")
    if x.hdim not in (64, 128, 256):
        raise ScheduleError(f"hdim = {x.hdim}", fix="use 64, 128 or 256")
    if x.consumers not in REGISTERS or (x.consumers == 3 and x.hdim != 64):
        raise ScheduleError(
            f"consumers = {x.consumers} with hdim = {x.hdim}",
            fix="use 1 or 2 consumer warpgroups; 3 have registers for hdim = 64 alone",
        )
    if x.block_n % 16 or not 16 <= x.block_n <= 256:
        raise ScheduleError(f"block_n = {x.block_n}", fix="use a multiple of 16 up to 256")
