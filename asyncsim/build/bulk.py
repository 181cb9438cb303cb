"""cp.async.bulk without tensor maps, and bulk groups."""

from __future__ import annotations

from asyncsim.build.families import Family, group_depth, reduction
from asyncsim.build.handles import TileView
from asyncsim.build.value import Index, as_expr, whole
from asyncsim.ir import op as ops
from asyncsim.ir.op import GlobalView, GroupKind, MbarrierRef


class BulkFamily(Family):
    """cp.async.bulk: runs of bytes, and the groups of stores and reductions (those of TMA too)."""

    def load(
        self,
        dst: TileView,
        src: GlobalView,
        barrier: MbarrierRef,
        *,
        multicast: Index | None = None,
    ) -> None:
        """Copy one run of global memory; its bytes count on ``barrier``.

        ``multicast``: a mask of CTA ranks; each gets the run and the bytes at the same place.
        """
        self._k.emit(
            ops.BulkLoad,
            dst=dst.view,
            src=src,
            mbarrier=barrier,
            multicast=None if multicast is None else as_expr(multicast),
        )

    def store(self, dst: GlobalView, src: TileView) -> None:
        """Copy one run of shared memory to global; completes in a bulk group."""
        self._k.emit(ops.BulkStore, dst=dst, src=src.view)

    def reduce(self, dst: GlobalView, src: TileView, *, op: str) -> None:
        """cp.reduce.async.bulk into global memory: add, min, max, and, or, xor of each element."""
        self._k.emit(ops.BulkStore, dst=dst, src=src.view, reduce=reduction(op))

    def send(
        self, dst: TileView, src: TileView, barrier: MbarrierRef, *, op: str | None = None
    ) -> None:
        """Copy one run to another CTA, where its bytes count on ``barrier``; both are named with
        ``at(rank)``. ``op``: reduce into what is there (cp.reduce.async.bulk)."""
        self._k.emit(
            ops.BulkSend,
            dst=dst.view,
            src=src.view,
            mbarrier=barrier,
            reduce=None if op is None else reduction(op),
        )

    def prefetch(self, src: GlobalView) -> None:
        """cp.async.bulk.prefetch.L2: a hint."""
        self._k.emit(ops.BulkPrefetch, src=src)

    def commit_group(self) -> None:
        """cp.async.bulk.commit_group: close the group of the thread's bulk stores so far."""
        self._k.emit(ops.CommitGroup, kind=GroupKind.BULK)

    def wait_group(self, n: int, *, read: bool = False) -> None:
        """cp.async.bulk.wait_group(.read) N."""
        group_depth(n)
        self._k.emit(ops.WaitGroup, kind=GroupKind.BULK, n=whole(n), read=read)
