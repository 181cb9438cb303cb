"""One op as text: the PTX opcode, then its operands."""

from __future__ import annotations

from typing import assert_never

from asyncsim.ir import op as ops
from asyncsim.ir.dtype import DType
from asyncsim.ir.expr import text
from asyncsim.ir.op import (
    BulkOp,
    ClcOp,
    ClusterOp,
    CopyOp,
    FenceSpace,
    GridDependencyOp,
    GroupKind,
    MatrixMove,
    MatrixOp,
    MbarrierOp,
    MemoryOp,
    MemScope,
    Op,
    OrderOp,
    SyncOp,
    Tcgen05Op,
    TensorOp,
    TmemView,
)
from asyncsim.ir.operand_text import barrier_text as _barrier
from asyncsim.ir.operand_text import box_text as _box
from asyncsim.ir.operand_text import boxes_text as _boxes
from asyncsim.ir.operand_text import operand_text as _operand
from asyncsim.ir.operand_text import registers_text as _registers
from asyncsim.ir.operand_text import tmem_text as _tmem
from asyncsim.ir.operand_text import vector_text as _vector
from asyncsim.ir.operand_text import view_text as _view
from asyncsim.ir.schedule import Schedule

_GROUPS = {
    GroupKind.CP_ASYNC: ("cp.async", ""),
    GroupKind.BULK: ("cp.async.bulk", ""),
    GroupKind.WGMMA: ("wgmma", ".sync.aligned"),
}
_PROXY = {
    FenceSpace.SHARED: ".shared::cta",
    FenceSpace.CLUSTER: ".shared::cluster",
    FenceSpace.GLOBAL: ".global",
    FenceSpace.ALL: "",
}
_MMA = {DType.I8: "s8", DType.U8: "u8", DType.I32: "s32"}


def op_text(op: Op, schedule: Schedule) -> str:
    """The op as one line."""
    if isinstance(op, MbarrierOp):
        return _mbarrier(op)
    if isinstance(op, CopyOp):
        return _copy(op, schedule)
    if isinstance(op, BulkOp):
        return _bulk(op, schedule)
    if isinstance(op, OrderOp):
        return _order(op)
    if isinstance(op, GridDependencyOp):
        return _griddepcontrol(op)
    if isinstance(op, ClcOp):
        return _clc(op, schedule)
    if isinstance(op, SyncOp):
        return _sync(op, schedule)
    if isinstance(op, ClusterOp):
        return _cluster(op, schedule)
    if isinstance(op, TensorOp):
        return _tensor(op, schedule)
    if isinstance(op, Tcgen05Op):
        return _tcgen05(op, schedule)
    if isinstance(op, MatrixOp):
        return _matrix(op, schedule)
    if isinstance(op, MemoryOp | ops.AtomAdd):
        return _memory(op, schedule)
    assert_never(op)


def _mbarrier(op: MbarrierOp) -> str:
    at = _barrier(op.mbarrier)
    match op:
        case ops.MbarrierInit(count=count):
            return f"mbarrier.init.b64 {at}, {count}"
        case ops.MbarrierInval():
            return f"mbarrier.inval.b64 {at}"
        case ops.MbarrierArrive(count=count, state=state):
            how = ".noComplete" if op.no_complete else ""
            how += _sem(op, "release") + _state_space(op)
            return (
                f"mbarrier.arrive{'_drop' if op.drop else ''}{how}.b64 {_kept(state)}{at}, {count}"
            )
        case ops.MbarrierExpectTx(bytes=amount):
            return f"mbarrier.expect_tx{_state_space(op)}.b64 {at}, {text(amount)}"
        case ops.MbarrierCompleteTx(bytes=amount):
            return f"mbarrier.complete_tx{_state_space(op)}.b64 {at}, {text(amount)}"
        case ops.MbarrierArriveExpectTx(bytes=amount, state=state):
            how = _sem(op, "release") + _state_space(op)
            return f"mbarrier.arrive.expect_tx{how}.b64 {_kept(state)}{at}, {text(amount)}"
        case ops.MbarrierWait(parity=parity):
            unless = f", unless {op.peek}" if op.peek is not None else ""
            return f"mbarrier.try_wait.parity{_sem(op, 'acquire')}.b64 {at}, {text(parity)}{unless}"
        case ops.MbarrierTestWait(parity=parity, token=token):
            how = _sem(op, "acquire")
            return f"mbarrier.test_wait.parity{how}.b64 {token}, {at}, {text(parity)}"
        case ops.MbarrierWaitState(state=state):
            return f"mbarrier.try_wait{_sem(op, 'acquire')}.b64 {at}, {state}"
        case _ as unreachable:
            assert_never(unreachable)


