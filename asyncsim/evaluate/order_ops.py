"""What orders threads and kernels does nothing in an evaluation: it runs one after the other."""

from __future__ import annotations

from typing import assert_never

from asyncsim.evaluate.sync_ops import Step
from asyncsim.ir import op as ops


def order_step(op: ops.Fence | ops.GridDependencyOp) -> Step:
    match op:
        case ops.Fence() | ops.GriddepcontrolLaunchDependents() | ops.GriddepcontrolWait():
            return lambda v: None
        case _ as unreachable:
            assert_never(unreachable)
