"""What fences between threads do in an evaluation: nothing, it runs one thread at a time."""

from __future__ import annotations

from typing import assert_never

from asyncsim.evaluate.sync_ops import Step
from asyncsim.ir import op as ops


def order_step(op: ops.Fence) -> Step:
    match op:
        case ops.Fence():
            return lambda v: None
        case _ as unreachable:
            assert_never(unreachable)
