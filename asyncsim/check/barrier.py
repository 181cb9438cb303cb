"""One mbarrier of an execution: its state machine and the clocks of its open and last phases.

The field of an mbarrier in a clock holds 0 before its init is known, then 1 plus the number of
completed phases known. So "C(b, g) is known" reads: the field is at least g + 2. After inval and
init the barrier is a new one: its field starts above all that could be known of its last life
(``base``), so that knowledge of one life is never knowledge of the next.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from asyncsim.check.balance import Counted
from asyncsim.check.clock import FIELD_BITS
from asyncsim.check.model import Agent, Chain, Step
from asyncsim.check.report import Breach, Condition
from asyncsim.ir.op import MbarrierArrive
from asyncsim.stream.dyn import BarrierKey
from asyncsim.sync import MbarrierState

HISTORY = 32  # completed generations whose counted ops are kept, for plus edges


class LastArrival(NamedTuple):
    """A warp's last arrival: in which generation, and how much it counts."""

    generation: int
    step: Step
    weight: int


class Barrier:
    """One mbarrier: its state machine and the clocks of its open and last phases."""

    __slots__ = (
        "at",
        "base",
        "comp",
        "completed_by",
        "counted",
        "counted_epochs",
        "expected",
        "far",
        "gather",
        "history",
        "idle_epochs",
        "init",
        "inval_epoch",
        "key",
        "landed",
        "landings",
        "last_arrivals",
        "last_landing",
        "last_tracked",
        "observed",
        "released",
        "released_far",
        "state",
        "tx_bytes",
        "uncounted_expects",
        "waiters",
        "waits",
    )

    def __init__(self, key: BarrierKey, comp: int) -> None:
        self.key, self.comp = key, comp
        self.at = FIELD_BITS * comp  # of its field in the control section of a clock
        self.state = MbarrierState()
        self.init: Step | None = None
        self.base = 0  # the field before the init of this life; what is above it is of this life
        self.inval_epoch = 0  # what a later init must know to be after the last inval
        self.waiters: list[Agent] = []
        self.history: deque[tuple[int, bool]] = deque(maxlen=HISTORY)
        self.completed_by: deque[Step] = deque(maxlen=3)  # the op that completed each last phase
        self.begin()

    def begin(self) -> None:
        """A life begins: nothing has been counted or observed."""
        self.gather = 0  # joined clocks of what the open phase has counted
        self.far = 0  # what arrivals of other CTAs have released at cluster scope
        self.released = 0  # what the last completed phase makes known
        self.released_far = 0  # ... and to waits that acquire at cluster scope
        self.counted: list[Counted] = []
        self.counted_epochs = 0
        self.idle_epochs = 0  # expects of no bytes: they count nothing
        self.landings = 0
        self.uncounted_expects = False  # an expect of the open phase that is not an arrival
        self.tx_bytes = 0
        self.waits: list[tuple[Chain, Step]] = []  # those that observed the last completed phase
        self.history.clear()
        self.completed_by.clear()
        self.observed = -1  # the latest generation that a wait has observed
        self.last_landing: tuple[int, Step] | None = None
        self.last_tracked: tuple[int, Step] | None = None  # cp.async.mbarrier.arrive
        self.last_arrivals: dict[int, LastArrival] = {}  # by warp
        self.expected = self.landed = 0

    def open_phase(self) -> int:
        """The phase that is open, as a clock."""
        return (self.base + self.state.generation + 1) << self.at

    def breach(
        self, condition: Condition, generation: int, step: Step, other: Step | None
    ) -> Breach:
        """That a condition does not hold on this barrier."""
        return Breach(
            condition=condition,
            barrier=str(self.key),
            array=self.key.name,
            generation=generation,
            step=step,
            other=other,
        )

    def arrive(self, step: Step, count: int) -> bool:
        """Count arrivals of an op; True if they complete the phase."""
        op = step.dyn.op
        if not isinstance(op, MbarrierArrive):
            return self.state.arrive(count)
        arrive = self.state.arrive_drop if op.drop else self.state.arrive
        return arrive(count, no_complete=op.no_complete)

    def same_op_elsewhere(self, step: Step) -> list[LastArrival]:
        """Arrivals of the last completed phase by the same op in the same step of other warps."""
        return [
            last
            for last in self.last_arrivals.values()
            if last.generation == self.state.generation - 1
            and last.step.warp is not step.warp
            and last.step.dyn.op is step.dyn.op
            and last.step.event[1] == step.event[1]
        ]
