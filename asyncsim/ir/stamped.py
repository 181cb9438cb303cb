"""Which ops a stamped build notes the clock after: the renderer, the decoder and simulate agree."""

from __future__ import annotations

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


def is_stamped(op: Op) -> bool:
    """Whether the stamped build records the clock after this op."""
    return not isinstance(op, _UNSTAMPED)


def leaves_stamp(op: Op) -> bool:
    """Whether a warp that executes the op so records it: its elected lane does."""
    return is_stamped(op) and op.scope is not Scope.OTHERS
