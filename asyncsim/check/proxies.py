"""What a proxy fence fences: everything of the global memory, and the shared memory that it names.

``fence.proxy.async.shared::cta`` speaks of the shared memory of the executing CTA. In a cluster an
observer works on that of other CTAs as well, so what it does there has a section of its own
(PEER_FENCE), which its own CTA's fence leaves alone and the fence of the other CTA raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asyncsim.check.clock import FIELD_BITS, FIELD_MASK, ClockLayout, Section
from asyncsim.check.model import Warp
from asyncsim.ir.op import FenceSpace


def for_peers(layout: ClockLayout, end: int) -> int:
    """The end of a generic access to another CTA: its fence is a fence of that memory."""
    own = end & layout.masks[Section.SHARED_FENCE]
    return end ^ own | own << layout.width * (Section.PEER_FENCE - Section.SHARED_FENCE)


class ProxyFences:
    """Raises the fence sections of a clock. ``barriers``: rank and component of each mbarrier."""

    def __init__(
        self,
        layout: ClockLayout,
        warps: Sequence[Warp],
        barriers: Iterable[tuple[int, int]],
        ctas: int,
    ) -> None:
        self._layout, self._ctas = layout, ctas
        every = layout.masks[Section.CONTROL]
        mine = [(w.place.rank, c.component) for w in warps for c in (w.elected, w.others)]
        observers = {r: _fields(c for rank, c in mine if rank == r) for r in range(ctas)}
        counted = {r: _fields(c for rank, c in barriers if rank == r) for r in range(ctas)}
        self._peers = {r: sum(observers.values()) - observers[r] for r in observers}
        others = {r: sum(counted.values()) - counted[r] for r in counted}
        self._own = {r: every - self._peers[r] - others[r] for r in observers}

    def raised(self, seen: int, space: FenceSpace, rank: int) -> int:
        """The fence sections after a fence by an observer of CTA ``rank`` that has seen so much."""
        layout = self._layout
        visible = seen >> layout.width & layout.masks[Section.CONTROL]
        raised = 0
        if space in (FenceSpace.GLOBAL, FenceSpace.ALL):
            raised |= visible << layout.width * Section.GLOBAL_FENCE
        if space is FenceSpace.SHARED and self._ctas > 1:
            raised |= (visible & self._own[rank]) << layout.width * Section.SHARED_FENCE
            if self._ctas == 2:  # of more, whose memory a peer has worked on is not known
                raised |= (visible & self._peers[rank]) << layout.width * Section.PEER_FENCE
        elif space is not FenceSpace.GLOBAL:
            raised |= visible << layout.width * Section.SHARED_FENCE
            if self._ctas > 1:
                raised |= visible << layout.width * Section.PEER_FENCE
        return raised


def _fields(components: Iterable[int]) -> int:
    return sum(FIELD_MASK << FIELD_BITS * c for c in components)
