"""Tensor maps as the 128 bytes that they are, for kernels that change them in global memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from asyncsim.hw.launch.protocol import MapSpec

MAP_BYTES = 128
MAP_TYPES = {
    "bf16": "BFLOAT16",
    "f16": "FLOAT16",
    "f32": "FLOAT32",
    "tf32": "FLOAT32",
    "u32": "UINT32",
    "i32": "INT32",
}
_ENUMS = (
    "CUtensorMapInterleave",
    "CUtensorMapSwizzle",
    "CUtensorMapL2promotion",
    "CUtensorMapFloatOOBfill",
)
_BYTES = {"bf16": 2, "f16": 2, "u8": 1, "i8": 1, "e4m3": 1, "e5m2": 1}


def map_enums(m: MapSpec) -> tuple[str, ...]:
    """The driver's names of its data type, interleave, swizzle, promotion to L2 and fill out of
    bounds, in the order in which the driver takes them."""
    swizzle = f"{m.swizzle_bytes}B" if m.swizzle_bytes else "NONE"
    promotion = f"L2_{m.l2_promotion_bytes}B" if m.l2_promotion_bytes else "NONE"
    fill = "NAN_REQUEST_ZERO_FMA" if m.nan_fill else "NONE"
    interleave = f"{m.interleave_bytes}B" if m.interleave_bytes else "NONE"
    return (
        f"CU_TENSOR_MAP_DATA_TYPE_{MAP_TYPES.get(m.dtype, 'UINT8')}",
        f"CU_TENSOR_MAP_INTERLEAVE_{interleave}",
        f"CU_TENSOR_MAP_SWIZZLE_{swizzle}",
        f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}",
        f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}",
    )


def raw_maps(m: MapSpec, pointer: int) -> Any:
    """``m.copies`` equal descriptors of the tensor at ``pointer``, one behind the other."""
    from cuda.bindings import driver

    size = _BYTES.get(m.dtype, 4)
    kind, *forms = map_enums(m)
    steps = m.element_strides or (1,) * len(m.shape)
    status, encoded = driver.cuTensorMapEncodeTiled(
        getattr(driver.CUtensorMapDataType, kind),
        len(m.shape),
        pointer,
        [driver.cuuint64_t(n) for n in reversed(m.shape)],
        [driver.cuuint64_t(n * size) for n in reversed(m.strides[:-1])],
        [driver.cuuint32_t(n) for n in reversed(m.box)],
        [driver.cuuint32_t(n) for n in reversed(steps)],
        *(getattr(getattr(driver, owner), name) for owner, name in zip(_ENUMS, forms, strict=True)),
    )
    if int(status):
        raise RuntimeError(f"tensor map of {m.tensor} refused: {status}")
    one = np.frombuffer(ctypes.string_at(encoded.getPtr(), MAP_BYTES), np.uint8)
    return np.tile(one, m.copies)
