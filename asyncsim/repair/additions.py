"""Fences, waits, commits and barriers beside one op."""

from __future__ import annotations

from collections.abc import Iterator

from asyncsim.ir import op as ops
from asyncsim.ir.op import FenceSpace, GroupKind, Op, Scope
from asyncsim.ir.rewrite import inserted
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.tcgen05 import Tcgen05Access, Tcgen05Side

_FAMILIES = (
    (GroupKind.CP_ASYNC, "cp_async"),
    (GroupKind.BULK, "bulk"),
    (GroupKind.WGMMA, "wgmma"),
)


def additions(schedule: Schedule, op: Op) -> Iterator[tuple[str, str, Op, Schedule]]:
    """(kind of edit, what is added, beside which op, the schedule with it)."""
    if isinstance(op, ops.MbarrierInit):  # after the last of the inits, not in between
        op = [o for o in schedule.ops() if isinstance(o, ops.MbarrierInit)][-1]
    for kind, call, made, after in _made(schedule, op):
        where = "after" if after else "before"
        yield kind, f"add {call} {where} it", op, inserted(schedule, op, made, after=after)


def _made(schedule: Schedule, op: Op) -> Iterator[tuple[str, str, Op, bool]]:
    id, loc = 1 + max(o.id for o in schedule.ops()), op.loc
    some = op.scope in (Scope.ELECTED, Scope.OTHERS)
    own = op.scope if some else Scope.ALL_LANES
    if isinstance(op, ops.MbarrierInit):
        init = ops.FenceMbarrierInit(id=id, scope=own, loc=loc)
        yield "FENCE", "k.fence.mbarrier_init()", init, True
    for after in (True, False):
        fence = ops.FenceProxyAsync(id=id, scope=own, loc=loc, space=FenceSpace.SHARED)
        yield "FENCE", 'k.fence.proxy_async("shared")', fence, after
    if isinstance(op, ops.WgmmaMmaAsync):
        wgmma = ops.WgmmaFence(id=id, scope=Scope.WARPGROUP, loc=loc)
        yield "FENCE", "k.wgmma.fence()", wgmma, False
    if isinstance(op, ops.Tcgen05Op):
        yield from _tcgen05(op, id, own)
    if not some:
        for after in (False, True):
            if len(schedule.roles()) == 1:  # a block barrier in one role only would hang
                block = ops.BarSync(id=id, scope=Scope.WARP, loc=loc, barrier=0, threads=0)
                yield "BARRIER", "k.bar.sync()", block, after
            warp = ops.BarWarpSync(id=id, scope=Scope.WARP, loc=loc)
            yield "BARRIER", "k.bar.warp_sync()", warp, after
    for group, family in _FAMILIES:
        if not _used(schedule, group) or (some and group is GroupKind.WGMMA):
            continue
        scope = Scope.WARPGROUP if group is GroupKind.WGMMA else own
        wait = ops.WaitGroup(id=id, scope=scope, loc=loc, kind=group, n=0)
        yield "WAIT", f"k.{family}.wait_group(0)", wait, False
        yield "WAIT", f"k.{family}.wait_group(0)", wait, True
        commit = ops.CommitGroup(id=id, scope=scope, loc=loc, kind=group)
        yield "COMMIT", f"k.{family}.commit_group()", commit, True


def _tcgen05(op: ops.Tcgen05Op, id: int, own: Scope) -> Iterator[tuple[str, str, Op, bool]]:
    """Waits for a load or store, and fences: after a wait for others, before a signal to them."""
    loc = op.loc
    if isinstance(op, ops.Tcgen05Ld | ops.Tcgen05St):
        what = Tcgen05Access.LD if isinstance(op, ops.Tcgen05Ld) else Tcgen05Access.ST
        wait = ops.Tcgen05Wait(id=id, scope=Scope.WARP, loc=loc, what=what)
        yield "WAIT", f"k.tcgen05.wait_{what.value}()", wait, True
    for side, after in ((Tcgen05Side.AFTER, False), (Tcgen05Side.BEFORE, True)):
        fence = ops.Tcgen05Fence(id=id, scope=own, loc=loc, side=side)
        yield "FENCE", f"k.tcgen05.fence_{side.value}()", fence, after


def _used(schedule: Schedule, group: GroupKind) -> bool:
    """Whether anything of the schedule completes by such groups."""
    copies = {
        GroupKind.CP_ASYNC: ops.CpAsync,
        GroupKind.BULK: ops.TmaStore,
        GroupKind.WGMMA: ops.WgmmaMmaAsync,
    }
    return any(isinstance(o, copies[group]) for o in schedule.ops())
