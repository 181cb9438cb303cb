"""CUDA text of plain loads and stores, and of compute bodies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import assert_never

from asyncsim.hw.render.context import C_TYPES, Context
from asyncsim.hw.render.expr import c_text
from asyncsim.hw.render.swizzle import MASK
from asyncsim.hw.render.used import used_only
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
    seen: list[tuple[str, str]] = []
    for formal, actual in zip(op.defn.operands, op.operands, strict=True):
        match actual:
            case FragmentRef():
                array, back = _fragment_operand(c, formal.name, formal.mode, actual)
                seen.append((formal.name, array))
                after += back
            case SmemView():
                seen += _shared_operand(c, formal.name, actual)
            case Const(value):
                seen.append((formal.name, f"constexpr int {formal.name} = {value};"))
            case Var() | Arg() | BuiltinRef() | Unary() | Binary():
                seen.append((formal.name, f"const int {formal.name} = {c_text(actual)};"))
            case _ as unreachable:
                assert_never(unreachable)
    body = op.defn.cuda.strip("\n")
    margin = min(
        (len(line) - len(line.lstrip()) for line in body.splitlines() if line.strip()), default=0
    )
    lines = "\n".join(line[margin:] for line in body.splitlines()).rstrip()
    for line in (*used_only(seen, [lines, *after]), lines, *after):
        c.put(line)
    c.depth -= 1
    c.put("}")


def _fragment_operand(
    c: Context, name: str, mode: AccessMode, ref: FragmentRef
) -> tuple[str, list[str]]:
    """The array that the body sees, and what to do after the body."""
    fragment = c.schedule.fragment(ref.name)
    packed = fragment.packed  # the body sees registers
    ref = FragmentRef(ref.name, ref.first // packed, ref.count // packed)
    if ref.first == 0 and ref.count == fragment.words:
        return f"auto& {name} = f_{ref.name};", []
    copies = ", ".join(c.register(ref, i) for i in range(ref.count))
    array = f"{c.fragment_type(fragment)} {name}[{ref.count}] = {{{copies}}};"
    if mode is AccessMode.READ:
        return array, []
    return array, [f"{c.register(ref, i)} = {name}[{i}];" for i in range(ref.count)]


def _shared_operand(c: Context, name: str, view: SmemView) -> list[tuple[str, str]]:
    """What the body may name of a tile: its element by indices, its extents."""
    tile = c.schedule.tile(view.tile)
    element = C_TYPES[tile.dtype]
    indices = [f"i{d}" for d in range(len(view.shape))]
    linear = "0"
    for index, extent in zip(indices, tile.shape, strict=True):
        linear = index if linear == "0" else f"({linear}) * {extent} + {index}"
    offset = f"{name}_base + ({linear}) * {tile.dtype.bytes}"
    if tile.swizzle is not Swizzle.NONE:
        offset = f"swizzled<{MASK[tile.swizzle]}>({offset})"
    formals = ", ".join(f"int {i}" for i in indices)
    return [
        (f"{name}_base", f"const int {name}_base = {c.logical_text(view)};"),
        (f"{name}_rows", f"constexpr int {name}_rows = {view.shape[0]};"),
        (f"{name}_cols", f"constexpr int {name}_cols = {view.shape[-1]};"),
        (
            name,
            f"auto {name} = [&]({formals}) -> {element}& {{\n"
            f"  return *({element}*)(smem + {offset});\n}};",
        ),
    ]
