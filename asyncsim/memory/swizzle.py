"""Shared-memory swizzles on byte addresses (PTX ISA, tensor swizzling modes).

16-byte chunks are permuted inside a span: chunk bits are XORed with the row bits above them.
The pattern repeats every 8 spans of rows, so a stage must be aligned to that repeat.
"""

from __future__ import annotations

from asyncsim.ir.decl import Swizzle

_CHUNK_MASK = {Swizzle.NONE: 0, Swizzle.B32: 0x10, Swizzle.B64: 0x30, Swizzle.B128: 0x70}

REPEAT_BYTES = {Swizzle.NONE: 16, Swizzle.B32: 256, Swizzle.B64: 512, Swizzle.B128: 1024}


def swizzled(address: int, mode: Swizzle) -> int:
    """Physical byte address of a logical one: chunk bits 4.. ^= address bits 7.."""
    return address ^ ((address >> 3) & _CHUNK_MASK[mode])
