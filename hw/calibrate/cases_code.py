"""Cases: tensor core, and turns of generated loop bodies.  See docs/machine.md."""

__all__ = ["code_cases"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words, per_step, split
from .cases_copy import ring_defines
from .sources import Variant

KB = 1024
TURNS = 256
PRODUCERS = ("all_lanes", "elected_parked", "lone_thread")


def code_cases() -> Iterator[Case]:
    yield from _wgmma()
    yield from _producers()
    yield from _consumers()
    yield from _rings()
    yield from _cp_async_turns()
    yield from _clock()


def _wgmma_variant(n: int, d: int, wait: int, rs: int = 0) -> Variant:
    return Variant("wgmma.cu", (("N", n), ("D", d), ("WAIT", wait), ("RS", rs)))


def _wgmma() -> Iterator[Case]:
    shapes = [
        (n, rs, d, w) for n in (64, 128, 256) for rs in (0, 1) for d in (4, 8) for w in (0, 1)
    ]
    shapes += [(n, 0, 1, w) for n in (64, 128, 256) for w in (0, 1)]
    shapes += [(n, 0, 8, 1) for n in (8, 16, 32, 96, 192)] + [(8, 1, 8, 1), (16, 1, 8, 1)]
    for n, rs, d, wait in shapes:
        groups = 64
        for wgs in (1, 2):
            if wgs == 2 and (d == 8 or rs):
                continue
            yield Case(
                "wgmma_stream",
                {"n": n, "rs": rs, "per_group": d, "wait": wait, "warpgroups": wgs},
                _wgmma_variant(n, d, wait, rs),
                "wgmma_stream",
                per_step(groups * d * wgs, wgs),
                block=128 * wgs,
                smem=60_000,
                args=(0, 0, groups, 0),
                words=1024,
                repeat=20,
            )
    for n in (8, 16, 32, 64, 96, 128, 192, 256):
        for d in (1, 2, 4, 8, 16):
            yield Case(
                "wgmma_once",
                {"n": n, "rs": 0, "per_group": d},
                _wgmma_variant(n, d, 0),
                "wgmma_once",
                split(40, ("done", "issue")),
                block=128,
                smem=60_000,
                args=(0, 0, 40, 0),
                words=1024,
            )
    for n in (64, 128, 256):
        for d in (1, 4, 8):
            yield Case(
                "wgmma_once",
                {"n": n, "rs": 1, "per_group": d},
                _wgmma_variant(n, d, 0, 1),
                "wgmma_once",
                split(40, ("done", "issue")),
                block=128,
                smem=60_000,
                args=(0, 0, 40, 0),
                words=1024,
            )
    for n in (64, 128, 256):
        for wait in (0, 1):
            for wgs in (1, 2):
                for tight in (0, 1):
                    yield _wgmma_turn(n, wait, wgs, tight)
    for n in (64, 128):  # two CTAs of one warpgroup on each SM
        yield Case(
            "wgmma_share",
            {"n": n, "per_group": 4, "wait": 1},
            _wgmma_variant(n, 4, 1),
            "wgmma_stream",
            _share(64 * 4, 264),
            grid=264,
            block=128,
            smem=110_000,
            args=(0, 0, 64, 0),
            words=8 * 264,
            repeat=10,
        )


def _wgmma_turn(n: int, wait: int, wgs: int, tight: int) -> Case:
    """tight: waits and arrive as rendered kernels write them."""
    variant = _wgmma_variant(n, 4, wait)
    params: dict[str, int | str] = {"n": n, "per_group": 4, "wait": wait, "warpgroups": wgs}
    if tight:
        variant = Variant(variant.file, (*variant.defines, ("TIGHT", 1)))
        params["tight"] = 1
    return Case(
        "wgmma_turn",
        params,
        variant,
        "wgmma_turn",
        per_step(TURNS, wgs),
        block=128 * wgs,
        smem=60_000,
        args=(1, 0, TURNS, 0),
        words=1024,
        repeat=20,
    )


def _share(instructions: int, ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        return {"cta": words[: 8 * ctas].reshape(ctas, 8)[:, 0] / instructions}

    return reduce


def _turn(bench: str, params: dict[str, int | str], defines: dict[str, int], warps: int) -> Case:
    return Case(
        bench,
        params,
        Variant("loops.cu", ring_defines(**defines)),
        bench,
        per_step(TURNS, warps),
        block=32 * warps,
        args=(1, 1, TURNS, 0),
        rows=8 if bench == "producer_turn" else 0,
        repeat=20,
    )


def _producers() -> Iterator[Case]:
    for mode, style in enumerate(PRODUCERS):
        for counted in (0, 1, 2):
            for stages in (1, 2, 4):
                params: dict[str, int | str] = {
                    "style": style,
                    "stages": stages,
                    "counted": counted,
                }
                defines = {"PRODUCER": mode, "STAGES": stages, "COUNTED": counted}
                yield _turn("producer_turn", params, defines, 1)


def _consumers() -> Iterator[Case]:
    for warps in (1, 4, 8):
        for work in (0, 16, 64):
            for load, proxy, counted in (
                (1, 1, 0),
                (1, 0, 0),
                (0, 0, 0),
                (1, 0, 1),
                (1, 0, 2),
                (1, 1, 2),
            ):
                params: dict[str, int | str] = {
                    "warps": warps,
                    "work": work,
                    "load": load,
                    "proxy": proxy,
                    "counted": counted,
                }
                defines = {"WORK": work, "LOAD": load, "PROXY": proxy, "COUNTED": counted}
                yield _turn("consumer_turn", params, defines, warps)


def _rings() -> Iterator[Case]:
    """Whole rings with boxes of 2 KB: a check of the parts, not a source of numbers."""
    for mode in (0, 1):
        for consumers in (1, 4):
            for work in (0, 48, 192):
                for uniform, counted in ((0, 0), (1, 0), (1, 1), (1, 2)):
                    yield _ring(mode, consumers, work, uniform, counted)


def _ring(mode: int, consumers: int, work: int, uniform: int, counted: int) -> Case:
    defines = ring_defines(
        PRODUCER=mode,
        CONSUMERS=consumers,
        WORK=work,
        STAGES=6,
        BOX=2 * KB,
        UNIFORM=uniform,
        COUNTED=counted,
    )
    return Case(
        "ring",
        {
            "style": PRODUCERS[mode],
            "consumers": consumers,
            "work": work,
            "uniform": uniform,
            "counted": counted,
            "stages": 6,
            "box": 2 * KB,
        },
        Variant("loops.cu", defines),
        "ring",
        per_step(512, consumers + 1),
        block=32 * (consumers + 1),
        args=(0, 1, 512, 0),
        rows=16,
        repeat=20,
    )


def _cp_async_turns() -> Iterator[Case]:
    for warps in (4, 8):
        for copies in (1, 2, 4):
            for work in (0, 64, 256):
                yield Case(
                    "cp_async_turn",
                    {"warps": warps, "copies": copies, "work": work, "stages": 4},
                    Variant("loops.cu", ring_defines(WORK=work, COPIES=copies)),
                    "cp_async_turn",
                    per_step(TURNS),
                    block=32 * warps,
                    smem=100_000,
                    args=(0, 1, TURNS, 0),
                    repeat=20,
                )


def _mhz(words: Words, context: Context) -> Samples:
    rows = words[: 8 * 132].reshape(132, 8).astype(float)
    return {"mhz": np.array([np.median(1000.0 * rows[:, 0] / rows[:, 4])])}


def _clock() -> Iterator[Case]:
    """Full tensor load for about a second, in launches of about 9 ms; samples in time order."""
    for operands, groups in (("random", 3500), ("zeros", 3500), ("random N=64", 14000)):
        yield _clock_case(operands, groups)


def _clock_case(operands: str, groups: int) -> Case:
    variant = _wgmma_variant(64 if "N=64" in operands else 256, 8, 1)
    params: dict[str, int | str] = {"n": 256, "warpgroups": 2}
    if operands != "random":
        params = {"operands": operands, "warpgroups": 2}
    if operands == "zeros":
        variant = Variant(variant.file, (*variant.defines, ("ZEROS", 1)))
    return Case(
        "clock_tensor" if operands == "random" else "clock_operands",
        params,
        variant,
        "wgmma_stream",
        _mhz,
        grid=132,
        block=256,
        smem=60_000,
        args=(0, 0, groups, 0),
        words=8 * 132,
        repeat=120,
        warmups=0,
        series=True,
        unit="mhz",
    )
