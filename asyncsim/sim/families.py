"""Each op's way into the simulator: which handler times it, and what it costs.

One ``match`` per PTX family, each ending in ``assert_never``.
"""

from __future__ import annotations

from typing import assert_never

from asyncsim.ir import op as ops
from asyncsim.ir.op import GroupKind, MbarrierOp, MbarrierRef, MemScope, Scope
from asyncsim.sim import (
    do_bulk,
    do_cluster,
    do_compute,
    do_copy,
    do_griddep,
    do_matrix,
    do_order,
    do_registers,
    do_store,
    do_sync,
    do_tcgen05,
    do_tensor,
    do_tiles,
)
from asyncsim.sim.steps import Bound, Maker, Run, StateKey, Step

GROUPS: dict[GroupKind, tuple[Run, Run, str]] = {
    GroupKind.CP_ASYNC: (do_copy.commit_cp, do_copy.wait_cp, "cp_async"),
    GroupKind.BULK: (do_copy.commit_bulk, do_copy.wait_bulk, "tma"),
    GroupKind.WGMMA: (do_tensor.commit, do_tensor.wait, "wgmma"),
}
"""Commit, wait, and the group of the machine file that holds their costs."""


_TX: dict[type[ops.Op], Run] = {
    ops.MbarrierExpectTx: do_sync.expect,
    ops.MbarrierCompleteTx: do_sync.complete_tx,
    ops.MbarrierArriveExpectTx: do_sync.arrive_expect,
}


def make(b: Bound) -> Maker:
    """The maker of an op's steps."""
    later = b.model.written_later
    return do_matrix.behind_writes(b.op, later, _make(b)) if later else _make(b)


def _make(b: Bound) -> Maker:
    op = b.op
    match op:
        case (
            ops.MbarrierInit()
            | ops.MbarrierInval()
            | ops.MbarrierArrive()
            | ops.MbarrierExpectTx()
            | ops.MbarrierCompleteTx()
            | ops.MbarrierArriveExpectTx()
            | ops.MbarrierWait()
            | ops.MbarrierTestWait()
            | ops.MbarrierWaitState()
        ):
            return _mbarrier(b, op)
        case (
            ops.CpAsync()
            | ops.CpAsyncMbarrierArrive()
            | ops.TmaLoad()
            | ops.TmaStore()
            | ops.CommitGroup()
            | ops.WaitGroup()
        ):
            return _copy(b, op)
        case (
            ops.FenceMbarrierInit()
            | ops.FenceProxyAsync()
            | ops.BarSync()
            | ops.BarArrive()
            | ops.BarWarpSync()
            | ops.SetMaxNReg()
        ):
            return _sync(b, op)
        case (
            ops.BulkLoad()
            | ops.BulkStore()
            | ops.BulkSend()
            | ops.RedAsync()
            | ops.BulkPrefetch()
            | ops.TmaPrefetch()
            | ops.PrefetchTensorMap()
        ):
            return do_bulk.bulk_maker(b, op)
        case ops.GriddepcontrolLaunchDependents() | ops.GriddepcontrolWait():
            return do_griddep.griddep_maker(b, op)
        case ops.Fence() | ops.TensormapReplace() | ops.FenceProxyTensormap():
            return do_order.order_maker(b, op)
        case (
            ops.Tcgen05Alloc()
            | ops.Tcgen05Dealloc()
            | ops.Tcgen05RelinquishAllocPermit()
            | ops.Tcgen05Mma()
            | ops.Tcgen05Commit()
            | ops.Tcgen05Cp()
            | ops.Tcgen05Shift()
            | ops.Tcgen05Ld()
            | ops.Tcgen05St()
            | ops.Tcgen05Wait()
            | ops.Tcgen05Fence()
        ):
            return do_tcgen05.tcgen05_maker(b, op)
        case ops.WgmmaFence() | ops.WgmmaMmaAsync():
            return _tensor(b, op)
        case ops.AtomAdd() | ops.ClcTryCancel() | ops.ClcQueryCancel():
            return do_tiles.tile_maker(b, op)
        case ops.BarrierClusterArrive() | ops.BarrierClusterWait() | ops.StAsync():
            return do_cluster.cluster_maker(b, op)
        case ops.LdMatrix() | ops.StMatrix() | ops.MmaSync():
            return do_matrix.matrix_maker(b, op)
        case ops.LdGlobal() | ops.StGlobal() | ops.LdShared() | ops.StShared() | ops.Compute():
            return do_compute.memory(b, op)
        case _ as unreachable:
            assert_never(unreachable)


