"""The mainloop of `fp8_gemm`: 8-bit floats with scales for blocks of them, sums in two levels.

A step is 128 deep. A has a scale for every row and step, B one for every 128 columns and step. Both
come with the tiles of their step, in its stage. Tensor cores sum within a step; FFMA add what comes
out, times the scales, to sums in fp32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Fill,
    ScheduleBuilder,
    ScheduleError,
    Value,
    Work,
)
from asyncsim.build.handles import (
    FragmentHandle,
    GlobalHandle,
    MbarrierArray,
    SmemHandle,
    TensorMapHandle,
)
from asyncsim.build.pipeline import PipelineState
from asyncsim.build.value import Index
from asyncsim.ir.dtype import DType

DEPTH = 128  # of a step: a row of the swizzle, and what one scale is for
COLUMNS = 128  # of B that share a scale
SCALES = 4  # of B that a copy brings, those of neighbours too: 16 bytes, the least that it can


def _clear(sums: Any, **_: Any) -> None:
    sums[...] = 0


def _promote(sums: Any, acc: Any, of_a: Any, of_b: Any, **_: Any) -> None:
    scale = of_a * of_b
    rows = [r // 2 % 2 for r in range(sums.shape[1])]
    sums += scale[:, rows] * acc


def clear(registers: int) -> ComputeDef:
    """Sums start at zero."""
    return ComputeDef(
        name="clear",
        operands=(ComputeOperand(name="sums", kind="fragment", mode=AccessMode.WRITE),),
        work=lambda: Work(alu=registers),
        cuda=f"""
            #pragma unroll
            for (int r = 0; r < {registers}; ++r) sums[r] = 0;
        """,
        numpy=_clear,
    )


def promote(registers: int) -> ComputeDef:
    """The products of a step, times the scales of its two rows, are added to the sums."""
    return ComputeDef(
        name="promote",
        operands=(
            ComputeOperand(name="sums", kind="fragment", mode=AccessMode.READ_WRITE),
            ComputeOperand(name="acc", kind="fragment"),
            ComputeOperand(name="of_a", kind="fragment"),
            ComputeOperand(name="of_b", kind="fragment"),
        ),
        work=lambda: Work(ffma=registers + 2, chain_ffma=2),
        cuda=f"""
            const float scales[2] = {{of_a[0] * of_b[0], of_a[1] * of_b[0]}};
            #pragma unroll
            for (int r = 0; r < {registers}; ++r)
              sums[r] = fmaf(scales[r / 2 % 2], acc[r], sums[r]);
        """,
        numpy=_promote,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fp8Blocks:
    """Sizes of the problem, of a tile, and of the ring. ``warpgroups`` share the rows of a tile.
    Raises ScheduleError."""

    m: int
    n: int
    k: int
    block_m: int
    block_n: int
    stages: int
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
        if self.block_n not in (32, 64, 128):
            raise ScheduleError(
                f"block_n = {self.block_n}",
                fix=f"use 32, 64 or 128: a tile has one scale of B, for {COLUMNS} columns",
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
        return -(-self.k // DEPTH)

    @property
    def stage_bytes(self) -> int:
        """Of a tile of A and one of B, and their scales."""
        return DEPTH * (self.block_m + self.block_n) + 4 * (self.block_m + SCALES)

    @property
    def halves(self) -> int:
        """Parts of 64 rows that a warpgroup has sums of."""
        return self.block_m // self.warpgroups // 64


def padded(columns: int, element_bytes: int) -> int:
    """A row length that tensor maps can have: a multiple of 16 bytes."""
    unit = 16 // element_bytes
    return -(-columns // unit) * unit


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor, its map, and its tiles in the ring. A box of the map is a tile."""

    tensor: GlobalHandle
    map: TensorMapHandle
    tile: SmemHandle

    @classmethod
    def declare(
        cls,
        b: ScheduleBuilder,
        name: str,
        extents: tuple[int, int],
        box: tuple[int, int],
        stages: int,
        *,
        scale: bool,
    ) -> Operand:
        """8-bit floats in swizzled rows, or scales of them."""
        dtype, swizzle = (DType.F32, 0) if scale else (DType.E4M3, DEPTH)
        row = padded(extents[1], dtype.bytes)
        tensor = b.global_tensor(name, extents, dtype, strides=(row, 1), fill=Fill.SMALL)
        return cls(
            tensor,
            b.tensor_map(f"{name}_map", tensor, box=box, swizzle=swizzle),
            b.smem_tile(f"{name}_tile", box, dtype, stages=stages, swizzle=swizzle),
        )


