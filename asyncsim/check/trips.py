"""From one trip count to all: what a jump says of the same loop with more rounds.

An execution with one jump is that of every longer loop too, if the streams are: before the window
that repeats, and from where the jump ends on (stream/growth.py). The longer loop is a larger value
of a kernel argument. All else stays, but that tensors are as large as their uses ask for: where an
access is compared with the bounds of its tensor, or with other accesses, it may not move.
"""

from __future__ import annotations

from dataclasses import replace

from asyncsim.check.affine import block_use
from asyncsim.check.execution import Execution
from asyncsim.check.jump import Jumper
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.ir.stmt import For
from asyncsim.predict.result import Trips
from asyncsim.stream.growth import Growth, grows_with
from asyncsim.stream.linear import NotLinear


def all_trips(schedule: Schedule, execution: Execution) -> Trips | None:
    """The larger trip counts that a clean execution with one jump speaks for; None if none are
    proven. ``execution`` is that of the only kind of CTA."""
    jumper = execution.jumper
    if jumper is None or jumper.jumps != 1:
        return None
    grown = {
        pair
        for s in statements(schedule.body)
        if isinstance(s, For)
        for pair in grows_with(s.trip_count, schedule)
    }
    for arg, by in sorted(grown):
        for rounds in sorted(set(jumper.rounds)):
            if rounds % by == 0:
                trips = Trips(arg=arg, value=dict(schedule.args)[arg], step=rounds // by)
                if _proven(schedule, execution, jumper, trips):
                    return trips
    return None


def _proven(schedule: Schedule, x: Execution, jumper: Jumper, trips: Trips) -> bool:
    growth = Growth(schedule, trips.arg, trips.step, jumper.moves, jumper.held)
    done: set[object] = set()
    try:
        for warp in x.warps:
            stretch = jumper.stretches[warp.index]
            kind = jumper.periods.kind(warp.place), stretch
            if kind not in done:
                growth.check(warp.place, stretch)
                done.add(kind)
    except NotLinear:
        return False
    return _placed_alike(schedule, jumper, trips)


def _placed_alike(schedule: Schedule, jumper: Jumper, trips: Trips) -> bool:
    """Whether other CTAs are where they were, as far as that is compared."""
    args = tuple((n, v + trips.step * (n == trips.arg)) for n, v in schedule.args)
    here, there = block_use(schedule), block_use(replace(schedule, args=args))
    if schedule.ctas == 1:
        return True
    return (
        here.uniform
        and there.uniform
        and all(here.moves.get(op) == there.moves.get(op) for op in jumper.held)
    )
