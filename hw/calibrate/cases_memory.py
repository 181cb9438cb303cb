"""Cases: who meets whom in L2 and DRAM, in clusters, and what loads into registers wait for.

See docs/machine.md.
"""

__all__ = ["memory_cases"]

from collections.abc import Iterator
from itertools import product

import numpy as np

from .case import Case, Context, Reduce, Samples, Words
from .cases_both import Loads, Sends, both_case
from .cases_release import bulk_case
from .sources import Variant

KB = 1024
LOADS = tuple(Loads(size * KB, depth) for size, depth in ((2, 1), (2, 3), (8, 1), (8, 2), (8, 3)))
SLOWED = (
    (116, Loads(16 * KB, 8), Sends()),
    (116, Loads(16 * KB, 8, "dram"), Sends()),
    (116, Loads(), Sends(8 * KB)),
    (116, Loads(), Sends(8 * KB, level="dram")),
    (116, Loads(), Sends(8 * KB, "reduce")),
    (1, Loads(2 * KB, 1), Sends()),
    (1, Loads(16 * KB, 1), Sends()),
    (1, Loads(2 * KB, 1, "dram"), Sends()),
)


def memory_cases() -> Iterator[Case]:
    yield from _in_step()
    yield from _reductions()
    for (ctas, loads, sends), mma in product(SLOWED, (0, 16)):
        yield both_case(loads, sends, ctas=ctas, mma=mma)
    for chunk in range(1, 256):
        yield _same_part(512 * chunk, 512)
    for line in (1, 2, 3, 4, 5, 8):
        yield _same_part(128 * line, 128)
    yield from _mixed()
    yield from _loads()
    yield from _remote_reads()


def _in_step() -> Iterator[Case]:
    """Reductions of CTAs that begin with the same tile: how many at once, how long, how large."""
    for at_once, turns in product((1, 2, 4, 8, 16, 33, 66, 128), (4, 8, 16, 32)):
        step = 1024 // at_once if at_once > 1 else 0
        yield bulk_case(1, 8 * KB, 0, 0, 1, step=step, tiles=1024, grid=132, turns=turns)
    for at_once, turns in product((1, 8, 132), (4, 16, 64)):
        step = 1024 // at_once if at_once > 1 else 0
        for size in (512, 2 * KB):
            yield bulk_case(1, size, 0, 0, 1, step=step, tiles=1024, grid=132, turns=turns)
    for step, turns in product((0, 1), (4, 16, 64)):
        yield bulk_case(1, 8 * KB, 0, 0, 1, step=step, tiles=8, grid=132, turns=turns)
    for grid, step in product((2, 4, 8, 16, 33, 66), (0, 37)):
        yield bulk_case(1, 8 * KB, 0, 0, 1, step=step, tiles=1024, grid=grid, turns=64)
    for delay in (25, 100, 400):
        yield bulk_case(1, 8 * KB, 0, 0, 1, step=0, tiles=1024, grid=132, turns=64, delay=delay)


def _reductions() -> Iterator[Case]:
    """Loads that hit beside reductions of the same SM, alone and where L2 is busy with both."""
    for loads, size, ctas in product(LOADS, (2, 8, 16), (1, 16, 132)):
        if (size, ctas) != (8, 132):
            yield both_case(loads, Sends(size * KB, "reduce"), ctas=ctas)
        if size != 2 and ctas == 1:
            yield both_case(loads, Sends(size * KB, "reduce", crowd=True), ctas=ctas)
    for loads, pace in product(LOADS[::2], (640, 768, 1024, 2048)):
        for ctas in (1, 132):
            yield both_case(loads, Sends(8 * KB, "reduce", pace=pace), ctas=ctas)


def _same_part(offset: int, size: int) -> Case:
    turns = 48 * 512 // size  # what an SM has sent before L2 holds it back is a third of this
    return Case(
        "same_part",
        {"offset": offset, "bytes": size},
        Variant("slices.cu"),
        "same_part",
        _per(132, turns),
        grid=132,
        args=(0, offset, turns, size),
        words=132,
    )


