"""Scenarios whose combinations behave in all the ways that a sweep meets."""

from __future__ import annotations

import os
import time
from typing import Annotated

from asyncsim import Schedule, ScheduleError
from asyncsim.catalog import find_scenario
from asyncsim.scenario import Free, scenario

RING = find_scenario("tma_ring")
SMALL = {"ctas": 1, "tiles": 6, "tile_bytes": 1024, "consumers": 1, "ffma": 8}

FINE, RACE, HANG, NONE, RAISES, ENDLESS, ASLEEP, DIES = range(8)


@scenario(summary="a small ring that behaves as its number says")
def behaving(
    *,
    stages: Annotated[int, Free((1, 2, 3))] = 2,
    how: Annotated[int, Free((FINE, RACE, HANG, NONE, RAISES))] = FINE,
    ffma: int = 8,
) -> Schedule:
    twin = {RACE: "early_release", HANG: "producer_phase"}.get(how, "")
    if how == NONE:
        raise ScheduleError(f"how = {how}", fix="use another")
    if how == RAISES:
        raise ValueError("first line\nsecond line")
    while how == ENDLESS:
        pass
    if how == ASLEEP:
        time.sleep(5)
        print("asleep", flush=True)
        time.sleep(600)
    if how == DIES:
        os._exit(7)
    return RING.build({**SMALL, "stages": stages, "ffma": ffma}, twin=twin)


@scenario(summary="nothing of it is free")
def fixed(*, stages: int = 2) -> Schedule:
    return RING.build({**SMALL, "stages": stages})