def _sem(op: ops.MbarrierArriveOp | ops.MbarrierWaitOp | ops.MbarrierTestWait, sem: str) -> str:
    """The qualifiers that differ from PTX's defaults: release or acquire, CTA scope."""
    if op.relaxed:
        return f".relaxed.{op.memory.value}"
    return f".{sem}.{op.memory.value}" if op.memory is not MemScope.CTA else ""


def _state_space(op: MbarrierOp) -> str:
    return ".shared::cluster" if op.mbarrier.rank is not None else ""


def _copy(op: CopyOp, s: Schedule) -> str:
    match op:
        case ops.CpAsync(dst=dst, src=src, bytes=size, src_bytes=kept):
            cache = "cg" if size == 16 else "ca"
            rest = "" if kept is None else f", {text(kept)}"
            return f"cp.async.{cache}.shared.global {_view(dst, s)}, {_box(src)}, {size}{rest}"
        case ops.CpAsyncMbarrierArrive(mbarrier=barrier, noinc=noinc):
            return f"cp.async.mbarrier.arrive{'.noinc' if noinc else ''}.b64 {_barrier(barrier)}"
        case ops.TmaLoad(dst=dst, tensor_map=map_, src=src, mbarrier=barrier, multicast=mask):
            to, ranks = ("cta", "") if mask is None else ("cluster", f", ranks {text(mask)}")
            pixels = s.tensor_map(map_).im2col
            mode = f".{pixels.mode.value}" if pixels else ".tile::gather4" if op.rows else ""
            boxes = _boxes(src, op.rows) + "".join(f" +{text(e)}" for e in op.offsets)
            boxes += f" halo {op.halo}" if op.halo is not None else ""
            name = f"cp.async.bulk.tensor.{len(src.shape)}d.shared::{to}.global{mode}"
            return f"{name} {_view(dst, s)}, {map_} {boxes}, {_barrier(barrier)}{ranks}"
        case ops.TmaStore(dst=dst, tensor_map=map_, src=src_view, reduce=reduce):
            kind = "cp.async.bulk" if reduce is None else "cp.reduce.async.bulk"
            how = "" if reduce is None else f".{reduce.value}"
            mode = ".tile::scatter4" if op.rows else ""
            name = f"{kind}.tensor.{len(dst.shape)}d.global.shared::cta{mode}{how}"
            return f"{name} {map_} {_boxes(dst, op.rows)}, {_view(src_view, s)}"
        case ops.CommitGroup(kind=kind):
            family, suffix = _GROUPS[kind]
            return f"{family}.commit_group{suffix}"
        case ops.WaitGroup(kind=kind, n=n, read=read):
            family, suffix = _GROUPS[kind]
            return f"{family}.wait_group{'.read' if read else ''}{suffix} {n}"
        case _ as unreachable:
            assert_never(unreachable)