def _per(ctas: int, turns: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        return {"cycles": words[:ctas] / turns}

    return reduce


def _mixed() -> Iterator[Case]:
    """Of eight tiles so many are loads; each kind of run short and long."""
    for loads, tiles in product(range(9), (16, 64, 256, 512)):
        yield _mix(loads, tiles, 0)
    for span in (96, 128, 192, 256):
        yield _mix(8, 512, span * 128)
    yield _mix(8, 1024, 0)


def _mix(loads: int, tiles: int, span: int) -> Case:
    return Case(
        "mixed",
        {"loads": loads, "tiles": tiles, "span": span},
        Variant("mixed.cu"),
        "mixed",
        _eighths(132, tiles),
        grid=132,
        smem=100_000,
        args=(loads, span, tiles, 0),
        words=1320,
        repeat=3,
        cold=True,
    )


def _eighths(ctas: int, tiles: int) -> Reduce:
    """Cycles of a tile: in all, of the slowest CTA, in the second quarter and in the last."""

    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 10 * ctas].reshape(ctas, 10).astype(float)
        return {
            "tile": rows[:, 8] / tiles,
            "slowest": np.array([rows[:, 8].max() / tiles]),
            "early": (rows[:, 3] - rows[:, 1]) / (tiles / 4),
            "late": (rows[:, 7] - rows[:, 5]) / (tiles / 4),
        }

    return reduce


def _loads() -> Iterator[Case]:
    for rows, warps, ctas in product((1, 2, 4, 8), (1, 2, 4, 16), (1, 16, 132)):
        for cold in (False, True):
            yield _load(rows, warps, ctas, 128 * warps, cold=cold)
    for rows, pitch, ctas in product((1, 4), (640, 2048, 8192), (1, 132)):
        yield _load(rows, 1, ctas, pitch, cold=ctas > 1)


def _load(rows: int, warps: int, ctas: int, pitch: int, *, cold: bool) -> Case:
    turns = 256 if ctas == 1 else 64 if cold else 16
    return Case(
        "global_turn",
        {
            "rows": rows,
            "warps": warps,
            "ctas": ctas,
            "pitch": pitch,
            "level": "dram" if cold else "l2",
        },
        Variant("global.cu", (("K", rows),)),
        "global_turn",
        _of_warps(ctas, turns),
        grid=ctas,
        block=32 * warps,
        args=(pitch, 0, turns, 0),
        words=2 * ctas,
        repeat=3,
        cold=cold,
    )


def _of_warps(ctas: int, turns: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 2 * ctas].reshape(ctas, 2) / turns
        return {"warp": rows[:, 0], "cta": rows[:, 1], "slowest": np.array([rows[:, 1].max()])}

    return reduce


def _remote_reads() -> Iterator[Case]:
    for size in (2, 4, 8, 16):
        readers = sorted({0, 1, 2, 3, 7, 15} & set(range(size)))
        for n, words, chain, warps in product(readers, (1, 2, 4), (0, 1), (1, 4, 8)):
            if not chain or warps == 1:
                yield _remote_read(size, n, words, chain, warps, size)
        for words, chain in product((1, 4), (0, 1)):
            yield _remote_read(size, 0, words, chain, 1, 112)


def _remote_read(size: int, readers: int, words: int, chain: int, warps: int, ctas: int) -> Case:
    return Case(
        "remote_read",
        {
            "cluster": size,
            "readers": readers,
            "bytes": 4 * words,
            "chain": chain,
            "warps": warps,
            "ctas": ctas,
        },
        Variant("cluster.cu", (("OP", 0), ("R", 16), ("WORDS", words), ("CHAIN", chain))),
        "remote_read",
        _of_readers(ctas, 16 * 16),
        grid=ctas,
        block=32 * warps,
        cluster=size,
        args=(readers, 0, 16, 0),
        words=ctas,
        repeat=3,
    )


def _of_readers(ctas: int, loads: int) -> Reduce:
    """Cycles of a load of all warps of a CTA that reads."""

    def reduce(words: Words, context: Context) -> Samples:
        taken = words[:ctas]
        return {"load": taken[taken > 0] / loads}

    return reduce
