"""Cases: loads and stores at the same time, and rows that begin in the middle of a line.

See docs/machine.md.
"""

__all__ = ["Loads", "Sends", "both_case", "both_cases"]

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from .case import Case, Context, Reduce, Samples, Words, first, split
from .cases_copy import stream_case
from .cases_release import bulk_case
from .cases_train import copy_case
from .sources import Variant

KB = 1024
WINDOW = 100_000
LONG, WARMING = 1_500_000, 150  # cycles of a launch; launches until the clock has settled
SPANS = {"l2": 64 * KB, "dram": 2 << 20}
# Bytes of a row of a matrix: lines of 128 bytes begin with it, or it begins 64, 32, 16 bytes later
# in each row than in the one before.
PITCHES = (8192, 8256, 8224, 8208)


@dataclass(frozen=True, slots=True)
class Loads:
    """``depth`` loads of ``size`` bytes in flight; none if size is 0."""

    size: int = 0
    depth: int = 0
    level: str = "l2"


@dataclass(frozen=True, slots=True)
class Sends:
    """Stores or reductions of ``size`` bytes; ``strands``: stretches that are written in turn."""

    size: int = 0
    kind: str = "store"
    level: str = "l2"
    strands: int = 1
    crowd: bool = False
    pace: int = 0


PACED = tuple(
    Sends(2 * KB, "store", level, pace=pace)
    for level in ("l2", "dram")
    for pace in (1024, 512, 256, 192, 160)
)
LOADS = tuple(
    Loads(size * KB, depth, level)
    for level in ("l2", "dram")
    for size, depth in ((2, 1), (2, 3), (8, 1), (8, 3), (16, 2), (16, 8))
)
SENDS = (
    *(Sends(size * KB, "store", level) for level in ("l2", "dram") for size in (1, 2, 8, 16)),
    *(Sends(8 * KB, "reduce", level) for level in ("l2", "dram")),
    Sends(8 * KB, "reduce", "l2", crowd=True),
    *(Sends(size, "store", "dram", strands=8) for size in (512, KB, 2 * KB, 8 * KB)),
)


def both_cases() -> Iterator[Case]:
    for loads, sends in product((Loads(), *LOADS), (Sends(), *SENDS)):
        if loads.size or sends.size:
            yield both_case(loads, sends)
        if loads.size and sends.size and sends.strands == 1 and sends.size >= 8 * KB:
            yield both_case(loads, sends, halves=True)
    for sends in SENDS:
        yield both_case(Loads(), sends, halves=True)
    for ctas, loads, sends in product((1, 16), LOADS, SENDS[:4]):
        if loads.level == "l2":
            yield both_case(loads, sends, ctas=ctas)
    for sends, size, depth, level, halves in product(PACED, (2, 8), (1, 3), SPANS, (0, 1)):
        yield both_case(Loads(size * KB, depth, level), sends, halves=bool(halves))
    yield from _turns()
    yield from _pitches()


def _turns() -> Iterator[Case]:
    """One thread that waits for a load and sends it on, on all SMs."""
    for size, stores, read, reduce in product((512, KB, 2 * KB, 8 * KB), (1, 2, 4), (0, 1), (0, 1)):
        if stores == 1 or not reduce:
            yield bulk_case(stores, size, 1, read, reduce, step=37, tiles=4096, grid=132, cold=True)
            yield bulk_case(stores, size, 1, read, reduce, step=37, tiles=132, grid=132, cold=True)


