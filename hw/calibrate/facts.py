"""What an earlier study of the H200 found, beside what the benchmarks here find; and what it left
open.  See docs/machine.md.
"""

__all__ = ["FACTS", "Fact", "Found", "found"]

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from . import derive as d
from .raw import Document
from .rows import MissingRowError, Rows

KB = 1024


@dataclass(frozen=True, slots=True)
class Fact:
    """``prior``: what the study says, None where it left the question open; ``ours``: the same from
    the rows of a run."""

    topic: str
    what: str
    unit: str
    prior: float | None
    ours: Callable[[Rows], float]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """``ours``: the median over the runs that have its rows; ``half``: half of what they span."""

    fact: Fact
    ours: float
    half: float

    @property
    def percent(self) -> float | None:
        """Ours against the study's."""
        return 100 * (self.ours / self.fact.prior - 1) if self.fact.prior else None


def found(runs: Sequence[Document]) -> list[Found]:
    """Facts that the runs have rows for."""
    files = [Rows(run["rows"]) for run in runs]
    each = [(fact, list(_values(fact, files))) for fact in FACTS]
    return [Found(f, median(v), (max(v) - min(v)) / 2) for f, v in each if v]


def _values(fact: Fact, files: list[Rows]) -> Iterator[float]:
    for rows in files:
        try:
            yield fact.ours(rows)
        except MissingRowError:
            continue


Ours = Callable[[Rows], float]
Where = dict[str, Any]


def _at(bench: str, metric: str = "cycles", **params: int | str) -> Ours:
    return lambda r: r.median(bench, metric, **params)


def _slope(bench: str, key: str, low: int, high: int, **params: int | str) -> Ours:
    return lambda r: r.slope(bench, key, low, high, **params)


def _rate(size: int, bench: str, key: str, low: int, high: int, **params: int | str) -> Ours:
    return lambda r: size / r.slope(bench, key, low, high, **params)


def _wgmma() -> Iterator[Fact]:
    topic = "Tensor core"
    for n, ss in ((8, 18.44), (16, 20.43), (32, 24.45), (64, 32.46), (128, 64.47), (256, 128.47)):
        where: Where = {"n": n, "rs": 0, "per_group": 8, "wait": 1, "warpgroups": 1}
        what = f"m64n{n}k16, A in shared memory, groups of 8"
        yield Fact(topic, what, "cycles", ss, _at("wgmma_stream", **where))
    for n, rs in ((8, 13.35), (64, 32.36), (256, 128.37)):
        where = {"n": n, "rs": 1, "per_group": 8, "wait": 1, "warpgroups": 1}
        what = f"m64n{n}k16, A in registers, groups of 8"
        yield Fact(topic, what, "cycles", rs, _at("wgmma_stream", **where))
    for n, count, done in ((64, 1, 109), (64, 8, 325), (128, 4, 327), (256, 8, 1087)):
        where = {"n": n, "rs": 0, "per_group": count}
        what = f"{count} of N = {n}, fence to wait_group 0"
        yield Fact(topic, what, "cycles", done, _at("wgmma_once", "done", **where))
    where = {"n": 64, "rs": 0, "per_group": 4, "wait": 1, "warpgroups": 2}
    yield Fact(topic, "two warpgroups, N = 64", "cycles", 32.4, _at("wgmma_stream", **where))


