"""Cases: tiles of mma.sync products beside copies by cp.async, and what a bulk store waits for that
is computed first.  See docs/machine.md.
"""

__all__ = ["tiles_cases"]

from collections.abc import Iterator

from .case import Case, per_step
from .sources import Variant

TILES, TURNS = 64, 512
GROUP = 128  # threads that make a tile
STAGES = 96 << 10  # of a group
PITCH = 8192  # bytes from a row of copies to the next
ALONE = (  # ldmatrix of a slice, copies of a thread for a tile, slice that they follow
    *((8, 0, 0), (8, 8, 0), (8, 16, 0), (8, 16, 1), (8, 16, 2)),
    *((4, 0, 0), (4, 16, 0), (0, 16, 0)),
)
BY_OTHERS = ((0, 0), (0, 16), (4, 0), (4, 16), (8, 0), (8, 4), (8, 8), (8, 16), (8, 32))
OPS = (0, 4, 8, 16, 32)


def tiles_cases() -> Iterator[Case]:
    for groups in (1, 2):
        for loads, copies, at in ALONE:
            yield _tiles(groups, loads, copies, at=at, sync=1)
    for loads, copies in BY_OTHERS:
        yield _tiles(2, loads, copies, split=1)
    yield _tiles(2, 8, 16, sync=1, grid=132)
    for vector in (0, 1):
        for ops in OPS:
            yield _chain(ops, vector)


def _tiles(
    groups: int,
    loads: int,
    copies: int,
    *,
    at: int = 0,
    sync: int = 0,
    split: int = 0,
    grid: int = 1,
) -> Case:
    """Samples are those of all warps: of a split launch, too, of those that copy."""
    defines = {"LOADS": loads, "COPIES": copies, "AT": at, "SYNC": sync, "SPLIT": split}
    threads = GROUP * groups
    warps = threads // 32 * grid
    return Case(
        "tiles",
        {**{k.lower(): v for k, v in defines.items()}, "threads": threads, "grid": grid},
        Variant("tiles.cu", tuple(defines.items())),
        "tiles",
        per_step(TILES, warps),
        grid=grid,
        block=threads,
        smem=STAGES * groups,
        args=(PITCH, TILES, 0, 0),
        words=warps,
        repeat=3,
    )


def _chain(ops: int, vector: int) -> Case:
    defines = {"OPS": ops, "VECTOR": vector}
    return Case(
        "bulk_chain",
        {"ops": ops, "vector": vector},
        Variant("bulk.cu", tuple(defines.items())),
        "bulk_chain",
        per_step(TURNS),
        args=(0, TURNS, 48, 5),
        words=1,
        repeat=3,
    )
