"""CUDA text of plain loads and stores, and of compute bodies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import assert_never

from asyncsim.hw.render.context import C_TYPES, SWIZZLE_MASK, Context
from asyncsim.hw.render.expr import c_text
from asyncsim.ir import op as ops
from asyncsim.ir.decl import AccessMode, Swizzle
from asyncsim.ir.expr import Arg, Binary, BuiltinRef, Const, Unary, Var
from asyncsim.ir.op import FragmentRef, MemoryOp, SmemView
from asyncsim.ir.vectors import vector_elements


def render_memory(c: Context, op: MemoryOp) -> None:
    match op:
        case ops.LdGlobal(dst=frag, src=box):
            for at, registers in _vectors(c, box.shape, frag, vector_elements(c.schedule, box)):
                c.put(f"load_vector({c.element(box, at, load=True)}, {registers});")
        case ops.StGlobal(dst=box, src=frag, clip=True):
            n = vector_elements(c.schedule, box, clip=True)
            for at, registers in _vectors(c, box.shape, frag, n):
                store = f"store_vector({c.element(box, at)}, {registers});"
                c.put_guarded(f"if ({c.inside(box, at)}) {store}")
        case ops.StGlobal(dst=box, src=frag):
            for at, registers in _vectors(c, box.shape, frag, vector_elements(c.schedule, box)):
                c.put_guarded(f"store_vector({c.element(box, at)}, {registers});")
        case ops.LdShared(dst=frag, src=view):
            for at, registers in _vectors(c, view.shape, frag, c.shared_vector_elements(view)):
                c.put(f"load_vector({c.shared_element(view, at)}, {registers});")
        case ops.StShared(dst=view, src=frag):
            for at, registers in _vectors(c, view.shape, frag, c.shared_vector_elements(view)):
                c.put(f"store_vector({c.shared_element(view, at)}, {registers});")
        case ops.Compute():
            _compute(c, op)
        case _ as unreachable:
            assert_never(unreachable)


def _vectors(
    c: Context, shape: tuple[int, ...], frag: FragmentRef, n: int
) -> Iterator[tuple[tuple[int, ...], str]]:
    """(offsets, registers) of each access: the box in row-major order, in vectors of ``n``."""
    steps = [range(extent) for extent in shape[:-1]] + [range(0, shape[-1], n)]
    for i, at in enumerate(product(*steps)):
        yield at, ", ".join(c.register(frag, i * n + j) for j in range(n))


def _compute(c: Context, op: ops.Compute) -> None:
    c.put("{")
    c.depth += 1
    after: list[str] = []
    for formal, actual in zip(op.defn.operands, op.operands, strict=True):
        match actual:
            case FragmentRef():
                after += _fragment_operand(c, formal.name, formal.mode, actual)
            case SmemView():
                _shared_operand(c, formal.name, actual)
            case Const(value):
                c.put(f"constexpr int {formal.name} = {value};")
            case Var() | Arg() | BuiltinRef() | Unary() | Binary():
                c.put(f"const int {formal.name} = {c_text(actual)};")
            case _ as unreachable:
                assert_never(unreachable)
    body = op.defn.cuda.strip("\n")
    margin = min(
        (len(line) - len(line.lstrip()) for line in body.splitlines() if line.strip()), default=0
    )
    c.put("\n".join(line[margin:] for line in body.splitlines()).rstrip())
    for line in after:
        c.put(line)
    c.depth -= 1
    c.put("}")


def _fragment_operand(c: Context, name: str, mode: AccessMode, ref: FragmentRef) -> list[str]:
    """Declare the array that the body sees; what to do after the body."""
    fragment = c.schedule.fragment(ref.name)
    packed = fragment.packed  # the body sees registers
    ref = FragmentRef(ref.name, ref.first // packed, ref.count // packed)
    if ref.first == 0 and ref.count == fragment.words:
        c.put(f"auto& {name} = f_{ref.name};")
        return []
    copies = ", ".join(c.register(ref, i) for i in range(ref.count))
    c.put(f"{c.fragment_type(fragment)} {name}[{ref.count}] = {{{copies}}};")
    if mode is AccessMode.READ:
        return []
    return [f"{c.register(ref, i)} = {name}[{i}];" for i in range(ref.count)]


def _shared_operand(c: Context, name: str, view: SmemView) -> None:
    tile = c.schedule.tile(view.tile)
    element = C_TYPES[tile.dtype]
    indices = [f"i{d}" for d in range(len(view.shape))]
    linear = "0"
    for index, extent in zip(indices, tile.shape, strict=True):
        linear = index if linear == "0" else f"({linear}) * {extent} + {index}"
    offset = f"{name}_base + ({linear}) * {tile.dtype.bytes}"
    if tile.swizzle is not Swizzle.NONE:
        offset = f"swizzled<{SWIZZLE_MASK[tile.swizzle]}>({offset})"
    c.put(f"const int {name}_base = {c_text(c.logical_bytes(view))};")
    c.put(f"constexpr int {name}_rows = {view.shape[0]}, {name}_cols = {view.shape[-1]};")
    c.put(
        f"auto {name} = [&]({', '.join(f'int {i}' for i in indices)}) -> {element}& "
        f"{{ return *({element}*)(smem + {offset}); }};"
    )
