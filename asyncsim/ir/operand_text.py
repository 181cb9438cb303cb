"""Operands of an op as text: barriers, boxes, views, registers."""

from __future__ import annotations

from asyncsim.ir.dtype import DType
from asyncsim.ir.expr import Expr, text
from asyncsim.ir.operand import FragmentRef, GlobalView, MbarrierRef, SmemView, TmemView
from asyncsim.ir.schedule import Schedule

# ld and st move bits; PTX has no load of a 16- or 8-bit float, so its types are bits there.
_MOVED = {DType.F32: "f32", DType.TF32: "b32", DType.I32: "s32", DType.U32: "u32"}


def barrier_text(ref: MbarrierRef) -> str:
    return f"{ref.name}[{text(ref.stage)}]{of_text(ref.rank)}"


def of_text(rank: Expr | None) -> str:
    return "" if rank is None else f" of CTA {text(rank)}"


def boxes_text(first: GlobalView, others: tuple[GlobalView, ...]) -> str:
    return " ".join(map(box_text, (first, *others)))


def box_text(box: GlobalView) -> str:
    return f"{box.tensor}[{ranges_text(box.start, box.shape)}]"


def view_text(view: SmemView, s: Schedule) -> str:
    """``tile[stage]`` for all of it, with the box for a part of it."""
    out = f"{view.tile}[{text(view.stage)}]"
    if view.shape != s.tile(view.tile).shape:
        out += f"[{ranges_text(view.start, view.shape)}]"
    out += of_text(view.rank)
    if view.expects is not None:
        out += f" holding {box_text(view.expects)}"
    return out


def tmem_text(view: TmemView, s: Schedule) -> str:
    """``tile[stage]`` for all of it, with lanes and columns for a part of it."""
    tile = s.tmem_tile(view.tile)
    out = f"{view.tile}[{text(view.stage)}]"
    if view.shape != (tile.lanes, tile.columns):
        out += f"[{ranges_text(view.start, view.shape)}]"
    return out


def ranges_text(start: tuple[Expr, ...], shape: tuple[int, ...]) -> str:
    return ", ".join(f"{text(e)}:+{n}" for e, n in zip(start, shape, strict=True))


def registers_text(ref: FragmentRef, s: Schedule) -> str:
    if ref.first == 0 and ref.count == s.fragment(ref.name).registers:
        return ref.name
    return f"{ref.name}[{ref.first}:+{ref.count}]"


def vector_text(ref: FragmentRef, s: Schedule) -> str:
    dtype = s.fragment(ref.name).dtype
    element = _MOVED.get(dtype, f"b{8 * dtype.bytes}")
    return element if ref.count == 1 else f"v{ref.count}.{element}"


def operand_text(operand: FragmentRef | SmemView | Expr, s: Schedule) -> str:
    if isinstance(operand, FragmentRef):
        return registers_text(operand, s)
    return view_text(operand, s) if isinstance(operand, SmemView) else text(operand)
