"""mbarriers of the reference execution: generations, their clocks, and conditions A to F.

The field of an mbarrier in a clock holds 0 before its init is known, then 1 plus the number of
completed phases known. So "C(b, g) is known" reads: the field is at least g + 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from asyncsim.check.balance import Counted, Kind, premature
from asyncsim.check.clock import FIELD_MASK, ClockLayout, Section
from asyncsim.check.counting import Arrival, Counting, Wait, wait_key
from asyncsim.check.model import Agent, Breach, Chain, Condition, Fault, Step
from asyncsim.rules import Rule
from asyncsim.stream.dyn import BarrierKey
from asyncsim.sync import MbarrierState
from asyncsim.sync.mbarrier import TX_LIMIT

HISTORY = 32  # completed generations whose counted ops are kept, for plus edges


class Barrier:
    """One mbarrier: its state machine and the clocks of its open and last phases."""

    __slots__ = (
        "comp",
        "completed_by",
        "counted",
        "counted_epochs",
        "expected",
        "gather",
        "history",
        "init",
        "key",
        "landed",
        "landings",
        "last_arrivals",
        "last_landing",
        "observed",
        "released",
        "state",
        "tx_bytes",
        "uncounted_expects",
        "wait_epochs",
        "waiters",
        "waits",
    )

    def __init__(self, key: BarrierKey, comp: int) -> None:
        self.key, self.comp = key, comp
        self.state = MbarrierState()
        self.init: Step | None = None
        self.gather = 0  # joined clocks of what the open phase has counted
        self.released = 0  # what the last completed phase makes known
        self.counted: list[Counted] = []
        self.counted_epochs = 0
        self.landings = 0
        self.uncounted_expects = False  # an expect of the open phase that is not an arrival
        self.tx_bytes = 0
        self.wait_epochs = 0  # ends of the waits that observed the last completed phase
        self.waits: list[tuple[Chain, Step]] = []
        self.waiters: list[Agent] = []
        self.history: deque[tuple[int, bool]] = deque(maxlen=HISTORY)
        self.completed_by: deque[Step] = deque(maxlen=3)  # the op that completed each last phase
        self.observed = -1  # the latest generation that a wait has observed
        self.last_landing: tuple[int, Step] | None = None
        self.last_arrivals: dict[int, int] = {}  # warp: the generation of its last arrival
        self.expected = self.landed = 0


class Barriers:
    """The mbarriers of one CTA."""

    def __init__(
        self,
        layout: ClockLayout,
        breach: Callable[[Breach], None],
        fault: Callable[[Fault], None],
        wake: Callable[[list[Agent]], None],
        *,
        chain_phases: bool,
        counting: Counting | None = None,
        everything: Callable[[], int],
    ) -> None:
        self._counting, self._everything = counting, everything
        self._layout, self._breach, self._fault, self._wake = layout, breach, fault, wake
        self._chain_phases = chain_phases
        self._control = layout.guards[Section.CONTROL]
        self._control_mask = layout.masks[Section.CONTROL]
        self.by_key: dict[BarrierKey, Barrier] = {}

    def init(self, b: Barrier, count: int, step: Step, chains: tuple[Chain, ...]) -> None:
        b.state.init(count)
        b.init = step
        for chain in chains:
            chain.now(step.pos)
            chain.clock = self._layout.join(chain.clock, self._known(b, 1))
            chain.initialised.append(b.comp)

    def inval(self, b: Barrier) -> None:
        b.state.inval()

    def arrive(self, b: Barrier, chain: Chain, step: Step, count: int, tx: int = 0) -> None:
        """``count`` arrivals by an observer; ``tx`` bytes are announced first, as one op."""
        if not self._counted(b):
            self._in_phase(b, chain, step, arrival=True)
        clock = chain.publish(step.pos)
        if self._counted(b):
            self._count_arrival(b, chain, step, count, clock)
            return
        if tx:
            self._announce(b, step, tx)
        generation = b.state.generation
        b.last_arrivals[step.warp.index] = generation
        epoch = (step.pos + 1) << chain.shift_control
        self._count(b, Counted(Kind.ARRIVAL, clock, epoch, tx, step), clock, epoch)
        if b.state.arrive(count):
            self._completed(b, step)

    def expect(self, b: Barrier, chain: Chain, step: Step, tx: int) -> None:
        """expect_tx alone: relaxed, it orders phases and no data."""
        self._in_phase(b, chain, step, arrival=False)
        clock = chain.publish(step.pos)
        if not tx:
            b.state.expect_tx(0)
            return
        self._announce(b, step, tx)
        b.uncounted_expects = True
        epoch = (step.pos + 1) << chain.shift_control
        counted = Counted(Kind.EXPECT, clock, epoch, tx, step)
        self._count(b, counted, clock & self._control_mask, epoch)

    def land(self, b: Barrier, clock: int, step: Step, tx: int) -> int:
        """A copy issued at ``clock`` lands: the epoch after which its bytes are known."""
        if not b.state.initialised:
            b.state.complete_tx(tx)  # raises
        self._require(b, clock, b.state.generation + 1, step, Condition.A)
        b.landed += tx
        b.landings += 1
        generation = b.state.generation
        b.last_landing = generation, step
        control = clock & self._control_mask
        self._count(b, Counted(Kind.LANDING, clock, 0, tx, step), control, 0)
        if b.state.complete_tx(tx):
            self._completed(b, step)
        return (generation + 2) << self._layout.shift(Section.MEMORY, b.comp)

    def wait(self, b: Barrier, chains: tuple[Chain, ...], step: Step, parity: int) -> bool:
        """Try to pass; False while it blocks."""
        state = b.state
        if not state.passes(parity):
            for chain in chains:
                self._require(b, chain.now(step.pos), 1, step, Condition.F)
            return False
        observed = state.generation - 1
        b.observed = max(b.observed, observed)
        for chain in chains:
            seen = self._layout.at(chain.clock, Section.CONTROL, b.comp) >= observed + 2
            waits = chain.phase_waits.setdefault(b.key, deque(maxlen=16))
            waits.append((step, seen))
        if self._counted(b):
            self._count_wait(b, chains, step, observed)
            return True
        for chain in chains:
            clock = chain.now(step.pos)
            if observed >= 0:
                start = self._infer(b, clock, observed + 1)
                self._require(b, start, observed + 1, step, Condition.D)
                chain.clock = self._layout.join(start, b.released)
            else:
                self._require(b, clock, 1, step, Condition.F)
            epoch = (step.pos + 1) << chain.shift_control
            b.wait_epochs = self._layout.join(b.wait_epochs, epoch)
            b.waits.append((chain, step))
        return True

    def knows_init(self, b: Barrier, clock: int, step: Step) -> None:
        """Condition F for an op that will count later (the issue of a copy)."""
        if not b.state.initialised:
            b.state.passes(0)  # raises
        self._require(b, clock, 1, step, Condition.F)

    def leftovers(self, b: Barrier) -> Breach | None:
        """Condition B and E on the last phase, which never completed."""
        if not b.state.initialised or b.state.pending or not b.counted:
            return None
        if b.state.tx < 0 or premature(b.counted, self._covers_control):
            step = b.counted[-1].step
            return self._make(b, Condition.B, b.state.generation, step, None)
        return None

    # -- by counting ---------------------------------------------------------------------------

    def _counted(self, b: Barrier) -> bool:
        return self._counting is not None and b.key in self._counting.keys

    def _count_arrival(self, b: Barrier, chain: Chain, step: Step, count: int, clock: int) -> None:
        assert self._counting is not None
        if b.state.initialised:
            self._require(b, clock, 1, step, Condition.F)
        arrivals = self._counting.log.arrivals.setdefault(b.key, [])
        arrivals.append(Arrival(chain, step, clock, count))
        if b.state.arrive(count):
            waiters, b.waiters = b.waiters, []
            self._wake(waiters)

    def _count_wait(self, b: Barrier, chains: tuple[Chain, ...], step: Step, observed: int) -> None:
        assert self._counting is not None
        must = self._counting.must
        waits = self._counting.log.waits.setdefault(b.key, [])
        for chain in chains:
            start = chain.now(step.pos)
            self._require(b, start, 1, step, Condition.F)
            known = self._layout.at(start, Section.CONTROL, b.comp)
            waits.append(Wait(chain, step, start, observed, known))
            learned = self._everything() if must is None else must.get(wait_key(chain, step), 0)
            if observed >= 0:
                learned = self._layout.join(learned, self._known(b, observed + 2))
                chain.clock = self._layout.join(start, learned)

    # -- phases --------------------------------------------------------------------------------

    def _known(self, b: Barrier, value: int) -> int:
        """The clock that says: ``value`` of this barrier is known (control and memory)."""
        field = value << self._layout.shift(Section.CONTROL, b.comp)
        return field | (field << self._layout.width)

    def _announce(self, b: Barrier, step: Step, tx: int) -> None:
        b.expected += tx
        b.tx_bytes += tx
        if b.tx_bytes > TX_LIMIT:
            message = f"{b.tx_bytes} bytes are announced on {b.key} in one phase; {TX_LIMIT} fit"
            self._fault(Fault(rule=Rule.TX_RANGE, message=message, step=step, name=b.key.name))
        b.state.expect_tx(tx)

    def _count(self, b: Barrier, counted: Counted, clock: int, epoch: int) -> None:
        b.counted.append(counted)
        b.gather = self._layout.join(b.gather, clock)
        b.counted_epochs = self._layout.join(b.counted_epochs, epoch)

    def _in_phase(self, b: Barrier, chain: Chain, step: Step, *, arrival: bool) -> None:
        """Conditions A and F, and rule 11, for an op that counts in the open phase."""
        if not b.state.initialised:
            return  # the state machine raises
        need = b.state.generation + 1
        clock = chain.now(step.pos)
        comp = self._layout.shift(Section.CONTROL, b.comp)
        if (clock >> comp) & FIELD_MASK >= need:
            return
        inferred = self._infer(b, clock, need)
        self._require(b, inferred, need, step, Condition.A)
        if (inferred >> comp) & FIELD_MASK >= need:
            chain.clock = self._layout.join(chain.clock, inferred & self._control_mask)
            if arrival and need >= 2:
                message = (
                    f"arrives on phase {need - 1} of {b.key} although nobody has observed the "
                    "phase before"
                )
                self._fault(
                    Fault(
                        rule=Rule.UNCONSUMED_PHASE,
                        message=message,
                        step=step,
                        name=b.key.name,
                        warning=True,
                    )
                )

    def _infer(self, b: Barrier, clock: int, need: int) -> int:
        """Plus edges: a phase whose counted ops all precede is complete."""
        at = self._layout.shift(Section.CONTROL, b.comp)
        value = (clock >> at) & FIELD_MASK
        done = b.state.generation + 1
        while 1 <= value < need:
            i = len(b.history) - (done - value)  # history ends with generation done - 2
            if i < 0 or i >= len(b.history):
                break
            epochs, landed = b.history[i]
            if landed or not self._layout.covers(clock, epochs, self._control):
                break
            clock += 1 << at
            value += 1
        return clock

    def _require(self, b: Barrier, clock: int, need: int, step: Step, condition: Condition) -> None:
        known = self._layout.at(clock, Section.CONTROL, b.comp)
        if known >= need:
            return
        if known == 0:
            self._breach(self._make(b, Condition.F, b.state.generation, step, b.init))
            return
        last = b.waits[-1][1] if b.waits else None
        if condition is Condition.D:  # the phase before the one that the wait observed
            last = b.completed_by[-2] if len(b.completed_by) > 1 else None
        self._breach(self._make(b, condition, b.state.generation - 1, step, last))

    def _completed(self, b: Barrier, step: Step) -> None:
        generation = b.state.generation - 1
        if not self._layout.covers(b.gather, b.wait_epochs, self._control):
            self._lapped(b, generation, step)
        if b.uncounted_expects and premature(b.counted, self._covers_control):
            self._breach(self._make(b, Condition.E, generation, step, b.counted[0].step))
        b.completed_by.append(step)
        known = self._known(b, generation + 2)
        before = b.released if self._chain_phases else 0
        b.released = self._layout.join(self._layout.join(b.gather, known), before)
        b.history.append((b.counted_epochs, b.landings > 0))
        b.gather = b.counted_epochs = b.wait_epochs = b.landings = b.tx_bytes = 0
        b.uncounted_expects = False
        b.counted, b.waits = [], []
        waiters, b.waiters = b.waiters, []
        self._wake(waiters)

    def _lapped(self, b: Barrier, generation: int, step: Step) -> None:
        """Condition C: some wait on the previous phase is not ordered before this completion."""
        for chain, wait in b.waits:
            epoch = (wait.pos + 1) << chain.shift_control
            if not self._layout.covers(b.gather, epoch, self._control):
                self._breach(self._make(b, Condition.C, generation, wait, step))

    def _covers_control(self, clock: int, epoch: int) -> bool:
        return self._layout.covers(clock, epoch, self._control)

    def _make(
        self, b: Barrier, condition: Condition, generation: int, step: Step, other: Step | None
    ) -> Breach:
        return Breach(
            condition=condition,
            barrier=str(b.key),
            array=b.key.name,
            generation=generation,
            step=step,
            other=other,
        )
