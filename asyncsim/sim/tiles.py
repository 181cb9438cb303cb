"""Tiles that are handed out while the kernel runs: who asks first gets the next one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import count, takewhile
from math import prod

from asyncsim.ir.given import number_of_tiles
from asyncsim.ir.schedule import Schedule
from asyncsim.sim.placement import Placement
from asyncsim.stream.assignment import Given, cancels


class HandedOut:
    """The tiles that each cluster has been given so far.

    Tiles come from a counter, or, with cluster launch control, are those of the clusters that wait
    for a place (``unplaced``: their CTAs), which then never run. SMs that are not simulated take
    their share: of the tiles of a counter those are left that would go to the simulated clusters
    if they were dealt in turn. ``tiles``: by cluster.
    """

    def __init__(self, schedule: Schedule, placement: Placement, unplaced: deque[int]) -> None:
        self._size, self._number = schedule.cluster_ctas, number_of_tiles(schedule)
        self._unplaced = unplaced if cancels(schedule) else None
        clusters = prod(schedule.clusters)
        simulated = sorted({number // self._size for number in placement.queue})
        later = (base + c for base in count(clusters, clusters) for c in simulated)
        self._left = takewhile(lambda tile: tile < self._number, later)
        self.tiles: dict[int, list[int]] = {}
        self._asked: dict[int, int] = {}

    def ask(self, cluster: int) -> None:
        """A cluster asks for its next tile."""
        self._asked[cluster] = asked = self._asked.get(cluster, 0) + 1
        self._tile(cluster, asked)

    def given(self, cluster: int) -> Given:
        """The tiles that a warp of the cluster goes through."""

        def rounds(loop: int) -> Iterator[int]:
            for k in count():
                tile = self._tile(cluster, k)
                if tile is None:
                    return
                yield tile

        return rounds

    def _tile(self, cluster: int, k: int) -> int | None:
        """The k-th tile of a cluster; who needs one that nobody has asked for gets the next."""
        own = self.tiles.setdefault(cluster, [cluster] if cluster < self._number else [])
        while own and len(own) <= k:
            tile = self._next()
            if tile is None:
                return None
            own.append(tile)
        return own[k] if k < len(own) else None

    def _next(self) -> int | None:
        if self._unplaced is None:
            return next(self._left, None)
        if not self._unplaced:
            return None
        first = self._unplaced[0]
        for _ in range(self._size):
            self._unplaced.popleft()
        return first // self._size
