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
        case ops.TmaLoad(dst=dst, tensor_map=name, src=src, mbarrier=ref):
            at = f"smem_base + {c_text(c.logical_bytes(dst))}"
            c.put_guarded(f"tma_load({at}, m_{name}, {c.barrier(ref)}, {_coordinates(src)});")
        case ops.TmaStore(dst=box, tensor_map=name, src=view):
            at = f"smem_base + {c_text(c.logical_bytes(view))}"
            c.put_guarded(f"tma_store(m_{name}, {at}, {_coordinates(box)});")
        case ops.CommitGroup(kind=kind):
            _commit(c, kind)
        case ops.WaitGroup(kind=kind, n=n, read=read):
            _wait(c, kind, n, read)
        case _ as unreachable:
            assert_never(unreachable)


def _coordinates(box: GlobalView) -> str:
    """TMA counts coordinates innermost first; the view is row-major."""
    return ", ".join(c_text(s) for s in reversed(box.start))


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


def _wait(c: Context, kind: GroupKind, n: int, read: bool) -> None:
    match kind:
        case GroupKind.CP_ASYNC:
            c.put(f"cp_async_wait<{n}>();")
        case GroupKind.BULK:
            c.put(f"bulk_wait{'_read' if read else ''}<{n}>();")
        case GroupKind.WGMMA:
            c.put(f"wgmma_wait<{n}>();")
            if n == 0:
                for name in c.accumulators:
                    c.put(f"wgmma_landed(f_{name});")
        case _ as unreachable:
            assert_never(unreachable)
