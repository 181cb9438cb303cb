"""Which tiles each cluster is given, of a schedule whose tiles are handed out while it runs.

Who gets which tile is decided by time. A reader that has no time takes one of the possible ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from asyncsim.errors import ScheduleError
from asyncsim.ir import op as ops
from asyncsim.ir.given import number_of_tiles
from asyncsim.ir.schedule import Schedule

Assignment = tuple[tuple[int, ...], ...]
"""The tiles of each cluster, by the cluster's number (clusters x fastest), in ascending order."""

Given = Callable[[int], Iterable[int]]
"""Of a loop over such tiles (its place in ``Schedule.assigned``): the tiles that a warp goes
through."""


def dealt(schedule: Schedule) -> Assignment:
    """The tiles dealt out in turn. With cluster launch control the second half of the clusters is
    never launched: each of the others takes over the work of one."""
    tiles, clusters = number_of_tiles(schedule), prod(schedule.clusters)
    running = (clusters + 1) // 2 if cancels(schedule) else clusters
    return tuple(tuple(range(c, tiles, running)) if c < running else () for c in range(clusters))


def cancels(schedule: Schedule) -> bool:
    """Whether clusters take over the work of those that have not been launched."""
    return any(isinstance(op, ops.ClcTryCancel) for op in schedule.ops())


def checked(schedule: Schedule, assignment: Assignment) -> Assignment:
    """The assignment, if it is possible. Raises ScheduleError."""
    tiles, clusters = number_of_tiles(schedule), prod(schedule.clusters)
    handed_out = sorted(t for some in assignment for t in some)
    wrong = ""
    if len(assignment) != clusters:
        wrong = f"of {len(assignment)} clusters; the grid has {clusters}"
    elif handed_out != list(range(tiles)):
        wrong = f"does not have each of {tiles} tiles once"
    for cluster, some in enumerate(assignment):
        if list(some) != sorted(some):
            wrong = wrong or f"gives cluster {cluster} its tiles in another than ascending order"
        begins = cluster < tiles if not cancels(schedule) else bool(some)
        if begins and some[:1] != (cluster,):
            wrong = wrong or f"does not begin with tile {cluster} in cluster {cluster}"
    if wrong:
        raise ScheduleError(f"an assignment {wrong}", fix="give a tuple of tiles for each cluster")
    return assignment
