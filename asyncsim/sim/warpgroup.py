"""The wgmma side of a warpgroup: instructions start when all its warps have issued them.

The warps of a warpgroup may be several agents (slots). Each runs through the same sequence of
collective instructions; the last one to issue hands the instruction to the tensor core.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from asyncsim.sim.path import WGMMA_TAIL, Cause, after

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import Cta
    from asyncsim.sim.role import Agent
    from asyncsim.sim.steps import Step

HISTORY = 64  # instructions and groups that are remembered; more than any queue depth or wait N


class _Issue:
    """A collective instruction that some slots have still to issue. ``step`` None: a commit."""

    __slots__ = ("cause", "left", "step", "time")

    def __init__(self, left: int, time: int, cause: Cause, step: Step | None) -> None:
        self.left, self.time, self.cause, self.step = left, time, cause, step


class Warpgroup:
    """State of one warpgroup. ``issued``, ``commits`` and ``waited`` (groups) count by slot,
    ``ended`` and ``closed`` count the instructions and groups whose end is known."""

    __slots__ = (
        "_commits",
        "_ends",
        "_first",
        "_groups",
        "_in_queue",
        "_last",
        "_pending",
        "_position",
        "_retired",
        "_slots",
        "_work",
        "closed",
        "commits",
        "cta",
        "ended",
        "issued",
        "key",
        "parked",
        "queue_depth",
        "waited",
    )

    def __init__(self, cta: Cta, slots: int, key: int, queue_depth: int) -> None:
        self.cta, self.key, self.queue_depth = cta, key, queue_depth
        self.issued, self.commits, self.waited = [0] * slots, [0] * slots, [0] * slots
        self.ended = self.closed = 0
        self.parked: list[Agent] = []
        self._slots = slots
        self._position = [0] * slots  # of each slot in the sequence
        self._pending: deque[_Issue] = deque()
        self._first = 0  # index of the first pending in the sequence
        self._ends: deque[tuple[int, Cause]] = deque(maxlen=HISTORY)
        self._last: tuple[int, Cause] | None = None  # drain of the last instruction
        self._in_queue = 0  # posted to a shared tensor core, not served yet
        self._commits: deque[tuple[int, int, Cause]] = deque()  # (instructions before, ...)
        self._groups: deque[tuple[int, Cause]] = deque()  # done, of groups _retired .. closed-1
        self._retired = 0
        # Of each slot: tensor-core ticks since its last commit, and of its groups in flight.
        self._work: list[deque[int]] = [deque([0]) for _ in range(slots)]

    def state(self) -> tuple[list[object], list[int]]:
        """What decides what follows, and its ticks. Indices count from those known last."""
        told: list[object] = [
            [issued - self.ended for issued in self.issued],
            [of - self.closed for of in (*self.commits, *self.waited)],
            [at - self._first for at in self._position],
            [(issue.left, issue.step) for issue in self._pending],
            [before - self.ended for before, _, _ in self._commits],
            [tuple(work) for work in self._work],
            self._last is None,
            self._in_queue,
        ]
        ends = list(self._ends)[-self.queue_depth :]
        groups = list(self._groups)[max(0, min(self.waited) - self._retired) :]
        last = [self._last] if self._last else []
        ticks = [issue.time for issue in self._pending]
        ticks += [time for _, time, _ in self._commits]
        ticks += [time for time, _ in (*ends, *groups, *last)]
        return told, ticks

    def in_flight(self, slot: int) -> int:
        """Ticks of the tensor core for what a slot has issued and not waited for, with the share
        of the other warpgroups of the SM: they take turns."""
        return sum(self._work[slot]) * self.cta.sm.warpgroups

    def covered(self, slot: int, left: int) -> None:
        """A slot has waited until at most ``left`` groups are in flight."""
        work = self._work[slot]
        while len(work) > left + 1:
            work.popleft()

    def issue(self, a: Agent, step: Step | None) -> None:
        """A slot executes its next collective instruction at its local time."""
        slot = a.slot
        if step is None:
            self._work[slot].append(0)
        else:
            self._work[slot][-1] += step.work[0]
        if self._slots == 1:
            self._hand_over(a.t, a.cause(), step)
            return
        pending, position = self._pending, self._position[slot]
        at = position - self._first
        self._position[slot] = position + 1
        if at == len(pending):
            pending.append(_Issue(self._slots - 1, a.t, a.cause(), step))
            return
        entry = pending[at]
        entry.left -= 1
        if a.t >= entry.time:
            entry.time, entry.cause = a.t, a.cause()
        while pending and pending[0].left == 0:
            first = pending.popleft()
            self._first += 1
            self._hand_over(first.time, first.cause, first.step)

    def _hand_over(self, time: int, cause: Cause, step: Step | None) -> None:
        sm = self.cta.sm
        if step is not None:
            if sm.tensor_shared and not sm.model.strict:
                self._in_queue += 1
                sm.model.clock.post(time, self.key, self._serve, (time, cause, step))
            else:
                self._finish(time, cause, step)
        elif self._in_queue:
            self._commits.append((self.ended + self._in_queue, time, cause))
        else:
            self._close(time, cause)

    def _serve(self, request: tuple[int, Cause, Step]) -> None:
        self._in_queue -= 1
        self._finish(*request)
        while self._commits and self._commits[0][0] <= self.ended:
            _, time, cause = self._commits.popleft()
            self._close(time, cause)
        model = self.cta.sm.model
        if model.ready:
            model.drain()

    def _finish(self, time: int, cause: Cause, step: Step) -> None:
        """The tensor core takes the instruction: first come, first served."""
        sm = self.cta.sm
        work, tail = step.work
        start, end, _ = sm.tensor.serve(time, work, cause)
        link = sm.tensor.last
        assert link is not None
        sm.operand_bytes, sm.operand_ticks = step.amount, work
        sm.operands_in_registers = step.in_registers
        if sm.rec is not None:
            sm.rec.engine(sm, "tensor", step.name, start, end)
        self._ends.append((end, link))
        self.ended += 1
        self._last = (end + tail, after(link, end + tail, WGMMA_TAIL))
        self._wake()

    def _close(self, time: int, cause: Cause) -> None:
        """A group is complete when the last instruction so far has drained."""
        self._groups.append(self._last or (time, cause))
        self.closed += 1
        self._wake()

    def _wake(self) -> None:
        if self.parked:
            parked, self.parked = self.parked, []
            for a in parked:
                a.held = a.blocked
                a.resume()

    def end_of(self, instruction: int) -> tuple[int, Cause] | None:
        """When an instruction left the tensor core; None when that is not known yet."""
        if instruction >= self.ended:
            return None
        return self._ends[instruction - self.ended]

    def group_done(self, group: int) -> tuple[int, Cause]:
        """When a closed group has completed, and why then."""
        return self._groups[group - self._retired]

    def known(self, slot: int) -> list[tuple[int, int | None]]:
        """(index, done) of the groups that a slot has committed and not waited for."""
        return [
            (g, self.group_done(g)[0] if g < self.closed else None)
            for g in range(self.waited[slot], self.commits[slot])
        ]

    def retire(self) -> None:
        """Forget groups that no wait can name any more."""
        if len(self._groups) > 2 * HISTORY and min(self.commits) - self._retired > 2 * HISTORY:
            for _ in range(HISTORY):
                self._groups.popleft()
            self._retired += HISTORY