def _bulk(op: BulkOp, s: Schedule) -> str:
    match op:
        case ops.BulkLoad(dst=dst, src=src, mbarrier=barrier, multicast=mask):
            to, ranks = ("cta", "") if mask is None else ("cluster", f", ranks {text(mask)}")
            name = f"cp.async.bulk.shared::{to}.global"
            return f"{name} {_view(dst, s)}, {_box(src)}, {_barrier(barrier)}{ranks}"
        case ops.BulkStore(dst=box, src=view, reduce=reduce):
            return f"{_reducing('global.shared::cta', reduce)} {_box(box)}, {_view(view, s)}"
        case ops.BulkSend(dst=to_view, src=view, mbarrier=barrier, reduce=reduce):
            name = _reducing("shared::cluster.shared::cta", reduce)
            return f"{name} {_view(to_view, s)}, {_view(view, s)}, {_barrier(barrier)}"
        case ops.RedAsync(dst=to_view, src=regs, mbarrier=barrier, reduce=reduce):
            name = "red.async.shared::cluster.mbarrier::complete_tx::bytes"
            operands = f"{_view(to_view, s)}, {_registers(regs, s)}, {_barrier(barrier)}"
            return f"{name}.{reduce.value}.{_vector(regs, s)} {operands}"
        case ops.BulkPrefetch(src=src):
            return f"cp.async.bulk.prefetch.L2.global {_box(src)}"
        case ops.TmaPrefetch(tensor_map=tensor_map, src=src):
            rank = len(src.shape)
            return f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global {tensor_map} {_box(src)}"
        case ops.PrefetchTensorMap(tensor_map=tensor_map):
            return f"prefetch.tensormap {tensor_map}"
        case _ as unreachable:
            assert_never(unreachable)


def _reducing(spaces: str, reduce: ops.ReduceOp | None) -> str:
    if reduce is None:
        return f"cp.async.bulk.{spaces}"
    return f"cp.reduce.async.bulk.{spaces}.{reduce.value}"


def _order(op: OrderOp) -> str:
    match op:
        case ops.Fence(fence_scope=scope, sc=sc):
            return f"fence.{'sc' if sc else 'acq_rel'}.{scope.value}"
        case ops.TensormapReplace(tensor_map=tensor_map, field=field, value=value, dim=dim):
            which = f", {dim}" if field == "global_dim" and value is not None else ""
            given = "" if value is None else f"{which}, {text(value)}"
            return f"tensormap.replace.tile.{field}.global.b1024 {tensor_map}{given}"
        case ops.FenceProxyTensormap(tensor_map=None):
            return "fence.proxy.tensormap::generic.release.gpu"
        case ops.FenceProxyTensormap(tensor_map=tensor_map):
            return f"fence.proxy.tensormap::generic.acquire.gpu {tensor_map}, 128"
        case _ as unreachable:
            assert_never(unreachable)


def _clc(op: ClcOp, s: Schedule) -> str:
    match op:
        case ops.ClcTryCancel(dst=dst, mbarrier=barrier, multicast=multicast):
            name = "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes"
            name += ".multicast::cluster::all" if multicast else ""
            return f"{name}.b128 {_view(dst, s)}, {_barrier(barrier)}"
        case ops.ClcQueryCancel(dst=regs, src=view):
            return f"clusterlaunchcontrol.query_cancel.b128 {_registers(regs, s)}, {_view(view, s)}"
        case _ as unreachable:
            assert_never(unreachable)


def _griddepcontrol(op: GridDependencyOp) -> str:
    match op:
        case ops.GriddepcontrolLaunchDependents():
            return "griddepcontrol.launch_dependents"
        case ops.GriddepcontrolWait():
            return "griddepcontrol.wait"
        case _ as unreachable:
            assert_never(unreachable)


