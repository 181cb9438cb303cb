"""The way of an accumulator from tensor memory to C, for four warps of an epilogue.

Each warp reaches 32 lanes, so it has rows of its own, and buffers of its own: it loads a strip of
columns to registers, stores its rows to shared memory, and one lane hands them to the copy engine,
which clips what lies outside C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    ScheduleBuilder,
    ScheduleError,
    Value,
    Work,
)
from asyncsim.build.handles import FragmentHandle, GlobalHandle, SmemHandle, TensorMapHandle
from asyncsim.build.tmem import TmemTileView

WARPS = 4
ROWS = 32  # of a warp
STRIP_BYTES = 128  # of a row: the swizzle span


def _rows(dtype: str, columns: int, cuda: str) -> ComputeDef:
    """A lane's ``columns`` sums of one row, to a strip of C's type."""

    def numpy(acc: Any, strip: Any, lane: Any, **_: Any) -> None:
        strip[lane] = acc

    pairs = columns // 2 if dtype == "bf16" else 0
    return ComputeDef(
        name=f"row_{dtype}",
        operands=(
            ComputeOperand(name="strip", kind="smem", mode=AccessMode.WRITE),
            ComputeOperand(name="acc", kind="fragment"),
        ),
        work=lambda: Work(cvt=pairs, alu=8, sts_bytes=ROWS * STRIP_BYTES),
        cuda=cuda,
        numpy=numpy,
    )


ROW = {
    "bf16": _rows(
        "bf16",
        64,
        """
        #pragma unroll
        for (int c = 0; c < 64; c += 8) {
          uint4 chunk;
          u32* pair = (u32*)&chunk;
          #pragma unroll
          for (int i = 0; i < 4; ++i)
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
                : "=r"(pair[i]) : "f"(acc[c + 2 * i + 1]), "f"(acc[c + 2 * i]));
          *(uint4*)&strip(lane, c) = chunk;
        }
        """,
    ),
    "f32": _rows(
        "f32",
        32,
        """
        #pragma unroll
        for (int c = 0; c < 32; c += 4)
          *(float4*)&strip(lane, c) = float4{acc[c], acc[c + 1], acc[c + 2], acc[c + 3]};
        """,
    ),
}


@dataclass(frozen=True, slots=True)
class Strips:
    """Each warp's ring of strip buffers, and the registers that a strip comes through."""

    b: ScheduleBuilder
    strips: SmemHandle
    c_map: TensorMapHandle
    registers: FragmentHandle
    buffers: int
    twin: str

    @classmethod
    def declare(
        cls, b: ScheduleBuilder, c: GlobalHandle, block_n: int, buffers: int, twin: str
    ) -> Strips:
        """Raises ScheduleError if tiles of ``block_n`` columns do not go round the ring."""
        dtype = c.decl.dtype
        columns = STRIP_BYTES // dtype.bytes
        if buffers < 1 or block_n % (columns * buffers):
            raise ScheduleError(
                f"block_n = {block_n} in {dtype.value} with buffers = {buffers}",
                fix=f"a tile is a whole number of rounds of {buffers} strips of {columns} columns",
            )
        stages = WARPS * buffers
        strips = b.smem_tile("strips", (ROWS, columns), dtype, stages=stages, swizzle=128)
        c_map = b.tensor_map("c_map", c, box=(ROWS, columns), swizzle=128)
        return cls(b, strips, c_map, b.fragment("r", registers=columns), buffers, twin)

    def store(
        self,
        acc: TmemTileView,
        corner: tuple[Value, Value],
        release: Callable[[], None],
        meet: Callable[[], None] | None = None,
    ) -> None:
        """The warp's rows of the tile at ``corner`` of C; ``release`` once all are in registers.

        ``meet``: what happens between the last load and its wait, in a twin.
        """
        b, twin, warp = self.b, self.twin, self.b.warp_in_role
        columns = self.strips.decl.shape[1]
        strips = acc.view.shape[1] // columns
        for strip in range(strips):
            lanes = ROWS * (3 - warp if twin == "wrong_lanes" else warp)
            if strip == strips - 1 and twin == "release_before_ld":
                release()
            b.tcgen05.ld(self.registers.all, acc.box((lanes, strip * columns), (ROWS, columns)))
            if meet is not None and strip == strips - 1:
                meet()
            if twin != "late_wait_ld":
                b.tcgen05.wait_ld()
            if strip == strips - 1 and twin != "release_before_ld":
                release()
            buffer = self.strips[warp * self.buffers + strip % self.buffers]
            with b.elect():
                b.bulk.wait_group(self.buffers - 1, read=True)
            b.bar.warp_sync()
            b.mem.compute(ROW[self.strips.decl.dtype.value], buffer, self.registers.all)
            if twin == "late_wait_ld":
                b.tcgen05.wait_ld()
            b.fence.proxy_async("shared")
            b.bar.warp_sync()
            with b.elect():
                row = corner[0] + warp * ROWS
                b.tma.store(self.c_map, (row, corner[1] + strip * columns), buffer)
                b.bulk.commit_group()

    def drain(self) -> None:
        """Before the CTA ends: its stores have read shared memory."""
        with self.b.elect():
            self.b.bulk.wait_group(0, read=True)
