"""Op families: one class per PTX family, one method per instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncsim.build.handles import (
    FragmentHandle,
    GlobalHandle,
    NamedBarrierHandle,
    TensorMapHandle,
    TileView,
)
from asyncsim.build.value import Index, Value, as_expr, whole
from asyncsim.build.where import caller
from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.alignment import MMA_K_BYTES, mma_extents
from asyncsim.ir.decl import ComputeDef
from asyncsim.ir.op import (
    FenceSpace,
    FragmentRef,
    GlobalView,
    GroupKind,
    MaxNRegDirection,
    MbarrierRef,
    Scope,
)

if TYPE_CHECKING:
    from asyncsim.build.builder import ScheduleBuilder


class Family:
    """The instructions of one PTX family, on one builder."""

    def __init__(self, builder: ScheduleBuilder) -> None:
        self._k = builder


class CpAsyncFamily(Family):
    """cp.async (non-bulk) and its groups, which belong to the issuing thread."""

    def copy(
        self, dst: TileView, src: GlobalView, *, bytes: int = 16, src_bytes: Index | None = None
    ) -> None:
        """One cp.async a lane: ``bytes`` (4, 8, 16) from ``src`` to ``dst``, zero-filled."""
        if bytes not in (4, 8, 16):
            raise ScheduleError(f"cp.async of {bytes} bytes", fix="use 4, 8 or 16", loc=caller())
        self._k.emit(
            ops.CpAsync,
            dst=dst.view,
            src=src,
            bytes=bytes,
            src_bytes=None if src_bytes is None else as_expr(src_bytes),
        )

    def copy_tile(
        self, dst: TileView, src: GlobalHandle, start: tuple[Index, ...], *, threads: int
    ) -> None:
        """All threads of the role copy a 2-D tile in 16-byte chunks, chunk by thread."""
        for to, box in _chunks(self._k, dst, src, start, threads):
            self.copy(to, box)

    def mbarrier_arrive(self, barrier: MbarrierRef, *, noinc: bool = False) -> None:
        """cp.async.mbarrier.arrive: each lane arrives once its earlier copies are complete.

        Without ``noinc`` the phase needs one arrival more for each of them, which is this one; with
        it they are among those that the barrier counts.
        """
        self._k.emit(ops.CpAsyncMbarrierArrive, mbarrier=barrier, noinc=noinc)

    def commit_group(self) -> None:
        """cp.async.commit_group: close the group of the thread's copies so far."""
        self._k.emit(ops.CommitGroup, kind=GroupKind.CP_ASYNC)

    def wait_group(self, n: int) -> None:
        """cp.async.wait_group N: at most the N most recent groups stay pending."""
        group_depth(n)
        self._k.emit(ops.WaitGroup, kind=GroupKind.CP_ASYNC, n=whole(n))


