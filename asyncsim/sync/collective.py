"""A warpgroup instruction: four warps execute the same op; it starts when the last one has."""

from __future__ import annotations


class WarpgroupCollective:
    """Counts the warps of one warpgroup through its sequence of collective ops."""

    __slots__ = ("_position", "warps")

    def __init__(self, warps: tuple[int, ...]) -> None:
        self.warps = warps
        self._position = dict.fromkeys(warps, 0)

    def execute(self, warp: int) -> int:
        """This warp executes its next collective op; the op's index in the sequence."""
        index = self._position[warp]
        self._position[warp] = index + 1
        return index

    def issued(self, index: int) -> bool:
        """Whether all four warps have executed op ``index``."""
        return min(self._position.values()) > index

    @property
    def complete(self) -> int:
        """The number of ops that all four warps have executed."""
        return min(self._position.values())
