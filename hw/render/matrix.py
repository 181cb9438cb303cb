"""CUDA text of ldmatrix, stmatrix and mma.sync."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import C_TYPES, Context
from asyncsim.hw.render.tensor import PTX_TYPE
from asyncsim.ir import op as ops
from asyncsim.ir.dtype import DType
from asyncsim.ir.matrix import MMA_SUMS
from asyncsim.ir.op import FragmentRef, MatrixMove, MatrixOp, SmemView

_SUMS = {DType.F32: ("f32", "f"), DType.I32: ("s32", "r")}
"""Of the sums: their PTX type and the letter of their asm constraint."""


def render_matrix(c: Context, op: MatrixOp) -> None:
    match op:
        case ops.LdMatrix(dst=frag, src=view):
            c.put(f"ldmatrix_{_form(op)}({_words(c, frag)}, {_address(c, view)});")
        case ops.StMatrix(dst=view, src=frag):
            c.put(f"stmatrix_{_form(op)}({_address(c, view)}, {_words(c, frag)});")
        case ops.MmaSync(d=d, a=a, b=b, c=old):
            sums, before = _from(d, d.first), _from(old, old.first)
            c.put(f"{_product(c, op)}({sums}, {_words(c, a)}, {_words(c, b)}, {before});")
        case _ as unreachable:
            assert_never(unreachable)


def _form(op: MatrixMove) -> str:
    return f"x{op.num}{'_trans' if op.trans else ''}"


def _address(c: Context, view: SmemView) -> str:
    return f"smem_base + {c.physical_bytes(view)}"


def _words(c: Context, ref: FragmentRef) -> str:
    """Where the registers of matrices, one each, begin."""
    fragment = c.schedule.fragment(ref.name)
    return _from(ref, ref.first * fragment.words // fragment.registers)


def _from(ref: FragmentRef, first: int) -> str:
    return f"f_{ref.name} + {first}" if first else f"f_{ref.name}"


def _product(c: Context, op: ops.MmaSync) -> str:
    """The function of one shape and its types (PTX ISA, mma)."""
    a, b, d = map(c.schedule.element_type, (op.a, op.b, op.d))
    ptx, letter = _SUMS[d]
    name = f"mma_m16n8k{op.k}_{ptx}_{PTX_TYPE[a]}_{PTX_TYPE[b]}"
    if name in c.functions:
        return name
    words = [f'"r"({x}[{i}])' for x, n in (("a", 4), ("b", 2)) for i in range(n)]
    outputs, sums = (
        ", ".join(f'"{how}{letter}"({x}[{i}])' for i in range(MMA_SUMS))
        for x, how in (("d", "="), ("c", ""))
    )
    c.functions[name] = (
        f"DEV void {name}({C_TYPES[d]}* d, const u32* a, const u32* b, const {C_TYPES[d]}* c) {{\n"
        f'  asm volatile("mma.sync.aligned.m16n8k{op.k}.row.col.{ptx}.{PTX_TYPE[a]}.{PTX_TYPE[b]}.'
        f'{ptx} "\n'
        '               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"\n'
        f"               : {outputs}\n"
        f"               : {', '.join(words)},\n"
        f"                 {sums});\n"
        "}"
    )
    return name
