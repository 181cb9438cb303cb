"""CUDA text of asynchronous copies and of groups."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context
from asyncsim.hw.render.expr import c_text
from asyncsim.ir import op as ops
from asyncsim.ir.op import CopyOp, GlobalView, GroupKind


def render_copy(c: Context, op: CopyOp) -> None:
    match op:
        case ops.CpAsync(dst=dst, src=src, bytes=size, src_bytes=filled):
            more = "" if filled is None else f", {c_text(filled)}"
            to, element = f"smem_base + {c.physical_bytes(dst)}", c.element(src, load=True)
            c.put_guarded(f"cp_async<{size}>({to}, {element}{more});")
        case ops.CpAsyncMbarrierArrive(mbarrier=ref, noinc=noinc):
            c.put(f"cp_async_arrive{'_noinc' if noinc else ''}({c.barrier(ref)});")
        case ops.TmaLoad(multicast=mask) if mask is not None:
            c.put_guarded(_multicast(c, op, c_text(mask)))
        case ops.TmaLoad() if op.mbarrier.rank is not None:
            c.put_guarded(_pair_load(c, op))
        case ops.TmaLoad(dst=dst, tensor_map=name, src=src, mbarrier=ref):
            at = f"smem_base + {c_text(c.logical_bytes(dst))}"
            c.put_guarded(f"tma_load({at}, m_{name}, {c.barrier(ref)}, {coordinates(src)});")
        case ops.TmaStore(reduce=reduce) if reduce is not None:
            c.put_guarded(_reduce(c, op, reduce.value))
        case ops.TmaStore(dst=box, tensor_map=name, src=view):
            at = f"smem_base + {c_text(c.logical_bytes(view))}"
            c.put_guarded(f"tma_store(m_{name}, {at}, {coordinates(box)});")
        case ops.CommitGroup(kind=kind):
            _commit(c, kind)
        case ops.WaitGroup(kind=GroupKind.WGMMA, n=n, id=op_id):
            c.put(f"wgmma_wait<{n}>();")
            for name in c.matrices:
                if name not in c.in_flight[op_id]:
                    c.put(f"wgmma_landed(f_{name});")
        case ops.WaitGroup(kind=kind, n=n, read=read):
            of = "bulk" if kind is GroupKind.BULK else "cp_async"
            c.put(f"{of}_wait{'_read' if read else ''}<{n}>();")
        case _ as unreachable:
            assert_never(unreachable)


def coordinates(box: GlobalView) -> str:
    """TMA counts coordinates innermost first; the view is row-major."""
    return ", ".join(c_text(s) for s in reversed(box.start))


def _multicast(c: Context, op: ops.TmaLoad, mask: str) -> str:
    n = len(op.src.start)
    pair = "" if op.mbarrier.rank is None else ".cta_group::2"
    opcode = (
        f"cp.async.bulk.tensor.{n}d{pair}.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.multicast::cluster"
    )
    name = f"tma_load_multicast{'_pair' if pair else ''}_{n}d"
    places = ", ".join(f"%{4 + d}" for d in range(n))
    c.functions[name] = (
        f"DEV void {name}(u32 dst, const TensorMap& m, u32 bar, unsigned short ctas, {formals(n)})"
        f' {{\n  asm volatile("{opcode} [%0], [%1, {{{places}}}], [%2], %3;"\n'
        f'               :: "r"(dst), "l"(&m), "r"(bar), "h"(ctas), {inputs(n)} : "memory");\n}}'
    )
    at, barrier = f"smem_base + {c_text(c.logical_bytes(op.dst))}", c.barrier(op.mbarrier)
    return f"{name}({at}, m_{op.tensor_map}, {barrier}, {mask}, {coordinates(op.src)});"


def _pair_load(c: Context, op: ops.TmaLoad) -> str:
    """The bytes count on the barrier of either CTA of a pair (sm_100)."""
    n = len(op.src.start)
    opcode = (
        f"cp.async.bulk.tensor.{n}d.cta_group::2.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes"
    )
    name = f"tma_load_pair_{n}d"
    places = ", ".join(f"%{3 + d}" for d in range(n))
    c.functions[name] = (
        f"DEV void {name}(u32 dst, const TensorMap& m, u32 bar, {formals(n)})"
        f' {{\n  asm volatile("{opcode} [%0], [%1, {{{places}}}], [%2];"\n'
        f'               :: "r"(dst), "l"(&m), "r"(bar), {inputs(n)} : "memory");\n}}'
    )
    at, barrier = f"smem_base + {c_text(c.logical_bytes(op.dst))}", c.barrier(op.mbarrier)
    return f"{name}({at}, m_{op.tensor_map}, {barrier}, {coordinates(op.src)});"


def _reduce(c: Context, op: ops.TmaStore, reduce: str) -> str:
    n = len(op.dst.start)
    opcode = f"cp.reduce.async.bulk.tensor.{n}d.global.shared::cta.{reduce}.tile.bulk_group"
    name = f"tma_reduce_{reduce}_{n}d"
    places = ", ".join(f"%{2 + d}" for d in range(n))
    c.functions[name] = (
        f"DEV void {name}(const TensorMap& m, u32 src, {formals(n)})"
        f' {{\n  asm volatile("{opcode} [%0, {{{places}}}], [%1];"\n'
        f'               :: "l"(&m), "r"(src), {inputs(n)} : "memory");\n}}'
    )
    at = f"smem_base + {c_text(c.logical_bytes(op.src))}"
    return f"{name}(m_{op.tensor_map}, {at}, {coordinates(op.dst)});"


def formals(n: int) -> str:
    return ", ".join(f"int x{d}" for d in range(n))


def inputs(n: int) -> str:
    return ", ".join(f'"r"(x{d})' for d in range(n))


def _commit(c: Context, kind: GroupKind) -> None:
    match kind:
        case GroupKind.CP_ASYNC:
            c.put("cp_async_commit();")
        case GroupKind.BULK:
            c.put("bulk_commit();")
        case GroupKind.WGMMA:
            c.put("wgmma_commit();")
        case _ as unreachable:
            assert_never(unreachable)
