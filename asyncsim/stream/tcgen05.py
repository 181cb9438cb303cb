"""Operands of tcgen05 ops: regions of tensor memory, in each CTA of the group.

Every use of a tile reads the word that holds its address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.expr import ZERO, Const
from asyncsim.ir.op import OpBase, SmemView, Tcgen05Op, TmemView
from asyncsim.ir.tcgen05 import LANES, WARP_LANES
from asyncsim.ir.validate.tcgen05_mma import SLICE_COLUMNS
from asyncsim.memory.region import TmemRegion, lane_mask
from asyncsim.rules import Rule
from asyncsim.stream.dyn import Access, Dyn, Proxy
from asyncsim.stream.operands import Evaluator, Values, constant

if TYPE_CHECKING:
    from asyncsim.stream.resolve import Resolver

Maker = Callable[[Values], Dyn]
AccessOf = Callable[[Values], Access]

_HALVES = sum(0xFFFF << 32 * i for i in range(4))  # m = 64: 16 lanes of each warp's 32
_ALL = lane_mask(0, LANES)


def tcgen05_maker(r: Resolver, op: Tcgen05Op, ev: Evaluator) -> Maker:
    """How to resolve a tcgen05 op."""
    match op:
        case ops.Tcgen05Alloc(address=word, columns=columns):
            write = r.tile(op, word, True, Proxy.GENERIC, ev)
            return lambda v: Dyn(op, None, columns, lambda: (write(v),))
        case ops.Tcgen05Dealloc(address=word, columns=columns):
            read = r.tile(op, word, False, Proxy.GENERIC, ev)
            return lambda v: Dyn(op, None, columns, lambda: (read(v),))
        case ops.Tcgen05RelinquishAllocPermit() | ops.Tcgen05Wait() | ops.Tcgen05Fence():
            return constant(Dyn(op))
        case ops.Tcgen05Mma():
            return _mma(r, op, ev)
        case ops.Tcgen05Commit(mbarrier=ref, multicast=None):
            key = r.barrier(op, ref, ev)
            return lambda v: Dyn(op, key(v))
        case ops.Tcgen05Commit(mbarrier=ref, multicast=mask):
            assert mask is not None
            key, receivers = r.barrier(op, ref, ev), r.receivers(op, mask, ev)
            return lambda v: Dyn(op, key(v), ints=receivers(v))
        case ops.Tcgen05Cp(dst=to, src=view):
            reads = [_word(r, op, to, ev)]
            for owner in _owners(r, op.cta_group):
                reads.append(r.tile(op, _in(view, owner, r.cta), False, Proxy.ASYNC, ev))
            return _made(op, reads, _everywhere(r, op, to, True, ev))
        case ops.Tcgen05Shift(tile=view):
            reads = [_word(r, op, view, ev), *_everywhere(r, op, view, False, ev)]
            return _made(op, reads, _everywhere(r, op, view, True, ev))
        case ops.Tcgen05Ld(dst=regs, src=view):
            reads = [_word(r, op, view, ev), _own_lanes(r, op, view, False, ev)]
            return _made(op, reads, [constant(r.registers(regs, write=True))])
        case ops.Tcgen05St(dst=view, src=regs):
            reads = [_word(r, op, view, ev), constant(r.registers(regs, write=False))]
            return _made(op, reads, [_own_lanes(r, op, view, True, ev)])
        case _ as unreachable:
            assert_never(unreachable)


def _made(op: Tcgen05Op, reads: list[AccessOf], writes: list[AccessOf]) -> Maker:
    every = (*reads, *writes)
    return lambda v: Dyn(op, accesses=lambda: tuple([access(v) for access in every]))


def _mma(r: Resolver, op: ops.Tcgen05Mma, ev: Evaluator) -> Maker:
    lanes = _HALVES if op.m // op.cta_group == 64 and op.cta_group == 1 else _ALL
    reads = [_word(r, op, op.d, ev)]
    others = [v for v in (op.a, op.scale_a, op.scale_b) if isinstance(v, TmemView)]
    reads += [_word(r, op, view, ev) for view in others]
    for owner in _owners(r, op.cta_group):
        for view in (op.a, op.b):
            if isinstance(view, SmemView):
                reads.append(r.tile(op, _in(view, owner, r.cta), False, Proxy.ASYNC, ev))
        for part in others:
            mask = lanes if part.shape == (LANES, SLICE_COLUMNS) and part is op.a else _ALL
            reads.append(_region(r, op, part, owner, False, ev, mask))
    sums = [_region(r, op, op.d, o, False, ev, lanes) for o in _owners(r, op.cta_group)]
    writes = [_region(r, op, op.d, o, True, ev, lanes) for o in _owners(r, op.cta_group)]
    keep = ev.value(op.accumulate)

    def make(v: Values) -> Dyn:
        added = keep(v) != 0
        every = (*reads, *(sums if added else ()), *writes)
        return Dyn(op, None, int(added), lambda: tuple([access(v) for access in every]))

    return make


def _owners(r: Resolver, cta_group: int) -> tuple[int, ...]:
    """The CTAs of the group, the executing one first."""
    return (r.cta,) if cta_group == 1 else (r.cta, r.cta ^ 1)


def _in(view: SmemView, owner: int, cta: int) -> SmemView:
    """The same place in the shared memory of a CTA; what is meant is said of the own part."""
    return view if owner == cta else replace(view, rank=Const(owner), expects=None)


def _word(r: Resolver, op: OpBase, view: TmemView, ev: Evaluator) -> AccessOf:
    """The word that holds the address of a tile."""
    tile = r.schedule.tile(r.schedule.tmem_tile(view.tile).address)
    word = SmemView(tile.name, ZERO, (ZERO,) * len(tile.shape), tile.shape)
    return r.tile(op, word, False, Proxy.GENERIC, ev)


def _everywhere(
    r: Resolver, op: ops.Tcgen05Cp | ops.Tcgen05Shift, view: TmemView, write: bool, ev: Evaluator
) -> list[AccessOf]:
    return [_region(r, op, view, o, write, ev, _ALL) for o in _owners(r, op.cta_group)]


def _own_lanes(r: Resolver, op: OpBase, view: TmemView, write: bool, ev: Evaluator) -> AccessOf:
    """ld and st: a warp reaches lanes 32 * (warp % 4) and those after it, alone."""
    access = _region(r, op, view, r.cta, write, ev, _ALL)
    lane, own = ev.value(view.start[0]), WARP_LANES * (r.warp % 4)

    def checked(v: Values) -> Access:
        if lane(v) != own:
            raise ScheduleError(
                f"{type(op).__name__}: warp {r.warp} of the block accesses lanes {lane(v)}.."
                f"{lane(v) + WARP_LANES - 1} of {view.tile!r}",
                loc=op.loc,
                rule=Rule.TMEM_LANES,
                fix=f"its lanes are {own}..{own + WARP_LANES - 1}: 32 * (warp of the block % 4)",
            )
        return access(v)

    return checked


def _region(
    r: Resolver, op: OpBase, view: TmemView, owner: int, write: bool, ev: Evaluator, within: int
) -> AccessOf:
    tile = r.schedule.tmem_tile(view.tile)
    stage, first = ev.value(view.stage), (ev.value(view.start[0]), ev.value(view.start[1]))
    lanes, columns = view.shape

    def access(v: Values) -> Access:
        s, lane, column = stage(v), first[0](v), first[1](v)
        inside = 0 <= lane <= tile.lanes - lanes and 0 <= column <= tile.columns - columns
        if not (0 <= s < tile.stages and inside):
            raise ScheduleError(
                f"{view.tile}[{s}] at lane {lane}, column {column} of extent {view.shape} leaves "
                "the tile",
                loc=op.loc,
                rule=Rule.OUT_OF_BOUNDS,
                fix=f"stages 0..{tile.stages - 1}, {tile.lanes} lanes, {tile.columns} columns",
            )
        at = tile.column + s * tile.columns + column
        mask = lane_mask(lane, lanes) & within
        region = TmemRegion(owner, tile.address, tile.name, mask, at, columns)
        return Access(region, write, Proxy.ASYNC)

    return access
