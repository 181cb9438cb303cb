"""Kernel sources of the microbenchmarks, and their compilation by NVRTC (no GPU needed).

See docs/machine.md.
"""

__all__ = ["ARCHITECTURE", "Variant", "compile_variant", "source_of"]

import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .operands import PATTERNS, rewrite

ARCHITECTURE = "sm_90a"
_BEHIND_WGMMA = ("mix.cu", "beside.cu", "power.cu", "both.cu")
_WITH_WGMMA = ("wgmma.cu", *_BEHIND_WGMMA)
KINDS = ("bf16", "e4m3", "tf32")
KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True, slots=True)
class Variant:
    """One kernel file with its compile-time parameters."""

    file: str
    defines: tuple[tuple[str, int], ...] = ()


@cache
def _text(name: str) -> str:
    return (KERNELS / name).read_text(encoding="utf-8")


def source_of(variant: Variant) -> str:
    """The whole CUDA C++ text: shared code, defines, generated instruction, kernel file."""
    parts = [_text("prelude.cuh")]
    parts += [f"#define {name} {value}" for name, value in variant.defines]
    values = dict(variant.defines)
    if variant.file in _WITH_WGMMA and "N" in values:
        n, rs = values["N"], values.get("RS", 0)
        parts.append(_wgmma_function(n, rs))
        if "KIND" in values:
            parts.append(_wgmma_function(n, rs, KINDS[values["KIND"]], sums=True))
        if variant.file in _BEHIND_WGMMA:
            parts += ["#define OWN_KERNEL", _text("wgmma.cu")]
    parts.append(_text(variant.file))
    return "\n".join(parts)


def compile_variant(variant: Variant) -> tuple[Any, str]:
    """Compile to a cubin; return cuda.core's object code and the assembler's log."""
    from cuda.core import ObjectCode, Program, ProgramOptions

    log = io.StringIO()
    options = ProgramOptions(arch=ARCHITECTURE, std="c++17")
    code = Program(source_of(variant), "c++", options).compile("cubin", logs=log)
    pattern = dict(variant.defines).get("PATTERN")
    if pattern is not None:
        code = ObjectCode.from_cubin(rewrite(code.code, PATTERNS[pattern]))
    return code, log.getvalue().strip("\0 \n")


def _wgmma_function(n: int, rs: int, kind: str = "bf16", *, sums: bool = False) -> str:
    """`wgmma(d, a, b)`: one m64nN instruction whose K has 32 bytes, fp32 accumulators; with
    ``sums`` `wgmma_sum(d, a, b, keep)`, which begins a new sum where keep is 0."""
    registers = n // 2
    accumulators = ", ".join(f"%{i}" for i in range(registers))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(registers))
    operand = "const u32 (&a)[4]" if rs else "u64 a"
    transposes = {"bf16": ", 0" if rs else ", 0, 0"}.get(kind, "")
    if rs:
        a = "{" + ", ".join(f"%{registers + i}" for i in range(4)) + "}"
        b = registers + 4
        inputs = '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)'
    else:
        a, b = f"%{registers}", registers + 1
        inputs = '"l"(a), "l"(b)'
    name, keep, told = "wgmma", "1", ""
    if sums:
        name, keep, told = "wgmma_sum", f"%{b + 1}", ", int keep"
        inputs += ', "r"(keep)'
    k = {"bf16": 16, "e4m3": 32, "tf32": 8}[kind]
    return (
        f"DEV void {name}(float (&d)[{registers}], {operand}, u64 b{told}) {{\n"
        f'  asm volatile("{{ .reg .pred p; setp.ne.b32 p, {keep}, 0; '
        f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{kind}.{kind} "
        f'{{{accumulators}}}, {a}, %{b}, p, 1, 1{transposes}; }}"\n'
        f"    : {outputs} : {inputs});\n}}\n"
    )
