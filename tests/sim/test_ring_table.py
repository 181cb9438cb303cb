"""Rings measured on an H200 before this code existed (cycles per step of 16 KB, steady state).

A structural check: nothing is fitted on these rows. Producer: elected lane; consumers: four warps,
W cycles of dependent FFMA a step. L2: 128 KB for each CTA; DRAM: fresh tiles.
"""

from __future__ import annotations

from statistics import median

from asyncsim.sim import simulate
from tests.sim.schedules import H200, ring

STAGES = (1, 2, 3, 4, 6)
MEASURED = {
    (0, 1, "L2"): (648, 399, 260, 195, 187),
    (0, 1, "DRAM"): (1327, 642, 447, 349, 241),
    (0, 132, "L2"): (806, 474, 463, 459, 447),
    (0, 132, "DRAM"): (1502, 1004, 916, 910, 894),
    (256, 1, "L2"): (648, 424, 424, 423, 423),
    (256, 132, "DRAM"): (1499, 1000, 915, 912, 895),
    (512, 1, "L2"): (708, 684, 685, 684, 683),
    (512, 132, "DRAM"): (1495, 1001, 916, 914, 902),
    (1024, 1, "L2"): (1216, 1222, 1221, 1213, 1221),
    (1024, 132, "DRAM"): (1502, 1229, 1222, 1213, 1222),
}


def step(work: int, ctas: int, level: str, stages: int) -> float:
    """Predicted cycles of a step, between 24 and 48 tiles."""
    wrap, l2 = (8, "warm") if level == "L2" else (0, "cold")
    ends = [
        simulate(
            ring(stages=stages, tiles=n, ffma=work // 4, ctas=ctas, wrap=wrap),
            H200,
            certified=True,
            l2=l2,
        ).cycles
        for n in (24, 48)
    ]
    return (ends[1] - ends[0]) / 24


def test_the_table_is_reproduced() -> None:
    errors = [
        abs(step(work, ctas, level, stages) / measured - 1)
        for (work, ctas, level), row in MEASURED.items()
        for stages, measured in zip(STAGES, row, strict=True)
    ]
    assert median(errors) <= 0.10
    assert max(errors) <= 0.25
