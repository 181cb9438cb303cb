"""Operands of bulk copies, with and without a tensor map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, Dyn, Proxy
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
    key, size = r.barrier(op, op.mbarrier, ev), r.box_bytes(op.src)
    read = r.box(op, op.src, False, Proxy.ASYNC, ev)
    if op.multicast is None:
        write = r.tile(op, op.dst, True, Proxy.ASYNC, ev, source=op.src)
        return lambda v: Dyn(op, key(v), size, lambda: (read(v), write(v)))
    receivers = r.receivers(op, op.multicast, ev)
    writes = [
        r.tile(op, replace(op.dst, rank=Const(rank)), True, Proxy.ASYNC, ev, source=op.src)
        for rank in r.ranks()
    ]

    def make(v: Values) -> Dyn:
        ranks = receivers(v)
        return Dyn(op, key(v), size, lambda: (read(v), *(writes[rank](v) for rank in ranks)), ranks)

    return make


def store_maker(r: Resolver, op: ops.StoreOp, ev: Evaluator) -> Callable[[Values], Dyn]:
    """By TMA, from shared to global memory."""
    read = r.tile(op, op.src, False, Proxy.ASYNC, ev)
    write, size = r.box(op, op.dst, True, Proxy.ASYNC, ev), r.box_bytes(op.dst)
    return lambda v: Dyn(op, None, size, lambda: (read(v), write(v)))
