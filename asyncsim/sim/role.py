"""Agents: warps (one, or several alike) that execute a stream of steps in local time.

``advance`` runs until the agent is blocked. With a certificate it runs ahead of the engine: barrier
effects carry time stamps, only requests to order-sensitive resources become events. Without one
it re-joins the engine before every step, so that all effects happen in time order. State lives
in the object, so that it can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncsim.sim.path import SYNC, Cause, after
from asyncsim.sim.steps import Step
from asyncsim.sync import GroupQueue

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import Cta, Model
    from asyncsim.sim.tracing import Recorder
    from asyncsim.sim.warpgroup import Warpgroup
    from asyncsim.sim.warps import WarpClass

Event = tuple[Step, tuple[int, ...]]


class Agent:
    """One warp class of one CTA. ``t`` is its local time; ``key`` breaks ties."""

    __slots__ = (
        "ahead",
        "blocked",
        "bulk",
        "comp",
        "comp_label",
        "copies",
        "copies_cause",
        "cp",
        "cta",
        "done",
        "held",
        "indices",
        "issue_label",
        "key",
        "model",
        "rec",
        "seg_cause",
        "seg_t",
        "slot",
        "stall_total",
        "stalled",
        "stalls",
        "start",
        "stream",
        "sync",
        "t",
        "warpgroup",
        "warps",
    )

    def __init__(
        self,
        model: Model,
        cta: Cta,
        warps: WarpClass,
        key: int,
        stalls: dict[int, list[int]],
    ) -> None:
        self.model, self.cta, self.warps, self.key = model, cta, warps, key
        self.stream: Iterator[Event] = iter(())
        self.held: Step | None = None
        self.ahead: Event | None = None
        self.blocked: Step | None = None
        self.indices: tuple[int, ...] = ()
        self.t = self.start = cta.start
        self.seg_t, self.seg_cause = cta.start, cta.cause
        self.sync = self.comp = 0
        self.done = False
        self.issue_label, self.comp_label = f"issue of {warps.role}", f"compute of {warps.role}"
        self.stalls, self.stalled, self.stall_total = stalls, 0, 0
        self.cp, self.bulk = GroupQueue(), GroupQueue()
        self.copies: list[tuple[int, Step]] = []  # cp.async since the last commit, with times
        self.copies_cause = cta.cause
        self.warpgroup: Warpgroup | None = None
        self.slot = 0
        self.rec: Recorder | None = None

    def advance(self, _arg: object = None) -> None:
        """Execute steps until the agent is parked or at its end."""
        model, stream, rec = self.model, self.stream, self.rec
        strict, clock = model.strict, model.clock
        while True:
            if strict and self.t > clock.now:
                clock.post(self.t, self.key, self.advance, None)
                return
            step = self.held
            if step is None:
                if rec is not None:
                    rec.finished(self)
                item = self.ahead
                if item is None:
                    item = next(stream, None)
                    if item is None:
                        self.cta.ended(self)
                        return
                else:
                    self.ahead = None
                step, self.indices = item
                if step.turn:
                    self.t += step.turn
                    if strict:
                        self.held = step
                        continue
                if rec is not None:
                    rec.begins(self, step)
            else:
                self.held = None
                if rec is not None:
                    rec.begins(self, step)
            self.blocked = step
            if not step.run(self, step):
                return

    # -- time and causes -----------------------------------------------------------------------

    def cause(self) -> Cause:
        """Why the agent is at its local time: its segment since it was last enabled, closed."""
        t = self.t
        link, at = self.seg_cause, self.seg_t
        if t == at:
            return link
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
