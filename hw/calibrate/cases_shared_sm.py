"""Cases: what shares an SM with wgmma, and CTAs that share one.  See docs/machine.md."""

__all__ = ["shared_sm_cases"]

from collections.abc import Iterator

from .case import Case, Context, Reduce, Samples, Words
from .cases_copy import stream_case
from .sources import Variant

KB = 1024
GROUPS = 200
COPIES = ("none", "load", "store", "reduce", "load and store", "load, store")
LSU = ("none", "ld.shared.v4", "st.shared.v4", "ldmatrix.x4", "stmatrix.x4")
# N and whether A comes from registers
STREAMS = ((16, 0), (64, 0), (64, 1), (128, 0), (256, 0))


def shared_sm_cases() -> Iterator[Case]:
    for n, rs in STREAMS:
        for copy, lsu in ((0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 1), (0, 2), (0, 3), (0, 4)):
            yield _mix(n, rs, 1, copy, lsu)
        yield _mix(n, rs, 1, 1, 3)
        yield _mix(n, rs, 1, 5, 0)
    yield _mix(64, 0, 0, 5, 0)
    for copy in range(5):  # without wgmma
        for lsu in range(5):
            if copy or lsu:
                yield _mix(64, 0, 0, copy, lsu)
    for ctas, depth in ((132, 6), (264, 3)):  # the same bytes in flight by one or two CTAs of an SM
        for data, spread in (("l2_private", 131072), ("l2_shared", 0)):
            yield stream_case(
                {"data": data, "ctas": ctas, "resident": ctas // 132},
                16 * KB,
                depth,
                512,
                spread=spread,
                wrap=131072,
                ctas=ctas,
                smem=227 * KB * 132 // ctas - 2048,
            )


def _mix(n: int, rs: int, mma: int, copy: int, lsu: int) -> Case:
    defines = (("N", n), ("D", 8), ("WAIT", 1), ("RS", rs))
    sides = (("MMA", mma), ("COPY", copy), ("LSU", lsu))
    return Case(
        "mix",
        {"n": n if mma else 0, "rs": rs, "copy": COPIES[copy], "lsu": LSU[lsu]},
        Variant("mix.cu", (*defines, *sides)),
        "mix",
        _mix_reduce(8 * GROUPS if mma else 0, bool(copy), bool(lsu), copy == 5),
        block=288,
        smem=150_000,
        args=(0, 0, GROUPS, 0),
        rows=128,
        words=32,
        repeat=10,
    )


def _mix_reduce(instructions: int, copy: bool, lsu: bool, apart: bool) -> Reduce:
    """Cycles of an instruction, bytes a cycle of the copies and of all warps that load or store."""

    def reduce(words: Words, context: Context) -> Samples:
        w = words[:18].astype(float)
        samples: Samples = {}
        if instructions:
            samples["wgmma"] = w[:1] / instructions
        if copy:
            samples["copy"] = w[2:3] / w[3:4]
        if apart:
            samples["store"] = w[10:11] / w[11:12]
        if lsu:
            samples["lsu"] = (w[10:18:2] / w[11:18:2]).sum(keepdims=True)
        return samples

    return reduce
