"""Tensor maps in global memory that the kernel changes: what each describes now."""

from __future__ import annotations

from asyncsim.errors import ScheduleError
from asyncsim.evaluate.arrays import Array
from asyncsim.ir import op as ops
from asyncsim.ir.decl import TensorMap
from asyncsim.rules import Rule


class ChangedMaps:
    """Those of one CTA."""

    def __init__(self, tensors: dict[str, Array]) -> None:
        self._tensors = tensors
        self._maps: dict[str, tuple[int, tuple[int, ...]]] = {}  # rows skipped, extents

    def reset(self) -> None:
        """All maps are as the host has made them."""
        self._maps.clear()

    def behind(self, m: TensorMap) -> Array:
        """The part of its tensor that a map describes."""
        tensor = self._tensors[m.tensor]
        if m.name not in self._maps:
            return tensor
        first, extents = self._maps[m.name]
        return tensor[first:][tuple([slice(0, n) for n in extents])]

    def change(self, m: TensorMap, op: ops.TensormapReplace, value: int | None) -> None:
        """tensormap.replace; a ``value`` of None is the one at first. Raises ScheduleError."""
        shape = self._tensors[m.tensor].shape
        first, extents = self._maps.get(m.name, (0, shape))
        if op.field == "global_address":
            first = value or 0
        elif op.field == "global_dim":
            extent = shape[op.dim] if value is None else value
            extents = (*extents[: op.dim], extent, *extents[op.dim + 1 :])
        ends = (first + extents[0], *extents[1:])
        if first < 0 or any(not 0 < n <= have for n, have in zip(ends, shape, strict=True)):
            raise ScheduleError(
                f"tensor map {m.name!r} begins at row {first} with extents {extents}, "
                f"{m.tensor!r} is {shape}",
                fix="stay within the tensor; make the extent smaller before the map moves",
                loc=op.loc,
                rule=Rule.OUT_OF_BOUNDS,
            )
        self._maps[m.name] = first, extents
