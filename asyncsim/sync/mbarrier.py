"""The mbarrier: pending arrivals, transaction bytes, and an integer generation.

Inside, ``generation`` counts the completed phases; outside, a wait sees one parity bit. The
difference between the two is the aliasing bug. PTX ISA, mbarrier: contents, phase, tx-count.
"""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.rules import Rule

TX_LIMIT = (1 << 20) - 1
COUNT_LIMIT = (1 << 20) - 1
NO_COMPLETE = "arrive.noComplete may be what completes the phase, which is undefined"


class SyncFault(Exception):
    """An operation that the hardware leaves undefined, named by the rule it breaks."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__(message)
        self.rule, self.message = rule, message


@dataclass(frozen=True, slots=True)
class ArriveState:
    """The *state* that an arrive returns: the phase that it counted in, of one barrier and one of
    its lives (from init to inval)."""

    barrier: MbarrierState
    life: int
    phase: int


class MbarrierState:
    """One mbarrier object. ``generation`` is the number of completed phases since init.

    Every mutating method returns True if it completed the current phase. ``skipped``: phases that
    a reader has passed over without executing them; they show in the parity alone.
    """

    __slots__ = (
        "count",
        "generation",
        "initialised",
        "life",
        "next_count",
        "pending",
        "skipped",
        "tx",
    )

    def __init__(self) -> None:
        self.initialised = False
        self.skipped = 0
        self.count = self.next_count = self.pending = self.tx = self.generation = self.life = 0

    def init(self, count: int) -> None:
        """mbarrier.init: phase 0 begins, ``count`` arrivals pending, no bytes (PTX rule: count
        1..2^20-1; init of a live object is undefined)."""
        if not 1 <= count <= COUNT_LIMIT:
            raise SyncFault(Rule.ARRIVAL_OVERFLOW, f"init with count {count}; 1..{COUNT_LIMIT}")
        if self.initialised:
            raise SyncFault(Rule.REINIT_WITHOUT_INVAL, "init of a live mbarrier")
        self.initialised = True
        self.life += 1
        self.count = self.next_count = self.pending = count
        self.tx = self.generation = self.skipped = 0

    def inval(self) -> None:
        """mbarrier.inval: only init is valid afterwards."""
        self._live("inval")
        self.initialised = False

    def arrive(self, count: int = 1, *, no_complete: bool = False) -> bool:
        """Count ``count`` arrivals; ``no_complete``: they must leave something to wait for."""
        self._live("arrive")
        if count > self.pending:
            raise SyncFault(
                Rule.ARRIVAL_OVERFLOW,
                f"{count} arrivals where {self.pending} of {self.count} are pending",
            )
        self.pending -= count
        if no_complete and not (self.pending or self.tx):
            raise SyncFault(Rule.EARLY_COMPLETION, NO_COMPLETE)
        return self._complete()

    def arrive_drop(self, count: int = 1, *, no_complete: bool = False) -> bool:
        """Arrive, and expect ``count`` fewer arrivals in all later phases."""
        self._live("arrive_drop")
        if count > self.next_count:
            raise SyncFault(Rule.ARRIVAL_OVERFLOW, "arrive_drop below an expected count of 0")
        self.next_count -= count
        return self.arrive(count, no_complete=no_complete)

    def add_pending(self, count: int = 1) -> None:
        """cp.async.mbarrier.arrive without noinc: one more arrival is needed in this phase."""
        self._live("cp.async.mbarrier.arrive")
        if self.pending + count > COUNT_LIMIT:
            raise SyncFault(Rule.ARRIVAL_OVERFLOW, f"pending count over {COUNT_LIMIT}")
        self.pending += count

    def expect_tx(self, amount: int) -> None:
        """Announce bytes. Never completes a phase by itself while an arrival is pending."""
        self._live("expect_tx")
        if amount < 0:
            raise SyncFault(Rule.TX_RANGE, f"{amount} bytes announced; 0..{TX_LIMIT}")
        self._move_tx(amount)

    def arrive_expect_tx(self, amount: int) -> bool:
        """Announce bytes, then arrive once, as one operation."""
        self.expect_tx(amount)
        return self.arrive()

    def complete_tx(self, amount: int) -> bool:
        """Bytes have landed; the transaction count may be negative for a while."""
        self._live("complete_tx")
        self._move_tx(-amount)
        return self._complete()

    def passes(self, parity: int) -> bool:
        """Whether a wait on ``parity`` passes: the phase before the current one has that parity.

        A fresh barrier passes parity 1 and blocks parity 0.
        """
        self._live("wait")
        return ((self.generation + self.skipped) & 1) != parity

    def arrive_state(self) -> ArriveState:
        """The state that an arrive returns if it is executed now."""
        return ArriveState(self, self.life, self.generation)

    def passes_state(self, *held: ArriveState | None) -> bool:
        """Whether a wait passes by the states of the lanes that wait together (None: no arrive has
        written it yet); the latest phase decides.

        A state may be tested until the phase after its own completes (PTX ISA, test_wait).
        """
        self._live("wait")
        phases = [self._phase_of(state) for state in held]
        late = self.generation - max(phases)
        if late > 1:
            raise SyncFault(
                Rule.LAPPED_WAITER,
                f"the state is of phase {max(phases)}, and {late} phases have completed since: "
                "it may be tested until the next one does",
            )
        return late == 1

    def _phase_of(self, held: ArriveState | None) -> int:
        if held is None:
            raise SyncFault(Rule.FOREIGN_STATE, "no arrive has written the state that is tested")
        if held.barrier is not self:
            raise SyncFault(
                Rule.FOREIGN_STATE, "the state that is tested comes from another mbarrier"
            )
        if held.life != self.life:
            raise SyncFault(
                Rule.FOREIGN_STATE, "the state that is tested is older than the last inval"
            )
        return held.phase

    def _move_tx(self, amount: int) -> None:
        self.tx += amount
        if abs(self.tx) > TX_LIMIT:
            raise SyncFault(Rule.TX_RANGE, f"transaction count {self.tx} out of +-{TX_LIMIT}")

    def _complete(self) -> bool:
        if self.pending or self.tx:
            return False
        self.generation += 1
        self.count = self.pending = self.next_count
        return True

    def _live(self, what: str) -> None:
        if not self.initialised:
            raise SyncFault(Rule.USE_BEFORE_INIT, f"{what} on an mbarrier that is not initialised")
