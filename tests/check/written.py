"""Registers and tiles that hold something, for tests whose matter is something else."""

from __future__ import annotations

from asyncsim import ScheduleBuilder
from asyncsim.build.handles import FragmentHandle, SmemHandle
from asyncsim.ir.decl import AccessMode, ComputeDef, ComputeOperand, Work

FILL = ComputeDef(
    name="fill",
    operands=(ComputeOperand(name="value", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=1),
    cuda="for (auto& v : value) v = 0;",
    numpy=lambda value, **_: value.fill(0),
)


def written(k: ScheduleBuilder, name: str, *, registers: int, dtype: str = "f32") -> FragmentHandle:
    """A fragment that every warp has written."""
    fragment = k.fragment(name, registers=registers, dtype=dtype)
    k.mem.compute(FILL, fragment.all)
    return fragment


FILL_TILE = ComputeDef(
    name="fill_tile",
    operands=(ComputeOperand(name="tile", kind="smem", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=1),
    cuda="for (int i = 0; i < tile.size(); ++i) tile[i] = 0;",
    numpy=lambda tile, **_: tile.fill(0),
)


def written_tile(k: ScheduleBuilder, tile: SmemHandle) -> SmemHandle:
    """A tile that one thread has written, every stage, for all proxies and the whole block."""
    with k.elect_thread():
        for stage in range(tile.decl.stages):
            k.mem.compute(FILL_TILE, tile[stage])
        k.fence.proxy_async()
    k.bar.sync()
    return tile
