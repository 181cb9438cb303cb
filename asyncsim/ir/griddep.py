"""Programmatic dependent launch: two kernels that overlap (PTX ISA, griddepcontrol)."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir.operand import OpBase


@dataclass(frozen=True, slots=True, kw_only=True)
class GriddepcontrolLaunchDependents(OpBase):
    """griddepcontrol.launch_dependents: once all CTAs have executed it, or have ended, the kernel
    that depends on this one may start. It makes nothing visible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GriddepcontrolWait(OpBase):
    """griddepcontrol.wait: until the kernel before has ended and its memory is visible."""


GridDependencyOp = GriddepcontrolLaunchDependents | GriddepcontrolWait
