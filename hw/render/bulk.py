"""CUDA text of bulk copies without a tensor map, of red.async, and of prefetches."""

from __future__ import annotations

from math import prod
from typing import assert_never

from asyncsim.hw.render.context import Context
from asyncsim.hw.render.copy import coordinates, formals, inputs, rank_of
from asyncsim.hw.render.expr import c_text
from asyncsim.ir import op as ops
from asyncsim.ir.dtype import DType
from asyncsim.ir.op import BulkOp, GlobalView, ReduceOp, SmemView

_SIGNED = {DType.I32: "s32", DType.U32: "u32"}
_BITS = (ReduceOp.AND, ReduceOp.OR, ReduceOp.XOR)
_HALVES = (DType.F16, DType.BF16)


def render_bulk(c: Context, op: BulkOp) -> None:
    match op:
        case ops.BulkLoad(dst=dst, src=src, mbarrier=ref, multicast=mask):
            more = "" if mask is None else f", {c_text(mask)}"
            name = "bulk_load" if mask is None else "bulk_load_multicast"
            far, near = c.ahead.get(op.id) or (c.element(src), _shared(c, dst))
            operands = f"{near}, {far}, {_bytes(c, src)}, {c.barrier(ref)}"
            c.put_guarded(f"{name}({operands}{more});")
        case ops.BulkStore(dst=box, src=view, reduce=reduce):
            name = "bulk_store" if reduce is None else _reduce_store(c, box, reduce)
            far, near = c.ahead.get(op.id) or (c.element(box), _shared(c, view))
            c.put_guarded(f"{name}({far}, {near}, {_bytes(c, box)});")
        case ops.BulkSend(dst=to, src=view, mbarrier=ref, reduce=reduce):
            name = "bulk_send" if reduce is None else _reduce_send(c, view, reduce)
            operands = f"{_shared(c, to)}, {_shared(c, view)}, {_bytes(c, view)}"
            c.put_guarded(f"{name}({operands}, {c.barrier(ref)});")
        case ops.RedAsync(dst=to, src=regs, mbarrier=ref, reduce=reduce):
            name = _red_async(c, to, reduce)
            place = c.in_cta(f"smem_base + {c.physical_bytes(to)}", to.rank)
            c.put_guarded(f"{name}({place}, {c.barrier(ref)}, {c.register(regs, 0)});")
        case ops.BulkPrefetch(src=src):
            c.put_guarded(f"bulk_prefetch({c.element(src)}, {_bytes(c, src)});")
        case ops.TmaPrefetch(tensor_map=name, src=src):
            place = coordinates(c, name, src)
            c.put_guarded(f"{_prefetch(c, rank_of(c, name, src))}(m_{name}, {place});")
        case ops.PrefetchTensorMap(tensor_map=name):
            c.put(f"tma_prefetch_map(m_{name});")
        case _ as unreachable:
            assert_never(unreachable)


def _shared(c: Context, view: SmemView) -> str:
    return c.in_cta(f"smem_base + {c.logical_text(view)}", view.rank)


def _bytes(c: Context, view: GlobalView | SmemView) -> int:
    """One run of bytes: unswizzled rows."""
    s = c.schedule
    dtype = s.tile(view.tile).dtype if isinstance(view, SmemView) else s.tensor(view.tensor).dtype
    return prod(view.shape) * dtype.bytes


def _type(dtype: DType, reduce: ReduceOp) -> str:
    """The type of a reduction's opcode: bits for logic, else that of the elements."""
    if reduce in _BITS:
        return "b32"
    return _SIGNED.get(dtype, dtype.value)


def _reduce_store(c: Context, box: GlobalView, reduce: ReduceOp) -> str:
    dtype = c.schedule.tensor(box.tensor).dtype
    kind = _type(dtype, reduce)
    # An add of halves rounds, and PTX wants to be told that it keeps subnormals.
    how = f"{reduce.value}{'.noftz' if dtype in _HALVES and reduce is ReduceOp.ADD else ''}.{kind}"
    name = f"bulk_reduce_{reduce.value}_{kind}"
    opcode = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{how}"
    c.functions[name] = (
        f"DEV void {name}(void* dst, u32 src, u32 bytes) {{\n"
        f'  asm volatile("{opcode} [%0], [%1], %2;"\n'
        '               :: "l"(dst), "r"(src), "r"(bytes) : "memory");\n}'
    )
    return name


def _reduce_send(c: Context, view: SmemView, reduce: ReduceOp) -> str:
    kind = _type(c.schedule.tile(view.tile).dtype, reduce)
    name = f"bulk_send_{reduce.value}_{kind}"
    opcode = (
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
        f".{reduce.value}.{kind}"
    )
    c.functions[name] = (
        f"DEV void {name}(u32 dst, u32 src, u32 bytes, u32 bar) {{\n"
        f'  asm volatile("{opcode} [%0], [%1], %2, [%3];"\n'
        '               :: "r"(dst), "r"(src), "r"(bytes), "r"(bar) : "memory");\n}'
    )
    return name


def _red_async(c: Context, to: SmemView, reduce: ReduceOp) -> str:
    kind = _type(c.schedule.tile(to.tile).dtype, reduce)
    name = f"red_async_{reduce.value}_{kind}"
    opcode = (
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
        f".{reduce.value}.{kind}"
    )
    c.functions[name] = (
        f"DEV void {name}(u32 dst, u32 bar, u32 value) {{\n"
        f'  asm volatile("{opcode} [%0], %1, [%2];"\n'
        '               :: "r"(dst), "r"(value), "r"(bar) : "memory");\n}'
    )
    return name


def _prefetch(c: Context, rank: int) -> str:
    name = f"tma_prefetch_{rank}d"
    places = ", ".join(f"%{1 + d}" for d in range(rank))
    opcode = f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile"
    c.functions[name] = (
        f"DEV void {name}(const TensorMap& m, {formals(rank)}) {{\n"
        f'  asm volatile("{opcode} [%0, {{{places}}}];"\n'
        f'               :: "l"(&m), {inputs(rank)} : "memory");\n}}'
    )
    return name
