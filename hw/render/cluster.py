"""CUDA text of what CTAs of a cluster do with each other."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import C_TYPES, Context, asm, cannot_render
from asyncsim.ir import op as ops
from asyncsim.ir.op import ClusterOp


def render_cluster(c: Context, op: ClusterOp) -> None:
    match op:
        case ops.BarrierClusterArrive(relaxed=relaxed):
            order = "relaxed" if relaxed else "release"
            c.put(asm(f"barrier.cluster.arrive.{order}.aligned"))
        case ops.BarrierClusterWait():
            c.put(asm("barrier.cluster.wait.acquire.aligned"))
        case ops.StAsync():
            _st_async(c, op)
        case _ as unreachable:
            assert_never(unreachable)


def _st_async(c: Context, op: ops.StAsync) -> None:
    if c.shared_vector_elements(op.dst) < op.src.count:
        raise cannot_render(
            op,
            f"a lane's {op.src.count} elements do not lie side by side in {op.dst.tile}",
            "store a box of one row, aligned to its size",
        )
    element = C_TYPES[c.schedule.tile(op.dst.tile).dtype]
    to = c.in_cta(f"smem_base + {c.physical_bytes(op.dst)}", op.dst.rank)
    registers = ", ".join(c.register(op.src, i) for i in range(op.src.count))
    c.put_guarded(f"st_async<{element}>({to}, {c.barrier(op.mbarrier)}, {registers});")
