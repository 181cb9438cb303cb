"""clusterlaunchcontrol: the next tile of a persistent kernel."""

from __future__ import annotations

from asyncsim.build.families import Family
from asyncsim.build.handles import TileView
from asyncsim.ir import op as ops
from asyncsim.ir.op import FragmentRef, MbarrierRef


class ClcFamily(Family):
    """clusterlaunchcontrol.* (sm_100 and later)."""

    def try_cancel(self, dst: TileView, barrier: MbarrierRef, *, multicast: bool = False) -> None:
        """Ask for the next tile: 16 bytes come to ``dst`` and count on ``barrier``; with
        ``multicast`` in every CTA of the cluster."""
        self._k.emit(ops.ClcTryCancel, dst=dst.view, mbarrier=barrier, multicast=multicast)

    def query_cancel(self, dst: FragmentRef, src: TileView) -> None:
        """Each lane gets the tile that a response speaks of, or a number that is none."""
        self._k.emit(ops.ClcQueryCancel, dst=dst, src=src.view)
