"""The prefetch distance of a ring: how many tiles ahead of the one in use its copies run.

0 stands for the distance that a ring of ``stages`` stages is usually written with.
"""

from __future__ import annotations

from asyncsim import ScheduleError


def copies_ahead(stages: int, distance: int) -> int:
    """Tiles that threads which copy and compute are ahead: 1 to ``stages``, usually ``stages - 1``.

    ``stages`` tiles ahead refills the stage just read, which takes a second block barrier.
    Raises ScheduleError.
    """
    if stages == 1 and distance == 0:
        raise ScheduleError(
            f"stages = {stages}",
            fix="wait_group(stages - 2) needs at least 2 stages; 1 stage works with distance = 1",
        )
    return _ahead(stages, distance, default=stages - 1, who="copy")


def producer_ahead(stages: int, distance: int) -> int:
    """Tiles that a producer may have loaded and not got back: 1 to ``stages``, usually all.

    Raises ScheduleError.
    """
    return _ahead(stages, distance, default=stages, who="let the producer run")


def _ahead(stages: int, distance: int, *, default: int, who: str) -> int:
    if stages < 1:
        raise ScheduleError(f"stages = {stages}", fix="a ring has at least 1 stage")
    if not 0 <= distance <= stages:
        fits = f"1 to {stages} tiles" if stages > 1 else "1 tile"
        usual = f"; 0 stands for {default}" if default else ""
        raise ScheduleError(
            f"distance = {distance} with {stages} stage{'s' * (stages > 1)}",
            fix=f"{who} {fits} ahead{usual}",
        )
    return distance or default
