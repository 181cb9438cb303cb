"""The fifth generation tensor core: tensor memory, and what works on it."""

from __future__ import annotations

from asyncsim.build.families import Family
from asyncsim.build.handles import TileView
from asyncsim.build.tmem import TmemTileView
from asyncsim.build.value import Index, as_expr, whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import FragmentRef, MbarrierRef, Scope
from asyncsim.ir.tcgen05 import CpShape, MmaKind, Tcgen05Access, Tcgen05Side

_KIND = {
    DType.F16: MmaKind.F16,
    DType.BF16: MmaKind.F16,
    DType.TF32: MmaKind.TF32,
    DType.E4M3: MmaKind.F8F6F4,
    DType.E5M2: MmaKind.F8F6F4,
    DType.I8: MmaKind.I8,
    DType.U8: MmaKind.I8,
}
_SLICE_BYTES = 32  # of a row of A or B, for one instruction of any kind
_SLICE_COLUMNS = 8  # the same in tensor memory


class Tcgen05Family(Family):
    """tcgen05.*: ``cta_group`` 2 works on both CTAs of a pair."""

    def alloc(self, address: TileView, columns: int, *, cta_group: int = 1) -> None:
        """tcgen05.alloc, by a whole warp: the address goes to the word ``address``. Blocks."""
        self._k.emit(
            ops.Tcgen05Alloc,
            scope=Scope.WARP,
            address=address.view,
            columns=whole(columns),
            cta_group=cta_group,
        )

    def dealloc(
        self, address: TileView, columns: int, *, cta_group: int = 1, offset: int = 0
    ) -> None:
        """tcgen05.dealloc, by a whole warp, of what alloc has written to ``address``."""
        self._k.emit(
            ops.Tcgen05Dealloc,
            scope=Scope.WARP,
            address=address.view,
            columns=whole(columns),
            cta_group=cta_group,
            offset=whole(offset),
        )

    def relinquish_alloc_permit(self, *, cta_group: int = 1) -> None:
        """tcgen05.relinquish_alloc_permit: this CTA allocates no more."""
        self._k.emit(ops.Tcgen05RelinquishAllocPermit, scope=Scope.WARP, cta_group=cta_group)

    def mma(
        self,
        d: TmemTileView,
        a: TileView | TmemTileView,
        b: TileView,
        *,
        accumulate: Index = 1,
        kind: str = "",
        cta_group: int = 1,
        m: int = 0,
        scale_a: TmemTileView | None = None,
        scale_b: TmemTileView | None = None,
        scale_vec: int = 0,
        scale_a_id: int = 0,
        scale_b_id: int = 0,
    ) -> None:
        """One tcgen05.mma, by one thread: d += a times b transposed, over the CTAs of the group.

        ``a`` and ``b`` are each CTA's rows, 32 bytes deep; ``a`` may be in tensor memory, then
        ``m`` is 128 per CTA unless given. ``kind`` follows from the type of ``b`` unless given.
        The ids are those of the first byte of the scale factors in their columns.
        """
        which = _kind(kind, b)
        rows = a.view.shape[0] * cta_group
        self._k.emit(
            ops.Tcgen05Mma,
            d=d.view,
            a=a.view,
            b=b.view,
            kind=which,
            m=m or rows,
            n=b.view.shape[0] * cta_group,
            k=which.k,
            accumulate=as_expr(accumulate),
            cta_group=cta_group,
            scale_a=scale_a.view if scale_a is not None else None,
            scale_b=scale_b.view if scale_b is not None else None,
            scale_vec=scale_vec,
            scale_a_id=scale_a_id,
            scale_b_id=scale_b_id,
        )

    def mma_tile(
        self,
        d: TmemTileView,
        a: TileView | TmemTileView,
        b: TileView,
        *,
        accumulate_first: Index = 1,
        kind: str = "",
        cta_group: int = 1,
        scale_a: TmemTileView | None = None,
        scale_b: TmemTileView | None = None,
        scale_vec: int = 0,
    ) -> None:
        """The k-slices of tiles, in order; sugar over ``mma``.

        ``scale_a``, ``scale_b``: the factors of all slices, four bytes of a row in a column; those
        of the next four follow after the columns of all rows.
        """
        step = _SLICE_BYTES // b.decl.dtype.bytes
        depth = b.view.shape[1]
        if depth % step:
            raise ScheduleError(
                f"K of {depth} is not a multiple of {step}", fix="pad the tile", loc=caller()
            )
        cells = -(-depth // step * scale_vec // 4)
        for i in range(depth // step):
            cell, first = divmod(i * scale_vec, 4)
            self.mma(
                d,
                _slice(a, i),
                b.box((0, i * step), (b.view.shape[0], step)),
                accumulate=accumulate_first if i == 0 else 1,
                kind=kind,
                cta_group=cta_group,
                scale_a=_factors(scale_a, cell, cells),
                scale_b=_factors(scale_b, cell, cells),
                scale_vec=scale_vec,
                scale_a_id=first,
                scale_b_id=first,
            )

    def commit(
        self, barrier: MbarrierRef, *, multicast: Index | None = None, cta_group: int = 1
    ) -> None:
        """tcgen05.commit: one arrival when this thread's mma, cp and shift so far are complete.

        ``multicast``: a mask of CTA ranks; the barrier at the same place of each is arrived on.
        """
        self._k.emit(
            ops.Tcgen05Commit,
            mbarrier=barrier,
            cta_group=cta_group,
            multicast=None if multicast is None else as_expr(multicast),
        )

    def cp(self, dst: TmemTileView, src: TileView, *, shape: str, cta_group: int = 1) -> None:
        """tcgen05.cp: shared memory to tensor memory, by one thread."""
        try:
            which = CpShape(shape)
        except ValueError:
            known = ", ".join(s.value for s in CpShape)
            raise ScheduleError(
                f"tcgen05.cp of shape {shape!r}", fix=f"use one of {known}", loc=caller()
            ) from None
        self._k.emit(ops.Tcgen05Cp, dst=dst.view, src=src.view, shape=which, cta_group=cta_group)

    def shift(self, tile: TmemTileView, *, cta_group: int = 1) -> None:
        """tcgen05.shift.down: rows of 32 lanes, 8 columns, by one thread."""
        self._k.emit(ops.Tcgen05Shift, tile=tile.view, cta_group=cta_group)

    def ld(self, dst: FragmentRef, src: TmemTileView) -> None:
        """tcgen05.ld.32x32b.xN: the warp's 32 lanes of N columns; in ``dst`` after ``wait_ld``."""
        self._k.emit(ops.Tcgen05Ld, scope=Scope.WARP, dst=dst, src=src.view)

    def st(self, dst: TmemTileView, src: FragmentRef) -> None:
        """tcgen05.st.32x32b.xN: N registers to the warp's 32 lanes; there after ``wait_st``."""
        self._k.emit(ops.Tcgen05St, scope=Scope.WARP, dst=dst.view, src=src)

    def wait_ld(self) -> None:
        """tcgen05.wait::ld: the warp's loads so far are complete."""
        self._k.emit(ops.Tcgen05Wait, scope=Scope.WARP, what=Tcgen05Access.LD)

    def wait_st(self) -> None:
        """tcgen05.wait::st: the warp's stores so far are complete."""
        self._k.emit(ops.Tcgen05Wait, scope=Scope.WARP, what=Tcgen05Access.ST)

    def fence_before_thread_sync(self) -> None:
        """tcgen05.fence::before_thread_sync: before an arrive that other threads wait for."""
        self._k.emit(ops.Tcgen05Fence, side=Tcgen05Side.BEFORE)

    def fence_after_thread_sync(self) -> None:
        """tcgen05.fence::after_thread_sync: after a wait for other threads, or for a commit."""
        self._k.emit(ops.Tcgen05Fence, side=Tcgen05Side.AFTER)


def _kind(kind: str, b: TileView) -> MmaKind:
    try:
        return MmaKind(kind) if kind else _KIND[b.decl.dtype]
    except (KeyError, ValueError):
        known = ", ".join(k.value for k in MmaKind)
        what = f"of kind {kind!r}" if kind else f"of {b.decl.dtype.value} operands"
        raise ScheduleError(
            f"tcgen05.mma {what}", fix=f"use one of {known}", loc=caller()
        ) from None


def _slice(a: TileView | TmemTileView, i: int) -> TileView | TmemTileView:
    rows = a.view.shape[0]
    if isinstance(a, TmemTileView):
        return a.box((0, i * _SLICE_COLUMNS), (rows, _SLICE_COLUMNS))
    step = _SLICE_BYTES // a.decl.dtype.bytes
    return a.box((0, i * step), (rows, step))


def _factors(scale: TmemTileView | None, cell: int, cells: int) -> TmemTileView | None:
    """The columns that hold the factors of one slice."""
    if scale is None:
        return None
    lanes, columns = scale.view.shape
    each = columns // cells
    return scale.box((0, cell * each), (lanes, each))
