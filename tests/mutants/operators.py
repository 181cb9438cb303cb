"""What can be wrong with one op: the map from an op to its mutants.

The only place that knows each op. Structural changes (drop, move, who executes) are the same for
all ops that synchronise; perturbations change one operand in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from asyncsim.ir import op as ops
from asyncsim.ir.expr import Const, Expr, binary
from asyncsim.ir.op import FenceSpace, GroupKind, MbarrierRef, Op
from asyncsim.ir.schedule import Schedule
from asyncsim.ir.tcgen05 import Tcgen05Access, Tcgen05Side

WARP_THREADS = 32
UNIT_BYTES = 16  # what a bulk copy moves at least
REGISTER_STEP = 8  # of setmaxnreg


def is_dropped(op: Op) -> bool:
    """Whether leaving the op out is a defect of synchronisation.

    Not for what computes or stores results: the schedule would be another one, in good order.
    """
    match op:
        case (
            ops.MbarrierInit()
            | ops.MbarrierInval()
            | ops.MbarrierArrive()
            | ops.MbarrierExpectTx()
            | ops.MbarrierCompleteTx()
            | ops.MbarrierArriveExpectTx()
            | ops.MbarrierWait()
            | ops.MbarrierWaitState()
            | ops.SetMaxNReg()
            | ops.CpAsync()
            | ops.CpAsyncMbarrierArrive()
            | ops.TmaLoad()
            | ops.BulkLoad()
            | ops.BulkSend()
            | ops.RedAsync()
            | ops.ClcTryCancel()
            | ops.CommitGroup()
            | ops.WaitGroup()
            | ops.FenceMbarrierInit()
            | ops.FenceProxyAsync()
            | ops.Fence()
            | ops.FenceProxyTensormap()
            | ops.GriddepcontrolWait()
            | ops.BarSync()
            | ops.BarArrive()
            | ops.BarWarpSync()
            | ops.BarrierClusterArrive()
            | ops.BarrierClusterWait()
            | ops.StAsync()
            | ops.WgmmaFence()
            | ops.Tcgen05Alloc()
            | ops.Tcgen05Dealloc()
            | ops.Tcgen05RelinquishAllocPermit()
            | ops.Tcgen05Commit()
            | ops.Tcgen05Wait()
            | ops.Tcgen05Fence()
        ):
            return True
        case (
            ops.TmaStore()
            | ops.GriddepcontrolLaunchDependents()
            | ops.TensormapReplace()
            | ops.BulkStore()
            | ops.ClcQueryCancel()
            | ops.BulkPrefetch()
            | ops.TmaPrefetch()
            | ops.PrefetchTensorMap()
            | ops.MbarrierTestWait()
            | ops.WgmmaMmaAsync()
            | ops.Tcgen05Mma()
            | ops.Tcgen05Cp()
            | ops.Tcgen05Shift()
            | ops.Tcgen05Ld()
            | ops.Tcgen05St()
            | ops.LdGlobal()
            | ops.AtomAdd()
            | ops.StGlobal()
            | ops.LdShared()
            | ops.StShared()
            | ops.LdMatrix()
            | ops.StMatrix()
            | ops.MmaSync()
            | ops.Compute()
        ):
            return False
        case _ as unreachable:
            assert_never(unreachable)


def is_moved(op: Op) -> bool:
    """Whether the op is moved: what synchronises, and the asynchronous copies."""
    return is_dropped(op) or isinstance(op, ops.StoreOp)


def perturbed(op: Op, schedule: Schedule) -> Iterator[tuple[str, Op]]:
    """(what changes, the op in its place)."""
    match op:
        case ops.MbarrierInit(count=count) | ops.MbarrierArrive(count=count):
            yield from _stages(op, op.mbarrier, schedule)
            yield "count+1", replace(op, count=count + 1)
            yield "count-1", replace(op, count=count - 1)
        case ops.MbarrierInval() | ops.MbarrierWaitState():
            yield from _stages(op, op.mbarrier, schedule)
        case ops.Tcgen05Alloc(columns=columns):
            yield "columns*2", replace(op, columns=2 * columns)
            yield "columns/2", replace(op, columns=columns // 2)
        case ops.Tcgen05Wait(what=what):
            (other,) = set(Tcgen05Access) - {what}
            yield "other", replace(op, what=other)
        case ops.Tcgen05Fence(side=side):
            (opposite,) = set(Tcgen05Side) - {side}
            yield "other", replace(op, side=opposite)
        case ops.SetMaxNReg(count=count):
            yield "count+8", replace(op, count=count + REGISTER_STEP)
            yield "count-8", replace(op, count=count - REGISTER_STEP)
        case (
            ops.MbarrierExpectTx(bytes=amount)
            | ops.MbarrierCompleteTx(bytes=amount)
            | ops.MbarrierArriveExpectTx(bytes=amount)
        ):
            yield from _stages(op, op.mbarrier, schedule)
            yield "bytes+16", replace(op, bytes=binary("+", amount, Const(UNIT_BYTES)))
            yield "bytes-16", replace(op, bytes=binary("-", amount, Const(UNIT_BYTES)))
        case ops.MbarrierWait(parity=parity) | ops.MbarrierTestWait(parity=parity):
            yield from _stages(op, op.mbarrier, schedule)
            yield "parity", replace(op, parity=binary("^", parity, Const(1)))
        case ops.CpAsyncMbarrierArrive(noinc=noinc):
            yield from _stages(op, op.mbarrier, schedule)
            yield "noinc", replace(op, noinc=not noinc)
        case (
            ops.TmaLoad()
            | ops.BulkLoad()
            | ops.BulkSend()
            | ops.ClcTryCancel()
            | ops.StAsync()
            | ops.RedAsync()
            | ops.Tcgen05Commit()
        ):
            yield from _stages(op, op.mbarrier, schedule)
        case ops.WaitGroup(kind=kind, n=n, read=read):
            yield "n+1", replace(op, n=n + 1)
            if n:
                yield "n-1", replace(op, n=n - 1)
            if kind is GroupKind.BULK:
                yield "read", replace(op, read=not read)
        case ops.FenceProxyAsync(space=space):
            for other in FenceSpace:
                if other is not space:
                    yield f"space {other.value}", replace(op, space=other)
        case ops.BarSync(threads=threads) | ops.BarArrive(threads=threads):
            have = threads or schedule.threads
            yield "threads+32", replace(op, threads=have + WARP_THREADS)
            yield "threads-32", replace(op, threads=have - WARP_THREADS)
            yield "barrier+1", replace(op, barrier=(op.barrier + 1) % 16)
        case (
            ops.CpAsync()
            | ops.TmaStore()
            | ops.Fence()
            | ops.FenceProxyTensormap()
            | ops.GriddepcontrolLaunchDependents()
            | ops.GriddepcontrolWait()
            | ops.TensormapReplace()
            | ops.BulkStore()
            | ops.ClcQueryCancel()
            | ops.BulkPrefetch()
            | ops.TmaPrefetch()
            | ops.PrefetchTensorMap()
            | ops.CommitGroup()
            | ops.FenceMbarrierInit()
            | ops.BarWarpSync()
            | ops.BarrierClusterArrive()
            | ops.BarrierClusterWait()
            | ops.WgmmaFence()
            | ops.WgmmaMmaAsync()
            | ops.Tcgen05Dealloc()
            | ops.Tcgen05RelinquishAllocPermit()
            | ops.Tcgen05Mma()
            | ops.Tcgen05Cp()
            | ops.Tcgen05Shift()
            | ops.Tcgen05Ld()
            | ops.Tcgen05St()
            | ops.LdGlobal()
            | ops.AtomAdd()
            | ops.StGlobal()
            | ops.LdShared()
            | ops.StShared()
            | ops.LdMatrix()
            | ops.StMatrix()
            | ops.MmaSync()
            | ops.Compute()
        ):
            return  # no operand that only synchronises
        case _ as unreachable:
            assert_never(unreachable)


def _stages(op: Op, ref: MbarrierRef, schedule: Schedule) -> Iterator[tuple[str, Op]]:
    """The neighbouring mbarriers of the array, the last followed by the first."""
    stages = schedule.mbarrier(ref.name).stages
    if stages == 1:
        return
    for name, step in (("stage+1", 1), ("stage-1", stages - 1))[: stages - 1]:
        stage = _wrapped(ref.stage, step, stages)
        yield name, replace(op, mbarrier=replace(ref, stage=stage))  # type: ignore[call-arg]


def _wrapped(stage: Expr, step: int, stages: int) -> Expr:
    return binary("%", binary("+", stage, Const(step)), Const(stages))