class WgmmaFamily(Family):
    """wgmma: executed by the four warps of a warpgroup together."""

    def fence(self) -> None:
        """wgmma.fence: orders register accesses before the wgmma that follow."""
        self._k.emit(ops.WgmmaFence, scope=Scope.WARPGROUP)

    def mma(
        self,
        d: FragmentHandle,
        a: TileView | FragmentRef,
        b: TileView,
        *,
        accumulate: Index = 1,
        trans_a: bool = False,
        trans_b: bool = False,
    ) -> None:
        """One m64nNkK: d (64, N) += a (64, K) times b (N, K) transposed; K is 32 bytes.

        ``a``: a view, or K/2 elements of an operand fragment. ``trans_a``, ``trans_b``, of bf16 and
        f16: the view is stored the other way round, (16, 64) and (16, N), or (panels, 16, a swizzle
        span). Extents of 1 may stand before those of a view.
        """
        n, k_b = mma_extents(b.view.shape, trans_b)
        k_step = MMA_K_BYTES // b.decl.dtype.bytes
        m, k = 64, 2 * a.count if isinstance(a, FragmentRef) else 0
        if isinstance(a, TileView):
            m, k = mma_extents(a.view.shape, trans_a)
        if m != 64 or k != k_step or k_b != k or d.decl.registers != n // 2:
            raise ScheduleError(
                f"wgmma of a {m}x{k}, b {n}x{k_b}, d of {d.decl.registers} registers",
                fix=f"a is 64x{k_step}, b is Nx{k_step}, d has N/2 registers",
                loc=caller(),
            )
        self._k.emit(
            ops.WgmmaMmaAsync,
            scope=Scope.WARPGROUP,
            d=d.all,
            a=a if isinstance(a, FragmentRef) else a.view,
            b=b.view,
            n=n,
            k=k,
            accumulate=as_expr(accumulate),
            trans_a=trans_a,
            trans_b=trans_b,
        )

    def mma_tile(
        self, d: FragmentHandle, a: TileView, b: TileView, *, accumulate_first: Index = 1
    ) -> None:
        """The k-slices of a (64, K) and a (N, K) tile, in order; sugar over ``mma``."""
        step = MMA_K_BYTES // a.decl.dtype.bytes
        depth = a.view.shape[1]
        if depth % step:
            raise ScheduleError(
                f"K of {depth} is not a multiple of {step}", fix="pad the tile", loc=caller()
            )
        for k0 in range(0, depth, step):
            self.mma(
                d,
                a.box((0, k0), (a.view.shape[0], step)),
                b.box((0, k0), (b.view.shape[0], step)),
                accumulate=accumulate_first if k0 == 0 else 1,
            )

    def commit_group(self) -> None:
        """wgmma.commit_group: close the group of the warpgroup's wgmma so far."""
        self._k.emit(ops.CommitGroup, scope=Scope.WARPGROUP, kind=GroupKind.WGMMA)

    def wait_group(self, n: int) -> None:
        """wgmma.wait_group N: at most the N most recent groups stay pending."""
        group_depth(n)
        self._k.emit(ops.WaitGroup, scope=Scope.WARPGROUP, kind=GroupKind.WGMMA, n=whole(n))


class BarFamily(Family):
    """bar.sync / bar.arrive and bar.warp.sync."""

    def sync(self, barrier: NamedBarrierHandle | None = None) -> None:
        """bar.sync; without a barrier, __syncthreads."""
        id, threads = (barrier.decl.id, barrier.decl.threads) if barrier else (0, 0)
        self._k.emit(ops.BarSync, scope=Scope.WARP, barrier=id, threads=threads)

    def arrive(self, barrier: NamedBarrierHandle) -> None:
        """bar.arrive: count the warp in, do not wait."""
        self._k.emit(
            ops.BarArrive, scope=Scope.WARP, barrier=barrier.decl.id, threads=barrier.decl.threads
        )

    def warp_sync(self) -> None:
        """bar.warp.sync (__syncwarp): joins the lanes of the warp."""
        self._k.emit(ops.BarWarpSync, scope=Scope.WARP)


class SetMaxNRegFamily(Family):
    """setmaxnreg: registers move between warpgroups; all four warps execute the same one."""

    def inc(self, count: int) -> None:
        """setmaxnreg.inc: block until the pool has registers for ``count`` a thread."""
        self._set(MaxNRegDirection.INC, count)

    def dec(self, count: int) -> None:
        """setmaxnreg.dec: keep ``count`` registers a thread, give the others to the pool."""
        self._set(MaxNRegDirection.DEC, count)

    def _set(self, direction: MaxNRegDirection, count: int) -> None:
        scope = Scope.WARPGROUP
        self._k.emit(ops.SetMaxNReg, scope=scope, direction=direction, count=whole(count))