def _sync(op: SyncOp, s: Schedule) -> str:
    match op:
        case ops.FenceMbarrierInit():
            return "fence.mbarrier_init.release.cluster"
        case ops.FenceProxyAsync(space=space):
            return f"fence.proxy.async{_PROXY[space]}"
        case ops.BarSync(barrier=barrier, threads=threads):
            return f"bar.sync {barrier}, {threads or s.threads}"
        case ops.BarArrive(barrier=barrier, threads=threads):
            return f"bar.arrive {barrier}, {threads or s.threads}"
        case ops.BarWarpSync():
            return "bar.warp.sync"
        case ops.SetMaxNReg(direction=direction, count=count):
            return f"setmaxnreg.{direction.value}.sync.aligned.u32 {count}"
        case _ as unreachable:
            assert_never(unreachable)


def _cluster(op: ClusterOp, s: Schedule) -> str:
    match op:
        case ops.BarrierClusterArrive(relaxed=relaxed):
            return f"barrier.cluster.arrive{'.relaxed' if relaxed else ''}.aligned"
        case ops.BarrierClusterWait():
            return "barrier.cluster.wait.aligned"
        case ops.StAsync(dst=dst, src=src, mbarrier=barrier):
            name = f"st.async.shared::cluster.mbarrier::complete_tx::bytes.{_vector(src, s)}"
            return f"{name} {_view(dst, s)}, {_registers(src, s)}, {_barrier(barrier)}"
        case _ as unreachable:
            assert_never(unreachable)


def _tensor(op: TensorOp, s: Schedule) -> str:
    match op:
        case ops.WgmmaFence():
            return "wgmma.fence.sync.aligned"
        case ops.WgmmaMmaAsync(d=d, a=a, b=b, n=n, k=k, accumulate=accumulate):
            types = ".".join(_MMA.get(t, t.value) for t in map(s.element_type, (d, a, b)))
            operands = f"m64n{n}k{k}.{types} " + ", ".join(_operand(x, s) for x in (d, a, b))
            trans = (", trans_a" if op.trans_a else "") + (", trans_b" if op.trans_b else "")
            return f"wgmma.mma_async.sync.aligned.{operands}, scale_d {text(accumulate)}{trans}"
        case _ as unreachable:
            assert_never(unreachable)


def _tcgen05(op: Tcgen05Op, s: Schedule) -> str:
    match op:
        case ops.Tcgen05Alloc(address=word, columns=columns, cta_group=group):
            return f"tcgen05.alloc{_group(group)}.sync.aligned.b32 {_view(word, s)}, {columns}"
        case ops.Tcgen05Dealloc(address=word, columns=columns, cta_group=group, offset=offset):
            at = _view(word, s) + (f" + {offset}" if offset else "")
            return f"tcgen05.dealloc{_group(group)}.sync.aligned.b32 {at}, {columns}"
        case ops.Tcgen05RelinquishAllocPermit(cta_group=group):
            return f"tcgen05.relinquish_alloc_permit{_group(group)}.sync.aligned"
        case ops.Tcgen05Mma():
            return _tcgen05_mma(op, s)
        case ops.Tcgen05Commit(mbarrier=barrier, cta_group=group, multicast=mask):
            name = f"tcgen05.commit{_group(group)}.mbarrier::arrive::one"
            name += "" if mask is None else ".multicast::cluster"
            ranks = "" if mask is None else f", ranks {text(mask)}"
            return f"{name}.b64 {_barrier(barrier)}{ranks}"
        case ops.Tcgen05Cp(dst=to, src=view, shape=shape, cta_group=group):
            return f"tcgen05.cp{_group(group)}.{shape.value} {_tmem(to, s)}, {_view(view, s)}"
        case ops.Tcgen05Shift(tile=tile, cta_group=group):
            return f"tcgen05.shift{_group(group)}.down {_tmem(tile, s)}"
        case ops.Tcgen05Ld(dst=regs, src=tile):
            name = f"tcgen05.ld.sync.aligned.32x32b.x{regs.count}.b32"
            return f"{name} {_registers(regs, s)}, {_tmem(tile, s)}"
        case ops.Tcgen05St(dst=tile, src=regs):
            name = f"tcgen05.st.sync.aligned.32x32b.x{regs.count}.b32"
            return f"{name} {_tmem(tile, s)}, {_registers(regs, s)}"
        case ops.Tcgen05Wait(what=what):
            return f"tcgen05.wait::{what.value}.sync.aligned"
        case ops.Tcgen05Fence(side=side):
            return f"tcgen05.fence::{side.value}"
        case _ as unreachable:
            assert_never(unreachable)


