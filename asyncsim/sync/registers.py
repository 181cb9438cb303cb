"""The registers of a CTA and the warps that hold them (PTX ISA: setmaxnreg)."""

from __future__ import annotations

from collections.abc import Collection

from asyncsim.rules import Rule
from asyncsim.sync.mbarrier import SyncFault

LANES = 32
WARPGROUP = 4  # consecutive warps
STEP = 8  # counts are multiples of it


class RegisterPool:
    """What the launch gave all warps together. ``held``: registers a thread, by warp; ``free``:
    registers of the pool that no warp holds.

    A request is one warp's. Only ``dec`` gives registers back: the PTX ISA does not say that the
    exit of a warp does, and on an H200 it did not.
    """

    __slots__ = ("_executed", "free", "held", "size")

    def __init__(self, warps: int, maxnreg: int) -> None:
        self.size = LANES * warps * maxnreg
        self.free = 0
        self.held = [maxnreg] * warps
        self._executed: list[list[int]] = [[] for _ in range(warps)]

    def execute(self, warp: int, op: int) -> None:
        """A warp reaches its next setmaxnreg, ``op``.

        Raises SyncFault if a warp of its warpgroup has executed another one in its place.
        """
        mine = self._executed[warp]
        mine.append(op)
        for other in self.warpgroup(warp):
            theirs = self._executed[other]
            if len(theirs) >= len(mine) and theirs[len(mine) - 1] != op:
                raise SyncFault(
                    Rule.REGISTER_POOL,
                    f"warp {warp} executes another setmaxnreg than warp {other} of its warpgroup",
                )

    def executed(self, warp: int) -> int:
        """How many a warp has executed."""
        return len(self._executed[warp])

    def warpgroup(self, warp: int) -> range:
        """The four warps that execute setmaxnreg together."""
        first = warp // WARPGROUP * WARPGROUP
        return range(first, min(first + WARPGROUP, len(self.held)))

    def needs(self, warp: int, count: int) -> int:
        """Registers that the pool must have free for a warp to hold ``count`` a thread."""
        return LANES * (count - self.held[warp])

    def fits(self, warps: Collection[int]) -> int:
        """The largest count that these warps could all hold beside what the others hold."""
        others = sum(n for warp, n in enumerate(self.held) if warp not in warps)
        return (self.size // LANES - others) // len(warps) // STEP * STEP

    def dec(self, warp: int, count: int) -> None:
        """Raises SyncFault if the warp holds fewer."""
        if self.held[warp] < count:
            raise SyncFault(
                Rule.REGISTER_POOL,
                f"setmaxnreg.dec {count} by warp {warp}, which holds {self.held[warp]}",
            )
        self._set(warp, count)

    def inc(self, warp: int, count: int) -> bool:
        """True if the registers were there. Raises SyncFault if the warp holds more."""
        if self.held[warp] > count:
            raise SyncFault(
                Rule.REGISTER_POOL,
                f"setmaxnreg.inc {count} by warp {warp}, which holds {self.held[warp]}",
            )
        if self.free < self.needs(warp, count):
            return False
        self._set(warp, count)
        return True

    def _set(self, warp: int, count: int) -> None:
        self.free -= self.needs(warp, count)
        self.held[warp] = count
