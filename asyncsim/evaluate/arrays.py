"""NumPy element types of the schedule's types."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from asyncsim.ir.dtype import DType

Array = np.ndarray[Any, np.dtype[Any]]

_PLAIN = {
    DType.I8: "int8",
    DType.U8: "uint8",
    DType.I32: "int32",
    DType.U32: "uint32",
    DType.F16: "float16",
    DType.F32: "float32",
    DType.TF32: "float32",
}
_SMALL_FLOATS = {
    DType.BF16: "bfloat16",
    DType.E4M3: "float8_e4m3fn",
    DType.E5M2: "float8_e5m2",
}


_TF32_BITS = np.uint32(0xFFFFE000)  # the tensor core ignores the other mantissa bits


def factors(operand: Array, dtype: DType) -> Array:
    """The elements of a matrix operand as the tensor core multiplies them, in fp32.

    Integers of 8 bits are exact there, and so are the sums of 32 products of them.
    """
    if dtype is not DType.TF32:
        return operand.astype(np.float32)
    bits = np.ascontiguousarray(operand).view(np.uint32) & _TF32_BITS
    exact: Array = bits.view(np.float32)
    return exact


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy type that holds a value of ``dtype`` exactly, of the same size."""
    if dtype in _PLAIN:
        return np.dtype(_PLAIN[dtype])
    import ml_dtypes

    small: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _SMALL_FLOATS[dtype]))
    return small
