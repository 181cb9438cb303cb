"""Which ops a stamped build notes the clock after: the renderer, the decoder and simulate agree."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir import op as ops
from asyncsim.ir.op import Op, Scope

# Too short or too many to be worth a stamp each; they fall into the span of the next stamped op.
_UNSTAMPED = (
    ops.MbarrierInit,
    ops.FenceMbarrierInit,
    ops.FenceProxyAsync,
    ops.BarWarpSync,
    ops.CpAsync,
    ops.WgmmaFence,
    ops.WgmmaMmaAsync,
    ops.Tcgen05Mma,
    ops.Tcgen05Cp,
    ops.Tcgen05Shift,
    ops.Tcgen05Fence,
    ops.LdGlobal,
    ops.StGlobal,
    ops.LdShared,
    ops.StShared,
    ops.LdMatrix,
    ops.StMatrix,
    ops.MmaSync,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StampCost:
    """Cycles that a stamp takes behind an op of an mbarrier, behind a block or named barrier, and
    behind any other op. They differ by how much of the stamp the op hides."""

    mbarrier: float
    barrier: float
    other: float

    def of(self, op: Op) -> float:
        """0 for an op that leaves no stamp."""
        if not leaves_stamp(op):
            return 0.0
        if isinstance(op, ops.MbarrierOp):
            return self.mbarrier
        return self.barrier if isinstance(op, ops.BarSync | ops.BarArrive) else self.other


def is_stamped(op: Op) -> bool:
    """Whether the stamped build records the clock after this op."""
    return not isinstance(op, _UNSTAMPED)


def leaves_stamp(op: Op) -> bool:
    """Whether a warp that executes the op so records it: its elected lane does."""
    return is_stamped(op) and op.scope is not Scope.OTHERS
