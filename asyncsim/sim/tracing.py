"""Records the trace of one simulated SM, bounded in length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.ir.decl import SmemTile
from asyncsim.machine import TICKS_PER_CYCLE
from asyncsim.trace import Counter, Span, SpanKind, Trace

if TYPE_CHECKING:
    from asyncsim.sim.machine_state import Cta, Model, SmState
    from asyncsim.sim.role import Agent
    from asyncsim.sim.steps import Step

LIMIT = 20_000  # spans and counters that are kept
LANDED = 4  # landed groups that a note names

Groups = list[tuple[int, int | None]]
"""(index, tick of completion) of committed groups; None: not known yet."""


class Recorder:
    """Collects spans and counters of one SM. Times become cycles."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._trace = Trace(source="predicted", schedule=model.schedule.name)
        self._begun: dict[int, tuple[Step, int, tuple[int, ...]]] = {}
        self._notes: dict[int, str] = {}
        self._filled: dict[tuple[int, str], tuple[str, float, int]] = {}
        self._generation: dict[tuple[int, str], int] = {}

    def trace(self) -> Trace:
        """The trace, sorted by time."""
        self._trace.spans.sort(key=lambda s: (s.start, s.end, s.track))
        self._trace.counters.sort(key=lambda c: (c.time, c.track))
        return self._trace

    def _keep(self, span: Span) -> None:
        if len(self._trace.spans) < LIMIT:
            self._trace.spans.append(span)
        else:
            self._trace.complete = False

    # -- warps ---------------------------------------------------------------------------------

    def begins(self, a: Agent, step: Step) -> None:
        begun = self._begun.get(a.key)
        if begun is not None and begun[0] is not step:  # put-off arithmetic came in between
            self.finished(a)
            begun = None
        if begun is None:
            self._begun[a.key] = (step, a.t, a.indices)
            a.stalled = 0

    def finished(self, a: Agent) -> None:
        """The agent is done with the step it began: its stall, then the op itself."""
        begun = self._begun.pop(a.key, None)
        if begun is None:
            return
        step, start, indices = begun
        note = self._notes.pop(a.key, "")
        name = type(step.op).__name__
        if step.name:
            name += f" {step.name}"
        for w in a.warps.warps:
            track = f"{a.warps.role}/{w - a.warps.first_of_role}"
            at = a.t - a.stalled if a.stalled else a.t
            common = {
                "sm": a.cta.sm.index,
                "cta": a.cta.number,
                "track": track,
                "op_id": step.op_id,
                "indices": indices,
            }
            if at > start:
                self._keep(
                    Span(
                        name=name,
                        start=_c(start),
                        end=_c(at),
                        kind=SpanKind.OP,
                        note="" if a.stalled else note,
                        **common,  # type: ignore[arg-type]
                    )
                )
            if a.stalled:
                self._keep(
                    Span(
                        name=name,
                        start=_c(max(start, at)),
                        end=_c(a.t),
                        kind=SpanKind.STALL,
                        note=note,
                        **common,  # type: ignore[arg-type]
                    )
                )

    # -- groups --------------------------------------------------------------------------------

    def group_committed(self, a: Agent, kind: str, pending: int) -> None:
        self._count(a, f"{kind} groups of {self._who(a)}", a.t, pending)

    def group_waited(self, a: Agent, step: Step, kind: str, groups: Groups) -> None:
        """What is pending and what has landed when the wait returns."""
        pending = [f"t{i}" for i, done in groups if done is None or done > a.t]
        landed = [f"t{i}" for i, done in groups if done is not None and done <= a.t]
        note = f"wait_group({step.value}): pending {{{', '.join(pending)}}}"
        if landed:
            more = f" and {len(landed) - LANDED} before" if len(landed) > LANDED else ""
            note += f"; landed {' '.join(landed[-LANDED:])}{more}"
        self._notes[a.key] = note
        self._count(a, f"{kind} groups of {self._who(a)}", a.t, len(pending))

    def _who(self, a: Agent) -> str:
        return f"{a.warps.role}/{a.warps.first - a.warps.first_of_role}"

    # -- engines, copies, stages, barriers ---------------------------------------------------------

    def engine(self, sm: SmState, track: str, name: str, start: int, end: int) -> None:
        self._keep(
            Span(
                sm=sm.index,
                cta=-1,
                track=track,
                name=name,
                start=_c(start),
                end=_c(end),
                kind=SpanKind.ENGINE,
            )
        )

    def flight(
        self, a: Agent, step: Step, indices: tuple[int, ...], start: int, landing: int
    ) -> None:
        """A copy from its request to its landing; what its stage holds from then on."""
        at = f" {step.box[1]}" if step.box else ""
        self._keep(
            Span(
                sm=a.cta.sm.index,
                cta=a.cta.number,
                track=f"copies of {self._who(a)}",
                name=f"{step.name}{at}".strip(),
                start=_c(start),
                end=_c(landing),
                kind=SpanKind.FLIGHT,
                op_id=step.op_id,
                indices=indices,
            )
        )
        self._stage(a, step, indices, start, landing)

    def _stage(
        self, a: Agent, step: Step, indices: tuple[int, ...], start: int, landing: int
    ) -> None:
        stage = _stage_of(self._model, step)
        if stage is None:
            return
        key = (a.cta.number, stage)
        before = self._filled.pop(key, None)
        if before is not None:
            self._stage_span(a.cta, stage, before, _c(start))
        label = "t" + ",".join(map(str, indices)) if indices else step.name
        self._filled[key] = (label, _c(landing), step.op_id)

    def _stage_span(self, cta: Cta, stage: str, held: tuple[str, float, int], end: float) -> None:
        label, start, op_id = held
        if end > start:
            self._keep(
                Span(
                    sm=cta.sm.index,
                    cta=cta.number,
                    track=stage,
                    name=label,
                    start=start,
                    end=end,
                    kind=SpanKind.STAGE,
                    op_id=op_id,
                )
            )

    def barrier(self, cta: Cta, name: str, time: int, generation: int) -> None:
        self._trace_counter(cta, name, time, generation)

    def _count(self, a: Agent, track: str, time: int, value: int) -> None:
        self._trace_counter(a.cta, track, time, value)

    def _trace_counter(self, cta: Cta, track: str, time: int, value: int) -> None:
        if len(self._trace.counters) < LIMIT:
            self._trace.counters.append(
                Counter(sm=cta.sm.index, cta=cta.number, track=track, time=_c(time), value=value)
            )
        else:
            self._trace.complete = False

    def cta(self, cta: Cta, end: int) -> None:
        """The CTA has ended: close what its stages hold."""
        for key in [k for k in self._filled if k[0] == cta.number]:
            self._stage_span(cta, key[1], self._filled.pop(key), _c(end))


def _stage_of(model: Model, step: Step) -> str | None:
    """The track of the stage that a load fills: the stage index is part of its step."""
    if not isinstance(step.op, ops.TmaLoad | ops.CpAsync) or step.value < 0:
        return None
    tile = model.schedule.tile(step.op.dst.tile)
    assert isinstance(tile, SmemTile)
    return f"{tile.name}[{step.value}]"


def _c(tick: int) -> float:
    return tick / TICKS_PER_CYCLE