def _mbarrier(b: Bound, op: MbarrierOp) -> Maker:
    numbers, index, place = b.model.numbers, b.barrier(op.mbarrier), b.place(op.mbarrier)
    match op:
        case ops.MbarrierInit(count=count):
            cost = numbers.ticks("mbarrier.init")
            return do_sync.barrier_step(b, place, do_sync.init, cost, value=count)
        case ops.MbarrierInval():
            return do_sync.barrier_step(b, place, do_sync.inval, numbers.ticks("mbarrier.init"))
        case ops.MbarrierArrive(count=count, state=state, drop=drop):
            return do_sync.barrier_step(
                b,
                place,
                do_sync.arrive_drop if drop else do_sync.arrive,
                _arrive_cost(b, op.mbarrier, "mbarrier.arrive"),
                count=b.times,
                value=count,
                light=not _release_fence(b, op),
                states=_states(op.scope, state),
                fence=_release_fence(b, op),
            )
        case (
            ops.MbarrierExpectTx(bytes=amount)
            | ops.MbarrierCompleteTx(bytes=amount)
            | ops.MbarrierArriveExpectTx(bytes=amount)
        ):
            run = _TX[type(op)]
            kept = () if isinstance(op, ops.MbarrierTxOp) else _states(op.scope, op.state)
            size = b.ev.value(amount)
            cost = _arrive_cost(b, op.mbarrier, "mbarrier.expect_tx")
            fence = () if isinstance(op, ops.MbarrierTxOp) else _release_fence(b, op)

            def build(values: tuple[int, ...]) -> Step:
                step = b.step(run, cost)
                step.rank, step.barrier = place(values)
                step.count, step.amount = b.times, size(values)
                step.states, step.work = kept, fence
                return step

            return b.table(lambda v: (place(v), size(v)), build)
        case ops.MbarrierWait(parity=parity) | ops.MbarrierTestWait(parity=parity):
            bit = b.ev.value(parity)
            blocks = isinstance(op, ops.MbarrierWait)
            token = (op.peek or "") if isinstance(op, ops.MbarrierWait) else op.token

            def build_wait(values: tuple[int, ...]) -> Step:
                how = do_sync.wait if blocks else do_sync.peek
                step = b.step(how, numbers.ticks("mbarrier.try_wait"))
                step.barrier, step.value, step.name = index(values), bit(values), token
                step.polls = _polls(b)
                return step

            return b.table(lambda v: (index(v), bit(v)), build_wait)
        case ops.MbarrierWaitState(state=name):

            def build_wait_state(values: tuple[int, ...]) -> Step:
                step = b.step(do_sync.wait, numbers.ticks("mbarrier.try_wait"))
                step.barrier, step.states = index(values), _states(op.scope, name)
                step.polls = _polls(b)
                return step

            return b.table(index, build_wait_state)
        case _ as unreachable:
            assert_never(unreachable)


def _arrive_cost(b: Bound, ref: MbarrierRef, key: str) -> int:
    return b.model.numbers.ticks(key if ref.rank is None else "mbarrier.remote_arrive")


def _release_fence(b: Bound, op: ops.MbarrierArriveOp) -> tuple[int, ...]:
    """What a release at cluster scope adds: a fence, which the warp sits through before."""
    if op.relaxed or op.memory is MemScope.CTA:
        return ()
    return (b.model.numbers.ticks("fence.gpu"),)