def both_case(
    loads: Loads, sends: Sends, *, halves: bool = False, ctas: int = 132, mma: int = -1
) -> Case:
    """``mma``: how many CTAs more do wgmma, in a launch of a millisecond after many of its kind;
    -1: a short launch without any."""
    flags = loads.depth + 256 * halves + 512 * sends.crowd
    flags += 1024 * sends.strands if sends.size else 0
    defines = {"LOAD": loads.size, "SEND": sends.size, "REDUCE": int(sends.kind == "reduce")}
    if sends.pace:
        defines["PACE"] = sends.pace
    if mma > 0:
        defines |= {"MMA": mma, "N": 64, "RS": 0}
    grid, window = ctas + max(mma, 0), WINDOW if mma < 0 else LONG
    return Case(
        "both" if mma < 0 else "both_slow",
        {
            "load": loads.size,
            "depth": loads.depth,
            "from": loads.level if loads.size else "",
            "send": sends.size,
            "kind": sends.kind if sends.size else "",
            "to": sends.level if sends.size else "",
            "strands": sends.strands,
            "crowd": int(sends.crowd),
            "pace": sends.pace,
            "halves": int(halves),
            "ctas": ctas,
            **({} if mma < 0 else {"mma": mma}),
        },
        Variant("both.cu", tuple(defines.items())),
        "both",
        _rates(ctas) if mma < 0 else _rates_and_clock(ctas, grid),
        grid=grid,
        block=128 if mma > 0 else 64,
        smem=200_000,
        args=(flags, SPANS[loads.level], window, SPANS[sends.level]),
        words=4 * grid + (2 if mma >= 0 else 0),
        repeat=3 if mma < 0 else 10,
        warmups=1 if mma < 0 else WARMING,
        cold="dram" in (loads.level, sends.level),
        unit="bytes_per_cycle",
    )


def _rates(ctas: int) -> Reduce:
    """Of each SM that loads, or sends."""

    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 4 * ctas].reshape(ctas, 4).astype(float)
        samples: Samples = {}
        for name, column in (("load", 0), ("send", 2)):
            took = rows[:, column + 1] > 0
            if took.any():
                samples[name] = rows[took, column] / rows[took, column + 1]
        return samples

    return reduce


def _rates_and_clock(ctas: int, grid: int) -> Reduce:
    """Bytes per cycle of each SM, and the clock of the launch."""

    def reduce(words: Words, context: Context) -> Samples:
        cycles, ns = words[4 * grid : 4 * grid + 2]
        return {**_rates(ctas)(words, context), "mhz": np.array([1000 * cycles / max(ns, 1)])}

    return reduce


def _pitches() -> Iterator[Case]:
    for pitch, ctas, data in product((*PITCHES, 2048, 2000), (1, 132), ("private", "shared")):
        yield replace(
            stream_case(
                {"data": f"l2_{data}", "ctas": ctas, "pitch": pitch},
                16 * KB,
                6,
                512,
                spread=32 * KB if data == "private" else 0,
                wrap=32 * KB,
                ctas=ctas,
            ),
            bench="stream_pitch",
            pitch=pitch,
        )
    for pitch, size in product(PITCHES, (4, 16)):
        yield Case(
            "tma_store_pitch",
            {"bytes": size * KB, "pitch": pitch, "stores": 8},
            Variant("tma.cu", (("BYTES", size * KB), ("STORES", 8), ("TENSOR", 1))),
            "tma_store",
            split(40, ("done", "issue")),
            args=(0, 0, 40, 0),
            rows=size * 8,
            pitch=pitch,
        )
    for pitch, size, cold in product((128, *PITCHES), (4, 16, 32), (False, True)):
        yield Case(
            "tma_latency_pitch",
            {"bytes": size * KB, "pitch": pitch, "level": "dram" if cold else "l2"},
            Variant("tma.cu"),
            "tma_latency",
            first(72, skip=8),
            smem=70_000,
            args=(size * KB, size * 8 if cold else 0, 72, 1),
            rows=size * 8,
            pitch=pitch,
            cold=cold,
            repeat=3,
        )
    for pitch, mode, (tiles, cold) in product(PITCHES, (1, 2, 3), ((8, False), (24, True))):
        if pitch != 8192:
            yield copy_case(mode, tiles, cold=cold, pitch=pitch)
    for pitch, (ctas, tiles), reduce in product(PITCHES, ((1, 2), (132, 264), (132, 3168)), (0, 1)):
        yield Case(
            "sends",
            {
                "kind": "reduce" if reduce else "store",
                "pitch": pitch,
                "ctas": ctas,
                "tiles": tiles,
            },
            Variant("both.cu", (("LOAD", 0), ("SEND", 0), ("REDUCE", reduce))),
            "sends",
            _per_tile(ctas, 48),
            grid=ctas,
            smem=200_000,
            args=(0, tiles, 48, 0),
            words=ctas,
            rows=128,
            pitch=pitch,
            element=4,
            repeat=4,
            cold=tiles > 264,
        )


def _per_tile(ctas: int, tiles: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        return {"tile": words[:ctas] / tiles, "slowest": np.array([words[:ctas].max() / tiles])}

    return reduce
