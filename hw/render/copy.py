"""CUDA text of asynchronous copies and of groups."""

from __future__ import annotations

from collections.abc import Iterator
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
        case ops.TmaLoad() if (
            op.multicast is not None or op.offsets or op.rows or op.mbarrier.rank is not None
        ):
            c.put_guarded(_load_in_form(c, op))
        case ops.TmaLoad(dst=dst, tensor_map=name, src=src, mbarrier=ref):
            at = f"smem_base + {c.logical_text(dst)}"
            place = coordinates(c, name, src)
            c.put_guarded(f"tma_load({at}, m_{name}, {c.barrier(ref)}, {place});")
        case ops.TmaStore(reduce=reduce) if reduce is not None:
            c.put_guarded(_reduce(c, op, reduce.value))
        case ops.TmaStore(rows=rows) if rows:
            c.put_guarded(_scatter4(c, op))
        case ops.TmaStore(dst=box, tensor_map=name, src=view):
            at = f"smem_base + {c.logical_text(view)}"
            c.put_guarded(f"tma_store(m_{name}, {at}, {coordinates(c, name, box)});")
        case ops.CommitGroup(kind=kind):
            _commit(c, kind)
        case ops.WaitGroup(kind=GroupKind.WGMMA, n=n, id=op_id):
            known = c.at_waits[op_id]
            for name in c.matrices:
                if name in known.computed:
                    c.put(f"pin(f_{name});")
            c.put(f"wgmma_wait<{n}>();")
            for name in c.matrices:
                if name not in known.in_flight:
                    c.put(f"pin(f_{name});")
        case ops.WaitGroup(kind=kind, n=n, read=read):
            of = "bulk" if kind is GroupKind.BULK else "cp_async"
            c.put(f"{of}_wait{'_read' if read else ''}<{n}>();")
        case _ as unreachable:
            assert_never(unreachable)


def rank_of(c: Context, tensor_map: str, box: GlobalView) -> int:
    """How many coordinates a copy by this map has: none for the elements of a slice."""
    return len(box.start) - c.schedule.tensor_map(tensor_map).sliced


def coordinates(c: Context, tensor_map: str, box: GlobalView) -> str:
    """TMA counts coordinates innermost first; the view is row-major."""
    counted = box.start[: rank_of(c, tensor_map, box)]
    return ", ".join(c_text(s) for s in reversed(counted))


def _of_rows(c: Context, op: ops.TmaLoad | ops.TmaStore) -> str:
    """The coordinates of a box, and the further rows of gather4 and scatter4."""
    box = op.src if isinstance(op, ops.TmaLoad) else op.dst
    first = coordinates(c, op.tensor_map, box)
    return ", ".join([first, *(c_text(row.start[0]) for row in op.rows)])


def _load_in_form(c: Context, op: ops.TmaLoad) -> str:
    """A load to several CTAs, of pixels, or whose bytes count on the barrier of either CTA of a
    pair (sm_100): a device function for each form."""
    n, offsets = rank_of(c, op.tensor_map, op.src), len(op.offsets)
    pixels = c.schedule.tensor_map(op.tensor_map).im2col
    mode = pixels.mode.value if pixels else "tile::gather4" if op.rows else "tile"
    pair = ".cta_group::2" if op.mbarrier.rank is not None else ""
    opcode = f"cp.async.bulk.tensor.{n}d{pair}.shared::cluster.global.{mode}"
    opcode += ".mbarrier::complete_tx::bytes"
    forms = (
        ("_" + mode.replace("::", "_"), pixels),
        ("_gather4", op.rows),
        ("_multicast", op.multicast is not None),
        ("_pair", pair),
    )
    name = f"tma_load{''.join(form for form, used in forms if used)}_{n}d"
    at = f"smem_base + {c.logical_text(op.dst)}"
    actual = [at, f"m_{op.tensor_map}", c.barrier(op.mbarrier)]
    operands = [("u32 dst", '"r"(dst)'), ("const TensorMap& m", '"l"(&m)'), ("u32 bar", '"r"(bar)')]
    places = iter(range(3, 32))
    places_of_box = n + len(op.rows)
    text = "[%0], [%1, {" + _places(places, places_of_box) + "}], [%2]"
    operands += [(f"int x{d}", f'"r"(x{d})') for d in range(places_of_box)]
    actual.append(_of_rows(c, op))
    if offsets:
        further = [c_text(e) for e in reversed(op.offsets)]
        if op.halo is not None:
            further.insert(0, str(op.halo))
        text += ", {" + _places(places, len(further)) + "}"
        operands += [(f"unsigned short o{d}", f'"h"(o{d})') for d in range(len(further))]
        actual += further
    if op.multicast is not None:
        opcode += ".multicast::cluster"
        text += f", {_places(places, 1)}"
        operands.append(("unsigned short ctas", '"h"(ctas)'))
        actual.append(c_text(op.multicast))
    c.functions[name] = (
        f"DEV void {name}({', '.join(formal for formal, _ in operands)}) {{\n"
        f'  asm volatile("{opcode} {text};"\n'
        f'               :: {", ".join(given for _, given in operands)} : "memory");\n}}'
    )
    return f"{name}({', '.join(actual)});"


def _places(numbers: Iterator[int], count: int) -> str:
    return ", ".join(f"%{next(numbers)}" for _ in range(count))


def _reduce(c: Context, op: ops.TmaStore, reduce: str) -> str:
    n = rank_of(c, op.tensor_map, op.dst)
    opcode = f"cp.reduce.async.bulk.tensor.{n}d.global.shared::cta.{reduce}.tile.bulk_group"
    name = f"tma_reduce_{reduce}_{n}d"
    places = ", ".join(f"%{2 + d}" for d in range(n))
    c.functions[name] = (
        f"DEV void {name}(const TensorMap& m, u32 src, {formals(n)})"
        f' {{\n  asm volatile("{opcode} [%0, {{{places}}}], [%1];"\n'
        f'               :: "l"(&m), "r"(src), {inputs(n)} : "memory");\n}}'
    )
    at = f"smem_base + {c.logical_text(op.src)}"
    return f"{name}(m_{op.tensor_map}, {at}, {coordinates(c, op.tensor_map, op.dst)});"


def _scatter4(c: Context, op: ops.TmaStore) -> str:
    opcode = "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
    places = ", ".join(f"%{2 + d}" for d in range(5))
    c.functions["tma_scatter4"] = (
        f"DEV void tma_scatter4(const TensorMap& m, u32 src, {formals(5)})"
        f' {{\n  asm volatile("{opcode} [%0, {{{places}}}], [%1];"\n'
        f'               :: "l"(&m), "r"(src), {inputs(5)} : "memory");\n}}'
    )
    at = f"smem_base + {c.logical_text(op.src)}"
    return f"tma_scatter4(m_{op.tensor_map}, {at}, {_of_rows(c, op)});"


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
