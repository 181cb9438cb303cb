"""CUDA text of swizzled addresses, with what is constant in them behind the swizzle.

A swizzle is linear in the bits of an address: where a constant and the rest of the address have no
bit in common, their sum is their XOR, and the constant's own swizzle can be applied afterwards.
Multiples of the repeat leave it alone. So addresses that differ by constants share one swizzle
(which compilers do not find out), and differ by an XOR or an immediate offset.
"""

from __future__ import annotations

from asyncsim.hw.render.expr import affine, c_text, from_affine
from asyncsim.ir.decl import Swizzle
from asyncsim.ir.expr import Binary, Builtin, BuiltinRef, Const, Expr
from asyncsim.memory.swizzle import REPEAT_BYTES

MASK = {Swizzle.B32: 0x10, Swizzle.B64: 0x30, Swizzle.B128: 0x70}
ALL = -1


def swizzled_text(start: str, aligned: bool, offset: Expr, swizzle: Swizzle) -> str:
    """C text of the byte address of ``offset`` behind ``start``, after the swizzle.

    ``start``: name of a constant; ``aligned``: it is a multiple of the swizzle's repeat.
    """
    mask, repeat = MASK[swizzle], REPEAT_BYTES[swizzle]
    terms, constant = affine(offset)
    varying = from_affine((terms, 0))
    low = constant % repeat
    if not aligned or possible_bits(varying) & low:
        low = 0
    inside = from_affine((terms, constant % repeat - low if aligned else constant))
    text = c_text(inside) if aligned else f"{c_text(inside)} + {start}"
    text = f"swizzled<{mask}>({text})" if text != "0" else text
    if low:
        text = f"({text} ^ {low ^ low >> 3 & mask})"
    whole = constant - constant % repeat if aligned else 0
    tail = f" + {whole}" if whole > 0 else f" - {-whole}" if whole else ""
    return f"{text}{tail} + {start}" if aligned else text


def possible_bits(expr: Expr) -> int:
    """The bits that an expression may have in two's complement: a mask, -1 if any may be set."""
    match expr:
        case Const(value):
            return value
        case BuiltinRef(Builtin.LANE):
            return 31
        case Binary("+", lhs, rhs):
            return _sum(possible_bits(lhs), possible_bits(rhs))
        case Binary("*", lhs, Const(factor)) if factor > 0:
            return _times(possible_bits(lhs), factor)
        case Binary("%", lhs, Const(d)) if d > 0:
            inside = (1 << (d - 1).bit_length()) - 1
            return possible_bits(lhs) & inside if d & (d - 1) == 0 else inside
        case Binary("//", lhs, Const(d)) if d > 0 and d & (d - 1) == 0:
            return possible_bits(lhs) >> d.bit_length() - 1
        case Binary(("^" | "|"), lhs, rhs):
            return possible_bits(lhs) | possible_bits(rhs)
        case Binary("&", lhs, rhs):
            return possible_bits(lhs) & possible_bits(rhs)
        case _:
            return ALL


def _sum(a: int, b: int) -> int:
    """Bits of a sum: those of both, and all above the lowest that they share, by carries."""
    shared = a & b
    return a | b | (-(shared & -shared) if shared else 0)


def _times(bits: int, factor: int) -> int:
    if factor & (factor - 1) == 0:
        return bits * factor
    lowest = (bits & -bits) * (factor & -factor)
    return -lowest if bits else 0
