"""Vector clocks packed in one integer: a join is a handful of big-integer operations.

A clock has one 32-bit field per (section, component); bit 31 of every field stays free as a guard.
Components are the observers (elected lane and other lanes of each warp), the mbarriers, the named
barriers and the warpgroups. Sections are orders, from the largest to the smallest:

CONTROL: what has happened for certain. MEMORY: what release and acquire make visible.
SHARED_FENCE / GLOBAL_FENCE: what was visible at the last fence.proxy.async over that space.
TENSOR: what tcgen05.fence::before_thread_sync, or a commit, has released. It goes wherever CONTROL
goes; only schedules with tcgen05 ops have it. PEER_FENCE: SHARED_FENCE for what observers do in the
shared memory of other CTAs; only clusters have it.
"""

from __future__ import annotations

from enum import IntEnum

FIELD_BITS = 32
FIELD_MASK = (1 << (FIELD_BITS - 1)) - 1


class Section(IntEnum):
    """The orders that one clock carries side by side."""

    CONTROL = 0
    MEMORY = 1
    SHARED_FENCE = 2
    GLOBAL_FENCE = 3
    TENSOR = 4
    PEER_FENCE = 5


class ClockLayout:
    """Where the fields of a clock are. ``guard`` has bit 31 of every field set.

    ``carried`` masks what every edge carries, also a relaxed one; ``every`` all fields.
    """

    __slots__ = (
        "_fields",
        "carried",
        "components",
        "every",
        "guard",
        "guards",
        "masks",
        "width",
    )

    def __init__(self, components: int, *, tensor: bool = False, peers: bool = False) -> None:
        self.components = components
        self.width = FIELD_BITS * components
        guard = sum(1 << (FIELD_BITS * i + FIELD_BITS - 1) for i in range(components))
        fields = sum(FIELD_MASK << (FIELD_BITS * i) for i in range(components))
        self._fields = fields
        self.guards = tuple(guard << (self.width * s) for s in Section)
        self.masks = tuple(fields << (self.width * s) for s in Section)
        self.guard = sum(self.guards[: Section.TENSOR])
        self.guard += tensor * self.guards[Section.TENSOR]
        self.guard += peers * self.guards[Section.PEER_FENCE]
        self.every = self.guard - (self.guard >> (FIELD_BITS - 1))
        self.carried = self.masks[Section.CONTROL]
        if tensor:
            self.carried |= self.masks[Section.TENSOR]

    def shift(self, section: Section, component: int) -> int:
        """The bit position of a field."""
        return self.width * section + FIELD_BITS * component

    def at(self, clock: int, section: Section, component: int) -> int:
        return (clock >> self.shift(section, component)) & FIELD_MASK

    def join(self, a: int, b: int) -> int:
        """The larger value of every field."""
        if a == b or not b:
            return a
        larger = ((a | self.guard) - b) & self.guard  # guard bit stays where a >= b
        if larger == self.guard:
            return a
        keep = larger - (larger >> (FIELD_BITS - 1))
        return b ^ ((a ^ b) & keep)

    def known(self, clock: int) -> int:
        """The fields that are not 0, as guard bits."""
        return (clock + self.every) & self.guard

    def moved(self, a: int, b: int, step: int) -> int | None:
        """The fields (as a mask) in which ``b`` is ``a`` and a step further, where all others are
        equal; else None."""
        if a == b:
            return 0
        far = b - a
        if far < 0:
            return None
        some = self.known(far)  # the fields that differ
        fields = some - (some >> (FIELD_BITS - 1))
        return fields if far == step & fields else None

    def covers(self, clock: int, epochs: int, guards: int) -> bool:
        """Every field of ``epochs`` is reached, in the sections whose guards are given."""
        return ((clock | self.guard) - epochs) & guards == guards

    def fence(self, clock: int, section: Section) -> int:
        """The clock after a proxy fence: what is visible now counts as fenced for ``section``."""
        visible = (clock >> self.width) & self._fields
        return self.join(clock, visible << (self.width * section))
