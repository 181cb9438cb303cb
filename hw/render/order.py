"""CUDA text of fences between threads, and of what orders kernels."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context, asm, cannot_render
from asyncsim.hw.render.expr import c_text
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const
from asyncsim.ir.op import GlobalView


def render_order(c: Context, op: ops.OrderOp | ops.GridDependencyOp) -> None:
    match op:
        case ops.Fence(fence_scope=scope, sc=sc):
            c.put(asm(f"fence.{'sc' if sc else 'acq_rel'}.{scope.value}"))
        case ops.GriddepcontrolLaunchDependents():
            c.put(asm("griddepcontrol.launch_dependents"))
        case ops.GriddepcontrolWait():
            c.put(asm("griddepcontrol.wait"))
        case ops.FenceProxyTensormap(tensor_map=None):
            c.put(asm("fence.proxy.tensormap::generic.release.gpu"))
        case ops.FenceProxyTensormap(tensor_map=name):
            c.put(f"tensormap_acquire(m_{name});")
        case ops.TensormapReplace():
            c.put_guarded(_replace(c, op))
        case _ as unreachable:
            assert_never(unreachable)


def _replace(c: Context, op: ops.TensormapReplace) -> str:
    """The address in rows of the outermost dimension; an extent; what the host has made."""
    m = c.schedule.tensor_map(op.tensor_map)
    tensor = c.schedule.tensor(m.tensor)
    rank = len(tensor.shape)
    zero = (Const(0),) * rank
    match op.field:
        case "global_address":
            first = GlobalView(tensor.name, (op.value or Const(0), *zero[1:]), (1,) * rank)
            return f"tensormap_replace_address(m_{op.tensor_map}, {c.element(first)});"
        case "global_dim":
            extent = Const(tensor.shape[op.dim]) if op.value is None else op.value
            inner = rank - m.sliced - 1 - op.dim  # counted innermost first
            return f"tensormap_replace_dim<{inner}>(m_{op.tensor_map}, {c_text(extent)});"
        case _:
            raise cannot_render(
                op, f"field {op.field!r}", "replace global_address or global_dim, the others stay"
            )
