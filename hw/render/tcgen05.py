"""CUDA text of tcgen05: tensor memory addresses, descriptors, and one function for each form.

Descriptors: PTX ISA, tcgen05, shared memory descriptor (table 40) and instruction descriptor
(tables 42 to 44).
"""

from __future__ import annotations

from typing import assert_never

from asyncsim.hw.render.context import C_TYPES, Context, cannot_render, start_name
from asyncsim.hw.render.expr import c_text, known_multiple
from asyncsim.ir import op as ops
from asyncsim.ir.decl import Swizzle
from asyncsim.ir.dtype import DType
from asyncsim.ir.expr import Const, binary
from asyncsim.ir.op import FragmentRef, OpBase, SmemView, Tcgen05Op, TmemView
from asyncsim.ir.tcgen05 import MmaKind, Tcgen05Access, Tcgen05Side

_SWIZZLE_MODE = {Swizzle.NONE: 0, Swizzle.B128: 2, Swizzle.B64: 4, Swizzle.B32: 6}
_CONSTANT = 1 << 14  # bit 46 of a descriptor, in its high word
_TYPE_CODE = {
    DType.F16: 0,
    DType.BF16: 1,
    DType.TF32: 2,
    DType.E4M3: 0,
    DType.E5M2: 1,
    DType.U8: 0,
    DType.I8: 1,
}
_FOUR_BIT = (MmaKind.MXF4, MmaKind.MXF4NVF4)
_E2M1 = 1
_LANE = 1 << 16  # of a tensor memory address; columns are its low half


def render_tcgen05(c: Context, op: Tcgen05Op) -> None:
    match op:
        case ops.Tcgen05Alloc(address=word, columns=columns, cta_group=group):
            at = f"smem_base + {c.logical_text(word)}"
            c.put(f"tcgen05_alloc<{group}>({at}, {columns});")
        case ops.Tcgen05Dealloc(address=word, columns=columns, cta_group=group, offset=offset):
            at = c.tmem_word(word.tile) + (f" + {offset}" if offset else "")
            c.put(f"tcgen05_dealloc<{group}>({at}, {columns});")
        case ops.Tcgen05RelinquishAllocPermit(cta_group=group):
            c.put(f"tcgen05_relinquish_alloc_permit<{group}>();")
        case ops.Tcgen05Mma():
            _mma(c, op)
        case ops.Tcgen05Commit(mbarrier=ref, cta_group=group, multicast=mask):
            ctas = "" if mask is None else f", {c_text(mask)}"
            c.put_guarded(f"tcgen05_commit<{group}>({c.barrier(ref)}{ctas});")
        case ops.Tcgen05Cp():
            _cp(c, op)
        case ops.Tcgen05Shift(tile=view, cta_group=group):
            c.put_guarded(f"tcgen05_shift<{group}>({_tmem(c, view)});")
        case ops.Tcgen05Ld(dst=regs, src=view):
            c.put(f"{_ld(c, regs)}({_tmem(c, view)}, f_{regs.name} + {regs.first});")
        case ops.Tcgen05St(dst=view, src=regs):
            c.put(f"{_st(c, regs)}({_tmem(c, view)}, f_{regs.name} + {regs.first});")
        case ops.Tcgen05Wait(what=Tcgen05Access.LD):
            c.put("tcgen05_wait_ld();")
            for name in c.tmem_loaded:
                c.put(f"tcgen05_landed(f_{name});")
        case ops.Tcgen05Wait():
            c.put("tcgen05_wait_st();")
        case ops.Tcgen05Fence(side=side):
            c.put(f"tcgen05_fence_{'before' if side is Tcgen05Side.BEFORE else 'after'}();")
        case _ as unreachable:
            assert_never(unreachable)


def _tmem(c: Context, view: TmemView) -> str:
    """The address of a view: lanes in the high half, columns in the low one."""
    tile = c.schedule.tmem_tile(view.tile)
    column = binary("+", binary("*", view.stage, Const(tile.columns)), Const(tile.column))
    column = binary("+", column, view.start[1])
    at = c_text(binary("+", column, binary("*", view.start[0], Const(_LANE))))
    word = c.tmem_word(tile.address)
    return word if at == "0" else f"{word} + {at}"


# -- mma and cp --------------------------------------------------------------------------------


def instruction_descriptor(op: ops.Tcgen05Mma, a: DType, b: DType) -> int:
    """K-major operands, nothing negated, dense."""
    types = _E2M1 << 7 | _E2M1 << 10 if op.kind in _FOUR_BIT else _type_codes(a, b)
    shape = op.n >> 3 << 17
    if not op.kind.block_scaled:
        result = 2 if op.kind is MmaKind.I8 else 1  # s32, f32
        return result << 4 | types | shape | op.m >> 4 << 24
    ue4m3 = op.kind is MmaKind.MXF4NVF4 and op.scale_vec == 4
    scales = op.scale_b_id << 4 | (0 if ue4m3 else 1 << 23) | op.scale_a_id << 29
    return types | shape | scales | op.m >> 7 << 27


def _type_codes(a: DType, b: DType) -> int:
    return _TYPE_CODE[a] << 7 | _TYPE_CODE[b] << 10


