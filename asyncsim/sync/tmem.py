"""The tensor memory of an SM: columns that CTAs allocate and free (PTX ISA, tcgen05.alloc)."""

from __future__ import annotations

from asyncsim.rules import Rule
from asyncsim.sync.mbarrier import SyncFault

TMEM_COLUMNS = 512
TMEM_UNIT = 32


def is_tmem_size(columns: int) -> bool:
    """Whether an allocation may have so many columns: a power of two, 32 to 512."""
    return TMEM_UNIT <= columns <= TMEM_COLUMNS and columns & (columns - 1) == 0


class TmemAllocator:
    """Who has which columns. ``live``: the first column of each allocation, its owner and size.

    PTX does not say which columns an allocation gets; here they are the first that are free, at a
    multiple of the size.
    """

    __slots__ = ("live", "relinquished")

    def __init__(self) -> None:
        self.live: dict[int, tuple[int, int]] = {}
        self.relinquished: set[int] = set()

    @property
    def used(self) -> int:
        """Columns that are allocated."""
        return sum(columns for _, columns in self.live.values())

    def alloc(self, owner: int, columns: int) -> int | None:
        """The first column of a new allocation; None while there is no room.

        Raises SyncFault (TMEM_ALLOC) for a size that does not exist, and after ``relinquish``.
        """
        if not is_tmem_size(columns):
            raise SyncFault(
                Rule.TMEM_ALLOC, f"{columns} columns; a power of two, {TMEM_UNIT}..{TMEM_COLUMNS}"
            )
        if owner in self.relinquished:
            raise SyncFault(Rule.TMEM_ALLOC, "alloc after relinquish_alloc_permit")
        for first in range(0, TMEM_COLUMNS, columns):
            if not any(a < first + columns and first < a + n for a, (_, n) in self.live.items()):
                self.live[first] = owner, columns
                return first
        return None

    def dealloc(self, owner: int, first: int, columns: int) -> None:
        """Free an allocation. Raises SyncFault (TMEM_DEALLOC) if it is not one of the owner's."""
        if self.live.get(first) != (owner, columns):
            raise SyncFault(
                Rule.TMEM_DEALLOC,
                f"dealloc of {columns} columns from {first}, which is no allocation",
            )
        del self.live[first]

    def relinquish(self, owner: int) -> None:
        """The owner allocates no more."""
        self.relinquished.add(owner)
