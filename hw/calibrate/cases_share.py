"""Cases: block placement, loads that SMs share, the start of a ring.  See docs/machine.md."""

__all__ = ["pair_case", "share_cases"]

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from .case import Case, Context, Reduce, Samples, Words
from .sources import Variant

KB = 1024
PITCH = 8 * KB  # of the matrices: 4096 bf16
WARM = 64


def share_cases() -> Iterator[Case]:
    yield from _order()
    yield from _first_ring()
    yield from _narrow_trains()
    yield from _pairs()
    yield from _paced_pairs()
    yield from _own_pairs()
    yield from _tile_pairs()


def _gpc_of(context: Context) -> dict[int, int]:
    return {sm: i for i, gpc in enumerate(context.gpcs) for sm in gpc}


def _order_reduce(ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 4 * ctas].reshape(ctas, 4)
        gpc = _gpc_of(context)
        order = [gpc.get(int(sm), -1) for sm in rows[:, 3]]
        together = [x == y for x, y in pairwise(order)]
        return {
            "sm": rows[:, 3].astype(float),
            "gpc": np.array(order, float),
            "together": np.array([np.mean(together)]),
        }

    return reduce


def _order() -> Iterator[Case]:
    """Block -> SM and GPC (numbers of the provenance's list), with one or two CTAs on an SM."""
    for ctas, per_sm in ((16, 1), (66, 1), (132, 1), (264, 2), (528, 2)):
        yield Case(
            "block_order",
            {"ctas": ctas, "per_sm": per_sm},
            Variant("launch.cu"),
            "starts",
            _order_reduce(ctas),
            grid=ctas,
            block=160,
            smem=200_000 if per_sm == 1 else 100_000,
            args=(20000, 0, 0, 0),
            words=4 * ctas,
            unit="count",
            series=True,
        )


