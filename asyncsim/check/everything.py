"""All that an execution has done so far, as a clock: where the counting certificate starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncsim.check.clock import FIELD_BITS, Section
from asyncsim.check.copies import epoch_before

if TYPE_CHECKING:
    from asyncsim.check.execution import Execution


def everything(execution: Execution) -> int:
    """A clock that knows all that has happened so far, fences included."""
    layout, clock = execution.layout, 0
    for agent in execution.agents:
        for chain in agent.warp.chains(agent.who):
            done = epoch_before(layout, chain, agent.pos) | agent.pos << chain.shift_control
            clock = layout.join(layout.join(clock, chain.clock), done)
    for b in execution.barriers.by_key.values():
        phases = (b.base + b.state.generation + b.state.initialised) << (FIELD_BITS * b.comp)
        for section in list(Section)[: Section.TENSOR]:
            clock = layout.join(clock, phases << (layout.width * section))
    if execution.tracked is not None:
        clock = layout.join(clock, execution.tracked.everything())
    for section in (Section.SHARED_FENCE, Section.GLOBAL_FENCE):
        clock = layout.fence(clock, section)
    if execution.schedule.cluster_ctas > 1:
        clock = layout.fence(clock, Section.PEER_FENCE)
    return clock
