"""CUDA text of fences, hardware barriers and setmaxnreg."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context, asm
from asyncsim.ir import op as ops
from asyncsim.ir.op import FenceSpace, SyncOp

_PROXY_FENCE = {
    FenceSpace.SHARED: "fence.proxy.async.shared::cta",
    FenceSpace.CLUSTER: "fence.proxy.async.shared::cluster",
    FenceSpace.GLOBAL: "fence.proxy.async.global",
    FenceSpace.ALL: "fence.proxy.async",
}


def render_sync(c: Context, op: SyncOp) -> None:
    match op:
        case ops.FenceMbarrierInit():
            c.put(asm("fence.mbarrier_init.release.cluster"))
        case ops.FenceProxyAsync(space=space):
            c.put(asm(_PROXY_FENCE[space]))
        case ops.BarSync(barrier=0, threads=0):
            c.put("__syncthreads();")
        case ops.BarSync(barrier=barrier, threads=threads):
            c.put(asm(f"bar.sync {barrier}, {threads}"))
        case ops.BarArrive(barrier=barrier, threads=threads):
            c.put(asm(f"bar.arrive {barrier}, {threads}"))
        case ops.BarWarpSync():
            c.put("__syncwarp();")
        case ops.SetMaxNReg(direction=direction, count=count):
            c.put(asm(f"setmaxnreg.{direction.value}.sync.aligned.u32 {count}"))
        case _ as unreachable:
            assert_never(unreachable)