class FenceFamily(Family):
    """Fences: of mbarrier inits, and between the generic and the async proxy."""

    def mbarrier_init(self) -> None:
        """fence.mbarrier_init.release.cluster"""
        self._k.emit(ops.FenceMbarrierInit)

    def proxy_async(self, space: str = "all") -> None:
        """fence.proxy.async over ``shared`` (the CTA's own), ``shared::cluster``, ``global`` or
        ``all`` memory."""
        try:
            which = FenceSpace(space)
        except ValueError:
            raise ScheduleError(
                f"fence.proxy.async over {space!r}",
                fix="use shared, shared::cluster, global or all",
                loc=caller(),
            ) from None
        self._k.emit(ops.FenceProxyAsync, space=which)

    def acq_rel(self, scope: str = "gpu") -> None:
        """fence.acq_rel at ``cta``, ``cluster`` or ``gpu`` scope: makes relaxed arrives after it
        release, and relaxed waits before it acquire."""
        self._k.emit(ops.Fence, fence_scope=_fence_scope(scope))

    def sc(self, scope: str = "gpu") -> None:
        """fence.sc (membar, __threadfence): as ``acq_rel``, and sequentially consistent."""
        self._k.emit(ops.Fence, fence_scope=_fence_scope(scope), sc=True)

    def tensormap_release(self) -> None:
        """fence.proxy.tensormap release, by the thread that has changed tensor maps."""
        self._k.emit(ops.FenceProxyTensormap)

    def tensormap_acquire(self, tensor_map: TensorMapHandle) -> None:
        """fence.proxy.tensormap acquire of a map, by the thread that will copy by it."""
        self._k.emit(ops.FenceProxyTensormap, tensor_map=tensor_map.decl.name)


