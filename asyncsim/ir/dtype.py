"""Element types, with their size in bytes and their spelling in PTX and NumPy."""

from __future__ import annotations

from enum import Enum


class DType(Enum):
    """Element type; the value is the short name used in text and scenarios."""

    I8 = "i8"
    U8 = "u8"
    I32 = "i32"
    U32 = "u32"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    TF32 = "tf32"
    E4M3 = "e4m3"
    E5M2 = "e5m2"

    @property
    def bytes(self) -> int:
        """Size of one element in bytes."""
        return _BYTES[self]


_BYTES = {
    DType.I8: 1,
    DType.U8: 1,
    DType.I32: 4,
    DType.U32: 4,
    DType.F16: 2,
    DType.BF16: 2,
    DType.F32: 4,
    DType.TF32: 4,
    DType.E4M3: 1,
    DType.E5M2: 1,
}

SUMS = {
    **dict.fromkeys((DType.F16, DType.BF16, DType.TF32, DType.E4M3, DType.E5M2), DType.F32),
    **dict.fromkeys((DType.I8, DType.U8), DType.I32),
}
"""What wgmma multiplies, and the type that the products are summed in."""