def _tma() -> Iterator[Fact]:
    topic = "TMA"
    for size, cycles in ((1, 321), (4, 350), (16, 464), (32, 615)):
        where: Where = {"kind": "tensor", "level": "l2", "bytes": size * KB}
        what = f"tensor load of {size} KB, L2, lone thread"
        yield Fact(topic, what, "cycles", cycles, _at("tma_latency", **where))
    for size, cycles in ((1, 801), (16, 1163)):
        where = {"kind": "tensor", "level": "dram", "bytes": size * KB}
        what = f"tensor load of {size} KB, DRAM, lone thread"
        yield Fact(topic, what, "cycles", cycles, _at("tma_latency", **where))
    yield Fact(topic, "issue, elected lane", "cycles", 9, d.issue("tensor_load_elected", 3, 7))
    yield Fact(topic, "issue, threadIdx.x == 0", "cycles", 54, d.issue("tensor_load_thread", 3, 7))
    for kind, size, low, high, each in (
        ("bulk", 16, 64, 256, 3.9),
        ("tensor", KB, 64, 256, 10.8),
        ("tensor", 2 * KB, 64, 256, 19.5),
    ):
        what = f"each of a train, {kind}, {size} bytes"
        ours = _slope("tma_train", "copies", low, high, kind=kind, bytes=size)
        yield Fact(topic, what, "cycles", each, ours)
    yield Fact(topic, "fill of one SM", "bytes per cycle", 108, d.fill)
    for name, prior in (("16-byte", 256.0), ("32-byte", None), ("64-byte", None)):
        what = f"box of 256 rows, {name} rows"
        ours = _slope("boxes", "copies", 16, 48, box=f"2d, {name} rows")
        yield Fact(topic, what, "cycles", prior, ours, "a row a cycle, whatever is in it")
    for name in (
        "2d, 64-byte rows, swizzled",
        "2d, 128-byte rows",
        "2d, 128-byte rows, swizzled",
        "2d, 512-byte rows",
        "3d",
        "4d",
        "5d",
        "im2col, 128 pixels",
    ):
        yield Fact(
            topic, f"one copy of 16 KB, {name}", "cycles", None, _at("boxes", "latency", box=name)
        )
        rate = _rate(16 * KB, "boxes", "copies", 16, 48, box=name)
        yield Fact(topic, f"train of 16 KB, {name}", "bytes per cycle", None, rate)
    for size in (1, 16):
        where = {"kind": "tensor", "bytes": size * KB, "stores": 1}
        what = f"tensor store of {size} KB to wait_group 0"
        yield Fact(topic, what, "cycles", 57 + size * 32, _at("tma_store", "done", **where))
        where = {"kind": "reduce", "bytes": size * KB}
        what = f"reduction of {size} KB to wait_group 0"
        yield Fact(topic, what, "cycles", 68 + size * 40, _at("bulk_once", **where))
    for kind, ctas, each in (
        ("store", 1, 31.9),
        ("store", 132, 20.2),
        ("reduce", 1, 25.4),
        ("reduce", 132, 16.0),
    ):
        what = f"{kind}s of 16 KB into L2, {'all SMs' if ctas > 1 else 'one SM'}"
        ours = _at("bulk_out", "sm", kind=kind, ctas=ctas)
        yield Fact(topic, what, "bytes per cycle", each, ours)
    for size, extra in ((1, 8), (4, 9), (16, 8), (32, 8)):
        yield Fact(
            topic, f"multicast of {size} KB beyond a copy", "cycles", extra, _multicast(size)
        )


def _multicast(size: int) -> Ours:
    where: Where = {"cluster": 2, "bytes": size * KB}
    return lambda r: (
        r.median("multicast", to="all", **where) - r.median("multicast", to="own", **where)
    )


def _waits() -> Iterator[Fact]:
    topic = "Barriers and waits"
    for warps, cycles in ((1, 14.0), (4, 20.0), (8, 28.2), (32, 76.6)):
        ours = _slope("syncthreads", "run", 16, 48, warps=warps)
        yield Fact(topic, f"__syncthreads, {warps} warps", "cycles", cycles, ours)
    for op, prior in (
        ("arrive", 5.5),
        ("arrive_expect_tx", 6.5),
        ("elect", 7.3),
        ("fence_proxy_async_smem", 9.0),
        ("fence_proxy_async", 152.0),
        ("fence_gpu", 273.0),
    ):
        yield Fact(topic, f"issue of {op}", "cycles", prior, d.issue(op))
    for waiters, cycles in ((1, 95), (4, 101), (8, 113)):
        where: Where = {"waiters": waiters, "style": "converged"}
        what = f"arrive to the last of {waiters} sleeping warps"
        note = "the study times from before the arrive and its own clock read"
        yield Fact(topic, what, "cycles", cycles, _at("mbarrier_handoff", "last", **where), note)
    for style, op, prior in (
        ("converged", "try_wait", 7792.0),
        ("alone", "test_wait", 43.0),
        ("parked", "try_wait", 173.0),
    ):
        ours = _at("poll", style=style, op=op, pad=0)
        yield Fact(topic, f"a failing {op}, lanes {style}", "cycles", prior, ours)
    for pad in (8, 32):
        what = f"parked lanes beyond a lone one, {pad} FFMA in the loop"
        yield Fact(topic, what, "cycles", 100, _parked(pad))
    for size, prior in ((2, 104), (4, 108), (8, 112)):
        where = {"order": "relaxed", "cluster": size, "threads": 32}
        what = f"cluster barrier, relaxed, {size} CTAs"
        yield Fact(topic, what, "cycles", prior, _slope("cluster_barrier", "run", 16, 48, **where))
    for size, prior in ((2, 367), (8, 374)):
        where = {"order": "release", "cluster": size, "threads": 32}
        what = f"cluster barrier, release, {size} CTAs"
        yield Fact(topic, what, "cycles", prior, _slope("cluster_barrier", "run", 16, 48, **where))
    for order, prior in (("default", 4.2), ("release.cluster", 313)):
        ours = _slope("remote_arrive", "run", 16, 48, order=order)
        yield Fact(topic, f"remote arrive, {order}, issue", "cycles", prior, ours)
    for order, prior in (("default", 157), ("release.cluster", 422)):
        ours = _at("remote_handoff", order=order, cluster=4)
        yield Fact(topic, f"remote arrive, {order}, half a round trip", "cycles", prior, ours)
    ours = _slope("remote_load", "run", 16, 48)
    yield Fact(topic, "ld.shared::cluster, dependent", "cycles", 197, ours)


