"""Cases: TMA, cp.async, L2, DRAM, global stores.  See docs/machine.md."""

__all__ = ["copy_cases", "ring_defines", "stream_case"]

from collections.abc import Iterator

import numpy as np

from .case import Case, Context, Reduce, Samples, Words, first, split
from .sources import Variant

KB = 1024
SAMPLES = 72
FRESH = 2 << 20  # distance of samples that must miss


def copy_cases() -> Iterator[Case]:
    yield from _gpcs()
    yield from _tma()
    yield from _cp_async()
    yield from _streams()
    yield from _shares()
    yield from _stores()
    for name, stride, cold in (("l2", 4352, False), ("dram", FRESH, True)):
        yield Case(
            "load_latency",
            {"level": name},
            Variant("memory.cu"),
            "load_latency",
            lambda words, context: {"cycles": words[:24] / 8},
            args=(0, stride, 24, 0),
            cold=cold,
            repeat=4,
        )


def _where(size: int, clusters: int) -> Reduce:
    """Join the SMs that ever shared a cluster; the sets are the GPCs."""

    def reduce(words: Words, context: Context) -> Samples:
        groups = [set(gpc) for gpc in context.gpcs]
        for cluster in words[: size * clusters].reshape(clusters, size):
            members = {int(sm) for sm in cluster}
            for group in [g for g in groups if g & members]:
                members |= group
                groups.remove(group)
            groups.append(members)
        context.gpcs = sorted((sorted(g) for g in groups), key=lambda g: (len(g), g))
        return {"sms": np.array([float(len(g)) for g in context.gpcs])}

    return reduce


def _gpcs() -> Iterator[Case]:
    for size in (2, 6, 8):
        clusters = 528 // size
        yield Case(
            "gpc_sms",
            {"cluster": size},
            Variant("memory.cu"),
            "where",
            _where(size, clusters),
            grid=clusters,
            smem=200_000,
            cluster=size,
            words=size * clusters,
            repeat=20,
            unit="count",
            series=True,
        )


