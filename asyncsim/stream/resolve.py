"""Operands of one warp: from expressions to barriers, numbers and regions.

``Resolver.bind(op)`` gives a function from the values of ``shared_operands(op)`` to a Dyn. Results
are kept while operands repeat (rings do), in a bounded table.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.expr import Expr, is_lane_varying
from asyncsim.ir.matrix import addressing_lanes
from asyncsim.ir.op import FragmentRef, GlobalView, MbarrierRef, Op, OpBase, Scope, SmemView
from asyncsim.ir.schedule import Schedule
from asyncsim.memory.region import GlobalBox, LaneBoxes, RegisterRegion, SmemRegion, tile_region
from asyncsim.rules import Rule
from asyncsim.stream.alignment import alignment_check
from asyncsim.stream.bulk import bulk_maker, load_maker, store_maker
from asyncsim.stream.dyn import Access, BarrierKey, Dyn, Proxy, Tag
from asyncsim.stream.fill import zero_filled
from asyncsim.stream.matrix import matrix_maker
from asyncsim.stream.operands import Evaluator, Values, constant, operand_exprs
from asyncsim.stream.tables import (
    Maker,
    SharedTables,
    lanes_cancel,
    names_registers,
    remembered,
    same_in_all_warps,
    union,
)
from asyncsim.stream.tcgen05 import tcgen05_maker

TABLE_LIMIT = 64  # a ring repeats after 2 * stages; what does not repeat is not worth keeping
_Bulk = ops.BulkOp | ops.ClcOp
PLACES_LIMIT = 4096  # places in shared memory that one operand names


class Resolver:
    """Resolves the ops of one warp.

    Everything that does not depend on the operands' values is decided in ``bind``. ``shared``
    keeps what the warps of a program have in common: regions, and the evaluators of each op.
    """

    def __init__(self, schedule: Schedule, warp: int, shared: SharedTables, rank: int = 0) -> None:
        self.schedule, self.warp, self._shared = schedule, warp, shared
        self._warp_in_role = warp
        self.cta = rank

    def bind(self, op: OpBase, warp_in_role: int) -> Maker:
        """A function from the values of ``shared_operands(op)`` to the dynamic op.

        ``warp_in_role`` is the warp's place in the role that the op stands in, or in the block.
        """
        known = self._shared.makers.get((op.id, op.scope, self.cta))
        if known is not None:
            return known
        self._warp_in_role = warp_in_role
        evaluator = self._shared.evaluators.get(op.id)
        if evaluator is None:
            evaluator = self._shared.evaluators[op.id] = Evaluator(op)
        build = self._builder(op, evaluator)  # type: ignore[arg-type]
        check = alignment_check(op, self.schedule, evaluator, 32 * warp_in_role)

        def checked(values: Values) -> Dyn:
            if check is not None:
                check(values)
            return build(values)

        make = remembered(checked, TABLE_LIMIT)
        if op.id in self._shared.private:
            return make
        if names_registers(op) or not same_in_all_warps(operand_exprs(op)):
            self._shared.private.add(op.id)
        else:
            self._shared.makers[op.id, op.scope, self.cta] = make
        return make

    def _builder(self, op: Op, ev: Evaluator) -> Maker:
        """How to resolve one op: the only place that knows each op's operands."""
        if isinstance(op, ops.Tcgen05Op):
            return tcgen05_maker(self, op, ev)
        if isinstance(op, _Bulk):
            return bulk_maker(self, op, ev)
        if isinstance(op, ops.MatrixOp):
            return matrix_maker(self, op, ev)
        match op:
            case (
                ops.MbarrierInit(mbarrier=ref, count=count)
                | ops.MbarrierArrive(mbarrier=ref, count=count)
            ):
                key = self.barrier(op, ref, ev)
                return lambda v: Dyn(op, key(v), count)
            case (
                ops.MbarrierInval(mbarrier=ref)
                | ops.MbarrierWaitState(mbarrier=ref)
                | ops.CpAsyncMbarrierArrive(mbarrier=ref)
            ):
                key = self.barrier(op, ref, ev)
                return lambda v: Dyn(op, key(v))
            case (
                ops.MbarrierExpectTx(mbarrier=ref, bytes=amount)
                | ops.MbarrierCompleteTx(mbarrier=ref, bytes=amount)
                | ops.MbarrierArriveExpectTx(mbarrier=ref, bytes=amount)
            ):
                key, size = self.barrier(op, ref, ev), ev.value(amount)
                return lambda v: Dyn(op, key(v), size(v))
            case (
                ops.MbarrierWait(mbarrier=ref, parity=parity)
                | ops.MbarrierTestWait(mbarrier=ref, parity=parity)
            ):
                key, bit = self.barrier(op, ref, ev), ev.value(parity)
                return lambda v: Dyn(op, key(v), bit(v))
            case ops.CpAsync():
                return self._cp_async(op, ev)
            case ops.TmaLoad():
                return load_maker(self, op, ev)
            case ops.TmaStore():
                return store_maker(self, op, ev)
            case (
                ops.CommitGroup()
                | ops.FenceMbarrierInit()
                | ops.FenceProxyAsync()
                | ops.BarWarpSync()
                | ops.WgmmaFence()
                | ops.Fence()
                | ops.FenceProxyTensormap()
                | ops.TensormapReplace()
                | ops.GriddepcontrolLaunchDependents()
                | ops.GriddepcontrolWait()
            ):
                return constant(Dyn(op))
            case ops.WaitGroup(n=n) | ops.SetMaxNReg(count=n):
                return constant(Dyn(op, value=n))
            case ops.BarSync(threads=threads) | ops.BarArrive(threads=threads):
                return constant(Dyn(op, value=threads or self.schedule.threads))
            case ops.WgmmaMmaAsync():
                if isinstance(op.a, FragmentRef):
                    a = constant(self.registers(op.a, write=False))
                else:
                    a = self.tile(op, op.a, False, Proxy.ASYNC, ev)
                b = self.tile(op, op.b, False, Proxy.ASYNC, ev)
                d = self.registers(op.d, write=True)
                keep = ev.value(op.accumulate)
                return lambda v: Dyn(op, None, int(keep(v) != 0), lambda: (a(v), b(v), d))
            case ops.BarrierClusterArrive() | ops.BarrierClusterWait():
                return constant(Dyn(op))
            case ops.StAsync(dst=dst, src=frag, mbarrier=ref):
                key = self.barrier(op, ref, ev)
                write = self.tile(op, dst, True, Proxy.GENERIC, ev)
                d = self.registers(frag, write=False)
                size_ = frag.count * self.schedule.fragment(frag.name).dtype.bytes
                return lambda v: Dyn(op, key(v), size_, lambda: (d, write(v)))
            case ops.LdGlobal(dst=frag, src=box):
                read, regs = self.box(op, box, False, Proxy.GENERIC, ev), frag
                d = self.registers(regs, write=True)
                return lambda v: Dyn(op, accesses=lambda: (read(v), d))
            case ops.AtomAdd(dst=frag, counter=box):
                write = self.box(op, box, True, Proxy.GENERIC, ev)
                d = self.registers(frag, write=True)
                return lambda v: Dyn(op, accesses=lambda: (write(v), d))
            case ops.StGlobal(dst=box, src=frag):
                write, regs = self.box(op, box, True, Proxy.GENERIC, ev), frag
                d = self.registers(regs, write=False)
                return lambda v: Dyn(op, accesses=lambda: (d, write(v)))
            case ops.LdShared(dst=frag, src=view):
                read = self.tile(op, view, False, Proxy.GENERIC, ev)
                d = self.registers(frag, write=True)
                return lambda v: Dyn(op, accesses=lambda: (read(v), d))
            case ops.StShared(dst=view, src=frag):
                write = self.tile(op, view, True, Proxy.GENERIC, ev)
                d = self.registers(frag, write=False)
                return lambda v: Dyn(op, accesses=lambda: (d, write(v)))
            case ops.Compute():
                return self._compute(op, ev)
            case _ as unreachable:
                assert_never(unreachable)

    # -- operands: each returns a function of the shared values --------------------------------

    def barrier(
        self, op: OpBase, ref: MbarrierRef, ev: Evaluator
    ) -> Callable[[Values], BarrierKey]:
        stages = self.schedule.mbarrier(ref.name).stages
        keys = {
            rank: [BarrierKey(rank, ref.name, s) for s in range(stages)] for rank in self.ranks()
        }
        stage, owner = ev.value(ref.stage), self._owner(op, ref.rank, ev)

        def key(v: Values) -> BarrierKey:
            s, rank = stage(v), owner(v)
            if not 0 <= s < stages:
                what, fix = (
                    f"mbarrier {ref.name}[{s}] of {stages}",
                    f"the stage must be 0..{stages - 1}",
                )
                raise ScheduleError(what, loc=op.loc, rule=Rule.OUT_OF_BOUNDS, fix=fix)
            return keys[rank][s]

        return key

    def ranks(self) -> range:
        """The CTAs of a cluster."""
        return range(self.schedule.cluster_ctas)

    def _owner(self, op: OpBase, rank: Expr | None, ev: Evaluator) -> Callable[[Values], int]:
        """The CTA whose shared memory an operand names."""
        if rank is None:
            return constant(self.cta)
        value, ranks = ev.value(rank), self.ranks()

        def owner(v: Values) -> int:
            r = value(v)
            if r not in ranks:
                raise ScheduleError(
                    f"{type(op).__name__}: CTA {r} of a cluster of {len(ranks)}",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                    fix=f"a rank is 0..{len(ranks) - 1}",
                )
            return r

        return owner

    def tile(
        self,
        op: OpBase,
        view: SmemView,
        write: bool,
        proxy: Proxy,
        ev: Evaluator,
        source: GlobalView | None = None,
    ) -> Callable[[Values], Access]:
        known = self._shared.tiles.get((op.id, op.scope, self.cta, id(view), write))
        if known is not None:
            return known[1]
        stage = ev.value(view.stage)
        means = source or view.expects
        tag = self._tags(op, view, means, ev) if means is not None else None
        one = op.scope is Scope.ELECTED or not any(is_lane_varying(e) for e in view.start)
        starts, first = ev.lanes(view.start, one=one), 32 * self._warp_in_role
        owner = self._owner(op, view.rank, ev)

        def find(v: Values) -> tuple[SmemRegion, tuple[SmemRegion, ...]]:
            s, cta = stage(v), owner(v)
            named = starts(v, first)[: addressing_lanes(op)]
            lanes = tuple([self.smem_region(op, view, cta, s, at) for at in named])
            return (lanes[0], ()) if len(lanes) == 1 else (self._union(lanes), lanes)

        inputs = ev.inputs((view.stage, *view.start, *((view.rank,) if view.rank else ())))
        place = remembered(find, PLACES_LIMIT, inputs)

        def access(v: Values) -> Access:
            region, own = place(v)
            if tag is None:
                return Access(region, write, proxy, own)
            tags = tag(v)
            if len(tags) == 1:
                return Access(region, write, proxy, own, tags[0])
            parts = tuple(zip(own or (region,) * len(tags), tags, strict=True))
            return Access(region, write, proxy, own, None, parts)

        if not same_in_all_warps(view.start + (means.start if means else ())):
            return access
        made = remembered(access, TABLE_LIMIT)
        self._shared.tiles[op.id, op.scope, self.cta, id(view), write] = view, made
        return made

    def smem_region(
        self, op: OpBase, view: SmemView, cta: int, stage: int, start: tuple[int, ...]
    ) -> SmemRegion:
        key = (cta, view.tile, stage, start, view.shape)
        region = self._shared.smem.get(key)
        if region is None:
            tile = self.schedule.tile(view.tile)
            inside = all(
                a >= 0 and a + n <= have
                for a, n, have in zip(start, view.shape, tile.shape, strict=True)
            )
            if not (0 <= stage < tile.stages and inside):
                what = f"{view.tile}[{stage}] at {start} of extent {view.shape} leaves the tile"
                fix = f"stages 0..{tile.stages - 1}, shape {tile.shape}"
                raise ScheduleError(what, loc=op.loc, rule=Rule.OUT_OF_BOUNDS, fix=fix)
            region = tile_region(tile, cta, stage, start, view.shape)
            self._shared.smem[key] = region
        return region

    def _union(self, lanes: tuple[SmemRegion, ...]) -> SmemRegion:
        key = tuple(map(id, lanes))  # regions are interned, so identity is enough
        region = self._shared.unions.get(key)
        if region is None:
            region = self._shared.unions[key] = union(lanes)
        return region

    def _tags(
        self, op: OpBase, view: SmemView, means: GlobalView, ev: Evaluator
    ) -> Callable[[Values], list[Tag]]:
        """(tensor, tensor index - tile index): equal for a copy and the read that means it.

        Lane-varying starts cancel in most differences: then there is one tag, else one per lane.
        """
        rank, first = len(means.start), 32 * self._warp_in_role
        exprs = means.start + view.start
        one = op.scope is Scope.ELECTED or all(map(lanes_cancel, means.start, view.start))
        both = ev.lanes(exprs, one=one)

        def tags(v: Values) -> list[Tag]:
            found = [
                (means.tensor, tuple([at[d] - at[d + rank] for d in range(rank)]))
                for at in both(v, first)[: addressing_lanes(op)]
            ]
            return found[:1] if all(t == found[0] for t in found) else found

        return tags

    def box(
        self, op: OpBase, view: GlobalView, write: bool, proxy: Proxy, ev: Evaluator
    ) -> Callable[[Values], Access]:
        one = op.scope is Scope.ELECTED or not any(is_lane_varying(e) for e in view.start)
        starts, first = ev.lanes(view.start, one=one), 32 * self._warp_in_role

        def access(v: Values) -> Access:
            at = starts(v, first)
            if len(at) == 1:
                return Access(GlobalBox(view.tensor, at[0], view.shape), write, proxy)
            boxes = LaneBoxes(view.tensor, at, view.shape)
            return Access(boxes.hull(), write, proxy, boxes)

        return access

    def registers(self, ref: FragmentRef, *, write: bool) -> Access:
        mask = ((1 << ref.count) - 1) << ref.first
        return Access(RegisterRegion(self.cta, self.warp, ref.name, mask), write, Proxy.GENERIC)

    def tile_bytes(self, view: SmemView) -> int:
        """Bytes of a part of a tile."""
        return prod(view.shape) * self.schedule.tile(view.tile).dtype.bytes

    # -- ops with several operands -------------------------------------------------------------

    def _cp_async(self, op: ops.CpAsync, ev: Evaluator) -> Maker:
        read = self.box(op, op.src, False, Proxy.GENERIC, ev)
        write = self.tile(op, op.dst, True, Proxy.GENERIC, ev, source=op.src)
        if op.src_bytes is None:
            return lambda v: Dyn(op, None, op.bytes, lambda: (read(v), write(v)))
        sizes = ev.lanes((op.src_bytes,), one=op.scope is Scope.ELECTED)
        first, shape = 32 * self._warp_in_role, self.schedule.tensor(op.src.tensor).shape

        def make(v: Values) -> Dyn:
            read_bytes = tuple([n for (n,) in sizes(v, first)])

            def accesses() -> tuple[Access, ...]:
                source = read(v)
                return source, zero_filled(write(v), source, read_bytes, op.bytes, shape)

            return Dyn(op, None, op.bytes, accesses, read_bytes)

        return make

    def receivers(
        self, op: OpBase, mask: Expr, ev: Evaluator
    ) -> Callable[[Values], tuple[int, ...]]:
        """The CTAs of a multicast mask."""
        bits, n = ev.value(mask), len(self.ranks())

        def ranks(v: Values) -> tuple[int, ...]:
            found = tuple([r for r in self.ranks() if bits(v) >> r & 1])
            if not found or bits(v) >> n:
                raise ScheduleError(
                    f"{type(op).__name__}: multicast mask {bits(v):#x} in a cluster of {n} CTAs",
                    loc=op.loc,
                    rule=Rule.OUT_OF_BOUNDS,
                    fix=f"set at least one of the bits 0..{n - 1}, and no other",
                )
            return found

        return ranks

    def _compute(self, op: ops.Compute, ev: Evaluator) -> Maker:
        makers: list[Callable[[Values], Access]] = []
        ints: list[Callable[[Values], int]] = []
        for formal, actual in zip(op.defn.operands, op.operands, strict=True):
            modes = [
                w for w, name in ((False, "read"), (True, "write")) if name in formal.mode.value
            ]
            match actual:
                case FragmentRef():
                    makers += [constant(self.registers(actual, write=w)) for w in modes]
                case SmemView():
                    makers += [self.tile(op, actual, w, Proxy.GENERIC, ev) for w in modes]
                case _:
                    ints.append(ev.value(actual))
        return lambda v: Dyn(
            op, accesses=lambda: tuple([m(v) for m in makers]), ints=tuple([i(v) for i in ints])
        )
