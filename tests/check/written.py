"""Registers for tests whose matter is something else."""

from __future__ import annotations

from asyncsim import ScheduleBuilder
from asyncsim.build.handles import FragmentHandle
from asyncsim.ir.decl import AccessMode, ComputeDef, ComputeOperand, Work

FILL = ComputeDef(
    name="fill",
    operands=(ComputeOperand(name="value", kind="fragment", mode=AccessMode.WRITE),),
    work=lambda: Work(alu=1),
    cuda="for (auto& v : value) v = 0;",
    numpy=lambda value, **_: value.fill(0),
)


def written(k: ScheduleBuilder, name: str, *, registers: int, dtype: str = "f32") -> FragmentHandle:
    """A fragment that every warp has written."""
    fragment = k.fragment(name, registers=registers, dtype=dtype)
    k.mem.compute(FILL, fragment.all)
    return fragment
