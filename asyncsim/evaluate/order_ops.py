"""What orders threads and kernels, and changes of tensor maps, in an evaluation.

It runs one thread and one kernel after the other: fences do nothing.
"""

from __future__ import annotations

from typing import assert_never

from asyncsim.evaluate.cta import Cta
from asyncsim.evaluate.operands import Operands
from asyncsim.evaluate.sync_ops import Step
from asyncsim.ir import op as ops


def order_step(op: ops.OrderOp | ops.GridDependencyOp, use: Operands, cta: Cta) -> Step:
    match op:
        case ops.Fence() | ops.FenceProxyTensormap():
            return lambda v: None
        case ops.GriddepcontrolLaunchDependents() | ops.GriddepcontrolWait():
            return lambda v: None
        case ops.TensormapReplace(tensor_map=name, value=expr):
            m = cta.schedule.tensor_map(name)
            if expr is None:
                return lambda v: cta.maps.change(m, op, None)
            value = use.value(expr)
            return lambda v: cta.maps.change(m, op, value(v))
        case _ as unreachable:
            assert_never(unreachable)
