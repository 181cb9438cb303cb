"""Small instances of the clean scenarios: a table of values by parameter name.

A parameter that is not listed keeps its default; combinations that a scenario refuses are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from asyncsim.errors import ScheduleError
from asyncsim.ir.schedule import Schedule
from asyncsim.scenario import Scenario
from asyncsim.stream.program import Program

AXES: Mapping[str, tuple[int, ...]] = {
    "stages": (1, 2, 3, 4),
    "lag": (0, 1),
    "consumers": (1, 2),
    "k_order": (0, 1),
    "distance": (0, 1),
    "overlap": (0, 1),
    "pingpong": (0, 1),
}
"""Parameters that shape the synchronisation."""

SMALL: Mapping[str, tuple[int, ...]] = {
    "ctas": (1, 2),
    "ffma": (1,),
    "tile_bytes": (16, 128, 2048),
    "tiles": (3, 5, 7, 9),
    "rows": (1, 4, 8, 9),
    "cluster": (2,),
    "clusters": (1,),
    "outputs": (2,),
    "experts": (3,),
    "width": (8,),
    "batch": (1,),
    "height": (16,),
    "channels": (192, 320, 448, 576),
    "size": (1,),
    "filters": (64,),
    "m": (16, 64, 128),
    "n": (32, 64, 128),
    "k": (24, 40, 56, 72, 80, 112, 144, 384, 640),
    "block_m": (64, 128),
    "block_n": (64,),
    "block_k": (16,),
    "f32": (1,),
    "setmaxnreg": (0,),
    "seq": (80, 112, 144, 176),
    "heads": (1,),
    "hdim": (64,),
}
"""The others: the first values that the scenario takes and that go round its ring twice, and twice
round every other loop."""


SHAPES: tuple[Mapping[str, int], ...] = (
    {"stages": 2, "lag": 1, "consumers": 1, "k_order": 0, "block_m": 128, "block_k": 32},
    {"stages": 2, "lag": 1, "consumers": 1, "k_order": 1, "block_m": 128, "block_k": 32},
)
"""More instances of the scenarios that have all these parameters: several operations a step."""


def instances(scenario: Scenario) -> Iterator[tuple[dict[str, int], Schedule]]:
    """(parameters, schedule) of every small instance."""
    axes = {name: AXES[name] for name in scenario.params if name in AXES}
    shapes = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    shapes += [dict(shape) for shape in SHAPES if set(shape) <= set(scenario.params)]
    seen: list[Schedule] = []
    for shape in shapes:
        found = _smallest(scenario, shape)
        if found is not None and found[1] not in seen:
            seen.append(found[1])
            yield found


def _smallest(scenario: Scenario, shape: dict[str, int]) -> tuple[dict[str, int], Schedule] | None:
    small = {n: SMALL[n] for n in scenario.params if n in SMALL and n not in shape}
    for values in product(*small.values()):
        params = shape | dict(zip(small, values, strict=True))
        try:
            schedule = scenario.build(params)
        except ScheduleError:
            continue
        trips = _trips(schedule)
        if max(trips) > 2 * params.get("stages", 0) and min(trips) > 1:
            return params, schedule
    return None


def _trips(schedule: Schedule) -> list[int]:
    """The most often that a loop runs at each depth; 1, above any minimum, without loops."""
    program = Program(schedule)
    found: list[int] = []
    for warp in range(schedule.warps):
        for _, indices in program.stream((0, 0, 0), warp):
            found += [0] * (len(indices) - len(found))
            found[: len(indices)] = map(max, found, indices)
    return [n + 1 for n in found] or [2]
