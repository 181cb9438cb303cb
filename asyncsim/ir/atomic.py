"""Atomic operations on global memory."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir.operand import FragmentRef, GlobalView, OpBase


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomAdd(OpBase):
    """atom.global.add: one lane adds 1 to a counter and gets its next tile.

    That is what was there plus the clusters of the grid, which begin with the tiles of their own
    indices. The counter starts as zero, and nothing else in the kernel touches it.
    """

    dst: FragmentRef
    counter: GlobalView
