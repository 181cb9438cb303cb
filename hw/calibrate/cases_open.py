"""Cases: boxes of any rank and swizzle, waits that poll, L2 that others use too.

See docs/machine.md.
"""

__all__ = ["open_cases"]

from collections.abc import Iterator
from itertools import product

import numpy as np

from .case import Box, Case, Context, Reduce, Samples, Words, first, split
from .cases_copy import stream_case
from .sources import Variant

KB = 1024
MB = 1 << 20
STYLES = ("converged", "parked", "alone")
# CTA that probes, and its GPC: the first one is placed where few SMs share a port.
PROBES = {0: "small", 100: "full"}
HINTS = ("none", "evict_first", "evict_last")
# Boxes of 16 KB of 2-byte elements, outermost first, with their swizzle.
BOXES = {
    "1d, 256 elements": Box((256,), 0),  # 512 bytes: a box has at most 256 elements in a row
    "2d, 16-byte rows": Box((256, 8), 0),  # 4 KB
    "2d, 32-byte rows": Box((256, 16), 0),  # 8 KB
    "2d, 32-byte rows, swizzled": Box((256, 16), 32),
    "2d, 64-byte rows": Box((256, 32), 0),
    "2d, 64-byte rows, swizzled": Box((256, 32), 64),
    "2d, 128-byte rows": Box((128, 64), 0),
    "2d, 128-byte rows, swizzled": Box((128, 64), 128),
    "2d, 256-byte rows": Box((64, 128), 0),
    "2d, 512-byte rows": Box((32, 256), 0),
    "3d": Box((8, 16, 64), 128),
    "4d": Box((4, 4, 8, 64), 128),
    "5d": Box((2, 4, 4, 4, 64), 128),
    "im2col, 128 pixels": Box((128, 64), 128, im2col=True),
}


def open_cases() -> Iterator[Case]:
    yield from _boxes()
    yield from _polls()
    yield from _loaded()
    yield from _capacity()
    yield from _policies()
    yield from _bulk_out()


def _boxes() -> Iterator[Case]:
    for name, box in BOXES.items():
        rank = 4 if box.im2col else len(box.shape)
        defines = (("RANK", rank), ("IM2COL", int(box.im2col)))
        for count in (4, 12):
            yield Case(
                "boxes",
                {"box": name, "bytes": box.bytes, "copies": 4 * count},
                Variant("boxes.cu", defines),
                "boxes",
                split(24, ("latency", "cycles")),
                block=128,
                args=(box.bytes, count, 24, 0),
                box=box,
                repeat=2,
            )


def _polls() -> Iterator[Case]:
    for style, name in enumerate(STYLES):
        for test in (0, 1):
            for pad in (0, 2, 4, 8, 16, 32, 64):
                if style == 0 and pad:
                    continue
                tries = 4 if name == "converged" and not test else 200
                defines = (("STYLE", style), ("TEST", test), ("PAD", pad))
                yield Case(
                    "poll",
                    {"style": name, "op": "test_wait" if test else "try_wait", "pad": pad},
                    Variant("poll.cu", defines),
                    "poll",
                    _each(tries),
                    args=(3, 0, tries, 0),
                    repeat=3,
                )


def _each(tries: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        return {"cycles": words[2:8] / tries}

    return reduce


def _loaded() -> Iterator[Case]:
    """A probe alone on its SM while all others keep boxes in flight."""
    probes = 64
    for level, stride, through in (("l2", 0, 128 * KB), ("dram", 256 * KB, 4 * MB)):
        for depth, (probe, gpc) in product((0, 1, 2, 4, 8, 12), PROBES.items()):
            yield Case(
                "loaded",
                {"level": level, "depth": depth, "gpc": gpc},
                Variant("load.cu", (("PROBE", probe),)),
                "loaded",
                split(probes, ("bulk", "load")),
                grid=132,
                smem=220_000,
                args=(depth, stride, probes, through),
                rows=128,
                cold=level == "dram",
                repeat=3,
            )


def _capacity() -> Iterator[Case]:
    """Every SM goes through a slice of its own, again and again."""
    for boxes in (12, 16, 20, 22, 23, 24, 25, 26, 27, 28, 30, 34, 40):
        yield stream_case(
            {"data": "l2_capacity", "megabytes": round(132 * boxes * 16 * KB / 1e6)},
            16 * KB,
            6,
            6 * boxes,
            spread=boxes * 16 * KB,
            wrap=boxes * 16 * KB,
        )


def _policies() -> Iterator[Case]:
    """Lines that are wanted again (24 MB), others that are not, and the first ones once more."""
    for kept, passed in ((0, 0), (0, 1), (2, 0), (2, 1), (1, 1), (2, 2)):
        for between in (0, 8, 50):
            yield Case(
                "l2_policy",
                {"kept": HINTS[kept], "passed": HINTS[passed], "passing": between},
                Variant("load.cu", (("KEPT", kept), ("PASSED", passed))),
                "policies",
                lambda words, context: {"sm": 11 * 16 * KB / words[:132].astype(float)},
                grid=132,
                smem=200_000,
                args=(11, between, 0, 0),
                rows=128,
                words=132,
                repeat=5,
                cold=True,
                unit="bytes_per_cycle",
            )


def _bulk_out() -> Iterator[Case]:
    for reduces, name in enumerate(("store", "reduce")):
        for ctas in (1, 132):
            yield Case(
                "bulk_out",
                {"kind": name, "ctas": ctas},
                Variant("load.cu"),
                "bulk_out",
                _rate(64 * 16 * KB, ctas),
                grid=ctas,
                smem=200_000,
                args=(0, 128 * KB, 64, reduces),
                words=132,
                repeat=10,
                unit="bytes_per_cycle",
            )
        for size in (16, 512, KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB, 32 * KB):
            yield Case(
                "bulk_once",
                {"kind": name, "bytes": size},
                Variant("load.cu"),
                "reduce_once",
                first(40, skip=8),
                args=(size, 0, 40, reduces),
            )


def _rate(total: int, ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rates = total / words[:ctas].astype(float)
        return {"sm": rates, "total": np.array([rates.sum()])}

    return reduce