def _tcgen05_mma(op: ops.Tcgen05Mma, s: Schedule) -> str:
    name = f"tcgen05.mma{_group(op.cta_group)}.kind::{op.kind.value}"
    name += f".block_scale.scale_vec::{op.scale_vec}X" if op.kind.block_scaled else ""
    a = _tmem(op.a, s) if isinstance(op.a, TmemView) else _view(op.a, s)
    factors = (op.scale_a, op.scale_a_id), (op.scale_b, op.scale_b_id)
    scales = [_tmem(x, s) + (f" id {i}" if i else "") for x, i in factors if x is not None]
    operands = ", ".join([_tmem(op.d, s), a, _view(op.b, s), *scales])
    return f"{name} m{op.m}n{op.n}k{op.k} {operands}, enable_input_d {text(op.accumulate)}"


def _group(cta_group: int) -> str:
    return f".cta_group::{cta_group}"


def _matrix(op: MatrixOp, s: Schedule) -> str:
    match op:
        case ops.LdMatrix(dst=regs, src=view):
            return f"ldmatrix{_matrices(op)} {_registers(regs, s)}, {_view(view, s)}"
        case ops.StMatrix(dst=view, src=regs):
            return f"stmatrix{_matrices(op)} {_view(view, s)}, {_registers(regs, s)}"
        case ops.MmaSync(d=d, a=a, b=b, c=c, k=k):
            types = ".".join(_MMA.get(t, t.value) for t in map(s.element_type, (d, a, b, c)))
            operands = ", ".join(_registers(x, s) for x in (d, a, b, c))
            return f"mma.sync.aligned.m16n8k{k}.row.col.{types} {operands}"
        case _ as unreachable:
            assert_never(unreachable)


def _matrices(op: MatrixMove) -> str:
    return f".sync.aligned.m8n8.x{op.num}{'.trans' if op.trans else ''}.shared.b16"


def _memory(op: MemoryOp | ops.AtomAdd, s: Schedule) -> str:
    match op:
        case ops.LdGlobal(dst=dst, src=src):
            return f"ld.global.{_vector(dst, s)} {_registers(dst, s)}, {_box(src)}"
        case ops.StGlobal(dst=dst_box, src=regs, clip=clip):
            inside = "@inside " if clip else ""
            return f"{inside}st.global.{_vector(regs, s)} {_box(dst_box)}, {_registers(regs, s)}"
        case ops.LdShared(dst=dst, src=view):
            space = "shared::cluster" if view.rank is not None else "shared"
            return f"ld.{space}.{_vector(dst, s)} {_registers(dst, s)}, {_view(view, s)}"
        case ops.StShared(dst=view, src=regs):
            space = "shared::cluster" if view.rank is not None else "shared"
            return f"st.{space}.{_vector(regs, s)} {_view(view, s)}, {_registers(regs, s)}"
        case ops.AtomAdd(dst=dst, counter=box):
            return f"atom.global.add.{_vector(dst, s)} {_registers(dst, s)}, {_box(box)}, 1"
        case ops.Compute(defn=defn, operands=operands):
            arguments = ", ".join(
                f"{formal.name}={_operand(actual, s)}"
                for formal, actual in zip(defn.operands, operands, strict=True)
            )
            return f"compute {defn.name}({arguments})"
        case _ as unreachable:
            assert_never(unreachable)


def _kept(state: str | None) -> str:
    """The register that an arrive writes, as a first operand."""
    return f"{state}, " if state else ""