def _first_ring_reduce(ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        landed = words[: 8 * ctas].reshape(ctas, 8).astype(float)
        again = words[8 * ctas : 9 * ctas].astype(float)
        return {
            "first": landed[:, 0],
            "fourth": landed[:, 3],
            "again": landed[:, 4] - again,
            "again_fourth": landed[:, 7] - again,
        }

    return reduce


def _first_ring() -> Iterator[Case]:
    """The first copies of a launch against later ones: what the tensor map's first use costs."""
    for ctas in (1, 132):
        for level in ("l2", "dram"):
            for prefetch in (0, 1):
                yield Case(
                    "first_ring",
                    {"ctas": ctas, "level": level, "prefetch": prefetch, "bytes": 16 * KB},
                    Variant("tma.cu"),
                    "first_ring",
                    _first_ring_reduce(ctas),
                    grid=ctas,
                    block=64,
                    smem=200_000,
                    args=(16 * KB, 8 * 128, 0, prefetch),
                    rows=128,
                    words=9 * ctas,
                    repeat=20,
                    cold=level == "dram",
                )


def _narrow_trains() -> Iterator[Case]:
    """Engine and port with rows of 64 bytes: dense, and half lines of 128-byte rows."""
    for pitch in (64, 128, PITCH):
        for size, counts in ((KB, (16, 64)), (8 * KB, (8, 24))):
            for count in counts:
                yield Case(
                    "tma_train_narrow",
                    {"row": 64, "pitch": pitch, "bytes": size, "copies": 4 * count},
                    Variant("tma.cu"),
                    "tma_train",
                    lambda words, context: {"cycles": words[8:40].astype(float)},
                    block=128,
                    args=(size, count, 40, 1),
                    rows=size // 64,
                    row_bytes=64,
                    pitch=pitch,
                )


def _pairs_reduce(total: int, ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 4 * ctas].reshape(ctas, 4)
        gpc = _gpc_of(context)
        rates: defaultdict[int, float] = defaultdict(float)
        for cycles, sm in zip(rows[:, 0], rows[:, 3], strict=True):
            rates[int(sm)] += total / float(cycles)
        samples = {
            "sm": np.array(sorted(rates.values())),
            "slowest": np.array([min(rates.values())]),
        }
        for size in sorted({len(g) for g in context.gpcs}):
            of_size = [r for sm, r in rates.items() if len(context.gpcs[gpc[sm]]) == size]
            if of_size:
                samples[f"sm_in_gpc_{size}"] = np.array(of_size)
        return samples

    return reduce


def pair_case(
    columns: int,
    depth: int,
    *,
    row: int = 128,
    rows: int = 128,
    per_sm: int = 1,
    pause: int = 0,
    cold: bool = False,
    ctas: int = 132,
    pitch: int = PITCH,
    turns: int = 512,
    wrap: int = 0,
    paced: bool = False,
    a_boxes: int = 1,
    promotion: int = 0,
) -> Case:
    box = row * rows
    if not wrap:
        wrap = (8 if per_sm == 1 or row == 64 else 4) if columns < 0 else 32  # 35 MB at most
    warm = 4 if cold else WARM
    if cold:
        wrap, turns = PITCH // row, PITCH // row - 4
    shape = ("ROWS", rows), ("ROW", row), ("WRAP", wrap), ("WARM", warm)
    defines = (*shape, ("PACED", 1), ("A_BOXES", a_boxes)) if paced else shape
    return Case(
        "pairs",
        {
            "data": "dram" if cold else "l2",
            "columns": columns,
            "box": box,
            "row": row,
            "pitch": pitch,
            "depth": depth,
            "per_sm": per_sm,
            "pause": pause,
            "ctas": ctas,
            **({"paced": 1, "a_boxes": a_boxes, "wrap": wrap} if paced else {}),
            **({"promotion": promotion} if promotion else {}),
        },
        Variant("share.cu", defines),
        "pairs",
        _pairs_reduce((1 + a_boxes) * box * turns, ctas * per_sm),
        grid=ctas * per_sm,
        smem=230_000 // per_sm - 2000,
        args=(depth, columns, turns, pause),
        rows=rows,
        row_bytes=row,
        pitch=pitch,
        promotion=promotion,
        words=4 * ctas * per_sm,
        repeat=3 if cold else 6,
        cold=cold,
        unit="bytes_per_cycle",
    )


def _pairs() -> Iterator[Case]:
    for columns in (-1, 0, 2, 4, 8, 16, 32, 64):
        for depth in (1, 2, 3, 4, 5, 6):
            yield pair_case(columns, depth)
    for columns in (-1, 8, 16, 32, 64):  # two CTAs on an SM
        for depth in (1, 2, 3):
            yield pair_case(columns, depth, per_sm=2)
    for columns in (-1, 32):  # boxes of 8 KB
        for depth in (2, 4, 6, 8, 12):
            yield pair_case(columns, depth, rows=64)
    for columns in (16, 32, 64):
        for depth in (2, 3, 6):
            yield pair_case(columns, depth, rows=64, per_sm=2)
    for columns in (-1, 0, 8, 32):  # half lines
        for depth in (2, 4, 6, 12):
            yield pair_case(columns, depth, row=64)
        for depth in (2, 4, 6):
            yield pair_case(columns, depth, row=64, per_sm=2)
    for depth in (2, 3, 4, 5, 6):  # dense rows
        yield pair_case(-2, depth, pitch=128 * 8, row=128)
        yield pair_case(-1, depth, ctas=1)
    for columns in (16, 32, 64):  # a pause as long as the products of a stage
        for depth in (2, 3, 4, 5, 6):
            yield pair_case(columns, depth, pause=512)
    for columns in (16, 32, 64):
        for depth in (2, 3, 4, 5, 6):
            yield pair_case(columns, depth, cold=True)
        for depth in (2, 3):
            yield pair_case(columns, depth, cold=True, per_sm=2)


def _paced_pairs() -> Iterator[Case]:
    """Stages worked on by the clock, one after the other, in boxes of 12 KB."""
    for a_boxes, depths in ((1, (1, 2, 3, 4, 6)), (2, (1, 2, 3, 4))):
        for columns in (12, 24, 44):
            for pace in (0, 500, 800, 1100):
                for depth in depths:
                    for cold in (False, True):
                        if cold and depth > 4:
                            continue
                        yield pair_case(
                            columns,
                            depth,
                            rows=96,
                            pause=pace,
                            cold=cold,
                            turns=256,
                            wrap=12,
                            paced=True,
                            a_boxes=a_boxes,
                        )
    for pace in (0, 500, 800, 1100):  # nothing is shared
        for depth in (1, 2, 3, 4):
            yield pair_case(-1, depth, rows=96, pause=pace, turns=256, wrap=8, paced=True)


def _own_pairs() -> Iterator[Case]:
    """From DRAM, nothing shared, rows 8 KB apart: rate and round trip by the bytes in flight."""
    for rows, depths in ((8, (1, 2, 4, 8)), (32, (1, 2, 4)), (128, (1, 2, 3, 4, 6))):
        for depth in depths:
            yield pair_case(-1, depth, rows=rows, cold=True)
    for depth in (1, 2, 3, 4):
        yield pair_case(-1, depth, cold=True, ctas=1)


def _tile_pairs() -> Iterator[Case]:
    """Stages of matrix kernels, worked on by the clock: 48 KB, and 24 KB of half lines."""
    for row, depths, paces in (
        (128, (1, 2, 3, 4), (0, 500, 1000)),
        (64, (1, 2, 3, 4, 6, 8), (0, 300, 450, 600)),
    ):
        for columns in (8, 16, 32):
            for pace in paces:
                for depth in depths:
                    for cold in (False, True):
                        yield pair_case(
                            columns,
                            depth,
                            row=row,
                            pause=pace,
                            cold=cold,
                            turns=256,
                            wrap=12,
                            paced=True,
                            a_boxes=2,
                        )
