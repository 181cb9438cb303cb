"""Cases: arithmetic of other warps beside a full tensor core.  See docs/model-notes.md."""

__all__ = ["OPS", "beside_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words
from .sources import Variant

OPS = (
    "ffma",
    "maximum",
    "imad",
    "cvt",
    "ex2",
    "ex2_ffma_fadd",
    "shuffle",
    "fadd",
    "ffma_registers",
)
N, SLICES, GROUPS = 128, 4, 400  # 102,000 cycles of the tensor core
EACH = 256  # instructions of a turn


def beside_cases() -> Iterator[Case]:
    """Of one and of two warps on each sub-partition: alone, and beside wgmma with A in shared
    memory or in registers."""
    for number, op in enumerate(OPS):
        for warps in (1, 2):
            for name, busy, rs in (("none", 0, 0), ("shared", 1, 0), ("registers", 1, 1)):
                yield _case(number, {"op": op, "warps": warps, "a": name}, busy, rs)


def _case(op: int, params: dict[str, int | str], busy: int, rs: int) -> Case:
    warps = int(params["warps"])
    defines = (("N", N), ("RS", rs), ("D", SLICES), ("WAIT", 1), ("BUSY", busy), ("OP", op))
    return Case(
        "beside",
        params,
        Variant("beside.cu", defines),
        "beside",
        _reduce(warps, busy),
        block=128 + 128 * warps,
        smem=62_000,
        args=(0x3F7F0000, 0x3F000000, GROUPS, 1),
        words=64,
        repeat=10,
    )


def _reduce(warps: int, busy: int) -> Reduce:
    """Cycles of an instruction on a sub-partition, and of one of the tensor core."""

    def reduce(words: Words, context: Context) -> Samples:
        pairs = words[8 : 8 + 8 * warps].reshape(-1, 2).astype(float)
        turns = np.maximum(pairs[:, 0], 1)
        each = np.median(pairs[:, 1] / (turns * EACH)) / warps
        found = {"cycles": np.array([each])}
        if busy:
            found["wgmma"] = np.array([words[0] / (GROUPS * SLICES)])
        return found

    return reduce
