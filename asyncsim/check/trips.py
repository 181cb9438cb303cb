"""From one trip count to all: what a jump says of the same loop with more rounds.

An execution with one jump is that of every longer loop too, if the streams are: before the window
that repeats, and from where the jump ends on (stream/growth.py). The longer loop is a larger value
of a kernel argument. All else stays, but that tensors are as large as their uses ask for: what an
access that may not leave its tensor asks for grows by a fixed step; where accesses are compared
with each other, neither they nor the extents of their tensor may move.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from asyncsim.check.affine import BlockUse, block_use
from asyncsim.check.execution import Execution
from asyncsim.check.executions import MAX_WARP_OPS
from asyncsim.check.exits import check_exit
from asyncsim.check.findings import findings_of
from asyncsim.check.grid import Bounds, may_lie_outside
from asyncsim.check.jump import Jumper
from asyncsim.check.report import End, Unproven
from asyncsim.check.snapshot import unheld
from asyncsim.check.ways import REFERENCE
from asyncsim.check.width import last_period
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.op import CpAsync
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import For
from asyncsim.predict.result import Extents, Trips
from asyncsim.rules import Severity
from asyncsim.stream.growth import Growth, grows_with
from asyncsim.stream.linear import FOR_EVER, Linear, NotLinear, Windows, slope
from asyncsim.stream.period import Periods, own_views
from asyncsim.stream.program import Program, run_checked

WAYS = ((True, False), (False, False), (True, True))
"""``even`` and ``outermost`` of the walks that are tried."""


def all_trips(program: Program, bounds: Bounds, arg: str = "") -> Trips | str:
    """The larger trip counts that the certificate of the only kind of CTA holds for, or in one line
    why none are proven. ``arg``: of the outermost loop that counts to this argument."""
    schedule = program.schedule
    grown = {
        pair
        for s in statements(schedule.body)
        if isinstance(s, For)
        for pair in grows_with(s.trip_count, schedule)
        if arg in ("", pair[0])
    }
    if not grown:
        return "no loop counts to a kernel argument"
    if (op := unheld(schedule)) is not None:
        return f"the state of {type(op).__name__} at {op.loc} is not compared from round to round"
    why = "the state does not recur in so few rounds"
    for even, outermost in ((False, True), (True, True)) if arg else WAYS:
        execution = _walk(program, bounds, even=even, outermost=outermost)
        if execution is not None and execution.jumper is not None:
            found = _claim(schedule, execution, execution.jumper, grown)
            if isinstance(found, Trips):
                return found
            why = found or why
    return why


def _walk(program: Program, bounds: Bounds, *, even: bool, outermost: bool) -> Execution | None:
    """An execution with jumps that shows nothing. ``even``: no warp gets ahead at a block barrier;
    ``outermost``: no jumps but in outermost loops."""
    schedule = program.schedule
    blocks = schedule.cluster_of((0, 0, 0))
    places = [program.place(b, w) for b in blocks for w in range(schedule.warps)]
    streams = [run_checked(program.stream(p.block, p.warp), MAX_WARP_OPS) for p in places]
    x = Execution(
        schedule,
        places,
        streams,
        REFERENCE.policy(),
        chain_phases=REFERENCE.chain_phases,
        bounds=bounds,
        meets=REFERENCE.meets,
        even=even,
    )
    x.jumper = Jumper(x, Periods(schedule), outermost=outermost)
    try:
        report = x.run()
        if report.end is not End.FINISHED:
            return None
        check_exit(x)
    except Unproven:
        return None
    shows = report.breaches or report.parted or not x.jumper.proven()
    errors = any(f.severity is Severity.ERROR for f in findings_of(x, report))
    return None if shows or errors else x


def _claim(
    schedule: Schedule, execution: Execution, jumper: Jumper, grown: set[tuple[str, int]]
) -> Trips | str:
    if jumper.jumps != 1:
        return "the state recurs in more than one loop" if jumper.jumps else ""
    why = "no kernel argument counts the rounds that repeat"
    for arg, by in sorted(grown):
        for rounds in sorted(set(jumper.rounds)):
            if rounds % by == 0:
                try:
                    return _proven(schedule, execution, jumper, arg, rounds // by)
                except NotLinear as cause:
                    why = str(cause) or why
    return why


def grown(schedule: Schedule, trips: Trips, more: int) -> Schedule:
    """What a claim is about: the schedule ``more`` steps on, with tensors as large as needed."""
    sizes = {e.tensor: e.at(more) for e in trips.extents}
    args = tuple((n, v + more * trips.step * (n == trips.arg)) for n, v in schedule.args)
    decls = tuple(
        replace(d, shape=sizes.get(d.name, d.shape)) if isinstance(d, GlobalTensor) else d
        for d in schedule.decls
    )
    return replace(schedule, args=args, decls=decls, _by_name={})


def _proven(schedule: Schedule, x: Execution, jumper: Jumper, arg: str, step: int) -> Trips:
    """Raises NotLinear."""
    written = x.steps.copies.written
    filled = {o.src.tensor for o in schedule.ops() if isinstance(o, CpAsync) and o.src_bytes}
    exact = written | filled
    frozen = frozenset(
        op.id for op in schedule.ops() for view in own_views(op) if view.tensor in exact
    )
    growth = Growth(schedule, arg, step, jumper.moves, frozen)
    done: set[object] = set()
    for warp in x.warps:
        stretch = jumper.stretches[warp.index]
        kind = jumper.periods.kind(warp.place), stretch
        if kind not in done:
            growth.check(warp.place, stretch)
            done.add(kind)
    value = dict(schedule.args)[arg]
    extents = tuple(_Extents(growth, value).of(exact))
    more, ends = last_period(schedule, arg, step, growth.kept)
    if more < 1:
        raise NotLinear(ends)
    last = value + more * step
    return Trips(arg=arg, value=value, step=step, last=last, ends=ends, extents=extents)


class _Extents:
    """What tensors have to have while a kernel argument grows, with all CTAs."""

    def __init__(self, growth: Growth, value: int) -> None:
        self._growth, self._windows = growth, Windows()
        moving = Linear(value, growth.step, self._windows)
        args = dict(growth.schedule.args) | {growth.arg: cast("int", moving)}  # it counts as one
        self._use: BlockUse = block_use(growth.schedule, args)
        self._bounds = Bounds(growth.schedule, self._use.moves)

    def of(self, exact: set[str] | frozenset[str]) -> list[Extents]:
        """Raises NotLinear where other CTAs do not go along."""
        schedule, arg = self._growth.schedule, self._growth.arg
        grows: dict[str, list[int]] = {}
        for op in schedule.ops():
            for view in own_views(op):
                reach = self._bounds.reach(op, len(view.start))
                pace = self._growth.paces.get(op.id, ((0, 0),) * len(view.start))
                if view.tensor in exact:
                    if any(slope(end) for ends in reach for end in ends):
                        raise NotLinear(f"{arg} decides where CTAs touch {view.tensor}")
                elif not may_lie_outside(op):
                    asked = grows.setdefault(view.tensor, [0] * len(view.start))
                    for i, ((down, up), (low, high)) in enumerate(zip(reach, pace, strict=True)):
                        asked[i] = max(asked[i], slope(up) + high)
                        if slope(down) + low < 0:
                            raise NotLinear(f"{view.tensor} is read below its start at some {arg}")
        if self._windows.limit != FOR_EVER or not self._use.uniform:
            raise NotLinear(f"CTAs differ by more than a move at some {arg}")
        found = [_extents(schedule, t, tuple(by)) for t, by in grows.items()]
        return found + [_extents(schedule, t, None) for t in sorted(exact)]


def _extents(schedule: Schedule, tensor: str, grows: tuple[int, ...] | None) -> Extents:
    return Extents(tensor=tensor, size=schedule.tensor(tensor).shape, grows=grows)


def fits(trips: Trips, schedule: Schedule, longer: Schedule, steps: int) -> str:
    """Of which tensor the extents do not go on as the claim needs, if they grow as much again every
    ``steps`` steps as they do from ``schedule``, of which the claim is, to ``longer``."""
    for e in trips.extents:
        before, after = schedule.tensor(e.tensor).shape, longer.tensor(e.tensor).shape
        needed = e.at(steps)
        if before != e.size or len(after) != len(needed):
            return e.tensor
        if any(a < n or (e.grows is None and a != n) for a, n in zip(after, needed, strict=True)):
            return e.tensor
    return ""
