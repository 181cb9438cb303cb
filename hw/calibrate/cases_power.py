"""Cases: what the board draws under long loads of one kind, and the clock that is left.

None of them is a scored kernel.  See docs/machine.md.
"""

__all__ = ["FILLS", "power_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words
from .sources import KINDS, Variant

KB = 1024
SMS = 132
SECONDS = 1.5
FILLS = ("zeros", "normal", "uniform", "ones", "integers")
CYCLES = 36_000_000  # of a launch, about 20 ms


def power_cases() -> Iterator[Case]:
    yield _case({"load": "nothing"}, "", Variant("power.cu"), turns=0)
    yield from _wgmma()
    yield from _memory()
    yield from _sm()
    yield from _both()


def _clocks(words: Words, ctas: int) -> Samples:
    """Of each CTA cycles and nanoseconds of the same time."""
    pairs = words[: 2 * ctas].reshape(ctas, 2).astype(float)
    mhz = np.median(1000 * pairs[:, 0] / np.maximum(pairs[:, 1], 1))
    return {"mhz": np.array([mhz]), "cycles": np.array([np.median(pairs[:, 0])])}


def _each(ctas: int) -> Reduce:
    return lambda words, context: _clocks(words, ctas)


def _together(words: Words, context: Context) -> Samples:
    """Boxes that the warp of each CTA has loaded."""
    return _clocks(words, SMS) | {"boxes": np.array([np.median(words[512 : 512 + SMS])])}


def _case(
    params: dict[str, int | str],
    kernel: str,
    variant: Variant,
    *,
    turns: int,
    ctas: int = SMS,
    block: int = 32,
    smem: int = 200_000,
    p: tuple[int, int, int] = (0, 0, 0),
    fill: str = "normal",
    width: int = 16,
) -> Case:
    """p: the kernel's p0, p1 and p3; p2 is the number of turns, which the row has too."""
    return Case(
        "power",
        params | {"ctas": ctas, "data": fill, "turns": turns},
        variant,
        kernel,
        _each(ctas),
        grid=ctas,
        block=block,
        smem=smem,
        args=(p[0], p[1], turns, p[2]),
        words=2 * ctas,
        unit="cycles",
        seconds=SECONDS,
        fill=FILLS.index(fill),
        width=width,
    )


def _wgmma() -> Iterator[Case]:
    """(type, N, A in registers, data, CTAs)."""
    shapes: list[tuple[str, int, int, str, int]] = [
        *(("bf16", 256, 0, "normal", ctas) for ctas in (33, 66, 99, SMS)),
        *(("bf16", 256, 0, "zeros", ctas) for ctas in (66, SMS)),
        *(("bf16", 256, 0, fill, SMS) for fill in ("uniform", "ones", "integers")),
        *(("bf16", n, 0, "normal", ctas) for n in (64, 128) for ctas in (66, SMS)),
        ("bf16", 64, 0, "zeros", SMS),
        *(("bf16", n, 1, "normal", ctas) for n in (64, 128) for ctas in (66, SMS)),
        *(("e4m3", 256, 0, "normal", ctas) for ctas in (66, SMS)),
        *(("e4m3", n, 0, "normal", SMS) for n in (64, 128)),
        ("e4m3", 256, 0, "zeros", SMS),
        *(("tf32", 256, 0, "normal", ctas) for ctas in (66, SMS)),
    ]
    for kind, n, rs, fill, ctas in shapes:
        defines = (("N", n), ("RS", rs), ("KIND", KINDS.index(kind)), ("D", 4), ("WAIT", 1))
        yield _case(
            {"load": "wgmma", "kind": kind, "n": n, "rs": rs},
            "power_wgmma",
            Variant("power.cu", defines),
            turns=CYCLES // (4 * n),
            ctas=ctas,
            block=256,
            smem=1024 + 4 * (16 * KB + n * 128),
            fill=fill,
            width=8 if kind == "e4m3" else 16,
        )


def _memory() -> Iterator[Case]:
    """Loads of 16 KB, some in flight, and stores: (level, bytes a cycle, in flight, data, CTAs)."""
    for level, rate, depth, fill, ctas in (
        ("dram", 17, 8, "normal", SMS),
        ("dram", 17, 8, "zeros", SMS),
        ("dram", 11, 1, "normal", SMS),
        ("dram", 30, 8, "normal", 66),
        ("l2_private", 36, 8, "normal", SMS),
        ("l2_private", 36, 8, "zeros", SMS),
        ("l2_private", 24, 1, "normal", SMS),
        ("l2_shared", 82, 8, "normal", SMS),
    ):
        region = (4096 if level == "dram" else 192) * KB
        yield _case(
            {"load": f"load {level}", "depth": depth},
            "power_load",
            Variant("power.cu"),
            turns=CYCLES * rate // (16 * KB),
            ctas=ctas,
            p=(0 if level == "l2_shared" else region, region, depth),
            fill=fill,
        )
    for level, rate in (("dram", 17), ("l2", 19)):
        region = (4096 if level == "dram" else 128) * KB
        yield _case(
            {"load": f"store {level}"},
            "power_store",
            Variant("power.cu"),
            turns=CYCLES * rate // (16 * KB),
            p=(region, region, 0),
        )


def _sm() -> Iterator[Case]:
    """Warps of an SM with instructions of one kind: (what, OP, warps, CTAs, cycles of a turn)."""
    for what, op, warps, ctas, cycles in (
        ("sleep", 5, 4, SMS, 200),
        ("poll", 6, 4, SMS, 700),
        ("ffma", 0, 4, SMS, 550),
        ("ffma", 0, 8, SMS, 1050),
        ("ffma", 0, 16, SMS, 2100),
        ("ffma", 0, 8, 66, 1050),
        ("lop3", 1, 8, SMS, 2050),
        ("ex2", 2, 8, SMS, 8200),
        ("lds", 3, 8, SMS, 1050),
        ("mma", 4, 8, SMS, 1000),
    ):
        yield _case(
            {"load": what, "warps": warps},
            "power_sm",
            Variant("power.cu", (("OP", op),)),
            turns=CYCLES // cycles,
            ctas=ctas,
            block=32 * warps,
            smem=60_000,
        )


def _both() -> Iterator[Case]:
    """Loads from L2 beside work of the tensor cores on every SM: (N, 0 for none; data; loads)."""
    for n, fill, loads in (
        (0, "normal", 1),
        (128, "zeros", 1),
        (128, "normal", 1),
        (64, "normal", 1),
        (128, "normal", 0),
    ):
        turns = CYCLES // (4 * n * 128) if n else 0
        defines = (("N", n or 128), ("RS", 0), ("KIND", 0), ("D", 4), ("WAIT", 1))
        yield Case(
            "power_together",
            {"n": n, "data": fill, "loads": loads, "turns": 128 * turns},
            Variant("power.cu", defines),
            "power_together",
            _together,
            grid=SMS,
            block=288,
            smem=200_000,
            args=(turns, 0, CYCLES, loads),
            words=512 + SMS,
            seconds=SECONDS,
            fill=FILLS.index(fill),
        )