def _parked(pad: int) -> Ours:
    def ours(rows: Rows) -> float:
        parked = rows.median("poll", style="parked", op="test_wait", pad=pad)
        return parked - rows.median("poll", style="alone", op="test_wait", pad=pad)

    return ours


def _sm() -> Iterator[Fact]:
    topic = "Shared by an SM"
    for copy, n, rs, prior in (
        ("none", 64, 0, 32.07),
        ("load", 64, 0, 32.24),
        ("load", 128, 0, 64.19),
        ("load", 256, 0, 128.19),
        ("store", 16, 0, None),
        ("store", 64, 0, None),
        ("store", 64, 1, None),
        ("store", 128, 0, None),
        ("store", 256, 0, None),
        ("reduce", 256, 0, None),
        ("load and store", 256, 0, None),
    ):
        where: Where = {"n": n, "rs": rs, "copy": copy, "lsu": "none"}
        a = ", A in registers" if rs else ""
        what = f"wgmma N = {n}{a} beside TMA: {copy}"
        yield Fact(topic, what, "cycles", prior, _at("mix", "wgmma", **where))
        if copy != "none":
            what = f"TMA {copy} beside wgmma N = {n}{a}"
            yield Fact(topic, what, "bytes per cycle", None, _at("mix", "copy", **where))
    for n, prior in ((64, 33.13), (128, 65.9), (256, 129.9)):
        where = {"n": n, "rs": 0, "copy": "none", "lsu": "st.shared.v4"}
        what = f"wgmma N = {n} beside st.shared.v4 of 4 warps"
        yield Fact(topic, what, "cycles", prior, _at("mix", "wgmma", **where))
    for n, rs in ((0, 0), (64, 0), (64, 1), (256, 0)):
        wgmma = f"wgmma N = {n}{', A in registers,' if rs else ''} and " if n else ""
        for lsu in ("none", "ldmatrix.x4") if not n else ("ldmatrix.x4",):
            where = {"n": n, "rs": rs, "copy": "load", "lsu": lsu}
            beside = f"{wgmma}ldmatrix of 4 warps" if lsu != "none" else "nothing"
            ours = _at("mix", "copy", **where)
            yield Fact(topic, f"TMA loads beside {beside}", "bytes per cycle", None, ours)
    for data in ("l2_private", "l2_shared"):
        for resident in (1, 2):
            what = f"{data}, all SMs, {resident} CTA{'s' if resident > 1 else ''} on each, together"
            ours = _at("stream", "total", data=data, resident=resident)
            yield Fact(topic, what, "bytes per cycle", None, ours)
    for n in (64, 128):
        ours = _at("wgmma_share", "cta", n=n)
        what = f"wgmma N = {n}, one warpgroup of each of two CTAs"
        yield Fact(topic, what, "cycles of each", None, ours, "two shares of one tensor core")


