"""Operands of bulk copies, with and without a tensor map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const
from asyncsim.ir.op import GlobalView, Scope
from asyncsim.ir.validate.im2col import bad_offset, moved_maps, offset_limit
from asyncsim.memory.region import GlobalBox, Region, SmemRegion
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, Dyn, Proxy, Tag
from asyncsim.stream.operands import Evaluator, Values, constant

if TYPE_CHECKING:
    from asyncsim.stream.resolve import Resolver


def bulk_maker(r: Resolver, op: ops.BulkOp | ops.ClcOp, ev: Evaluator) -> Callable[[Values], Dyn]:
    """How to resolve one op."""
    match op:
        case ops.BulkLoad():
            return load_maker(r, op, ev)
        case ops.BulkStore():
            return store_maker(r, op, ev)
        case ops.BulkSend(dst=dst, src=view, mbarrier=ref):
            key = r.barrier(op, ref, ev)
            read = r.tile(op, view, False, Proxy.ASYNC, ev)
            write = r.tile(op, dst, True, Proxy.ASYNC, ev)
            size = r.tile_bytes(view)
            own = ScheduleError(
                "BulkSend to the CTA that executes it",
                fix="name another CTA of the cluster, or copy with ld_shared and st_shared",
                loc=op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )

            def make(v: Values) -> Dyn:
                barrier = key(v)
                if barrier.cta == r.cta:
                    raise own
                return Dyn(op, barrier, size, lambda: (read(v), write(v)))

            return make
        case ops.RedAsync(dst=dst, src=frag, mbarrier=ref):
            key = r.barrier(op, ref, ev)
            write = r.tile(op, dst, True, Proxy.GENERIC, ev)
            regs: Access = r.registers(frag, write=False)
            size = r.tile_bytes(dst)
            return lambda v: Dyn(op, key(v), size, lambda: (regs, write(v)))
        case ops.ClcTryCancel(dst=dst, mbarrier=ref, multicast=multicast):
            key, size = r.barrier(op, ref, ev), r.tile_bytes(dst)
            ranks = tuple(range(r.schedule.cluster_ctas)) if multicast else ()
            owners: list[Const | None] = [Const(rank) for rank in ranks] or [None]
            writes = [r.tile(op, replace(dst, rank=o), True, Proxy.ASYNC, ev) for o in owners]
            return lambda v: Dyn(op, key(v), size, lambda: tuple([w(v) for w in writes]), ranks)
        case ops.ClcQueryCancel(dst=frag, src=view):
            read = r.tile(op, view, False, Proxy.GENERIC, ev)
            result = r.registers(frag, write=True)
            return lambda v: Dyn(op, accesses=lambda: (read(v), result))
        case ops.BulkPrefetch() | ops.TmaPrefetch() | ops.PrefetchTensorMap():
            return constant(Dyn(op))
        case _ as unreachable:
            assert_never(unreachable)


def load_maker(r: Resolver, op: ops.LoadOp, ev: Evaluator) -> Callable[[Values], Dyn]:
    """By TMA, to the own CTA, or to several: then ``ints`` of the Dyn are the ranks that
    receive, with one write for each of them."""
    key, size = r.barrier(op, op.mbarrier, ev), r.tile_bytes(op.dst)
    if isinstance(op, ops.TmaLoad) and op.rows:
        return gather_maker(r, op, ev)
    source: GlobalView | None = op.src
    read = r.box(op, op.src, False, Proxy.ASYNC, ev)
    if isinstance(op, ops.TmaLoad) and (op.offsets or op.tensor_map in moved_maps(r.schedule)):
        source, read = None, pixels_maker(r, op, ev)
    elif isinstance(op, ops.TmaLoad) and r.schedule.tensor_map(op.tensor_map).strided:
        source = None
    if op.multicast is None:
        write = r.tile(op, op.dst, True, Proxy.ASYNC, ev, source=source)
        return lambda v: Dyn(op, key(v), size, lambda: (read(v), write(v)))
    receivers = r.receivers(op, op.multicast, ev)
    writes = [
        r.tile(op, replace(op.dst, rank=Const(rank)), True, Proxy.ASYNC, ev, source=source)
        for rank in r.ranks()
    ]

    def make(v: Values) -> Dyn:
        ranks = receivers(v)
        return Dyn(op, key(v), size, lambda: (read(v), *(writes[rank](v) for rank in ranks)), ranks)

    return make


def pixels_maker(r: Resolver, op: ops.TmaLoad, ev: Evaluator) -> Callable[[Values], Access]:
    """The read of an im2col load, or by a map that moves: any element of the tensor, which nothing
    writes."""
    shape = r.schedule.tensor(op.src.tensor).shape
    whole = Access(GlobalBox(op.src.tensor, (0,) * len(shape), shape), False, Proxy.ASYNC)
    offsets = ev.lanes(op.offsets, one=op.scope is Scope.ELECTED)
    limit = offset_limit(op, len(shape)) if op.offsets else 0

    def access(v: Values) -> Access:
        for lane in offsets(v, 0):
            for offset in lane:
                if not 0 <= offset < limit:
                    raise bad_offset(op, offset)
        return whole

    return access


def store_maker(r: Resolver, op: ops.StoreOp, ev: Evaluator) -> Callable[[Values], Dyn]:
    """By TMA, from shared to global memory."""
    read, size = r.tile(op, op.src, False, Proxy.ASYNC, ev), r.tile_bytes(op.src)
    boxes = (op.dst, *op.rows) if isinstance(op, ops.TmaStore) else (op.dst,)
    writes = [r.box(op, box, True, Proxy.ASYNC, ev) for box in boxes]
    return lambda v: Dyn(op, None, size, lambda: (read(v), *[write(v) for write in writes]))


def gather_maker(r: Resolver, op: ops.TmaLoad, ev: Evaluator) -> Callable[[Values], Dyn]:
    """Four rows of a tensor to four rows of a tile: four reads, one write for each receiver."""
    key, size = r.barrier(op, op.mbarrier, ev), r.tile_bytes(op.dst)
    reads = [r.box(op, row, False, Proxy.ASYNC, ev) for row in (op.src, *op.rows)]
    owners: list[Const | None] = [None]
    if op.multicast is not None:
        owners = [Const(rank) for rank in r.ranks()]
    whole = [r.tile(op, replace(op.dst, rank=o), True, Proxy.ASYNC, ev) for o in owners]
    receivers = None if op.multicast is None else r.receivers(op, op.multicast, ev)
    stage, starts = ev.value(op.dst.stage), ev.lanes(op.dst.start, one=True)
    one_row = replace(op.dst, shape=(1, op.dst.shape[1]))

    def landed(write: Access, sources: list[Access], v: Values) -> Access:
        """The write, with the row of the tensor that each row of the tile holds."""
        assert isinstance(write.region, SmemRegion)
        (row, column), cta = starts(v, 0)[0], write.region.owner
        parts: list[tuple[Region, Tag]] = []
        for i, source in enumerate(sources):
            assert isinstance(source.region, GlobalBox)
            tensor, (y, x) = source.region.tensor, source.region.start
            at = r.smem_region(op, one_row, cta, stage(v), (row + i, column))
            parts.append((at, (tensor, (y - row - i, x - column))))
        return replace(write, parts=tuple(parts))

    def make(v: Values) -> Dyn:
        ranks = () if receivers is None else receivers(v)

        def accesses() -> tuple[Access, ...]:
            sources = [read(v) for read in reads]
            writes = [whole[rank](v) for rank in ranks or (0,)]
            return (*sources, *[landed(write, sources, v) for write in writes])

        return Dyn(op, key(v), size, accesses, ranks)

    return make
