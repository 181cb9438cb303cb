"""Cases: turns of consumer warps beside copies that land, and in full rings: docs/machine.md."""

__all__ = ["turns_cases"]

from collections.abc import Iterator

from .case import Case, per_step
from .cases_copy import ring_defines
from .sources import Variant

KB = 1024
TURNS = 256


def turns_cases() -> Iterator[Case]:
    for ctas in (1, 132):
        for warps, work in ((1, 64), (2, 64), (4, 64), (8, 64), (12, 64), (4, 512), (8, 512)):
            for proxy in (0, 1):
                for box, pace in ((0, 0), (4 * KB, 400), (16 * KB, 400), (16 * KB, 200)):
                    yield _beside(ctas, warps, work, proxy, box, pace)
        for warps, work in ((1, 64), (2, 64), (4, 64), (8, 64), (12, 64), (4, 512), (8, 512)):
            for box in (2 * KB, 16 * KB):
                for proxy in (0, 1):
                    yield _ring(ctas, warps, work, proxy, box)


def _beside(ctas: int, warps: int, work: int, proxy: int, box: int, pace: int) -> Case:
    """Consumers that never wait, beside a box from L2 every ``pace`` cycles, or none."""
    return Case(
        "turns_beside",
        {"ctas": ctas, "warps": warps, "work": work, "proxy": proxy, "box": box, "pace": pace},
        Variant(
            "loops.cu",
            ring_defines(WORK=work, PROXY=proxy, COUNTED=2, CONSUMERS=warps, BOX=box or 16 * KB),
        ),
        "turns_beside",
        per_step(TURNS, warps),
        grid=ctas,
        block=32 * (warps + 1),
        smem=200_000,
        args=(1, 1, TURNS, pace),
        rows=(box or 16 * KB) // 128,
        repeat=10,
    )


def _ring(ctas: int, consumers: int, work: int, proxy: int, box: int) -> Case:
    """Whole rings whose consumers hold them up."""
    return Case(
        "ring_held_up",
        {"ctas": ctas, "consumers": consumers, "work": work, "proxy": proxy, "box": box},
        Variant(
            "loops.cu",
            ring_defines(
                PRODUCER=1, WORK=work, PROXY=proxy, COUNTED=2, CONSUMERS=consumers, BOX=box
            ),
        ),
        "ring",
        per_step(2 * TURNS, consumers + 1),
        grid=ctas,
        block=32 * (consumers + 1),
        smem=100_000,
        args=(0, 1, 2 * TURNS, 0),
        rows=box // 128,
        repeat=10,
    )
