"""The mainloop of a GEMM: C (M, N) = A (M, K) times B (N, K) transposed, bf16 in, fp32 sums.

A producer thread fills a ring of stages with a tile of A and one of B by TMA; warpgroups multiply
them with wgmma, keep ``lag`` groups in flight, and release the stage of the group that is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from asyncsim import ScheduleBuilder, ScheduleError, Value
from asyncsim.build.handles import (
    FragmentHandle,
    GlobalHandle,
    MbarrierArray,
    SmemHandle,
    TensorMapHandle,
)
from asyncsim.build.pipeline import PipelineState
from asyncsim.build.value import Index
from asyncsim.scenarios.ws_gemm import REGISTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Sizes of the problem, of a tile, and of the ring. ``warpgroups`` share the rows of a tile.
    Raises ScheduleError."""

    m: int
    n: int
    k: int
    block_m: int
    block_n: int
    block_k: int
    stages: int
    lag: int
    warpgroups: int

    def __post_init__(self) -> None:
        for name in ("m", "n", "k"):
            if getattr(self, name) < 1:
                raise ScheduleError(f"{name} = {getattr(self, name)}", fix="give at least 1")
        if self.warpgroups not in (1, 2):
            raise ScheduleError(
                f"consumers = {self.warpgroups}", fix="use 1 or 2 consumer warpgroups"
            )
        rows = 64 * self.warpgroups
        if self.block_m not in (rows, 2 * rows):
            who = "one warpgroup takes" if self.warpgroups == 1 else "two warpgroups take"
            raise ScheduleError(f"block_m = {self.block_m}", fix=f"{who} {rows} or {2 * rows} rows")
        most = 128 * 128 * self.warpgroups
        if not 8 <= self.block_n <= 256 or self.block_m * self.block_n > most:
            raise ScheduleError(
                f"block_n = {self.block_n} with block_m = {self.block_m}",
                fix=f"at most {min(256, most // self.block_m)}: a warpgroup holds 128x128 sums",
            )
        if self.block_k not in (16, 32, 64):
            raise ScheduleError(f"block_k = {self.block_k}", fix="use 16, 32 or 64 (swizzle span)")
        if self.lag not in (0, 1) or self.lag >= self.stages:
            raise ScheduleError(
                f"lag = {self.lag} with {self.stages} stage{'s' * (self.stages > 1)}",
                fix="use 0 or 1, below the stages",
            )

    @property
    def rows(self) -> int:
        """Tiles from the first to the last row of C."""
        return -(-self.m // self.block_m)

    @property
    def columns(self) -> int:
        return -(-self.n // self.block_n)

    @property
    def steps(self) -> int:
        return -(-self.k // self.block_k)

    @property
    def stage_bytes(self) -> int:
        """Of a tile of A and one of B."""
        return 2 * self.block_k * (self.block_m + self.block_n)

    @property
    def halves(self) -> int:
        """Accumulators of 64 rows that a warpgroup holds."""
        return self.block_m // self.warpgroups // 64


@dataclass(frozen=True, slots=True)
class Operands:
    """The ring of operand tiles, declared on a builder."""

    b: ScheduleBuilder
    blocks: Blocks
    a: GlobalHandle
    b_t: GlobalHandle
    a_map: TensorMapHandle
    b_map: TensorMapHandle
    a_tile: SmemHandle
    b_tile: SmemHandle
    full: MbarrierArray
    empty: MbarrierArray

    @classmethod
    def declare(
        cls,
        b: ScheduleBuilder,
        blocks: Blocks,
        *,
        released_by: int = 0,
        shared: tuple[int, int] = (1, 1),
    ) -> Operands:
        """``released_by``: arrivals that empty a stage, if not one of each warpgroup. ``shared``:
        CTAs that bring a tile of A together, and of B; a box is the part of one."""
        x, stages, swizzle = blocks, blocks.stages, 2 * blocks.block_k
        a = b.global_tensor("a", (x.m, x.k), "bf16")
        b_t = b.global_tensor("b", (x.n, x.k), "bf16")
        tile_a, tile_b = (x.block_m, x.block_k), (x.block_n, x.block_k)
        box_a, box_b = (x.block_m // shared[0], x.block_k), (x.block_n // shared[1], x.block_k)
        return cls(
            b,
            blocks,
            a,
            b_t,
            b.tensor_map("a_map", a, box=box_a, swizzle=swizzle),
            b.tensor_map("b_map", b_t, box=box_b, swizzle=swizzle),
            b.smem_tile("a_tile", tile_a, "bf16", stages=stages, swizzle=swizzle),
            b.smem_tile("b_tile", tile_b, "bf16", stages=stages, swizzle=swizzle),
            b.mbarriers("full", count=1, stages=stages),
            b.mbarriers("empty", count=released_by or blocks.warpgroups, stages=stages),
        )

    def init(self, meet: Callable[[], None] | None = None) -> None:
        """By one thread of the block; all the others ``meet`` it, at the block's barrier."""
        b = self.b
        with b.elect_thread():
            b.mbarrier.init_all(self.full, self.empty)
            b.fence.mbarrier_init()
        (meet or b.bar.sync)()

    def fetch(self, state: PipelineState, row0: Index, col0: Index, step: Value) -> None:
        """Bring a step of the tile at (``row0``, ``col0``) when its stage is empty."""
        b, x, full = self.b, self.blocks, self.full[state.stage]
        b.mbarrier.wait(self.empty[state.stage], state.phase)
        b.mbarrier.arrive_expect_tx(full, x.stage_bytes)
        b.tma.load(self.a_tile[state.stage], self.a_map, (row0, step * x.block_k), full)
        b.tma.load(self.b_tile[state.stage], self.b_map, (col0, step * x.block_k), full)
        state.advance()

    def multiply(
        self,
        state: PipelineState,
        acc: Sequence[FragmentHandle],
        first_row: Index,
        corner: tuple[Index, Index],
        i: Value,
        *,
        first_step: Index = 0,
    ) -> None:
        """Issue the wgmma of the i-th step as one group: rows from ``first_row`` on of the tile.
        The sums begin at ``first_step``."""
        b, x, (row0, col0) = self.b, self.blocks, corner
        b.mbarrier.wait(self.full[state.stage], state.phase)
        b.wgmma.fence()
        k0 = (first_step + i) * x.block_k
        meant_b = self.b_t.box((col0, k0), (x.block_n, x.block_k))
        b_stage = self.b_tile[state.stage].expecting(meant_b)
        for h, d in enumerate(acc):
            at = first_row + 64 * h
            meant_a = self.a.box((row0 + at, k0), (64, x.block_k))
            a_stage = self.a_tile[state.stage].box((at, 0), (64, x.block_k)).expecting(meant_a)
            b.wgmma.mma_tile(d, a_stage, b_stage, accumulate_first=i != 0)
        b.wgmma.commit_group()

    def release(self, done: PipelineState) -> None:
        """One lane of the warpgroup arrives: its wgmma have read the stage."""
        b = self.b
        with b.when(b.warp_in_role % 4 == 0), b.elect():
            b.mbarrier.arrive(self.empty[done.stage])


@dataclass(frozen=True, slots=True)
class Roles:
    """``warpgroups`` that multiply, and a producer: a warp, or with ``setmaxnreg`` a warpgroup that
    gives its registers to them. Raises ScheduleError."""

    b: ScheduleBuilder
    warpgroups: int
    setmaxnreg: int

    def __post_init__(self) -> None:
        if self.setmaxnreg not in (0, 1):
            raise ScheduleError(f"setmaxnreg = {self.setmaxnreg}", fix="use 0 or 1")
        if self.setmaxnreg:
            registers = REGISTERS[self.warpgroups]
            self.b.launch_bounds(registers.ctas_per_sm, maxnreg=registers.launch)

    @contextmanager
    def consumers(self) -> Iterator[None]:
        """All warps of the warpgroups run the body."""
        with self.b.role("consumer", warps=4 * self.warpgroups):
            if self.setmaxnreg:
                self.b.setmaxnreg.inc(REGISTERS[self.warpgroups].consumer)
            yield

    @contextmanager
    def producer(self, tail: Callable[[], None] | None = None) -> Iterator[None]:
        """One thread runs the body, all warps of the role the ``tail`` after it."""
        with self.b.role("producer", warps=4 if self.setmaxnreg else 1):
            if self.setmaxnreg:
                self.b.setmaxnreg.dec(REGISTERS[self.warpgroups].producer)
            with self.b.elect_thread():
                yield
            if tail is not None:
                tail()
