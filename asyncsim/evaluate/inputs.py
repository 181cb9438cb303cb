"""Input tensors of a schedule, reproducible from a seed.

Arrays have the tensor's logical shape and are C-contiguous; a tensor with strides of its own is
laid out by whoever copies it to a GPU.
"""

from __future__ import annotations

import zlib
from typing import Literal

import numpy as np

from asyncsim.evaluate.arrays import Array, numpy_dtype
from asyncsim.ir.decl import Fill, GlobalTensor
from asyncsim.ir.dtype import DType
from asyncsim.ir.program import Program
from asyncsim.ir.schedule import Schedule

Purpose = Literal["verify", "timing"]

_TABLE_SIZE = 1 << 16
_WIDE = frozenset({DType.F32, DType.I32, DType.U32})
_BYTES = {
    Fill.UE8M0: np.array([126, 127, 128]),  # 0.5, 1, 2
    Fill.UE4M3: np.array([0x30, 0x38, 0x3C, 0x40]),  # 0.5, 1, 1.5, 2
    Fill.E2M1: np.arange(256),
}


def make_inputs(
    schedule: Schedule | Program, *, seed: int = 0, purpose: Purpose = "verify"
) -> dict[str, Array]:
    """A value for every tensor that is not an output, by name.

    verify: integers that are exact in the tensor's type, by a hash of the element's index. 32-bit
    tensors get 0..65535, so that an element tells which tile it belongs to; narrower types, tf32
    and ``Fill.SMALL`` get -2..2 (unsigned: 0..3), so that fp32 sums of up to 2^22 products are
    exact. timing: standard normal, integers 0..65535 or the full range of an 8-bit type.
    ``Fill.IOTA``, ``Fill.ZERO`` and those of bytes that are no integers hold for both: scale
    factors from 0.5 to 2.
    """
    kernels = schedule.kernels if isinstance(schedule, Program) else (schedule,)
    inputs: dict[str, Array] = {}
    written: set[str] = set()
    for kernel in kernels:  # what the first kernel writes is no input of the second
        for tensor in kernel.of_kind(GlobalTensor):
            if not tensor.output and tensor.name not in written | set(inputs):
                inputs[tensor.name] = _fill(tensor, seed, purpose)
        written |= {t.name for t in kernel.of_kind(GlobalTensor) if t.output}
    return inputs


def _fill(tensor: GlobalTensor, seed: int, purpose: Purpose) -> Array:
    dtype = numpy_dtype(tensor.dtype)
    if tensor.fill is Fill.ZERO:
        return np.zeros(tensor.shape, dtype)
    size = int(np.prod(tensor.shape))
    if tensor.fill is Fill.IOTA:
        return np.arange(size).astype(dtype).reshape(tensor.shape)
    if purpose == "verify":
        values = verify_values(tensor)
        picks = hashed(np.arange(size), key_of(tensor, seed)) % np.uint32(len(values))
    else:  # a generator per tensor: adding one does not change the others
        rng = np.random.default_rng([seed, zlib.crc32(tensor.name.encode())])
        values = _timing_table(tensor, rng)
        picks = rng.integers(0, len(values), size, dtype=np.uint16)
    filled: Array = values[picks].reshape(tensor.shape)
    return filled


def key_of(tensor: GlobalTensor, seed: int) -> int:
    """What sets a tensor's values to be verified apart from those of others, 32 bits."""
    return zlib.crc32(f"{seed} {tensor.name}".encode())


def hashed(indices: Array, key: int) -> Array:
    """A hash of 32 bits of each index; a host program without NumPy computes the same
    (hw/standalone/host.cuh)."""
    x: Array = indices.astype(np.uint32) * np.uint32(0x9E3779B1) ^ np.uint32(key)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    x ^= x >> np.uint32(16)
    return x


def verify_values(tensor: GlobalTensor) -> Array:
    """The values that the elements of a tensor have where data are verified."""
    dtype = tensor.dtype
    if tensor.fill in _BYTES:
        integers: Array = _BYTES[tensor.fill]
    elif dtype in _WIDE and tensor.fill is not Fill.SMALL:
        integers = np.arange(_TABLE_SIZE)
    elif dtype in (DType.U8, DType.U32):
        integers = np.arange(4)
    else:
        integers = np.arange(-2, 3)
    return integers.astype(numpy_dtype(dtype))


def _timing_table(tensor: GlobalTensor, rng: np.random.Generator) -> Array:
    """65,536 draws to pick from: as good as fresh ones for power and timing, and much faster."""
    dtype = tensor.dtype
    if tensor.fill in _BYTES:
        return verify_values(tensor)
    if dtype in (DType.I8, DType.U8):
        return rng.integers(0, 256, _TABLE_SIZE, dtype=np.uint8).view(numpy_dtype(dtype))
    if dtype in (DType.I32, DType.U32):
        return np.arange(_TABLE_SIZE).astype(numpy_dtype(dtype))
    return rng.standard_normal(_TABLE_SIZE, dtype=np.float32).astype(numpy_dtype(dtype))
