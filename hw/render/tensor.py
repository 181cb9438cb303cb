"""CUDA text of wgmma: descriptors, and one function for each shape that a kernel uses."""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import Context, cannot_render, start_name
from asyncsim.hw.render.expr import c_text, known_multiple
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.ir.expr import Const, binary
from asyncsim.ir.op import FragmentRef, SmemView, TensorOp

PTX_TYPE = {
    DType.F16: "f16",
    DType.BF16: "bf16",
    DType.TF32: "tf32",
    DType.E4M3: "e4m3",
    DType.E5M2: "e5m2",
    DType.I8: "s8",
    DType.U8: "u8",
}
_SWIZZLE_MODE = {Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3}
_MAJOR_FLAGS = {DType.F16, DType.BF16}  # only these have the transpose immediates


def render_tensor(c: Context, op: TensorOp) -> None:
    match op:
        case ops.WgmmaFence():
            c.put("wgmma_fence();")
        case ops.WgmmaMmaAsync(d=d, a=a, b=b, accumulate=accumulate):
            if d.first or d.count != c.schedule.fragment(d.name).registers:
                raise cannot_render(op, "d is part of a fragment", "give each wgmma its own")
            if isinstance(a, FragmentRef):
                first = a.first // c.schedule.fragment(a.name).packed
                left = ", ".join(f"f_{a.name}[{first + i}]" for i in range(4))
            else:
                left = _desc(c, op, a, op.trans_a)
            operands = f"{left}, {_desc(c, op, b, op.trans_b)}, {c_text(accumulate)}"
            c.put(f"{_shape_function(c, op)}(f_{d.name}, {operands});")
        case _ as unreachable:
            assert_never(unreachable)


def _desc(c: Context, op: ops.WgmmaMmaAsync, view: SmemView, trans: bool) -> str:
    """Descriptor of a swizzled operand (PTX ISA, wgmma matrix descriptor).

    Start address / 16 in bits 0-13, leading offset in 16-29, stride offset = 8 rows / 16 in 32-45,
    swizzle mode in 62-63. The leading offset leads from panel to panel of an MN-major operand; else
    it is unused (1). Offsets stay below 2^14, so a plain addition moves the start.
    """
    tile = c.schedule.tile(view.tile)
    at = c.bytes_in_tile(view)
    if known_multiple(at) % 16 or tile.offset % 16:
        raise cannot_render(op, f"{view.tile} view is not 16-byte aligned", "align it")
    row = tile.shape[-1] * tile.dtype.bytes
    leading = tile.shape[-2] * row >> 4 if trans and len(tile.shape) > 2 else 1
    low = binary("+", binary("//", at, Const(16)), Const(leading << 16))
    high = (8 * row) >> 4 | _SWIZZLE_MODE[tile.swizzle] << 30
    return f"wgmma_desc(smem_desc + {c_text(low)} + {start_name(view.tile)} / 16, {high:#x})"


def _shape_function(c: Context, op: ops.WgmmaMmaAsync) -> str:
    rs = isinstance(op.a, FragmentRef)
    a, b = map(c.schedule.element_type, (op.a, op.b))
    integer = a in (DType.I8, DType.U8)
    d, letter, c_type = ("s32", "r", "int") if integer else ("f32", "f", "float")
    major = f"_{'r' if rs else 't' if op.trans_a else 'n'}{'t' if op.trans_b else 'n'}"
    major = major if rs or op.trans_a or op.trans_b else ""
    name = f"wgmma_m64n{op.n}k{op.k}_{d}_{PTX_TYPE[a]}_{PTX_TYPE[b]}{major}"
    if name in c.functions:
        return name
    n, left = op.n // 2, 4 if rs else 1  # registers of d and of a
    registers = ", ".join(f"%{i}" for i in range(n))
    words = ", ".join(f"%{n + i}" for i in range(left))
    scale = "p" if integer else "p, 1, 1"
    flags = [f"{op.trans_b:d}"] if rs else [f"{op.trans_a:d}", f"{op.trans_b:d}"]
    transposed = "".join(f", {flag}" for flag in flags if a in _MAJOR_FLAGS)
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(n))
    shape = f"m64n{op.n}k{op.k}.{d}.{PTX_TYPE[a]}.{PTX_TYPE[b]}"
    formals = ", ".join(f"u32 a{i}" for i in range(left)) if rs else "u64 a"
    inputs = ", ".join(f'"r"(a{i})' for i in range(left)) if rs else '"l"(a)'
    c.functions[name] = (
        f"DEV void {name}({c_type} (&d)[{n}], {formals}, u64 b, int accumulate) {{\n"
        f'  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{n + left + 1}, 0;\\n"\n'
        f'               "wgmma.mma_async.sync.aligned.{shape}\\n"\n'
        f'               "{{{registers}}}, {f"{{{words}}}" if rs else words}, %{n + left}, "\n'
        f'               "{scale}{transposed}; }}"\n'
        f"               : {outputs}\n"
        f'               : {inputs}, "l"(b), "r"(accumulate));\n'
        "}"
    )
    return name
