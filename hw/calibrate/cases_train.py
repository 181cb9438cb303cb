"""Cases: trains of short CTAs, tiles copied through DRAM, one short CTA in parts."""

__all__ = ["copy_case", "train_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words
from .sources import Variant

KB = 1024
PITCH = 8 * KB
COPIES = {1: "load", 2: "store", 3: "copy"}  # by MODE
PARTS = (
    "set_up",
    "copy_issued",
    "landed",
    "landed_last",
    "touched",
    "store_issued",
    "source_read",
    "end",
)


def train_cases() -> Iterator[Case]:
    yield from _trains()
    yield from _parts()
    yield from _copies()


def _defines(rows: int, loads: int, store: int, marks: int) -> tuple[tuple[str, int], ...]:
    return ("ROWS", rows), ("LOADS", loads), ("STORE", store), ("MARKS", marks)


def _train_reduce(ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 2 * ctas].reshape(ctas, 2)
        rows = rows[rows[:, 0] > 0]
        start, end = rows[:, 0], rows[:, 0] + (rows[:, 1] >> 32)
        return {
            "total_ns": np.array([end.max() - start.min()], float),
            "life_ns": (rows[-1000:, 1] >> 32).astype(float),
            "sms": np.array([len(set(rows[:, 1] & 0xFFFFFFFF))], float),
        }

    return reduce


def _train(
    ctas: int,
    per_sm: int,
    warps: int,
    loads: int = 0,
    store: int = 0,
    marks: int = 0,
    rows: int = 32,
    *,
    cold: bool = False,
) -> Case:
    return Case(
        "cta_train",
        {
            "ctas": ctas,
            "per_sm": per_sm,
            "warps": warps,
            "loads": loads,
            "store": store,
            "marks": marks,
            "box": 128 * rows,
            "data": "dram" if cold else "l2",
        },
        Variant("train.cu", _defines(rows, loads, store, marks)),
        "cta_train",
        _train_reduce(ctas),
        grid=ctas,
        block=32 * warps,
        smem=(233_472 // per_sm - 1024) // 128 * 128,
        rows=rows,
        pitch=PITCH,
        words=2 * ctas,
        repeat=5,
        cold=cold,
        unit="ns",
    )


def _trains() -> Iterator[Case]:
    """Every kind with two lengths: the slope is a CTA's share of the steady state."""
    for ctas in (4000, 12000):
        for per_sm in (1, 4, 16):
            for warps in (1, 4):
                yield _train(ctas, per_sm, warps)
        yield _train(ctas, 8, 8)
        yield _train(ctas, 2, 8)
        for warps in (1, 4):
            yield _train(ctas, 16, warps, marks=1)
        for cold in (False, True):
            for per_sm in (4, 12):
                for loads, store in ((1, 0), (2, 0), (0, 1), (1, 1)):
                    yield _train(ctas, per_sm, 2, loads, store, cold=cold)
            yield _train(ctas, 12, 4, 1, 1, cold=cold)
            yield _train(ctas, 12, 4, 1, 1, marks=1, cold=cold)
            yield _train(ctas, 12, 2, 1, 1, marks=1, cold=cold)
            yield _train(ctas, 12, 2, 1, 1, rows=8, cold=cold)
            yield _train(ctas, 12, 2, 1, 0, rows=8, cold=cold)


def _parts_reduce(words: Words, context: Context) -> Samples:
    return {name: words[i : i + 1].astype(float) for i, name in enumerate(PARTS)}


def _parts() -> Iterator[Case]:
    for all_arrive in (0, 1):
        for warps in (2, 8):
            for rows in (32, 64):
                for level in ("l2", "dram"):
                    yield Case(
                        "cta_parts",
                        {
                            "warps": warps,
                            "box": 128 * rows,
                            "all_arrive": all_arrive,
                            "level": level,
                        },
                        Variant("train.cu", _defines(rows, 1, 1, 0)),
                        "cta_parts",
                        _parts_reduce,
                        block=32 * warps,
                        args=(all_arrive, 3, 640, 0),
                        rows=rows,
                        pitch=PITCH,
                        repeat=30,
                        warmups=3,
                        cold=level == "dram",
                    )


def _copy_reduce(ctas: int, tiles: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 4 * ctas].reshape(ctas, 4)
        return {
            "tile": rows[:, 0] / tiles,
            "total_ns": np.array([rows[:, 2].max() - rows[:, 1].min()], float),
        }

    return reduce


def _copies() -> Iterator[Case]:
    """What writing costs by the bytes written: L2 holds clean lines of other data before."""
    for mode in COPIES:
        for tiles in (2, 4, 6, 8, 12, 16, 24, 32, 48, 72, 96, 130):
            for cold in (True, False):
                if cold or tiles <= 12:
                    yield copy_case(mode, tiles, cold=cold)


def copy_case(mode: int, tiles: int, *, cold: bool, pitch: int = PITCH) -> Case:
    """``mode``: of tile_copy; ``pitch``: bytes of a row of the matrix."""
    odd: dict[str, int | str] = {"pitch": pitch} if pitch != PITCH else {}
    return Case(
        "tile_copy_pitch" if odd else "tile_copy",
        {"kind": COPIES[mode], "tiles": tiles, "level": "dram" if cold else "l2", **odd},
        Variant("train.cu", (("MODE", mode), *_defines(128, 1, 1, 0))),
        "tile_copy",
        _copy_reduce(132, tiles),
        grid=132,
        smem=230_000,
        args=(0, 0, tiles, 0),
        rows=128,
        pitch=pitch,
        words=4 * 132,
        repeat=5,
        cold=cold,
    )
