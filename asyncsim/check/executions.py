"""Executions of one CTA: the reference, as short as changes nothing, and whatever else is asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice, product

from asyncsim.check.alike import Crowd, crowds
from asyncsim.check.counting import Counting
from asyncsim.check.execution import Execution
from asyncsim.check.exits import check_exit
from asyncsim.check.findings import findings_of
from asyncsim.check.grid import Bounds
from asyncsim.check.jump import Jumper
from asyncsim.check.policy import Policy
from asyncsim.check.report import Breach, End, Unproven
from asyncsim.check.shortest import Tape
from asyncsim.check.snapshot import can_jump
from asyncsim.check.ways import REFERENCE, Way
from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.rules import Finding
from asyncsim.stream.period import Periods
from asyncsim.stream.program import Event, Program, run_checked

MAX_WARP_OPS = 1_000_000
MAX_SEARCHED_OPS = 50_000


class Executions:
    """Executions of one CTA, or of the cluster that it is in, and what they show."""

    def __init__(self, program: Program, block: tuple[int, int, int], bounds: Bounds) -> None:
        self._program, self._bounds = program, bounds
        self._blocks = program.schedule.cluster_of(block)
        self._events: list[list[Event]] | None = None
        self._periods = Periods(program.schedule)
        self._tapes: list[Tape] = []
        self.suspects: Sequence[Breach] = ()

    @property
    def schedule(self) -> Schedule:
        return self._program.schedule

    def execute(
        self,
        way: Way,
        *,
        counting: Counting | None = None,
        jumps: bool = False,
        crowds: Sequence[Crowd] = (),
    ) -> tuple[Execution, list[Finding]]:
        """Run to the end; the findings that it shows. Raises Unproven if it ``jumps``, or executes
        two warps only of each of some ``crowds``."""
        others = {c.first: c.others for c in crowds}
        left_out = {w for c in crowds for w in c.others}
        warps = [(b, w) for b, w in self._warps() if w not in left_out]
        streams = (
            [iter(e) for e in self._events]
            if self._events is not None
            else [self._stream(b, w, others.get(w, ())) for b, w in warps]
        )
        execution = self._prepared(way, way.policy(), warps, streams, counting, crowds)
        if jumps:
            execution.jumper = Jumper(execution, self._periods)
        report = execution.run()
        if report.end is End.FINISHED:
            check_exit(execution)
        return execution, findings_of(execution, report, self.suspects)

    def reference(self, *, jump: bool) -> tuple[Execution, list[Finding]]:
        """The execution whose conditions decide; with jumps, or with two warps for all that do the
        same, only where that changes nothing."""
        if not jump or not can_jump(self.schedule):
            return self.execute(REFERENCE)
        alike = crowds(self._program, self._periods)
        for short in [alike, []] if alike else [[]]:
            try:
                first = self.execute(REFERENCE, jumps=True, crowds=short)
            except Unproven:
                continue
            except ScheduleError:  # perhaps of a warp that is left out, and not the first to come
                if short:
                    continue
                raise
            if short and not first[0].report.is_plain():
                continue
            jumper = first[0].jumper
            if jumper is not None and jumper.proven():
                return first
        return self.execute(REFERENCE)

    def again(self, way: Way, policy: Policy) -> Execution:
        """Run under another policy, with a log of all steps, on streams that are kept."""
        if not self._tapes:
            self._tapes = [Tape(self._stream(b, w)) for b, w in self._warps()]
        streams = [iter(t) for t in self._tapes]
        execution = self._prepared(way, policy, self._warps(), streams)
        execution.recent = deque()
        execution.run()
        return execution

    def _warps(self) -> list[tuple[tuple[int, int, int], int]]:
        return [(b, w) for b in self._blocks for w in range(self.schedule.warps)]

    def _prepared(
        self,
        way: Way,
        policy: Policy,
        warps: Sequence[tuple[tuple[int, int, int], int]],
        streams: Sequence[Iterator[Event]],
        counting: Counting | None = None,
        crowds: Sequence[Crowd] = (),
    ) -> Execution:
        return Execution(
            self.schedule,
            [self._program.place(b, w) for b, w in warps],
            streams,
            policy,
            chain_phases=way.chain_phases,
            bounds=self._bounds,
            counting=counting,
            meets=way.meets,
            crowds=crowds,
        )

    def _stream(
        self, block: tuple[int, int, int], warp: int, others: Sequence[int] = ()
    ) -> Iterator[Event]:
        return run_checked(self._program.stream(block, warp, others), MAX_WARP_OPS)

    def events(self) -> list[list[Event]] | None:
        """The streams, kept; None if they are too long."""
        if self._events is None:
            events: list[list[Event]] = []
            for block, w in product(self._blocks, range(self._program.schedule.warps)):
                events.append(list(islice(self._stream(block, w), MAX_SEARCHED_OPS + 1)))
                if sum(map(len, events)) > MAX_SEARCHED_OPS:
                    return None
            self._events = events
        return self._events
