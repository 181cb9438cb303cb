"""What a kernel touches before griddepcontrol.wait."""

from __future__ import annotations

from dataclasses import dataclass, field

from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.model import Chain, Step
from asyncsim.memory.region import GlobalBox
from asyncsim.stream.dyn import Access

Where = tuple[int, int, tuple[int, ...]]
"""A warp of the CTA or cluster, an op, and the indices of the loops around it."""


@dataclass(slots=True)
class Early:
    """Accesses that no griddepcontrol.wait precedes, by warp, op and loop indices.

    ``component``: of the clocks, 1 where a wait is known."""

    tensors: frozenset[str]
    component: int
    layout: ClockLayout
    steps: dict[Where, Step] = field(default_factory=dict)

    def touched(self, chain: Chain, step: Step, access: Access) -> None:
        """An access to global memory."""
        region = access.region
        if not isinstance(region, GlobalBox) or region.tensor not in self.tensors:
            return
        if not self.layout.at(chain.now(step.pos), Section.MEMORY, self.component):
            self.steps.setdefault((step.warp.index, step.dyn.op.id, step.event[1]), step)
