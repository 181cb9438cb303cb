"""Rules for numbers that `h200.toml` has from an earlier study: benchmarks of our own since.

Only calibrations use them; the file's own fit (rules.py) stays what it was.  See docs/machine.md.
"""

__all__ = ["RULES_SINCE"]

from statistics import median

from . import derive as d
from .points_power import held
from .rows import MissingRowError, Rows
from .rules import Rule

KB = 1024
SIZES = (2, 4, 8)  # CTAs of a cluster
CAPACITY = (26, 35, 43, 48, 50, 52, 54, 56, 58, 61, 65, 74, 87)  # MB that all SMs go through
FULL = 0.97  # of the rate of few MB: what still fits


def cluster_barrier(rows: Rows, order: str) -> list[float]:
    """A barrier of clusters of 2, 4 and 8 CTAs with 128 threads each."""
    return [
        rows.slope("cluster_barrier", "run", 16, 48, order=order, cluster=n, threads=128)
        for n in SIZES
    ]


def multicast(rows: Rows) -> list[float]:
    """How much later a copy lands that goes to all CTAs of a cluster."""
    return [
        rows.median("multicast", cluster=n, bytes=size * KB, to="all")
        - rows.median("multicast", cluster=n, bytes=size * KB, to="own")
        for n in (2, 4)
        for size in (1, 4, 16, 32)
    ]


def sleep_extra(rows: Rows) -> list[float]:
    """Landing as a sleeping warp sees it, against a lone thread that polls."""
    elect = d.issue("elect")(rows)
    return [
        rows.median("tma_landing", "other_warp", level="l2", bytes=size * KB)
        - elect
        - rows.median("tma_latency", kind="tensor", level="l2", bytes=size * KB)
        for size in (1, 2, 4, 8, 16, 32)
    ]


def mbarrier_extra(rows: Rows) -> list[float]:
    """An mbarrier that cp.async arrives on, against wait_group, by one warp and by four."""
    return [
        rows.median("cp_mbarrier", "done", warps=n, copies=1)
        - rows.median("cp_latency", "done", level="l2", warps=n, copies=1)
        for n in (1, 4)
    ]


def remote_wake(rows: Rows) -> list[float]:
    """From an arrive to the return of the waiter in another CTA: half a round trip."""
    return [rows.median("remote_handoff", order="default", cluster=n) for n in SIZES]


def timeouts(rows: Rows) -> list[float]:
    """Tries that fail, by warps and by lone threads: the loop around hides in some."""
    lone = [rows.median("poll", style="alone", op="try_wait", pad=pad) for pad in (0, 2)]
    return [rows.median("poll", style="converged", op="try_wait", pad=0), *lone]


def capacity(rows: Rows) -> float:
    """Bytes that all SMs read again and again at the rate of few."""
    rates = {
        mb: rows.median("stream", "total", data="l2_capacity", megabytes=mb) for mb in CAPACITY
    }
    return 1e6 * max(mb for mb, rate in rates.items() if rate >= FULL * rates[CAPACITY[0]])


def odd_row(rows: Rows) -> float:
    """Cycles of the engine for a row that begins 16 bytes behind a sector: rows that are 16 bytes
    further on each begin so every other time, and the rest of 128 are in 112 lines."""
    box = 16 * KB / rows.median("stream_pitch", "sm", data="l2_private", ctas=1, pitch=8208)
    return (box - 112) / 64


def store_odd_row(rows: Rows) -> float:
    """Bytes that such a row of a store counts beside its own: every other one of 128."""
    aligned, odd = (
        rows.median("tma_store_pitch", "done", bytes=16 * KB, pitch=pitch) / 8
        for pitch in (8192, 8208)
    )
    return 128 * 128 * (odd / aligned - 1) / 64


def reduce_line(rows: Rows) -> list[float]:
    """Bytes that the second line of a row counts in a reduction, for the last of all SMs: rows that
    begin 64, 32, 16 bytes later each are in 1.5, 1.75, 1.875 lines."""
    where: dict[str, int | str] = {"kind": "reduce", "ctas": 132, "tiles": 264}
    aligned = rows.median("sends", "slowest", pitch=8192, **where)
    return [
        128 * (rows.median("sends", "slowest", pitch=pitch, **where) / aligned - 1) / further
        for pitch, further in ((8256, 0.5), (8224, 0.75), (8208, 0.875))
    ]


def store_starved(rows: Rows) -> list[float]:
    """Bytes a cycle of stores beside wgmma that take all of shared memory."""
    return [rows.median("mix", "copy", n=n, rs=0, copy="store", lsu="none") for n in (16, 64)]


