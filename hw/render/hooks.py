"""What the build variants hook, beside the stamps of ir/stamped.py."""

from __future__ import annotations

from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, Op

END_WORD = 0xFFFFFFFF


def is_delayed(op: Op) -> bool:
    """Whether the delay build can wait before this op: not between a wgmma and its commit, where
    ptxas would serialise."""
    wgmma_commit = isinstance(op, ops.CommitGroup) and op.kind is GroupKind.WGMMA
    return not isinstance(op, ops.WgmmaMmaAsync) and not wgmma_commit
