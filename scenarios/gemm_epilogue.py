"""The end of a tile: accumulators to shared memory, and from there by TMA to C.

The tile leaves in strips as wide as a row of the 128-byte swizzle, through a ring of strip buffers.
One thread issues the TMA stores. Before a strip is written, that thread waits until the store that
had its buffer has read it; the others learn it at a barrier. After it is written, each thread
fences what it wrote toward the async proxy, and a second barrier hands it to the TMA store. So the
stores of a tile run under the mainloop of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from asyncsim import (
    AccessMode,
    ComputeDef,
    ComputeOperand,
    Rule,
    ScheduleBuilder,
    ScheduleError,
    Work,
)
from asyncsim.build.handles import (
    FragmentHandle,
    GlobalHandle,
    SmemHandle,
    TensorMapHandle,
    TileView,
)
from asyncsim.build.value import Index
from asyncsim.ir.dtype import DType
from asyncsim.scenario import Twin

STRIP_BYTES = 128
WARP_ROWS = 16  # of an accumulator, which has 64

TWINS = (
    Twin(
        name="no_read_wait",
        rule=Rule.SMEM_REUSED_BEFORE_STORE_READ,
        summary="strip buffers are written without a wait for the stores that read them",
    ),
    Twin(
        name="read_too_loose",
        rule=Rule.WAIT_GROUP_TOO_LOOSE,
        summary="wait_group.read leaves one store too many, the one that has the buffer",
    ),
    Twin(
        name="no_buffer_barrier",
        rule=Rule.MISSING_BLOCK_BARRIER,
        summary="only the thread that issues the stores knows that the buffer is free",
    ),
    Twin(
        name="no_store_fence",
        rule=Rule.MISSING_PROXY_FENCE,
        summary="no fence.proxy.async between the strip and the TMA store of it",
    ),
    Twin(
        name="no_store_barrier",
        rule=Rule.MISSING_BLOCK_BARRIER,
        summary="the TMA store does not wait for what the other warps write",
    ),
    Twin(
        name="no_exit_wait",
        rule=Rule.OUTSTANDING_AT_EXIT,
        summary="the CTA ends while its last stores may still read shared memory",
    ),
)


def c_type(f32: int) -> str:
    """The type of C. Raises ScheduleError."""
    if f32 not in (0, 1):
        raise ScheduleError(f"f32 = {f32}", fix="0 stores bf16, 1 stores f32")
    return "f32" if f32 else "bf16"


def _strip(dtype: str, columns: int, cuda: str) -> ComputeDef:
    """A warp's 16 rows of ``columns`` columns of an accumulator, to a strip of C's type."""
    registers = columns // 2
    bytes_each = STRIP_BYTES // columns
    pairs = registers // 2

    def numpy(acc: Any, strip: Any, lane: Any, **_: Any) -> None:
        for r in range(registers):
            strip[lane // 4 + r // 2 % 2 * 8, lane % 4 * 2 + r // 4 * 8 + r % 2] = acc[:, r]

    return ComputeDef(
        name=f"strip_{dtype}",
        operands=(
            ComputeOperand(name="strip", kind="smem", mode=AccessMode.WRITE),
            ComputeOperand(name="acc", kind="fragment"),
        ),
        work=lambda: Work(
            alu=pairs, cvt=pairs * (bytes_each == 2), sts_bytes=32 * registers * bytes_each
        ),
        cuda=cuda,
        numpy=numpy,
    )


STRIPS = {
    "bf16": _strip(
        "bf16",
        64,
        """
        #pragma unroll
        for (int r = 0; r < 32; r += 2) {
          u32 pair;
          asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(acc[r + 1]), "f"(acc[r]));
          *(u32*)&strip(lane / 4 + r / 2 % 2 * 8, lane % 4 * 2 + r / 4 * 8) = pair;
        }
        """,
    ),
    "f32": _strip(
        "f32",
        32,
        """
        #pragma unroll
        for (int r = 0; r < 16; r += 2) {
          float2 pair = {acc[r], acc[r + 1]};
          *(float2*)&strip(lane / 4 + r / 2 % 2 * 8, lane % 4 * 2 + r / 4 * 8) = pair;
        }
        """,
    ),
}


class Tile(Protocol):
    """The size of a tile, and the ``warpgroups`` that share its rows."""

    @property
    def block_m(self) -> int: ...

    @property
    def block_n(self) -> int: ...

    @property
    def warpgroups(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Epilogue:
    """A ring of strip buffers, each as high as a tile. ``warps`` warps of the role share a tile;
    ``meet`` is their barrier."""

    b: ScheduleBuilder
    strips: SmemHandle
    warps: int
    meet: Callable[[], None]
    twin: str

    @classmethod
    def declare(
        cls,
        b: ScheduleBuilder,
        blocks: Tile,
        dtype: str,
        *,
        buffers: int,
        meet: Callable[[], None],
        twin: str,
    ) -> Epilogue:
        """Raises ScheduleError if a tile does not go round the ring a whole number of times."""
        columns = STRIP_BYTES // DType(dtype).bytes
        if buffers < 1 or blocks.block_n % (columns * buffers):
            raise ScheduleError(
                f"block_n = {blocks.block_n} in {dtype} with buffers = {buffers}",
                fix=f"a tile is a whole number of rounds of {buffers} strips of {columns} columns",
            )
        box = (blocks.block_m, columns)
        strips = b.smem_tile("strips", box, dtype, stages=buffers, swizzle=128)
        return cls(b=b, strips=strips, warps=4 * blocks.warpgroups, meet=meet, twin=twin)

    def map_of(self, c: GlobalHandle) -> TensorMapHandle:
        """The map by which strips leave."""
        name = f"{c.decl.name}_map"
        return self.b.tensor_map(name, c, box=self.strips.decl.shape, swizzle=128)

    def store(
        self,
        acc: Sequence[FragmentHandle],
        first_row: Index,
        leave: Callable[[Index, TileView], None],
    ) -> None:
        """The accumulators of a warpgroup, 64 rows each, are rows from ``first_row`` on of a tile.
        ``leave`` issues the TMA store of the strip at a column of the tile."""
        b, twin = self.b, self.twin
        buffers, (_, columns) = self.strips.decl.stages, self.strips.decl.shape
        convert = STRIPS[self.strips.decl.dtype.value]
        for strip, first in enumerate(range(0, acc[0].decl.registers, columns // 2)):
            buffer = self.strips[strip % buffers]
            if twin != "no_read_wait":
                with self.issuer():
                    b.bulk.wait_group(buffers - (twin != "read_too_loose"), read=True)
            if twin != "no_buffer_barrier":
                self.meet()
            for h, rows in enumerate(acc):
                row = first_row + h * 64 + b.warp_in_role % 4 * WARP_ROWS
                part = buffer.box((row, 0), (WARP_ROWS, columns))
                b.mem.compute(convert, part, rows.part(first, columns // 2))
            if twin != "no_store_fence":
                b.fence.proxy_async("shared")
            if twin != "no_store_barrier":
                self.meet()
            with self.issuer():
                leave(strip * columns, buffer)
                b.bulk.commit_group()

    def drain(self) -> None:
        """Wait until all stores have read their strips."""
        with self.issuer():
            self.b.bulk.wait_group(0, read=True)

    @contextmanager
    def issuer(self) -> Iterator[None]:
        """The one thread of a tile that issues its stores, and to which their groups belong."""
        b = self.b
        with b.when(b.warp_in_role % self.warps == 0), b.elect():
            yield
