"""Ops, observers and places in the author's words."""

from __future__ import annotations

from typing import assert_never

from asyncsim.check.model import Step, Who
from asyncsim.errors import SourceLoc
from asyncsim.ir import op as ops
from asyncsim.ir.op import Op, Scope
from asyncsim.rules import Place
from asyncsim.stream.dyn import Dyn


def op_text(dyn: Dyn) -> str:
    """One line that says what is executed."""
    op: Op = dyn.op
    if isinstance(op, ops.Tcgen05Op):
        return tcgen05_text(dyn, op)
    if isinstance(op, ops.BulkOp | ops.ClcOp):
        return bulk_text(dyn, op)
    if isinstance(op, ops.OrderOp | ops.GridDependencyOp):
        return order_text(op)
    if isinstance(op, ops.MatrixOp):
        return matrix_text(op)
    match op:
        case ops.MbarrierInit():
            return f"mbarrier.init {dyn.barrier} count {dyn.value}"
        case ops.MbarrierInval():
            return f"mbarrier.inval {dyn.barrier}"
        case ops.MbarrierArrive(drop=drop, no_complete=no_complete):
            name = f"mbarrier.arrive{'_drop' if drop else ''}{'.noComplete' if no_complete else ''}"
            return f"{name} {dyn.barrier}" + (f" x{dyn.value}" if dyn.value > 1 else "")
        case ops.MbarrierCompleteTx():
            return f"mbarrier.complete_tx {dyn.barrier} {dyn.value} bytes"
        case ops.MbarrierTestWait():
            return f"mbarrier.test_wait {dyn.barrier} parity {dyn.value}"
        case ops.MbarrierExpectTx():
            return f"mbarrier.expect_tx {dyn.barrier} {dyn.value} bytes"
        case ops.MbarrierArriveExpectTx():
            return f"mbarrier.arrive.expect_tx {dyn.barrier} {dyn.value} bytes"
        case ops.MbarrierWait():
            return f"mbarrier wait {dyn.barrier} parity {dyn.value}"
        case ops.MbarrierWaitState(state=state):
            return f"mbarrier wait {dyn.barrier} by {state}"
        case ops.CpAsync(dst=dst, src=src):
            return f"cp.async {src.tensor} -> {dst.tile}"
        case ops.CpAsyncMbarrierArrive(noinc=noinc):
            return f"cp.async.mbarrier.arrive{'.noinc' if noinc else ''} {dyn.barrier}"
        case ops.TmaLoad(dst=dst, src=src, rows=rows):
            return f"TMA {'gather' if rows else 'load'} {src.tensor} -> {dst.tile} on {dyn.barrier}"
        case ops.TmaStore(dst=box, src=view, rows=rows):
            return f"TMA {'scatter' if rows else 'store'} {view.tile} -> {box.tensor}"
        case ops.CommitGroup(kind=kind):
            return f"{kind.value}.commit_group"
        case ops.WaitGroup(kind=kind, n=n, read=read):
            return f"{kind.value}.wait_group{'.read' if read else ''} {n}"
        case ops.FenceMbarrierInit():
            return "fence.mbarrier_init"
        case ops.FenceProxyAsync(space=space):
            return f"fence.proxy.async ({space.value})"
        case ops.BarSync(barrier=barrier):
            return f"bar.sync {barrier}, {dyn.value}" if barrier else "block barrier"
        case ops.BarArrive(barrier=barrier):
            return f"bar.arrive {barrier}, {dyn.value}"
        case ops.BarWarpSync():
            return "bar.warp.sync"
        case ops.BarrierClusterArrive(relaxed=relaxed):
            return f"barrier.cluster.arrive{'.relaxed' if relaxed else ''}"
        case ops.BarrierClusterWait():
            return "barrier.cluster.wait"
        case ops.StAsync(dst=dst, src=frag):
            return f"st.async {frag.name} -> {dst.tile} on {dyn.barrier}"
        case ops.SetMaxNReg(direction=direction):
            return f"setmaxnreg.{direction.value} {dyn.value}"
        case ops.WgmmaFence():
            return "wgmma.fence"
        case ops.WgmmaMmaAsync(d=d, a=a, b=b):
            of = a.name if isinstance(a, ops.FragmentRef) else a.tile
            return f"wgmma {d.name} += {of} x {b.tile}"
        case ops.AtomAdd(counter=box):
            return f"atom.global.add {box.tensor}"
        case ops.LdGlobal(dst=frag, src=box):
            return f"ld.global {box.tensor} -> {frag.name}"
        case ops.StGlobal(dst=box, src=frag):
            return f"st.global {frag.name} -> {box.tensor}"
        case ops.LdShared(dst=frag, src=view):
            return f"ld.shared {view.tile} -> {frag.name}"
        case ops.StShared(dst=view, src=frag):
            return f"st.shared {frag.name} -> {view.tile}"
        case ops.Compute(defn=defn):
            return f"compute {defn.name}"
        case _ as unreachable:
            assert_never(unreachable)


