"""How many elements one plain access to global memory moves.

The rendered code, and whoever counts its instructions, read it here.
"""

from __future__ import annotations

from asyncsim.ir.congruence import congruence
from asyncsim.ir.op import GlobalView
from asyncsim.ir.schedule import Schedule

VECTOR_BYTES = 16


def vector_elements(schedule: Schedule, view: GlobalView, *, clip: bool = False) -> int:
    """Elements that one access may move: contiguous, aligned to itself, at most 16 bytes; for a
    clipped one all inside the tensor or all outside."""
    tensor = schedule.tensor(view.tensor)
    if tensor.strides[-1] != 1:
        return 1
    column = congruence(view.start[-1])
    n = VECTOR_BYTES // tensor.dtype.bytes
    while n > 1 and (
        view.shape[-1] % n
        or not column.always_multiple_of(n)
        or any(s % n for s in tensor.strides[:-1])
        or (clip and tensor.shape[-1] % n)
    ):
        n //= 2
    return n
