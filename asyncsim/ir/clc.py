"""Cluster launch control: a running cluster takes over the work of one that has not been launched
(PTX ISA, clusterlaunchcontrol)."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir.operand import FragmentRef, MbarrierRef, OpBase, SmemView

NO_TILE = 0xFFFFFFFF
"""What a response says when every cluster has been launched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClcTryCancel(OpBase):
    """clusterlaunchcontrol.try_cancel: ask for the next tile. The response of 16 bytes comes by the
    async proxy and counts on an mbarrier.

    ``multicast``: every CTA of the cluster gets it, and the bytes, at the same place.
    """

    dst: SmemView
    mbarrier: MbarrierRef
    multicast: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClcQueryCancel(OpBase):
    """clusterlaunchcontrol.query_cancel: each lane gets the tile that a response speaks of: the
    index of the cluster that is not launched, or ``NO_TILE``. The response must be complete."""

    dst: FragmentRef
    src: SmemView


ClcOp = ClcTryCancel | ClcQueryCancel
