"""Tensor copies: cp.async.bulk.tensor between global and shared memory."""

from __future__ import annotations

from asyncsim.build.families import Family, reduction
from asyncsim.build.handles import TensorMapHandle, TileView
from asyncsim.build.value import Index, as_expr, whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.op import MbarrierRef


class TmaFamily(Family):
    """cp.async.bulk.tensor."""

    def load(
        self,
        dst: TileView,
        tensor_map: TensorMapHandle,
        start: tuple[Index, ...],
        barrier: MbarrierRef,
        *,
        multicast: Index | None = None,
    ) -> None:
        """Copy the box at ``start`` (elements, row-major); its bytes count on ``barrier``.

        ``multicast``: a mask of CTA ranks; each gets the box and the bytes at the same place.
        """
        self._k.emit(
            ops.TmaLoad,
            dst=dst.view,
            tensor_map=tensor_map.decl.name,
            src=tensor_map.box(start),
            mbarrier=barrier,
            multicast=None if multicast is None else as_expr(multicast),
        )

    def store(self, tensor_map: TensorMapHandle, start: tuple[Index, ...], src: TileView) -> None:
        """Copy shared memory to the box at ``start``; completes in a bulk group."""
        self._store(tensor_map, start, src, None)

    def reduce(
        self, tensor_map: TensorMapHandle, start: tuple[Index, ...], src: TileView, *, op: str
    ) -> None:
        """cp.reduce.async.bulk.tensor: add, min, max, and, or, xor into the box at ``start``."""
        self._store(tensor_map, start, src, reduction(op))

    def load_im2col(
        self,
        dst: TileView,
        tensor_map: TensorMapHandle,
        start: tuple[Index, ...],
        offsets: tuple[Index, ...],
        barrier: MbarrierRef,
        *,
        halo: int | None = None,
        multicast: Index | None = None,
    ) -> None:
        """cp.async.bulk.tensor im2col: the pixels of a ``k.im2col_map`` from ``start`` (batch,
        space, channel) on, each read ``offsets`` (space) further; bytes count on ``barrier``.

        By a map of im2col::w, ``offsets`` is one number, and ``halo`` pixels more come at the end
        (w), or for each 32 of the 128 (w::128): ``dst`` has them as rows of its own.
        """
        self._k.emit(
            ops.TmaLoad,
            dst=dst.view,
            tensor_map=tensor_map.decl.name,
            src=tensor_map.pixel(start),
            mbarrier=barrier,
            multicast=None if multicast is None else as_expr(multicast),
            offsets=tuple(map(as_expr, offsets)),
            halo=None if halo is None else whole(halo),
        )

    def gather4(
        self,
        dst: TileView,
        tensor_map: TensorMapHandle,
        rows: tuple[Index, Index, Index, Index],
        column: Index,
        barrier: MbarrierRef,
        *,
        multicast: Index | None = None,
    ) -> None:
        """cp.async.bulk.tensor tile::gather4: four rows of a matrix, from ``column`` on, into four
        rows of shared memory. The map's box is one row; the bytes of all count on ``barrier``."""
        first, *others = [tensor_map.box((row, column)) for row in _four(rows)]
        self._k.emit(
            ops.TmaLoad,
            dst=dst.view,
            tensor_map=tensor_map.decl.name,
            src=first,
            mbarrier=barrier,
            multicast=None if multicast is None else as_expr(multicast),
            rows=tuple(others),
        )

    def scatter4(
        self,
        tensor_map: TensorMapHandle,
        rows: tuple[Index, Index, Index, Index],
        column: Index,
        src: TileView,
    ) -> None:
        """cp.async.bulk.tensor tile::scatter4: four rows of shared memory to four rows of a matrix;
        completes in a bulk group."""
        first, *others = [tensor_map.box((row, column)) for row in _four(rows)]
        self._k.emit(
            ops.TmaStore,
            dst=first,
            tensor_map=tensor_map.decl.name,
            src=src.view,
            rows=tuple(others),
        )

    def prefetch(self, tensor_map: TensorMapHandle, start: tuple[Index, ...]) -> None:
        """cp.async.bulk.prefetch.tensor: bring the box at ``start`` to L2; a hint."""
        name = tensor_map.decl.name
        self._k.emit(ops.TmaPrefetch, tensor_map=name, src=tensor_map.box(start))

    def replace(
        self,
        tensor_map: TensorMapHandle,
        *,
        field: str = "global_address",
        value: Index | None = None,
        dim: int = 0,
    ) -> None:
        """tensormap.replace: change a field of the CTA's copy of a map (``in_global=True``).

        ``value``: rows of the outermost dimension that the map skips ("global_address"), or the
        extent of dimension ``dim`` ("global_dim"); without one the field is as at first.
        """
        self._k.emit(
            ops.TensormapReplace,
            tensor_map=tensor_map.decl.name,
            field=field,
            value=None if value is None else as_expr(value),
            dim=whole(dim),
        )

    def prefetch_map(self, tensor_map: TensorMapHandle) -> None:
        """prefetch.tensormap: bring the descriptor itself; a hint."""
        self._k.emit(ops.PrefetchTensorMap, tensor_map=tensor_map.decl.name)

    def _store(
        self,
        tensor_map: TensorMapHandle,
        start: tuple[Index, ...],
        src: TileView,
        reduce: ops.ReduceOp | None,
    ) -> None:
        self._k.emit(
            ops.TmaStore,
            dst=tensor_map.box(start),
            tensor_map=tensor_map.decl.name,
            src=src.view,
            reduce=reduce,
        )


def _four(rows: tuple[Index, ...]) -> tuple[Index, ...]:
    if len(rows) != 4:
        raise ScheduleError(f"{len(rows)} rows", fix="gather4 and scatter4 take 4", loc=caller())
    return rows
