"""Cases: releases at cluster scope, bulk stores and reductions by one thread: docs/machine.md."""

__all__ = ["bulk_case", "release_cases"]

from collections.abc import Iterator
from itertools import product

import numpy as np

from .case import Case, Context, Reduce, Samples, Words, per_step
from .sources import Variant

TURNS = 200
PERIOD = 544  # cycles from load to load: a stage of a GEMM in two loads
TILE = 8192


def release_cases() -> Iterator[Case]:
    for grid, load, consumers in product((1, 132), (0, 24576), (1, 2)):
        for releases in (1, 2):
            yield _release(0, 1, consumers, releases, load, grid)
        for releases in (0, 1, 2, 3):
            yield _release(1, 1, consumers, releases, load, grid)
        yield _release(1, 0, consumers, 2, load, grid)
    for size, reduce, read in product((128, 1024, 2048, TILE), (0, 1), (0, 1, -1)):
        yield bulk_case(1, size, 0, read, reduce, step=1, tiles=1024)
    for size in (256, 2048):
        for stores, load, read in (
            (2, 0, 1),
            (1, 1, 1),
            (2, 1, 1),
            (2, 1, 0),
            (2, 0, -1),
            (4, 1, 1),
        ):
            yield bulk_case(stores, size, load, read, 0, step=1, tiles=1024)
    for tiles, step in product((1, 2, 4, 8, 16, 32, 64, 132, 528, 4096), (0, 1, 37)):
        yield bulk_case(1, TILE, 0, 0, 1, step=step, tiles=tiles, grid=132)
    for at_once in (2, 4, 8, 16, 32, 64, 128):  # tiles that the SMs begin with
        yield bulk_case(1, TILE, 0, 0, 1, step=1024 // at_once, tiles=1024, grid=132)


def _of_warpgroups(grid: int, consumers: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        mine = words[: 8 * grid].reshape(grid, 8)[:, :consumers]
        return {"cycles": mine.reshape(-1).astype(np.float64) / TURNS}

    return reduce


def _release(mma: int, far: int, consumers: int, releases: int, load: int, grid: int) -> Case:
    defines = {"N": 256, "RS": 0, "D": 4, "WAIT": 0, "FAR": far, "MMA": mma}
    return Case(
        "wgmma_release",
        {
            "mma": mma,
            "far": far,
            "consumers": consumers,
            "releases": releases,
            "load": load,
            "grid": grid,
        },
        Variant("wgmma.cu", tuple(defines.items())),
        "wgmma_release",
        _of_warpgroups(grid, consumers),
        grid=grid,
        block=128 * (consumers + 1),
        smem=200_000,
        args=(load, releases, TURNS, PERIOD),
        words=8 * grid,
    )


def bulk_case(
    stores: int,
    size: int,
    load: int,
    read: int,
    reduce: int,
    *,
    step: int,
    tiles: int,
    grid: int = 1,
    cold: bool = False,
    turns: int = 0,
    delay: int = 0,
) -> Case:
    """``step``, ``tiles``: where CTAs begin, of how many; ``delay``: cycles from the begin of a CTA
    to that of the next; ``turns`` 0: as many as the first of these cases had."""
    defines = {"STORES": stores, "BYTES": size, "LOAD": load, "READ": read, "REDUCE": reduce}
    later: dict[str, int | str] = {"turns": turns} if turns else {}
    later |= {"delay": delay} if delay else {}
    turns = turns or (64 if grid > 1 else 256)
    return Case(
        "bulk_turn",
        {**{k.lower(): v for k, v in defines.items()}, "step": step, "tiles": tiles, "grid": grid}
        | ({"level": "dram"} if cold else {})
        | later,
        Variant("bulk.cu", tuple(defines.items())),
        "bulk_turn",
        per_step(turns, grid),
        grid=grid,
        args=(step, tiles, turns, delay),
        words=grid,
        cold=cold,
    )
