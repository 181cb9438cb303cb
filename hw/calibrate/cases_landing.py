"""Cases: one tensor load from its issue to its landing.  See docs/machine.md."""

__all__ = ["landing_cases"]

from collections.abc import Iterator

from .case import Case
from .sources import Variant

KB = 1024
SAMPLES = 72
FRESH = 2 << 20  # distance of samples that must miss
FAR = 8 * KB  # from row to row of a matrix


def landing_cases() -> Iterator[Case]:
    """One copy from issue to landing; "far": its rows lie apart, as those of a matrix do, and the
    copies go on to other rows; "along": they go on along them, 64 elements each."""
    for bench, pitch, along in (
        ("tma_landing", 128, 0),
        ("tma_landing_far", FAR, 0),
        ("tma_landing_along", 2 * FAR, 64),
    ):
        for level in ("l2", "dram"):
            on = FRESH // pitch if level == "dram" and not along else 0
            yield from _landing(bench, level, pitch, on, along)


def _landing(bench: str, level: str, pitch: int, on: int, along: int) -> Iterator[Case]:
    """``on``, ``along``: rows, and elements of a row, from one copy to the next."""
    for size in (1, 2, 4, 8, 16, 32):
        yield Case(
            bench,
            {"level": level, "bytes": size * KB},
            Variant("tma.cu"),
            "tma_landing",
            lambda words, context: {
                "other_warp": words[8:SAMPLES].astype(float),
                "own_warp": words[SAMPLES + 8 : 2 * SAMPLES].astype(float),
            },
            block=64,
            args=(size * KB, on, SAMPLES, along),
            rows=size * 8,
            pitch=pitch,
            cold=level == "dram",
            repeat=3,
        )
