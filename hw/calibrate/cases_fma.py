"""Cases: FFMA on a register tile, and what their registers cost.  See docs/machine.md."""

__all__ = ["fma_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words
from .operands import PATTERNS
from .sources import Variant

TURNS = 64
WARPS = (4, 8, 16)  # one, two and four of a sub-partition
FACTORS = ("step", "row", "registers")  # see ALONG in outer.cu
TILES = ((4, 4), (4, 8), (8, 4), (8, 8), (12, 4), (4, 12))
# tile, depth, factors, threads, 16-byte copies of a thread in a turn: those of a whole tile
RINGS = (
    ((8, 8), 16, "row", 256, 4),
    ((8, 8), 16, "step", 256, 4),
    ((8, 8), 8, "row", 128, 3),
    ((8, 4), 16, "row", 256, 3),
    ((4, 8), 16, "step", 256, 3),
)
RING_STAGES = 4
SMEM = 227 << 10  # of an SM


def fma_cases() -> Iterator[Case]:
    for i, pattern in enumerate(PATTERNS):
        for warps in WARPS:
            yield _case("ffma_registers", {"pattern": pattern.name}, warps, (8, 8), 8, 2, pattern=i)
    for along, factors in enumerate(FACTORS):
        for tile in TILES:
            for depth in (4, 16):
                for warps in WARPS:
                    yield _case("outer", {"factors": factors}, warps, tile, depth, along)
    for extra in (4, 8, 16):
        for warps in WARPS:
            yield _case("outer_extra", {"extra": extra}, warps, (8, 8), 8, 2, extra=extra)
    for warps in WARPS:
        yield _case("outer_sync", {}, warps, (8, 8), 16, 0, sync=1)
    for tile, depth, factors, threads, copies in RINGS:
        for ctas in (1, 2):
            yield _ring(tile, depth, factors, threads, copies, ctas)


def _case(
    bench: str,
    params: dict[str, int | str],
    warps: int,
    tile: tuple[int, int],
    depth: int,
    along: int,
    *,
    extra: int = 0,
    sync: int = 0,
    pattern: int | None = None,
) -> Case:
    tm, tn = tile
    defines = [("TM", tm), ("TN", tn), ("DEPTH", depth), ("ALONG", along)]
    defines += [("SYNC", sync), ("EXTRA", extra), ("BLOCK", 512), ("CTAS", 1)]
    defines += [("STAGES", 1), ("COPIES", 1)]
    if pattern is not None:
        defines.append(("PATTERN", pattern))
    if pattern is None:
        params |= {"tile": f"{tm}x{tn}", "depth": depth}
    return Case(
        bench,
        params | {"warps": warps},
        Variant("outer.cu", tuple(defines)),
        "outer",
        _turn(warps),
        block=32 * warps,
        args=(3, 5, TURNS, 0),
        words=1024,
        repeat=10,
    )


def _ring(
    tile: tuple[int, int], depth: int, factors: str, threads: int, copies: int, ctas: int
) -> Case:
    """CTAs that fill an SM's shared memory, so that each SM has as many as it should."""
    tm, tn = tile
    defines = [("TM", tm), ("TN", tn), ("DEPTH", depth), ("ALONG", FACTORS.index(factors))]
    defines += [("SYNC", 0), ("EXTRA", 0), ("BLOCK", threads), ("CTAS", ctas)]
    defines += [("STAGES", RING_STAGES), ("COPIES", copies)]
    grid = 132 * ctas
    return Case(
        "outer_ring",
        {
            "factors": factors,
            "tile": f"{tm}x{tn}",
            "depth": depth,
            "warps": threads // 32,
            "copies": copies,
            "ctas": ctas,
        },
        Variant("outer.cu", tuple(defines)),
        "outer_ring",
        _last_of_sm(grid),
        grid=grid,
        block=threads,
        smem=SMEM // ctas - 2048,
        args=(3, 5, TURNS, 0),
        words=2 * grid,
        repeat=10,
    )


def _last_of_sm(grid: int) -> Reduce:
    """Blocks of an SM do not share it evenly: what counts is the last one's time."""

    def reduce(words: Words, context: Context) -> Samples:
        cycles, sm = words[: 2 * grid].reshape(grid, 2).T
        return {"cycles": np.array([cycles[sm == s].max() / TURNS for s in np.unique(sm)])}

    return reduce


def _turn(warps: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        return {"cycles": np.array([words[:warps].max() / TURNS])}

    return reduce
