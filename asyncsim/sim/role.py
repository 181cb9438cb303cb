"""Agents: warps (one, or several alike) that execute a stream of steps in local time.

``advance`` runs until the agent is blocked. With a certificate it runs ahead of the engine: barrier
effects carry time stamps, only requests to order-sensitive resources become events. Without one
it re-joins the engine before every step, so that all effects happen in time order. State lives
in the object, so that it can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncsim.sim import do_compute
from asyncsim.sim.beside import WHOLE
from asyncsim.sim.do_matrix import Scoreboard, waits
from asyncsim.sim.path import SYNC, Cause, after
from asyncsim.sim.steps import Run, StateKey, Step
from asyncsim.sync import ArriveState, GroupQueue

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import Cta, Model
    from asyncsim.sim.tracing import Recorder
    from asyncsim.sim.warpgroup import Warpgroup
    from asyncsim.sim.warps import WarpClass


class Agent:
    """One warp class of one CTA. ``t`` is its local time; ``key`` breaks ties."""

    __slots__ = (
        "aside",
        "at",
        "block",
        "blocked",
        "bulk",
        "comp",
        "comp_label",
        "copies",
        "copies_cause",
        "copies_landing",
        "cp",
        "cta",
        "deferred",
        "done",
        "held",
        "index",
        "indices",
        "issue_label",
        "key",
        "left",
        "loads_free",
        "model",
        "peeks",
        "read",
        "rec",
        "scoreboard",
        "seg_cause",
        "seg_t",
        "slot",
        "stall_total",
        "stalled",
        "stalls",
        "states",
        "stream",
        "sync",
        "t",
        "tensor_done",
        "tmem_done",
        "tmem_free",
        "warpgroup",
        "warps",
    )

    def __init__(
        self,
        model: Model,
        cta: Cta,
        index: int,
        key: int,
    ) -> None:
        warps = model.classes[index]
        self.model: Model = model
        self.cta: Cta = cta
        self.warps: WarpClass = warps
        self.index: int = index
        self.key: int = key
        self.stream: Iterator[tuple[Step, ...]] = iter(())
        self.block: tuple[Step, ...] = ()  # of the stream, and the step in it that comes next
        self.at: int = 0
        self.read: int = 0  # blocks taken from the stream
        self.held: Step | None = None  # to be executed next: it was put off
        self.blocked: Step | None = None  # being executed, or what the agent is parked at
        self.indices: tuple[int, ...] = ()
        self.done: bool = False
        self.left = WHOLE  # of a computation that is served in parts
        self.deferred: Step | None = None  # a compute whose register arithmetic is put off
        self.t: int = cta.start
        self.seg_t: int = cta.start
        self.seg_cause: Cause = cta.cause
        self.sync: int = 0
        self.comp: int = 0
        self.issue_label: str = f"issue of {warps.role}"
        self.comp_label: str = f"compute of {warps.role}"
        self.stalls: dict[int, list[int]] = model.stalls[index]
        self.stalled: int = 0
        self.stall_total: int = 0
        self.states: dict[StateKey, ArriveState] = {}  # what its arrives returned
        self.peeks: dict[str, int] = {}  # when it last peeked, by token
        self.cp: GroupQueue = GroupQueue()
        self.bulk: GroupQueue = GroupQueue()
        self.copies: list[tuple[int, Step]] = []  # cp.async since the last commit, with times
        self.copies_cause: Cause = cta.cause
        self.copies_landing: tuple[int, Cause] | None = None  # of the last that were sent
        # Of tcgen05: when all that it has issued is complete; loads and stores of tensor memory.
        self.tensor_done: tuple[int, Cause] = (0, cta.cause)
        self.tmem_done: list[tuple[int, Cause]] = [(0, cta.cause), (0, cta.cause)]
        self.tmem_free: int = 0
        self.scoreboard: Scoreboard = Scoreboard()
        self.loads_free: int = 0  # when its next ldmatrix may begin
        self.aside: int = 0  # ticks that its next product takes for what was issued before it
        self.warpgroup: Warpgroup | None = None
        self.slot: int = 0
        self.rec: Recorder | None = None

    def advance(self, _arg: object = None) -> None:
        """Execute steps until the agent is parked or at its end."""
        model, rec = self.model, self.rec
        strict, clock = model.strict, model.clock
        while True:
            if strict and self.t > clock.now:
                clock.post(self.t, self.key, self.advance, None)
                return
            step = self.held
            if step is None:
                if rec is not None:
                    rec.finished(self)
                if self.at == len(self.block) and not self.more():
                    if self.deferred is not None:
                        if self.settle():
                            continue
                        return
                    self.cta.ended(self)
                    return
                step = self.block[self.at]
                self.at += 1
                if step.turn:
                    self.t += step.turn
                    if strict:
                        self.held = step
                        continue
            else:
                self.held = None
            if self.deferred is not None and not step.light:
                self.held = step
                if self.settle():
                    continue
                return
            if step.reads and waits(self, step) and strict:
                self.held = step
                continue
            if rec is not None:
                rec.begins(self, step)
            self.blocked = step
            if not step.run(self, step):
                return

    def further(self, run: Run) -> Step | None:
        """The next step, if ``run`` executes it as well, right after the one before."""
        if self.at == len(self.block) and not self.more():
            return None
        step = self.block[self.at]
        if step.run is not run or step.turn:
            return None
        self.at += 1
        return step

    def more(self) -> bool:
        """Take the next steps from the stream; False at its end."""
        for block in self.stream:
            self.read += 1
            self.block, self.at = block, 0
            if block:
                return True
        return False

    def settle(self) -> bool:
        """Finish the register arithmetic that was put off behind arrives and fences."""
        step, self.deferred = self.deferred, None
        assert step is not None
        self.blocked = step
        if self.rec is not None:
            self.rec.begins(self, step)
        return do_compute.arithmetic(self, step)

    # -- time and causes -----------------------------------------------------------------------

    def cause(self) -> Cause:
        """Why the agent is at its local time: its segment since it was last enabled, closed."""
        t = self.t
        link, at = self.seg_cause, self.seg_t
        if t == at:
            return link
        if not self.sync and not self.comp:
            self.seg_cause, self.seg_t = after(link, t, self.issue_label), t
            return self.seg_cause
        if self.sync:
            at = min(t, at + self.sync)
            link = after(link, at, SYNC)
            self.sync = 0
        if self.comp:
            at = min(t, at + self.comp)
            link = after(link, at, self.comp_label)
            self.comp = 0
        if at < t:
            link = after(link, t, self.issue_label)
        self.seg_cause, self.seg_t = link, t
        return link

    def enabled(self, step: Step, time: int, cause: Cause) -> None:
        """The agent could not go on before ``time``, because of ``cause``: a stall."""
        self.stall(step, time - self.t)
        self.t = time
        self.seg_cause = after(cause, time, SYNC)
        self.seg_t = time
        self.sync = self.comp = 0

    def stall(self, step: Step, ticks: int) -> None:
        entry = self.stalls.get(step.op_id)
        if entry is None:
            entry = self.stalls[step.op_id] = [0, 0]
        entry[0] += ticks
        entry[1] += 1
        self.stalled += ticks
        self.stall_total += ticks

    # -- resuming ------------------------------------------------------------------------------

    def resume(self) -> None:
        """Go on after a blocking step: at once when running ahead, else at its own time."""
        if self.model.strict:
            clock = self.model.clock
            clock.post(max(self.t, clock.now), self.key, self.advance, None)
        else:
            self.model.ready.append(self)


def noted(a: Agent, events: Iterator[tuple[Step, tuple[int, ...]]]) -> Iterator[tuple[Step]]:
    """The steps of a stream one by one, whose loop indices the agent remembers for the trace."""
    for step, a.indices in events:
        yield (step,)