def _memory() -> Iterator[Fact]:
    topic = "L2 and DRAM"
    for sms, total in ((8, 619), (16, 623)):
        ours = _at("stream", "total", data="l2_private", gpc_sms=sms)
        yield Fact(topic, f"{sms} SMs of one GPC, own lines", "bytes per cycle", total, ours)
    ours = _at("stream", "total", data="l2_shared", gpc_sms=16)
    yield Fact(topic, "16 SMs of one GPC, the same lines", "bytes per cycle", 1445, ours)
    where: Where = {"ctas": 132, "box": 32 * KB}
    ours = _at("stream", "total", data="l2_private", **where)
    yield Fact(topic, "all SMs, own lines", "bytes per cycle", 4963, ours)
    ours = _at("stream", "wall_gb_per_s", data="l2_shared", **where)
    yield Fact(topic, "all SMs, the same lines", "GB/s", 20952, ours)
    for box, depth, each in ((2, 1, 2.23), (4, 1, 4.12), (16, 1, 11.7), (16, 4, 17.85)):
        flight: Where = {"data": "dram", "ctas": 132, "box": box * KB, "depth": depth}
        what = f"DRAM, all SMs, {box * depth} KB in flight of each"
        yield Fact(topic, what, "bytes per cycle", each, _at("stream", "sm", **flight))
    for mb, rate in ((43, 1.0), (54, 0.97), (65, 0.52)):
        yield Fact(topic, f"rate of {mb} MB of L2 against 26 MB", "", rate, _capacity(mb))
    for depth, prior in ((0, 825), (1, 1282), (2, 1556), (4, 2459), (8, 3847)):
        ours = _at("loaded", "bulk", level="dram", depth=depth, gpc="full")
        what = f"1 KB from DRAM while the others keep {depth} x 16 KB in flight"
        note = "here the others look at a flag each turn" if depth else ""
        yield Fact(topic, what, "cycles", prior, ours, note)
    for kept, passed in (
        ("none", "none"),
        ("none", "evict_first"),
        ("evict_last", "none"),
        ("evict_last", "evict_first"),
    ):
        ours = _at("l2_policy", "sm", kept=kept, passed=passed, passing=50)
        what = f"24 MB read again behind 108 MB; hints: {kept}, {passed}"
        yield Fact(topic, what, "bytes per cycle", None, ours)


def _capacity(megabytes: int) -> Ours:
    def ours(rows: Rows) -> float:
        few, many = (
            rows.median("stream", "total", data="l2_capacity", megabytes=mb)
            for mb in (26, megabytes)
        )
        return many / few

    return ours


def _rest() -> Iterator[Fact]:
    topic = "Arithmetic, launches, clock"
    for op, latency, interval in (
        ("ffma", 4.0, 1.0),
        ("lop3", 4.0, 2.07),
        ("imad", 4.0, 2.07),
        ("ex2", 17.0, 8.0),
        ("lg2", 17.0, 8.0),
        ("shfl", 24.0, 4.0),
        ("redux", 44.0, 8.1),
        ("hfma2", 8.0, 1.15),
    ):
        yield Fact(
            topic, f"{op}, latency", "cycles", latency, _at("pipe", op=op, chains=1, warps=1)
        )
        what = f"{op}, interval of a sub-partition"
        yield Fact(topic, what, "cycles", interval, _interval(op))
    for body, cycles in ((1, 29.8), (8, 39.8), (128, 519.8), (512, 2064.8)):
        what = f"loop of {body} dependent FFMA"
        yield Fact(topic, what, "cycles", cycles, _at("loop", body=body, warps=1))
    for threads, cycles in ((32, 476), (128, 489), (384, 514)):
        what = f"a CTA of {threads} threads takes the place of another"
        note = "the study counts from the last clock read, here from the end of the CTA's work"
        ours = _at("cta_starts", "replacement", threads=threads, waves=4)
        yield Fact(topic, what, "cycles", cycles, ours, note)
    for launched, prologue in (("before the work", 4000), ("not at all", 4000)):
        ours = _at("pdl", "wait", launch=launched, prologue=prologue)
        what = f"griddepcontrol.wait returns, prologue of 4000 cycles; launch_dependents {launched}"
        yield Fact(topic, what, "ns after the first", None, ours, "the timer has steps of 256 ns")
    for what, prior, ours in (
        ("random operands, second second", 1640.0, d.tensor_mhz(slice(-40, None))),
        ("random operands, first 30 ms", 1800.0, d.tensor_mhz(slice(0, 4))),
        ("operands of zeros", 1750.0, _at("clock_operands", "mhz", operands="zeros")),
        ("random operands, N = 64", None, _at("clock_operands", "mhz", operands="random N=64")),
    ):
        yield Fact(topic, f"clock under wgmma, {what}", "MHz", prior, ours)


def _interval(op: str) -> Ours:
    """One warp on each sub-partition with eight chains; four warps where these do not fill it."""
    if op in ("redux", "hfma2"):
        return lambda r: r.median("pipe", op=op, chains=4, warps=16) / 4
    return lambda r: r.median("pipe", op=op, chains=8, warps=4)


FACTS: tuple[Fact, ...] = (*_wgmma(), *_tma(), *_waits(), *_sm(), *_memory(), *_rest())