def zeros_of(rows: Rows, level: str) -> float:
    """Watts beside those of SMs that sleep, for each box of 16 KB in a second, of zeros against
    random data."""
    asleep = rows.median("power", "watts", load="sleep")

    def each(data: str, of: str) -> float:
        where: dict[str, int | str] = {"load": f"load {of}", "depth": 8, "ctas": 132, "data": data}
        row = rows.row("power", "cycles", **where)
        turns = float(row["params"]["turns"])
        boxes = turns * rows.median("power", "mhz", **where) / float(row["median"])
        return (rows.median("power", "watts", **where) - asleep) / boxes

    near = "l2_private"
    if level == near:
        return each("zeros", near) / each("normal", near)
    return (each("zeros", level) - each("zeros", near)) / (
        each("normal", level) - each("normal", near)
    )


def _some(values: list[float]) -> list[float]:
    if not values:
        raise MissingRowError("power: nothing that the limit holds down")
    return values


def half(values: list[float]) -> float:
    return (max(values) - min(values)) / 2


def _beside(op: str, a: str) -> Rule:
    """Of two warps on each sub-partition; one alone leaves gaps, which is the spread."""

    def cycles(rows: Rows, warps: int = 2) -> float:
        return rows.median("beside", op=op, warps=warps, a=a)

    return Rule("cycles", "beside", cycles, lambda r: (cycles(r, 1) - cycles(r, 2)) / 2)


RULES_SINCE: dict[str, Rule] = {
    "tma.reduce_device": Rule(
        "bytes_per_cycle",
        "bulk_out",
        lambda r: r.median("bulk_out", "total", kind="reduce", ctas=132),
    ),
    "tma.odd_row": Rule("cycles", "stream_pitch", odd_row),
    "tma.store_odd_row": Rule("bytes", "tma_store_pitch", store_odd_row),
    "tma.reduce_line": Rule(
        "bytes", "sends", lambda r: median(reduce_line(r)), lambda r: half(reduce_line(r))
    ),
    "tma.store_starved": Rule(
        "bytes_per_cycle",
        "mix",
        lambda r: sum(store_starved(r)) / 2,
        lambda r: half(store_starved(r)),
    ),
    "tma.multicast": Rule(
        "cycles", "multicast", lambda r: median(multicast(r)), lambda r: half(multicast(r))
    ),
    "mbarrier.sleep_extra": Rule(
        "cycles",
        "tma_landing, tma_latency",
        lambda r: median(sleep_extra(r)),
        lambda r: half(sleep_extra(r)),
    ),
    "mbarrier.timeout": Rule(
        "cycles", "poll", lambda r: median(timeouts(r)), lambda r: half(timeouts(r))
    ),
    "mbarrier.remote_arrive": Rule(
        "cycles",
        "remote_arrive",
        lambda r: r.slope("remote_arrive", "run", 16, 48, order="default"),
    ),
    "mbarrier.remote_wake": Rule(
        "cycles",
        "remote_handoff",
        lambda r: median(remote_wake(r)),
        lambda r: half(remote_wake(r)),
    ),
    "barrier.cluster": Rule(
        "cycles",
        "cluster_barrier",
        lambda r: median(cluster_barrier(r, "relaxed")),
        lambda r: half(cluster_barrier(r, "relaxed")),
    ),
    "barrier.cluster_release": Rule(
        "cycles",
        "cluster_barrier",
        lambda r: median(cluster_barrier(r, "release")),
        lambda r: half(cluster_barrier(r, "release")),
    ),
    "cp_async.mbarrier_extra": Rule(
        "cycles",
        "cp_mbarrier, cp_latency",
        lambda r: median(mbarrier_extra(r)),
        lambda r: half(mbarrier_extra(r)),
    ),
    "smem.remote_load_latency": Rule(
        "cycles", "remote_load", lambda r: r.slope("remote_load", "run", 16, 48)
    ),
    "wgmma.beside_alu": _beside("maximum", "shared"),
    "wgmma.beside_mufu": _beside("ex2_ffma_fadd", "shared"),
    "wgmma.beside_shuffle": _beside("shuffle", "registers"),
    "power.limit": Rule("watts", "power", lambda r: r.median("power", "limit", load="sleep")),
    "power.held": Rule("share", "power", lambda r: median(_some(held(r))), lambda r: half(held(r))),
    "power.moved_zeros": Rule("share", "power", lambda r: zeros_of(r, "l2_private")),
    "power.dram_zeros": Rule("share", "power", lambda r: zeros_of(r, "dram")),
    "clock.tensor": Rule(
        "mhz", "power", lambda r: r.median("power", "mhz", load="wgmma", ctas=66, data="normal")
    ),
    "l2.capacity": Rule("bytes", "stream", capacity, lambda r: 2e6),
}
