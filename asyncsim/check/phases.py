"""What clocks know of the phases of an mbarrier: see barrier.py for the field that says it."""

from __future__ import annotations

from asyncsim.check.barrier import Barrier
from asyncsim.check.clock import FIELD_MASK, ClockLayout, Section
from asyncsim.check.model import Chain, Step


class PhaseClocks:
    """Reads and writes the field of a barrier in clocks. ``inferred``: plus edges so far."""

    def __init__(self, layout: ClockLayout) -> None:
        self._layout = layout
        self._control = layout.guards[Section.CONTROL]
        self.inferred = 0

    def level(self, b: Barrier, clock: int, section: Section = Section.CONTROL) -> int:
        """What a clock knows of this life: 0, or 1 for its init plus the completed phases."""
        at = b.at + self._layout.width * section if section else b.at
        return max(0, ((clock >> at) & FIELD_MASK) - b.base)

    def known(self, b: Barrier, value: int) -> int:
        """The clock that says: ``value`` of this life is known (control and memory)."""
        field = (b.base + value) << b.at
        return field | (field << self._layout.width)

    def infer(self, b: Barrier, clock: int, need: int) -> int:
        """Plus edges: a phase whose counted ops all precede is complete."""
        value = self.level(b, clock)
        done = b.state.generation + 1
        while 1 <= value < need:
            i = len(b.history) - (done - value)  # history ends with generation done - 2
            if i < 0 or i >= len(b.history):
                break
            epochs, landed = b.history[i]
            if landed or not self._layout.covers(clock, epochs, self._control):
                break
            clock += 1 << b.at
            self.inferred += 1
            value += 1
        return clock

    def covers(self, clock: int, epoch: int) -> bool:
        return self._layout.covers(clock, epoch, self._control)


def waited(clock: int, chain: Chain, wait: Step) -> bool:
    """Whether a clock knows the end of a wait."""
    return (clock >> chain.shift_control) & FIELD_MASK > wait.pos