def _tma() -> Iterator[Case]:
    variant = Variant("tma.cu")
    for level in ("l2", "dram"):
        cold = level == "dram"
        for kind, sizes in (
            ("tensor", (1, 2, 4, 8, 16, 32)),
            ("bulk", (1, 4, 16, 64)),
        ):
            for size in sizes:
                rows = size * 8
                stride = 0 if not cold else FRESH // 128 if kind == "tensor" else FRESH
                yield Case(
                    "tma_latency",
                    {"kind": kind, "level": level, "bytes": size * KB},
                    variant,
                    "tma_latency",
                    first(SAMPLES, skip=8),
                    smem=70_000,
                    args=(size * KB, stride, SAMPLES, int(kind == "tensor")),
                    rows=min(rows, 256),
                    cold=cold,
                    repeat=2 if not cold else 3,
                )
    for cold in (False, True):
        yield Case(
            "tma_first_use",
            {"bytes": KB, "descriptor": "evicted" if cold else "in_l2"},
            variant,
            "tma_latency",
            lambda words, context: {"first": words[:1] / 1, "later": words[8:9] / 1},
            args=(KB, 0, 16, 1),
            rows=8,
            repeat=20,
            warmups=0,
            cold=cold,
        )
    for kind, size, counts in (
        ("bulk", 16, (16, 64)),
        ("bulk", 128, (16, 64)),
        ("tensor", KB, (16, 64)),
        ("tensor", 2 * KB, (16, 64)),
        ("tensor", 4 * KB, (8, 48)),
        ("tensor", 16 * KB, (4, 12)),
        ("tensor", 32 * KB, (2, 7)),
        ("bulk", 16 * KB, (4, 12)),
    ):
        for count in counts:
            yield Case(
                "tma_train",
                {"kind": kind, "bytes": size, "copies": 4 * count},
                variant,
                "tma_train",
                first(40, skip=8),
                block=128,
                args=(size, count, 40, int(kind == "tensor")),
                rows=max(size // 128, 1),
            )
    yield Case(
        "tma_queue",
        {"bytes": 16 * KB},
        variant,
        "tma_queue",
        lambda words, context: {"issued_at": words[:32].astype(float)},
        args=(16 * KB, 0, 0, 0),
        rows=128,
        series=True,
    )
    for kind, size in (("tensor", 1), ("tensor", 4), ("tensor", 16), ("bulk", 1), ("bulk", 16)):
        for count in (1, 8):
            yield Case(
                "tma_store",
                {"kind": kind, "bytes": size * KB, "stores": count},
                Variant(
                    "tma.cu",
                    (("BYTES", size * KB), ("STORES", count), ("TENSOR", int(kind == "tensor"))),
                ),
                "tma_store",
                split(40, ("done", "issue")),
                args=(0, 0, 40, 0),
                rows=size * 8,
            )


def _cp_async() -> Iterator[Case]:
    for warps in (1, 4, 8):
        for count in (1, 2, 4, 8):
            variant = Variant("cp_async.cu", (("I", count), ("S", 2)))
            for level in ("l2", "dram"):
                if level == "dram" and count not in (1, 4):
                    continue
                yield Case(
                    "cp_latency",
                    {"level": level, "warps": warps, "copies": count},
                    variant,
                    "cp_latency",
                    split(40, ("done", "issue")),
                    block=32 * warps,
                    args=(0, FRESH if level == "dram" else 0, 40, 0),
                    cold=level == "dram",
                )
    for warps in (1, 4):  # the same, completing on an mbarrier
        yield Case(
            "cp_mbarrier",
            {"level": "l2", "warps": warps, "copies": 1},
            Variant("cp_async.cu", (("I", 1), ("S", 2), ("MBARRIER", 1))),
            "cp_latency",
            split(40, ("done", "issue")),
            block=32 * warps,
            args=(0, 0, 40, 0),
        )
    for copies, stages, warps in (
        (1, 2, 4),
        (2, 2, 4),
        (4, 2, 4),
        (4, 2, 8),
        (4, 4, 8),
        (8, 4, 8),
        (8, 6, 8),
    ):
        in_flight = copies * stages * warps * 512
        variant = Variant("cp_async.cu", (("I", copies), ("S", stages)))
        for ctas in (1, 132):
            yield Case(
                "cp_rate",
                {"in_flight": in_flight, "ctas": ctas, "copies": copies, "warps": warps},
                variant,
                "cp_rate",
                _bytes_per_cycle(256 * copies * warps * 512, ctas),
                grid=ctas,
                block=32 * warps,
                smem=200_000,
                args=(0, 131072, 256, 0),
                words=132,
                repeat=10,
                unit="bytes_per_cycle",
            )


def _bytes_per_cycle(total: int, ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        return {"sm": total / words[:ctas].astype(float)}

    return reduce


def _stream_reduce(total: int, ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 4 * ctas].reshape(ctas, 4)
        rows = rows[rows[:, 0] > 0]
        rates = total / rows[:, 0].astype(float)
        span_ns = float(rows[:, 2].max() - rows[:, 1].min())
        samples = {
            "sm": rates,
            "total": np.array([rates.sum()]),
            "slowest": np.array([rates.min()]),
            "wall_gb_per_s": np.array([len(rows) * total / span_ns]),
        }
        for size in sorted({len(g) for g in context.gpcs}):
            members = {sm for g in context.gpcs if len(g) == size for sm in g}
            of_size = np.array(
                [r for r, sm in zip(rates, rows[:, 3], strict=True) if sm in members]
            )
            if len(of_size):
                samples[f"sm_in_gpc_{size}"] = of_size
        return samples

    return reduce


def stream_case(
    params: dict[str, int | str],
    box: int,
    depth: int,
    turns: int,
    *,
    spread: int,
    wrap: int,
    ctas: int = 132,
    cold: bool = False,
    mask: object = None,
    smem: int = 230_000,
) -> Case:
    return Case(
        "stream",
        {**params, "box": box, "depth": depth, "in_flight": box * depth},
        Variant("memory.cu", (("BOX", box), ("WRAP", wrap))),
        "stream",
        _stream_reduce(turns * box, ctas),
        grid=ctas,
        smem=smem,
        args=(depth, spread // 128, turns, int(mask is not None)),
        rows=box // 128,
        words=4 * max(ctas, 132),
        repeat=5 if cold else 8,
        cold=cold,
        mask=mask,  # type: ignore[arg-type]
        unit="bytes_per_cycle",
    )


def _streams() -> Iterator[Case]:
    wrap = 131072
    for ctas in (1, 2, 4, 8, 16, 32, 64, 132):
        params: dict[str, int | str] = {"data": "l2_private", "ctas": ctas}
        yield stream_case(params, 32 * KB, 6, 512, spread=wrap, wrap=wrap, ctas=ctas)
    for ctas in (16, 132):
        params = {"data": "l2_shared", "ctas": ctas}
        yield stream_case(params, 32 * KB, 6, 512, spread=0, wrap=wrap, ctas=ctas)
    for data, spread in (("l2_private", wrap), ("l2_shared", 0)):
        for count in (4, 8, 16):
            params = {"data": data, "gpc_sms": count}
            mask = _within_gpc(count)
            yield stream_case(params, 32 * KB, 6, 512, spread=spread, wrap=wrap, mask=mask)
    for count in (16, 32, 64):
        params = {"data": "l2_private", "spread_sms": count}
        mask = _across_gpcs(count)
        yield stream_case(params, 32 * KB, 6, 512, spread=wrap, wrap=wrap, mask=mask)
    for box, depths in (
        (2 * KB, (1, 2)),
        (4 * KB, (1, 2, 4, 8)),
        (16 * KB, (1, 2, 3, 4, 6, 8, 12)),
    ):
        for depth in depths:
            params = {"data": "l2_private", "ctas": 132, "sweep": 1}
            turns = 512
            yield stream_case(params, box, depth, turns, spread=wrap, wrap=wrap)
            params = {"data": "dram", "ctas": 132}
            yield stream_case(
                params, box, depth, turns // 4, spread=FRESH * 2, wrap=1 << 30, cold=True
            )
    for depth in (1, 2, 4, 8, 12):
        params = {"data": "dram", "ctas": 1}
        yield stream_case(
            params, 16 * KB, depth, 128, spread=FRESH, wrap=1 << 30, cold=True, ctas=1
        )


def _within_gpc(count: int) -> object:
    return lambda context: context.gpcs[-1][:count]


def _across_gpcs(count: int) -> object:
    def mask(context: Context) -> list[int]:
        ranked = [(i, sm) for gpc in context.gpcs for i, sm in enumerate(gpc)]
        return [sm for _, sm in sorted(ranked)[:count]]

    return mask


def _share_reduce(total: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 4 * 264].reshape(264, 4)
        rows = rows[rows[:, 0] > 0]
        rates = np.sort(total / rows[:, 0].astype(float))
        return {
            "cta": rates,
            "total": np.array([rates.sum()]),
            "ctas": np.array([len(rates) * 1.0]),
        }

    return reduce


def _shares() -> Iterator[Case]:
    for box, stages in ((8 * KB, 4), (16 * KB, 2), (16 * KB, 4)):
        yield Case(
            "fill_share",
            {"box": box, "depth": stages},
            Variant("loops.cu", ring_defines(BOX=box, STAGES=stages)),
            "fill_share",
            _share_reduce(256 * box),
            grid=264,
            smem=100_000,
            args=(0, 0, 256, 5),
            words=4 * 264,
            repeat=10,
            unit="bytes_per_cycle",
        )


def ring_defines(**changes: int) -> tuple[tuple[str, int], ...]:
    values = {
        "STAGES": 4,
        "PRODUCER": 0,
        "WORK": 0,
        "LOAD": 1,
        "PROXY": 1,
        "CONSUMERS": 1,
        "BOX": 1024,
        "COPIES": 4,
        "UNIFORM": 1,
        "COUNTED": 0,
    }
    return tuple((values | changes).items())


def _store_reduce(tiles: int, ctas: int) -> Reduce:
    def reduce(words: Words, context: Context) -> Samples:
        rows = words[: 3 * ctas].reshape(ctas, 3).astype(float) / tiles
        return {"issue": rows[:, 0], "done": rows[:, 1], "done_ns": rows[:, 2]}

    return reduce


def _stores() -> Iterator[Case]:
    layouts = ("fp32_pairs", "bf16_pairs", "row_16_bytes", "fp32_halves")
    odd = ((16392, 16400), (16388, 16400), (16400,), (16384, 16388, 16392, 16400))
    for mode, name in enumerate(layouts):
        for ctas, tiles in ((1, 1), (1, 8), (132, 1), (132, 4)):
            for pitch in ((4096, 16384) if mode < 3 else ()) + odd[mode]:
                yield Case(
                    "gstore",
                    {"layout": name, "ctas": ctas, "tiles": tiles, "pitch": pitch},
                    Variant("gstore.cu", (("MODE", mode),)),
                    "gstore",
                    _store_reduce(tiles, ctas),
                    grid=ctas,
                    block=256,
                    smem=200_000,
                    args=(pitch, pitch // (256 if mode == 1 else 512), tiles, 32 << 20),
                    words=3 * 132,
                    repeat=20,
                )
