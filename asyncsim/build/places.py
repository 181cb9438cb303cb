"""Where the code runs, as values: the block, the rank in the cluster, the warp, the lane."""

from __future__ import annotations

from asyncsim.build.value import Value
from asyncsim.ir.expr import Builtin, BuiltinRef


class Places:
    """Values that tell who executes."""

    @property
    def block_idx(self) -> Value:
        """blockIdx.x"""
        return Value(BuiltinRef(Builtin.BLOCK_IDX_X))

    @property
    def block_idx_y(self) -> Value:
        """blockIdx.y"""
        return Value(BuiltinRef(Builtin.BLOCK_IDX_Y))

    @property
    def cta_rank(self) -> Value:
        """%cluster_ctarank: the place of the CTA in its cluster, x fastest."""
        return Value(BuiltinRef(Builtin.CTA_RANK))

    @property
    def warp_in_role(self) -> Value:
        """Index of the warp in its role (in the block, outside roles)."""
        return Value(BuiltinRef(Builtin.WARP_IN_ROLE))

    @property
    def thread_in_role(self) -> Value:
        """Index of the thread in its role; differs from lane to lane."""
        return Value(BuiltinRef(Builtin.THREAD_IN_ROLE))

    @property
    def lane(self) -> Value:
        """Lane of the warp, 0..31."""
        return Value(BuiltinRef(Builtin.LANE))