class MemFamily(Family):
    """Plain loads and stores, and compute."""

    def ld_global(self, dst: FragmentRef, src: GlobalView) -> None:
        """ld.global: each lane loads its box of ``src`` to as many registers of ``dst``."""
        self._k.emit(ops.LdGlobal, dst=dst, src=src)

    def atom_add(self, dst: FragmentRef, counter: GlobalView) -> None:
        """atom.global.add by one lane: 1 more in the counter; ``dst`` is the next tile: what was
        there plus the clusters of the grid."""
        self._k.emit(ops.AtomAdd, dst=dst, counter=counter)

    def st_global(self, dst: GlobalView, src: FragmentRef, *, clip: bool = False) -> None:
        """Store registers; ``clip`` leaves out the elements outside the tensor (edge tiles)."""
        self._k.emit(ops.StGlobal, dst=dst, src=src, clip=clip)

    def ld_shared(self, dst: FragmentRef, src: TileView) -> None:
        """ld.shared: each lane loads its box of ``src`` to as many registers of ``dst``."""
        self._k.emit(ops.LdShared, dst=dst, src=src.view)

    def st_async(self, dst: TileView, src: FragmentRef, barrier: MbarrierRef) -> None:
        """st.async: each lane stores its registers to another CTA, where their bytes count on
        ``barrier``; both are named with ``at(rank)``."""
        self._k.emit(ops.StAsync, dst=dst.view, src=src, mbarrier=barrier)

    def red_async(self, dst: TileView, src: FragmentRef, barrier: MbarrierRef, *, op: str) -> None:
        """red.async: each lane reduces a register into another CTA, where the bytes count on
        ``barrier``; both are named with ``at(rank)``."""
        how = reduction(op)
        self._k.emit(ops.RedAsync, dst=dst.view, src=src, mbarrier=barrier, reduce=how)

    def st_shared(self, dst: TileView, src: FragmentRef) -> None:
        """st.shared: each lane stores as many registers of ``src`` to its box of ``dst``."""
        self._k.emit(ops.StShared, dst=dst.view, src=src)

    def copy_tile(
        self,
        dst: TileView,
        src: GlobalHandle,
        start: tuple[Index, ...],
        *,
        threads: int,
        via: FragmentHandle,
    ) -> None:
        """All threads of the role copy a 2-D tile through registers: every load, then every store.

        ``via`` holds a thread's chunks of 16 bytes, in order; the stores say what they bring.
        """
        chunks = list(_chunks(self._k, dst, src, start, threads))
        n = 16 // dst.decl.dtype.bytes
        if via.decl.registers != n * len(chunks) or via.decl.dtype is not dst.decl.dtype:
            raise ScheduleError(
                f"{via.decl.name!r} does not hold a thread's {n * len(chunks)} elements of "
                f"{dst.decl.dtype.value}",
                fix=f"declare it with registers={n * len(chunks)}, dtype={dst.decl.dtype.value!r}",
                loc=caller(),
            )
        for i, (_, box) in enumerate(chunks):
            self.ld_global(via.part(i * n, n), box)
        for i, (to, box) in enumerate(chunks):
            self.st_shared(to.expecting(box), via.part(i * n, n))

    def store_accumulator(
        self,
        dst: GlobalHandle,
        start: tuple[Index, Index],
        acc: FragmentHandle,
        *,
        clip: bool = False,
    ) -> None:
        """Store an m64nN accumulator to the (64, N) box at ``start``: 8-byte stores a thread."""
        k = self._k
        row = start[0] + k.warp_in_role % 4 * 16 + k.lane // 4
        col = start[1] + k.lane % 4 * 2
        for r in range(0, acc.decl.registers, 2):
            at = (row + r // 2 % 2 * 8, col + r // 4 * 8)
            self.st_global(dst.box(at, (1, 2)), acc.part(r, 2), clip=clip)

    def compute(self, defn: ComputeDef, *operands: FragmentRef | TileView | Index) -> None:
        """Run ``defn`` on its operands, in order (see ComputeDef)."""
        if len(operands) != len(defn.operands):
            raise ScheduleError(
                f"compute {defn.name!r} takes {len(defn.operands)} operands, got {len(operands)}",
                fix="pass " + ", ".join(f"{o.name} ({o.kind})" for o in defn.operands),
                loc=caller(),
            )
        resolved: list[object] = []
        for formal, actual in zip(defn.operands, operands, strict=True):
            kinds = {"fragment": FragmentRef, "smem": TileView, "int": (Value, int)}
            if not isinstance(actual, kinds[formal.kind]):  # type: ignore[arg-type]
                raise ScheduleError(
                    f"operand {formal.name!r} of compute {defn.name!r} is a {formal.kind}",
                    fix=f"got {type(actual).__name__}",
                    loc=caller(),
                )
            if isinstance(actual, TileView):
                resolved.append(actual.view)
            elif isinstance(actual, FragmentRef):
                resolved.append(actual)
            else:
                resolved.append(as_expr(actual))
        self._k.emit(ops.Compute, defn=defn, operands=tuple(resolved))


def _chunks(
    k: ScheduleBuilder, dst: TileView, src: GlobalHandle, start: tuple[Index, ...], threads: int
) -> Iterator[tuple[TileView, GlobalView]]:
    """Each thread's 16-byte chunks of a 2-D tile: where to, and the box that it comes from."""
    rows, cols = dst.view.shape
    per_chunk = 16 // dst.decl.dtype.bytes
    chunks_per_row, rest = divmod(cols, per_chunk)
    total = rows * chunks_per_row
    if rest or total % threads:
        raise ScheduleError(
            f"tile {rows}x{cols} is not {threads} threads times 16-byte chunks",
            fix="choose a tile whose 16-byte chunks are a multiple of the threads",
            loc=caller(),
        )
    for turn in range(total // threads):
        chunk = k.thread_in_role + turn * threads
        row, col = chunk // chunks_per_row, (chunk % chunks_per_row) * per_chunk
        yield (
            dst.box((row, col), (1, per_chunk)),
            src.box((row + start[0], col + start[1]), (1, per_chunk)),
        )


def _fence_scope(name: str) -> ops.FenceScope:
    try:
        return ops.FenceScope(name)
    except ValueError:
        raise ScheduleError(
            f"fence at scope {name!r}", fix="use cta, cluster or gpu", loc=caller()
        ) from None


def reduction(name: str) -> ops.ReduceOp:
    """The operator of a reduction by its PTX name."""
    try:
        return ops.ReduceOp(name)
    except ValueError:
        known = ", ".join(r.value for r in ops.ReduceOp)
        raise ScheduleError(
            f"reduction {name!r}", fix=f"use one of {known}", loc=caller()
        ) from None


def group_depth(n: int) -> None:
    """A wait for groups names how many may stay pending."""
    if n < 0:
        raise ScheduleError(
            f"wait_group {n}", fix="N is at least 0; a ring of S stages needs S >= 2", loc=caller()
        )