def bulk_text(dyn: Dyn, op: ops.BulkOp | ops.ClcOp) -> str:
    """The same, of a bulk copy without a tensor map."""
    match op:
        case ops.BulkLoad(dst=dst, src=src):
            return f"bulk load {src.tensor} -> {dst.tile} on {dyn.barrier}"
        case ops.BulkStore(dst=box, src=view):
            return f"bulk store {view.tile} -> {box.tensor}"
        case ops.BulkSend(dst=dst, src=view):
            return f"bulk copy {view.tile} -> {dst.tile} on {dyn.barrier}"
        case ops.RedAsync(dst=dst, src=frag):
            return f"red.async {frag.name} -> {dst.tile} on {dyn.barrier}"
        case ops.ClcTryCancel(dst=dst):
            return f"try_cancel -> {dst.tile} on {dyn.barrier}"
        case ops.ClcQueryCancel(src=view):
            return f"query_cancel {view.tile}"
        case ops.BulkPrefetch(src=src):
            return f"bulk prefetch {src.tensor}"
        case ops.TmaPrefetch(src=src):
            return f"TMA prefetch {src.tensor}"
        case ops.PrefetchTensorMap(tensor_map=name):
            return f"prefetch.tensormap {name}"
        case _ as unreachable:
            assert_never(unreachable)


def order_text(op: ops.OrderOp | ops.GridDependencyOp) -> str:
    """The same, of a fence, of a change of a tensor map, between kernels."""
    match op:
        case ops.Fence(fence_scope=scope, sc=sc):
            return f"fence.{'sc' if sc else 'acq_rel'}.{scope.value}"
        case ops.TensormapReplace(tensor_map=name):
            return f"tensormap.replace {name}"
        case ops.GriddepcontrolLaunchDependents():
            return "griddepcontrol.launch_dependents"
        case ops.GriddepcontrolWait():
            return "griddepcontrol.wait"
        case ops.FenceProxyTensormap(tensor_map=name):
            return f"fence.proxy.tensormap {f'acquire {name}' if name else 'release'}"
        case _ as unreachable:
            assert_never(unreachable)


def matrix_text(op: ops.MatrixOp) -> str:
    """The same, of matrices of a warp."""
    match op:
        case ops.LdMatrix(dst=frag, src=view, num=num):
            return f"ldmatrix.x{num} {view.tile} -> {frag.name}"
        case ops.StMatrix(dst=view, src=frag, num=num):
            return f"stmatrix.x{num} {frag.name} -> {view.tile}"
        case ops.MmaSync(d=d, a=a, b=b):
            return f"mma.sync {d.name} += {a.name} x {b.name}"
        case _ as unreachable:
            assert_never(unreachable)


def tcgen05_text(dyn: Dyn, op: ops.Tcgen05Op) -> str:
    """The same, of a tcgen05 op."""
    match op:
        case ops.Tcgen05Alloc(address=word):
            return f"tcgen05.alloc {word.tile}, {dyn.value} columns"
        case ops.Tcgen05Dealloc(address=word):
            return f"tcgen05.dealloc {word.tile}"
        case ops.Tcgen05RelinquishAllocPermit():
            return "tcgen05.relinquish_alloc_permit"
        case ops.Tcgen05Mma(d=d, a=a, b=b):
            return f"tcgen05.mma {d.tile} += {a.tile} x {b.tile}"
        case ops.Tcgen05Commit():
            return f"tcgen05.commit to {', '.join(map(str, dyn.barriers))}"
        case ops.Tcgen05Cp(dst=to, src=view):
            return f"tcgen05.cp {view.tile} -> {to.tile}"
        case ops.Tcgen05Shift(tile=tile):
            return f"tcgen05.shift {tile.tile}"
        case ops.Tcgen05Ld(dst=frag, src=tile):
            return f"tcgen05.ld {tile.tile} -> {frag.name}"
        case ops.Tcgen05St(dst=tile, src=frag):
            return f"tcgen05.st {frag.name} -> {tile.tile}"
        case ops.Tcgen05Wait(what=what):
            return f"tcgen05.wait::{what.value}"
        case ops.Tcgen05Fence(side=side):
            return f"tcgen05.fence::{side.value}"
        case _ as unreachable:
            assert_never(unreachable)


def who_text(step: Step, who: Who | None = None) -> str:
    """Role and warp, and which of its lanes."""
    place = step.warp.place
    of = f" of CTA {place.rank}" if place.rank else ""
    warp = f"{place.role} warp {place.warp_in_role}{of}"
    scope = step.dyn.op.scope
    if scope is Scope.ELECTED:
        return f"{warp}, elected lane"
    if scope is Scope.OTHERS:
        return f"{warp}, other lanes"
    if scope is Scope.ALL_LANES and (who or step.who) is Who.OTHERS:
        return f"{warp}, other lanes"
    if scope is Scope.ALL_LANES and (who or step.who) is Who.ELECTED:
        return f"{warp}, elected lane"
    return warp


def step_place(step: Step, who: Who | None = None) -> Place:
    dyn, indices = step.event
    return Place(
        what=op_text(dyn),
        who=who_text(step, who),
        loc=dyn.op.loc,
        op_id=dyn.op.id,
        indices=indices,
    )


def loc_of(step: Step) -> SourceLoc | None:
    return step.dyn.op.loc
