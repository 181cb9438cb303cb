"""CUDA text of fences between threads, and of what orders kernels."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context, asm
from asyncsim.ir import op as ops


def render_order(c: Context, op: ops.Fence | ops.GridDependencyOp) -> None:
    match op:
        case ops.Fence(fence_scope=scope, sc=sc):
            c.put(asm(f"fence.{'sc' if sc else 'acq_rel'}.{scope.value}"))
        case ops.GriddepcontrolLaunchDependents():
            c.put(asm("griddepcontrol.launch_dependents"))
        case ops.GriddepcontrolWait():
            c.put(asm("griddepcontrol.wait"))
        case _ as unreachable:
            assert_never(unreachable)