def _polls(b: Bound) -> bool:
    """Whether a wait is executed by some lanes of a warp whose others are still there."""
    return b.op.scope in (Scope.ELECTED, Scope.OTHERS) and b.op.id not in b.model.alone


def _states(scope: Scope, name: str | None) -> tuple[StateKey, ...]:
    """The registers of a state: the elected lane's, the others', or both."""
    if name is None:
        return ()
    who = {Scope.ELECTED: (True,), Scope.OTHERS: (False,)}.get(scope, (True, False))
    return tuple([(name, elected) for elected in who])


def _copy(b: Bound, op: ops.CopyOp) -> Maker:
    numbers = b.model.numbers
    match op:
        case ops.CpAsync():
            return do_copy.cp_async_maker(b, op)
        case ops.CpAsyncMbarrierArrive(mbarrier=ref, noinc=noinc):
            track = do_copy.track_copies if noinc else do_copy.raise_and_track
            place, cost = b.place(ref), numbers.ticks("cp_async.commit")
            return do_sync.barrier_step(b, place, track, cost, count=b.times, value=1)
        case ops.TmaLoad():
            return do_copy.tma_load_maker(b, op)
        case ops.TmaStore():
            return do_store.tma_store_maker(b, op)
        case ops.CommitGroup(kind=kind):
            run, _, key = GROUPS[kind]
            return b.constant(b.step(run, numbers.ticks(f"{key}.commit")))
        case ops.WaitGroup(kind=kind, n=n):
            _, run, key = GROUPS[kind]
            step = b.step(run, numbers.ticks(f"{key}.wait"))
            if kind is GroupKind.WGMMA:
                step.work = (numbers.ticks("wgmma.wait_over") - step.cost,)
        case _ as unreachable:
            assert_never(unreachable)
    step.value = n
    return b.constant(step)


def _sync(b: Bound, op: ops.SyncOp) -> Maker:
    numbers = b.model.numbers
    match op:
        case ops.FenceMbarrierInit():
            return b.constant(b.step(do_sync.fence, numbers.ticks("fence.mbarrier_init")))
        case ops.FenceProxyAsync(space=ops.FenceSpace.SHARED):
            step = b.step(do_sync.fence, numbers.ticks("fence.proxy_async_smem"))
            step.light = True
            return b.constant(step)
        case ops.FenceProxyAsync():
            step = b.step(do_sync.fence, numbers.ticks("fence.proxy_async"))
            step.light = True
            return b.constant(step)
        case ops.BarWarpSync():
            step = b.step(do_sync.fence, numbers.ticks("barrier.syncwarp"))
            step.light = True
            return b.constant(step)
        case ops.SetMaxNReg():
            return do_registers.setmaxnreg_maker(b, op)
        case ops.BarSync(barrier=barrier, threads=threads):
            threads = threads or b.model.schedule.threads
            per_warp = numbers.ticks("barrier.sync_per_warp")
            cost = numbers.ticks("barrier.sync") + per_warp * (threads // 32)
            step = b.step(do_sync.bar_sync, cost)
        case ops.BarArrive(barrier=barrier, threads=threads):
            threads = threads or b.model.schedule.threads
            step = b.step(do_sync.bar_arrive, numbers.ticks("barrier.sync_per_warp"))
        case _ as unreachable:
            assert_never(unreachable)
    step.barrier, step.value = barrier, threads
    return b.constant(step)


def _tensor(b: Bound, op: ops.TensorOp) -> Maker:
    match op:
        case ops.WgmmaFence():
            step = b.step(do_sync.fence, b.model.numbers.ticks("wgmma.fence"))
            return b.constant(step)
        case ops.WgmmaMmaAsync():
            return do_tensor.mma_maker(b, op)
        case _ as unreachable:
            assert_never(unreachable)
