"""Raw rows of a GPU that obeys the laws, with numbers of our choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Noise = Callable[[float], float]
Row = dict[str, Any]

TRUE = {
    "tma.store_latency": 61.0,
    "tma.store": 29.5,
    "barrier.sync": 13.5,
    "barrier.sync_per_warp": 2.25,
    "barrier.named_extra": 9.0,
    "code.loop_min": 31.0,
    "alu.ffma_latency": 4.5,
    "code.loop": 7.0,
    "wgmma.per_column": 0.55,
    "wgmma.ss_base": 17.0,
    "wgmma.ss_base_per_column": 0.22,
    "wgmma.rs_floor": 14.0,
    "dram.read": 2100.0,
    "cp_async.port": 111.0,
}
KB = 1024


def exact(value: float) -> float:
    """No noise."""
    return value


def noisy(rng: np.random.Generator, share: float) -> Noise:
    """Normal, a share of the value."""
    return lambda value: value * (1 + share * float(rng.standard_normal()))


def with_outliers(rng: np.random.Generator, noise: Noise, every: int) -> Noise:
    """One row in ``every`` is 30 to 60 % too large, as when something else runs for a moment."""
    count = 0

    def measured(value: float) -> float:
        nonlocal count
        count += 1
        factor = 1.3 + 0.3 * float(rng.random()) if count % every == 0 else 1.0
        return noise(value) * factor

    return measured


def document(noise: Noise, rows: Callable[[], Iterator[tuple[Row, float]]] | None = None) -> Row:
    """A raw document; each row's samples lie within a thousandth."""
    made = []
    for head, value in (rows or all_rows)():
        median = noise(value)
        tails = {"p10": median * 0.999, "p90": median * 1.001}
        made.append({**head, "unit": "cycles", "median": median, **tails, "n": 20})
    origin = {"gpu": "NVIDIA H200", "board": "0123abcd", "driver": "580.1", "cuda": "13.0"}
    origin |= {"nvrtc_package": "13.0.88", "date": "2027-01-02"}
    return {"schema": 1, "provenance": origin, "rows": made}


def _row(bench: str, metric: str, **params: int | str) -> Row:
    return {"bench": bench, "metric": metric, "params": params}


def all_rows() -> Iterator[tuple[Row, float]]:
    yield from stores()
    yield from barriers()
    yield from loops()
    yield from wgmma()
    yield from dram()
    yield from ports()


def stores() -> Iterator[tuple[Row, float]]:
    for size in (1, 4, 16):
        for n in (1, 8):
            value = TRUE["tma.store_latency"] + size * KB * n / TRUE["tma.store"]
            yield _row("tma_store", "done", kind="tensor", bytes=size * KB, stores=n), value


def barriers() -> Iterator[tuple[Row, float]]:
    for bench, extra in (("syncthreads", 0.0), ("named_barrier", TRUE["barrier.named_extra"])):
        for warps in (1, 2, 4, 8, 12, 16, 32):
            each = TRUE["barrier.sync"] + TRUE["barrier.sync_per_warp"] * warps + extra
            for run in (16, 48):
                yield _row(bench, "cycles", warps=warps, run=run), 25 + run * each


def loops() -> Iterator[tuple[Row, float]]:
    for body in (1, 4, 8, 32, 128):
        turn = TRUE["alu.ffma_latency"] * body + TRUE["code.loop"]
        yield _row("loop", "cycles", body=body, warps=1), max(TRUE["code.loop_min"], turn)


def wgmma() -> Iterator[tuple[Row, float]]:
    base, slope = TRUE["wgmma.ss_base"], TRUE["wgmma.ss_base_per_column"]
    for rs, sizes in ((0, (8, 16, 32, 64, 96, 128, 192, 256)), (1, (8, 16, 64, 128, 256))):
        for n in sizes:
            least = TRUE["wgmma.rs_floor"] if rs else base + slope * n
            value = max(TRUE["wgmma.per_column"] * n, least) + 90 / 512
            where: dict[str, int | str] = {"per_group": 8, "wait": 1, "warpgroups": 1}
            yield _row("wgmma_stream", "cycles", n=n, rs=rs, **where), value


def dram() -> Iterator[tuple[Row, float]]:
    for box, depths in ((2, (1, 2)), (4, (1, 2, 4, 8)), (16, (1, 2, 3, 4, 6, 8, 12))):
        for depth in depths:
            flight = box * depth
            rate = min(TRUE["dram.read"] / 132, flight * KB / (700 + 30 * flight))
            where: dict[str, int | str] = {"data": "dram", "ctas": 132, "depth": depth}
            yield _row("stream", "sm", box=box * KB, **where), rate


def ports() -> Iterator[tuple[Row, float]]:
    for flight in (4, 8, 16, 32, 64, 128, 192):
        rate = min(TRUE["cp_async.port"], flight * KB / 320)
        yield _row("cp_rate", "sm", ctas=1, in_flight=flight * KB), rate