def _mma(c: Context, op: ops.Tcgen05Mma) -> None:
    b = c.schedule.tile(op.b.tile).dtype
    if isinstance(op.a, TmemView):
        a_type, a = c.schedule.tmem_tile(op.a.tile).dtype, _tmem(c, op.a)
    else:
        a_type, a = c.schedule.tile(op.a.tile).dtype, _desc(c, op, op.a)
    scales = [_tmem(c, s) for s in (op.scale_a, op.scale_b) if s is not None]
    word = f"{instruction_descriptor(op, a_type, b):#x}"
    operands = [_tmem(c, op.d), a, _desc(c, op, op.b), word, *scales, c_text(op.accumulate)]
    c.put_guarded(f"{_mma_function(c, op)}({', '.join(operands)});")


def _mma_function(c: Context, op: ops.Tcgen05Mma) -> str:
    """A function of a kind, by where A is; M, N and the types are in the descriptor."""
    in_tmem = isinstance(op.a, TmemView)
    name = f"tcgen05_mma_{op.kind.value}{'_ts' if in_tmem else ''}_{op.cta_group}cta"
    opcode = f"tcgen05.mma.cta_group::{op.cta_group}.kind::{op.kind.value}"
    formals = ["u32 d", "u32 a" if in_tmem else "u64 a", "u64 b", "u32 idesc"]
    inputs = ['"r"(d)', '"r"(a)' if in_tmem else '"l"(a)', '"l"(b)', '"r"(idesc)']
    operands = ["[%0]", "[%1]" if in_tmem else "%1", "%2", "%3"]
    if op.kind.block_scaled:
        name += f"_{op.scale_vec}x"
        opcode += f".block_scale.scale_vec::{op.scale_vec}X"
        formals += ["u32 scale_a", "u32 scale_b"]
        inputs += ['"r"(scale_a)', '"r"(scale_b)']
        operands += ["[%4]", "[%5]"]
    last = len(inputs)
    c.functions[name] = (
        f"DEV void {name}({', '.join(formals)}, int accumulate) {{\n"
        f'  asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{last}, 0;\\n"\n'
        f'               "{opcode} {", ".join(operands)}, p; }}"\n'
        f'               :: {", ".join(inputs)}, "r"(accumulate) : "memory");\n'
        "}"
    )
    return name


def _cp(c: Context, op: ops.Tcgen05Cp) -> None:
    name = f"tcgen05_cp_{op.shape.value.replace('::', '_').replace('.', '_')}_{op.cta_group}cta"
    opcode = f"tcgen05.cp.cta_group::{op.cta_group}.{op.shape.value}"
    c.functions[name] = (
        f"DEV void {name}(u32 taddr, u64 desc) {{\n"
        f'  asm volatile("{opcode} [%0], %1;" :: "r"(taddr), "l"(desc) : "memory");\n}}'
    )
    c.put_guarded(f"{name}({_tmem(c, op.dst)}, {_desc(c, op, op.src)});")


def _desc(c: Context, op: OpBase, view: SmemView) -> str:
    """The descriptor of rows that are one swizzle span wide, or 16 bytes without a swizzle.

    Eight rows lie together: the stride offset. Offsets stay below 2^14, so a plain addition moves
    the start.
    """
    tile = c.schedule.tile(view.tile)
    at = c.bytes_in_tile(view)
    if known_multiple(at) % 16 or tile.offset % 16:
        raise cannot_render(op, f"{view.tile} view is not 16-byte aligned", "align it")
    row = tile.swizzle.value or 16
    low = binary("+", binary("//", at, Const(16)), Const(1 << 16))
    high = (8 * row) >> 4 | _CONSTANT | _SWIZZLE_MODE[tile.swizzle] << 29
    return f"tcgen05_desc(smem_desc + {c_text(low)} + {start_name(view.tile)} / 16, {high:#x})"


# -- loads and stores --------------------------------------------------------------------------


def _ld(c: Context, regs: FragmentRef) -> str:
    name, element, letter = _access(c, regs, "ld")
    places = ", ".join(f"%{i}" for i in range(regs.count))
    outputs = ", ".join(f'"={letter}"(d[{i}])' for i in range(regs.count))
    c.functions[name] = (
        f"DEV void {name}(u32 taddr, {element}* d) {{\n"
        f'  asm volatile("tcgen05.ld.sync.aligned.32x32b.x{regs.count}.b32 {{{places}}}, '
        f'[%{regs.count}];"\n'
        f'               : {outputs}\n               : "r"(taddr) : "memory");\n}}'
    )
    return name


def _st(c: Context, regs: FragmentRef) -> str:
    name, element, letter = _access(c, regs, "st")
    places = ", ".join(f"%{1 + i}" for i in range(regs.count))
    inputs = ", ".join(f'"{letter}"(s[{i}])' for i in range(regs.count))
    c.functions[name] = (
        f"DEV void {name}(u32 taddr, const {element}* s) {{\n"
        f'  asm volatile("tcgen05.st.sync.aligned.32x32b.x{regs.count}.b32 [%0], {{{places}}};"\n'
        f'               :: "r"(taddr), {inputs} : "memory");\n}}'
    )
    return name


def _access(c: Context, regs: FragmentRef, what: str) -> tuple[str, str, str]:
    dtype = c.schedule.fragment(regs.name).dtype
    letter = "f" if dtype is DType.F32 else "r"
    return f"tcgen05_{what}_x{regs.count}_{dtype.value}", C_TYPES[dtype], letter
