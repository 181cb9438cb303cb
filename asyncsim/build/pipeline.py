"""Pipeline sugar: a stage and phase counter, and CUTLASS's verbs. Adds no nodes of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncsim.build.value import Index, Value
from asyncsim.ir.expr import Var

if TYPE_CHECKING:
    from asyncsim.build.builder import ScheduleBuilder
    from asyncsim.build.handles import MbarrierArray, TokenHandle


class PipelineState:
    """``stage`` walks 0..stages-1; ``phase`` flips when it wraps."""

    def __init__(
        self,
        builder: ScheduleBuilder,
        stages: int,
        *,
        start_phase: int,
        start_stage: int = 0,
        name: str = "",
    ) -> None:
        prefix = f"{name}_" if name else ""
        self.stages = stages
        self._builder = builder
        self._stage = builder.var(f"{prefix}stage", start_stage)
        self._phase = builder.var(f"{prefix}phase", start_phase)

    @property
    def stage(self) -> Value:
        return Value(Var(self._stage.name))

    @property
    def phase(self) -> Value:
        return Value(Var(self._phase.name))

    def advance(self, *, flip: bool = True) -> None:
        """To the next stage; the phase flips on the wrap (``flip=False`` forgets it)."""
        k = self._builder
        if self.stages == 1:
            if flip:
                self._phase.set(self._phase ^ 1)
            return
        self._stage.set(self._stage + 1)
        with k.when(self._stage == self.stages):
            self._stage.set(0)
            if flip:
                self._phase.set(self._phase ^ 1)

    def skip(self, stages: Index) -> None:
        """So many stages on at once, past what another role or warpgroup consumes."""
        k = self._builder
        ahead = k.var(f"{self._stage.name}_ahead", self._stage + stages)
        self._phase.set(self._phase ^ (ahead // self.stages & 1))
        self._stage.set(ahead % self.stages)

    def reset(self, *, phase: int) -> None:
        """Back to stage 0 with the given phase."""
        self._stage.set(0)
        self._phase.set(phase)


class Pipeline:
    """The verbs of CUTLASS's PipelineTmaAsync over two barrier arrays."""

    def __init__(self, builder: ScheduleBuilder, full: MbarrierArray, empty: MbarrierArray) -> None:
        self._k, self.full, self.empty = builder, full, empty

    def producer_try_acquire(self, state: PipelineState, token: TokenHandle) -> None:
        """Peek whether the stage is empty."""
        self._k.mbarrier.peek(self.empty[state.stage], state.phase, token)

    def producer_acquire(self, state: PipelineState, token: TokenHandle | None = None) -> None:
        """Wait until the stage is empty, unless a peek has found that."""
        self._k.mbarrier.wait(self.empty[state.stage], state.phase, peek=token)

    def producer_commit(self, state: PipelineState, bytes: Index) -> None:
        """Announce the bytes of the stage and arrive."""
        self._k.mbarrier.arrive_expect_tx(self.full[state.stage], bytes)

    def consumer_try_wait(self, state: PipelineState, token: TokenHandle) -> None:
        """Peek whether the stage is full."""
        self._k.mbarrier.peek(self.full[state.stage], state.phase, token)

    def consumer_wait(self, state: PipelineState, token: TokenHandle | None = None) -> None:
        """Wait until the stage is full, unless a peek has found that."""
        self._k.mbarrier.wait(self.full[state.stage], state.phase, peek=token)

    def consumer_release(self, state: PipelineState) -> None:
        """Arrive on the stage's empty barrier."""
        self._k.mbarrier.arrive(self.empty[state.stage])

    def producer_tail(self, state: PipelineState) -> None:
        """Wait until every stage has been released, so that no arrive outlives the CTA."""
        for _ in range(state.stages):
            self.producer_acquire(state)
            state.advance()
