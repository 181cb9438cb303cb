"""mbarriers of the reference execution: generations, their clocks, and conditions A to F."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from asyncsim.check.balance import Counted, Kind, premature, unfollowed
from asyncsim.check.barrier import Barrier, LastArrival
from asyncsim.check.clock import ClockLayout, Section
from asyncsim.check.counting import Arrival, Counting, Wait
from asyncsim.check.model import Agent, Chain, PhaseWait, Step
from asyncsim.check.phases import PhaseClocks, waited
from asyncsim.check.report import Breach, Condition, Fault, Unproven
from asyncsim.check.scopes import acquired, peek_of, released
from asyncsim.rules import Rule
from asyncsim.stream.dyn import BarrierKey
from asyncsim.sync import ArriveState
from asyncsim.sync.mbarrier import NO_COMPLETE, TX_LIMIT

WARP = 32


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
        late: Callable[[Breach], None],
    ) -> None:
        self._late, self._counting, self._everything = late, counting, everything
        self._layout, self._breach, self._fault, self._wake = layout, breach, fault, wake
        self._chain_phases, self.phases = chain_phases, PhaseClocks(layout)
        self._control = layout.guards[Section.CONTROL]
        self._visible = self._control | layout.guards[Section.MEMORY]
        self._control_mask = layout.carried
        self.proves = not chain_phases  # the reference speaks for all executions
        self.by_key: dict[BarrierKey, Barrier] = {}

    def init(self, b: Barrier, count: int, step: Step, chains: tuple[Chain, ...]) -> None:
        ended = b.state.generation
        b.state.init(count)
        if b.init is not None:  # a new life
            for chain in chains:
                if not self._layout.covers(chain.now(step.pos), b.inval_epoch, self._visible):
                    self._breach(b.breach(Condition.F, ended - 1, step, b.init))
            b.base += ended + 1
            b.begin()
        b.init = step
        for chain in chains:
            chain.now(step.pos)
            chain.clock = self._layout.join(chain.clock, self.phases.known(b, 1))
            chain.initialised[b.comp] = b.base + 1

    def inval(self, b: Barrier, step: Step, chains: tuple[Chain, ...]) -> None:
        """Condition F: nothing on the barrier may come after its inval."""
        if b.state.initialised:
            for chain in chains:
                self._ended(b, chain, step)
            left = self.leftovers(b)
            if left is not None:
                self._breach(left)
        b.state.inval()
        b.inval_epoch = 0
        for chain in chains:
            own = step.pos + 1
            b.inval_epoch |= own << chain.shift_control | own << chain.shift_memory

    def _ended(self, b: Barrier, chain: Chain, step: Step) -> None:
        """Every wait's end, every counted op and every landing is before an inval.

        Waits on earlier phases are, by condition C; a landing of the open phase nobody can know.
        """
        clock = self.phases.infer(b, chain.now(step.pos), b.state.generation + 1)
        landings = [last[0] + 2 for last in (b.last_landing, b.last_tracked) if last]
        other = b.waits[-1][1] if b.waits else b.counted[-1].step if b.counted else None
        for waiter_chain, wait in b.waits:
            if not waited(clock, waiter_chain, wait):
                other = wait
        if b.waiters and (event := b.waiters[0].current) is not None:
            blocked = b.waiters[0]
            other = Step(blocked.warp, blocked.who, blocked.pos, event)
        ordered = (
            not b.waiters
            and self.phases.level(b, clock) > b.state.generation
            and self.phases.level(b, clock, Section.MEMORY) >= max(landings, default=0)
            and all(waited(clock, chain, wait) for chain, wait in b.waits)
            and self._layout.covers(clock, b.counted_epochs, self._control)
            and self._layout.covers(clock, b.idle_epochs, self._control)
        )
        if not ordered:
            self._breach(b.breach(Condition.F, b.state.generation - 1, step, other))

    def arrive(self, b: Barrier, chain: Chain, step: Step, count: int, tx: int = 0) -> ArriveState:
        """Each lane of an observer arrives ``count`` times; ``tx`` bytes are announced first.

        The state that the last of them gets (where they part, condition A fails: no proof).
        The lanes arrive one by one: a phase may end between two of them. More arrivals by one
        instruction than a phase takes are an overflow all the same: no phase can be meant.
        """
        fit = b.state.pending // count if b.state.initialised and count > 0 else 0
        kin, lanes = chain.warp.kin, chain.lanes * chain.warp.stands_for
        if kin is not None:
            if fit < lanes:
                raise Unproven  # of warps that do the same, some would arrive in another phase
            kin.met(step.pos, chain.who, b.open_phase())
        if not 0 < fit < lanes or WARP * count > b.state.count:
            state = b.state.arrive_state()
            self._arrive(b, chain, step, count * lanes, tx * lanes)
            return state
        left = chain.lanes
        while left:
            part = max(1, min(left, b.state.pending // count))
            state = b.state.arrive_state()
            self._arrive(b, chain, step, count * part, tx * part)
            left -= part
        return state

    def _arrive(self, b: Barrier, chain: Chain, step: Step, count: int, tx: int) -> None:
        """``count`` arrivals and ``tx`` bytes as one op."""
        if self._counted(b):
            self._count_arrival(b, chain, step, count, chain.publish(step.pos))
            return
        self._in_phase(b, chain, step, arrival=True)
        clock = chain.publish(step.pos)
        if tx:
            self._announce(b, step, tx)
        generation = b.state.generation
        b.last_arrivals[step.warp.index] = LastArrival(generation, step, count)
        epoch = (step.pos + 1) << chain.shift_control
        near, far = released(b, chain, step, clock, self._control_mask)
        b.far = self._layout.join(b.far, far)
        self._count(b, Counted(Kind.ARRIVAL, clock, epoch, tx, step), near, epoch)
        if b.arrive(step, count):
            self._completed(b, step)

    def expect(self, b: Barrier, chain: Chain, step: Step, tx: int) -> None:
        """expect_tx alone: relaxed, it orders phases and no data."""
        self._in_phase(b, chain, step, arrival=False)
        clock = chain.publish(step.pos)
        if not tx:
            b.state.expect_tx(0)
            b.idle_epochs = self._layout.join(b.idle_epochs, (step.pos + 1) << chain.shift_control)
            return
        self._announce(b, step, tx)
        b.uncounted_expects = True
        self._count_relaxed(b, Kind.EXPECT, chain, step, clock, tx)

    def complete(self, b: Barrier, chain: Chain, step: Step, tx: int) -> None:
        """complete_tx by each lane: relaxed, it orders phases and no data."""
        self._in_phase(b, chain, step, arrival=False)
        clock = chain.publish(step.pos)
        for _ in range(chain.lanes if tx else 0):
            b.landed += tx
            b.landings += 1
            self._count_relaxed(b, Kind.LANDING, chain, step, clock, tx)
        if b.state.complete_tx(tx * chain.lanes):
            self._completed(b, step)

    def land(self, b: Barrier, clock: int, step: Step, tx: int) -> int:
        """A copy issued at ``clock`` lands: the epoch after which its bytes are known."""
        if not b.state.initialised:
            b.state.complete_tx(tx)  # raises
        self._require(b, clock, b.state.generation + 1, step, Condition.A)
        b.landed += tx
        b.landings += 1
        generation = b.state.generation
        b.last_landing = generation, step
        self._count(b, Counted(Kind.LANDING, clock, 0, tx, step), clock & self._control_mask, 0)
        if b.state.complete_tx(tx):
            self._completed(b, step)
        return (b.base + generation + 2) << self._layout.shift(Section.MEMORY, b.comp)

    def raise_pending(self, b: Barrier, chain: Chain, step: Step) -> None:
        """Each lane's arrival will need one more in the open phase: that one."""
        self._in_phase(b, chain, step, arrival=False)
        clock = chain.publish(step.pos)
        b.state.add_pending(chain.lanes)
        b.uncounted_expects = True
        self._count_relaxed(b, Kind.RAISE, chain, step, clock, 0)

    def signal(
        self,
        b: Barrier,
        clock: int,
        released: int,
        epoch: int,
        step: Step,
        *,
        count: int = 1,
        kind: Kind = Kind.ARRIVAL,
    ) -> None:
        """``count`` arrivals, one by one, some time after ``clock``, of which ``epoch`` knows (0:
        nothing does)."""
        parts = 0 < b.state.pending < count and b.state.count >= WARP
        while count:
            part = min(count, b.state.pending or count) if parts else count
            self._signal(b, Counted(kind, clock, epoch, 0, step), released, part)
            count -= part

    def _signal(self, b: Barrier, counted: Counted, released: int, count: int) -> None:
        need, step = b.state.generation + 1, counted.step
        if b.state.initialised:
            self._require(b, self.phases.infer(b, counted.clock, need), need, step, Condition.A)
        b.last_arrivals[step.warp.index] = LastArrival(b.state.generation, step, count)
        if not counted.epoch:
            b.landings += 1
            b.last_tracked = b.state.generation, step
        self._count(b, counted, released, counted.epoch)
        if b.state.arrive(count):
            self._completed(b, step)

    def wait(self, b: Barrier, chains: tuple[Chain, ...], step: Step, *, passes: bool) -> bool:
        """A wait by parity or state that ``passes``, or blocks; False while it blocks."""
        if not passes:
            for chain in chains:
                self._require(b, chain.now(step.pos), 1, step, Condition.F)
                peek = peek_of(chain, step)
                if peek is not None and peek.seen and self.proves:
                    # an execution in which the peek fails is another one
                    self._breach(b.breach(Condition.D, b.state.generation - 1, step, None))
            return False
        observed = b.state.generation - 1
        b.observed = max(b.observed, observed)
        counted = self._counted(b)
        kin = step.warp.kin
        for chain in chains:
            if kin is not None:
                kin.met(step.pos, chain.who, b.open_phase())
            clock = chain.now(step.pos)
            level = self.phases.level(b, clock)
            waits = chain.phase_waits.get(b.key)
            if waits is None:
                waits = chain.phase_waits[b.key] = deque(maxlen=16)
            waits.append(PhaseWait(step, observed, level >= observed + 2))
            if counted:
                continue
            peek = peek_of(chain, step)
            if peek is not None:  # the wait begins there: it may have passed
                level = self.phases.level(b, peek.clock)
            if level <= observed or level == 0:
                start = self.phases.infer(
                    b, peek.clock if peek is not None else clock, observed + 1
                )
                self._require(b, start, max(1, observed + 1), step, Condition.D)
                clock = self._layout.join(clock, start)
            if observed >= 0:
                chain.clock = self._layout.join(clock, acquired(self._layout, b, chain, step))
            b.waits.append((chain, step))
        if counted:
            self._count_wait(b, chains, step, observed)
        return True

    def certain(self, b: Barrier, chain: Chain, step: Step) -> bool:
        """Whether a peek that passes does so in every execution."""
        return (
            b.state.initialised and self.phases.level(b, chain.now(step.pos)) > b.state.generation
        )

    def knows_init(self, b: Barrier, clock: int, step: Step) -> None:
        """Condition F for an op that will count later (the issue of a copy)."""
        if not b.state.initialised:
            b.state.passes(0)  # raises
        self._require(b, clock, 1, step, Condition.F)

    def completion(self, b: Barrier) -> int:
        """What whoever knows that the open phase is complete knows."""
        return (b.base + b.state.generation + 2) << self._layout.shift(Section.CONTROL, b.comp)

    def leftovers(self, b: Barrier) -> Breach | None:
        """Condition B and E on the last phase, which never completed."""
        if not b.state.initialised or b.state.pending or not b.counted:
            return None
        if b.state.tx < 0 or premature(b.counted, self.phases.covers):
            step = b.counted[-1].step
            return b.breach(Condition.B, b.state.generation, step, None)
        return None

    def _counted(self, b: Barrier) -> bool:
        return self._counting is not None and b.key in self._counting.counts

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
        waits = self._counting.log.waits.setdefault(b.key, [])
        for chain in chains:
            start = chain.now(step.pos)
            self._require(b, start, 1, step, Condition.F)
            known = self.phases.level(b, start)
            wait = Wait(chain, step, start, observed, known)
            waits.append(wait)
            learned = self._counting.learned(self._layout, b.key, wait, self._everything)
            if observed >= 0:
                learned = self._layout.join(learned, self.phases.known(b, observed + 2))
                chain.clock = self._layout.join(start, learned)

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

    def _count_relaxed(
        self, b: Barrier, kind: Kind, chain: Chain, step: Step, clock: int, tx: int
    ) -> None:
        """Of an op that orders phases and no data."""
        epoch = (step.pos + 1) << chain.shift_control
        self._count(b, Counted(kind, clock, epoch, tx, step), clock & self._control_mask, epoch)

    def _in_phase(self, b: Barrier, chain: Chain, step: Step, *, arrival: bool) -> None:
        """Conditions A and F, and rule 11, for an op that counts in the open phase."""
        if not b.state.initialised:
            return  # the state machine raises
        need = b.state.generation + 1
        clock = chain.now(step.pos)
        if self.phases.level(b, clock) >= need:
            return
        if not arrival and need >= 2:
            other = next((last.step for last in b.last_arrivals.values()), None)
            self._late(b.breach(Condition.E, need - 2, step, other))
        inferred = self.phases.infer(b, clock, need)
        self._require(b, inferred, need, step, Condition.A)
        if self.phases.level(b, inferred) >= need:
            chain.clock = self._layout.join(chain.clock, inferred & self._control_mask)
            if arrival and need >= 2:
                message = (
                    f"arrives on phase {need - 1} of {b.key} although nobody has observed the "
                    "phase before"
                )
                rule, name = Rule.UNCONSUMED_PHASE, b.key.name
                self._fault(Fault(rule=rule, message=message, step=step, name=name, warning=True))

    def _require(self, b: Barrier, clock: int, need: int, step: Step, condition: Condition) -> None:
        known = self.phases.level(b, clock)
        if known >= need:
            return
        if known == 0:
            self._breach(b.breach(Condition.F, b.state.generation, step, b.init))
            return
        twins = b.same_op_elsewhere(step) if condition is Condition.A else []
        if twins and sum(twin.weight for twin in twins) >= b.state.count:
            made = b.breach(condition, b.state.generation - 1, step, twins[0].step)
            self._breach(replace(made, surplus=True))
            return
        last = b.waits[-1][1] if b.waits else None
        if condition is Condition.D:  # the phase before the one that the wait observed
            last = b.completed_by[-2] if len(b.completed_by) > 1 else None
        self._breach(b.breach(condition, b.state.generation - 1, step, last))

    def _completed(self, b: Barrier, step: Step) -> None:
        generation = b.state.generation - 1
        self._lapped(b, generation, step)
        if b.uncounted_expects and premature(b.counted, self.phases.covers):
            self._breach(b.breach(Condition.E, generation, step, b.counted[0].step))
        for c in unfollowed(b.counted, self.phases.covers):
            rule, name = Rule.EARLY_COMPLETION, b.key.name
            self._fault(Fault(rule=rule, message=NO_COMPLETE, step=c.step, name=name))
        b.completed_by.append(step)
        known = self.phases.known(b, generation + 2)
        before = b.released if self._chain_phases else 0
        b.released = self._layout.join(self._layout.join(b.gather, known), before)
        b.released_far = self._layout.join(b.far, b.released_far if self._chain_phases else 0)
        b.history.append((b.counted_epochs, b.landings > 0))
        b.gather = b.far = b.counted_epochs = b.landings = b.tx_bytes = 0
        b.uncounted_expects = False
        b.counted, b.waits = [], []
        waiters, b.waiters = b.waiters, []
        self._wake(waiters)

    def _lapped(self, b: Barrier, generation: int, step: Step) -> None:
        """Condition C: some wait on the previous phase is not ordered before this completion."""
        known = b.gather & self._control_mask
        for chain, wait in b.waits:
            if not waited(known, chain, wait):
                self._breach(b.breach(Condition.C, generation, wait, step))
