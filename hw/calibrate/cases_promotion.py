"""Cases: what the promotion of a tensor map brings to L2, and when. See docs/machine.md."""

__all__ = ["promotion_cases"]

from collections.abc import Iterator
from dataclasses import replace

from .case import Case, Context, Samples, Words
from .cases_share import pair_case
from .sources import Variant

KB = 1024
SAMPLES = 72
FAR = 8 * KB  # from row to row of a matrix
FRESH = 2 << 20  # distance of samples that must miss


def promotion_cases() -> Iterator[Case]:
    for promotion in (0, 64, 128, 256):
        for size in (1, 2, 4, 8, 16, 32):
            if promotion != 64:
                yield _landing(128, size * KB, promotion, FAR, on=FRESH // FAR)
        for row, size in ((64, 2 * KB), (64, 8 * KB), (128, 8 * KB), (128, 16 * KB)):
            yield _landing(row, size, promotion, 2 * FAR, along=row // 2)
    yield from _pairs()


def _landing(
    row: int, size: int, promotion: int, pitch: int, *, on: int = 0, along: int = 0
) -> Case:
    """One copy from its issue to its landing, from DRAM; ``on``, ``along``: rows, and elements of a
    row, from one copy to the next, whose samples are told apart by where in 256 bytes they are."""
    places = max(1, 256 // row) if along else 1

    def reduce(words: Words, context: Context) -> Samples:
        landed = words[8:SAMPLES].astype(float)
        return {f"place_{i}": landed[i::places] for i in range(places)}

    return Case(
        "promoted_landing",
        {"row": row, "bytes": size, "promotion": promotion, "pitch": pitch, "along": along},
        Variant("tma.cu"),
        "tma_landing",
        reduce,
        block=64,
        args=(size, on, SAMPLES, along),
        rows=size // row,
        row_bytes=row,
        pitch=pitch,
        promotion=promotion,
        cold=True,
        repeat=6,
    )


def _pairs() -> Iterator[Case]:
    """Loads that SMs share, as matrix kernels make them, by maps that promote."""
    cases: list[Case] = []
    for promotion in (0, 128):
        for columns in (8, 16, 32):
            for depth in (2, 3, 4):
                for pace in (500, 800):
                    for cold in (False, True):
                        cases.append(
                            pair_case(
                                columns,
                                depth,
                                pause=pace,
                                cold=cold,
                                turns=256,
                                wrap=12,
                                paced=True,
                                a_boxes=2,
                                promotion=promotion,
                            )
                        )
        for depth in (1, 2, 3, 4):
            cases.append(pair_case(-1, depth, cold=True, promotion=promotion))
            cases.append(pair_case(-1, depth, cold=True, ctas=1, promotion=promotion))
        for rows in (32, 64):  # two boxes of a stage, one CTA
            cases.append(pair_case(-1, 1, rows=rows, cold=True, ctas=1, promotion=promotion))
    for promotion in (0, 64, 128):
        for depth in (1, 2, 4, 8):
            cases.append(pair_case(-1, depth, row=64, cold=True, ctas=1, promotion=promotion))
        for columns in (16, 32):
            for depth in (2, 3, 4, 6, 8):
                for pace in (0, 300, 450):
                    cases.append(
                        pair_case(
                            columns,
                            depth,
                            row=64,
                            pause=pace,
                            cold=True,
                            turns=256,
                            wrap=12,
                            paced=True,
                            a_boxes=1,
                            promotion=promotion,
                        )
                    )
    for case in cases:
        yield replace(case, bench="promoted_pairs")