@dataclass(frozen=True, slots=True)
class Fp8Operands:
    """The ring of operand tiles and scales, declared on a builder, and the registers of a step.

    A stage is empty when every consumer warp has arrived: each reads scales of its own.
    """

    b: ScheduleBuilder
    blocks: Fp8Blocks
    a: Operand
    b_t: Operand
    a_scales: Operand
    b_scales: Operand
    full: MbarrierArray
    empty: MbarrierArray
    acc: FragmentHandle
    of_a: FragmentHandle
    of_b: FragmentHandle
    twin: str

    @classmethod
    def declare(
        cls, b: ScheduleBuilder, x: Fp8Blocks, *, released_by: int, twin: str
    ) -> Fp8Operands:
        """``released_by``: arrivals that empty a stage. Scales lie with the steps outermost."""

        def operand(
            name: str, extents: tuple[int, int], box: tuple[int, int], *, scale: bool = False
        ) -> Operand:
            return Operand.declare(b, name, extents, box, x.stages, scale=scale)

        of_columns = -(-x.n // COLUMNS)
        return cls(
            b,
            x,
            operand("a", (x.m, x.k), (x.block_m, DEPTH)),
            operand("b", (x.n, x.k), (x.block_n, DEPTH)),
            operand("a_scales", (x.steps, x.m), (1, x.block_m), scale=True),
            operand("b_scales", (x.steps, of_columns), (1, SCALES), scale=True),
            b.mbarriers("full", count=1, stages=x.stages),
            b.mbarriers("empty", count=released_by, stages=x.stages),
            b.accumulator("acc", n=x.block_n),
            b.fragment("of_a", registers=2 * x.halves),
            b.fragment("of_b", registers=1),
            twin,
        )

    def init(self) -> None:
        """By one thread of the block, for all."""
        b = self.b
        with b.elect_thread():
            b.mbarrier.init_all(self.full, self.empty)
            b.fence.mbarrier_init()
        b.bar.sync()

    def fetch(self, state: PipelineState, row0: Index, col0: Index, step: Value) -> None:
        """Bring a step of the tile at (``row0``, ``col0``) when its stage is empty."""
        b, x, at, full = self.b, self.blocks, state.stage, self.full[state.stage]
        scales_of = step - 1 if self.twin == "scales_of_last_step" else step
        group = col0 // COLUMNS // SCALES * SCALES
        bytes_ = x.stage_bytes - (4 * SCALES if self.twin == "scale_not_counted" else 0)
        b.mbarrier.wait(self.empty[at], state.phase)
        b.mbarrier.arrive_expect_tx(full, bytes_)
        b.tma.load(self.a.tile[at], self.a.map, (row0, step * DEPTH), full)
        b.tma.load(self.b_t.tile[at], self.b_t.map, (col0, step * DEPTH), full)
        b.tma.load(self.a_scales.tile[at], self.a_scales.map, (scales_of, row0), full)
        b.tma.load(self.b_scales.tile[at], self.b_scales.map, (step, group), full)
        state.advance()

    def add_step(
        self,
        state: PipelineState,
        sums: list[FragmentHandle],
        first_row: Index,
        corner: tuple[Index, Index],
        step: Value,
    ) -> None:
        """Multiply a step, rows from ``first_row`` on of the tile, and add it to the sums."""
        b, twin = self.b, self.twin
        if twin == "scales_before_arrival":
            self.read_scales(state, first_row, corner, step)
        b.mbarrier.wait(self.full[state.stage], state.phase)
        for h, sum_ in enumerate(sums):
            if twin != "no_fence":
                b.wgmma.fence()
            self._multiply(state, first_row + 64 * h, corner, step)
            if h == 0 and twin not in ("scales_before_arrival", "scales_after_release"):
                self.read_scales(state, first_row, corner, step)
            last = h + 1 == len(sums)
            if last and twin == "released_in_flight":
                self.release(state)
            if twin == "promoted_in_flight":
                self._promote(h, sum_)
            b.wgmma.wait_group(0)
            if last and twin != "released_in_flight":
                self.release(state)
            if last and twin == "scales_after_release":
                self.read_scales(state, first_row, corner, step)
            if twin != "promoted_in_flight":
                self._promote(h, sum_)
        state.advance()

    def _promote(self, half: int, sums: FragmentHandle) -> None:
        of_a = self.of_a.part(2 * half, 2)
        defn = promote(self.blocks.block_n // 2)
        self.b.mem.compute(defn, sums.all, self.acc.all, of_a, self.of_b.all)

    def _multiply(
        self, state: PipelineState, row: Index, corner: tuple[Index, Index], step: Value
    ) -> None:
        """64 rows of a step: one group, whose sums start anew."""
        b, x, k0 = self.b, self.blocks, step * DEPTH
        meant_a = self.a.tensor.box((corner[0] + row, k0), (64, DEPTH))
        meant_b = self.b_t.tensor.box((corner[1], k0), (x.block_n, DEPTH))
        a = self.a.tile[state.stage].box((row, 0), (64, DEPTH)).expecting(meant_a)
        b.wgmma.mma_tile(
            self.acc, a, self.b_t.tile[state.stage].expecting(meant_b), accumulate_first=0
        )
        b.wgmma.commit_group()

    def read_scales(
        self, state: PipelineState, first_row: Index, corner: tuple[Index, Index], step: Value
    ) -> None:
        """The scales of a lane's rows and of the tile's columns, to registers; the refill by the
        async proxy comes after these reads."""
        b, x, stage, twin = self.b, self.blocks, state.stage, self.twin
        block = corner[1] // COLUMNS
        column = 0 if twin == "first_columns" else block % SCALES
        one = self.b_scales.tensor.box((step, block), (1, 1))
        scale = self.b_scales.tile[stage].box((0, column), (1, 1))
        b.mem.ld_shared(self.of_b.all, scale.expecting(one))
        for r in range(2 * x.halves):
            row = first_row + b.warp_in_role % 4 * 16 + b.lane // 4 + (64 * (r // 2) + 8 * (r % 2))
            meant = self.a_scales.tensor.box((step, corner[0] + row), (1, 1))
            scale = self.a_scales.tile[stage].box((0, row), (1, 1))
            b.mem.ld_shared(self.of_a.part(r, 1), scale.expecting(meant))
        if twin != "no_proxy_fence":
            b.fence.proxy_async("shared")

    def release(self, state: PipelineState) -> None:
        """One lane of each warp arrives: the warpgroup's wgmma and the warp's lanes have read."""
        b = self.b
        b.bar.warp_sync()
        with self._releasing(), b.elect():
            b.mbarrier.arrive(self.empty[state.stage])

    @contextmanager
    def _releasing(self) -> Iterator[None]:
        """Every warp; in a broken twin the first one of a warpgroup, for all four."""
        if self.twin != "one_warp_releases":
            yield
            return
        with self.b.when(self.b.warp_in_role % 4 == 0):
            yield
