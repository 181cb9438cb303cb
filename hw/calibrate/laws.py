"""Laws of the hardware: a formula whose parameters are numbers of a machine file, and the rows
that it has to meet.  See docs/machine.md.
"""

__all__ = ["LAWS", "Law", "Parameter", "Point", "points_of"]

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from . import derive as d
from .rows import MissingRowError, Rows, standard_error
from .solve import Floats, Model

KB = 1024
SMS = 132
Params = dict[str, int | str]
_OPERAND = ("A in shared memory", "A in registers")  # by whether it is


@dataclass(frozen=True, slots=True)
class Point:
    """What one row says: ``x`` for the law, ``y`` and its standard error; ``series`` names the
    curve of the report that it belongs to."""

    x: tuple[float, ...]
    y: float
    sigma: float
    series: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """``key`` of the machine file, or a name in brackets of what is no number of it; ``times``
    turns the parameter into that number."""

    key: str
    unit: str
    start: float
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class Law:
    """``axis``: which column of x the report draws along, with that label.  ``inferred``: other
    costs are taken off before the fit."""

    name: str
    formula: str
    benches: str
    unit: str
    parameters: tuple[Parameter, ...]
    points: Callable[[Rows], Iterator[Point | None]]
    model: Model
    label: str
    axis: int = 0
    inferred: bool = False


def _point(
    rows: Rows,
    x: tuple[float, ...],
    bench: str,
    where: Params,
    metric: str = "cycles",
    series: str = "",
) -> Point | None:
    """None where the file lacks the row."""
    try:
        row = rows.row(bench, metric, **where)
    except MissingRowError:
        return None
    return Point(x, row["median"], standard_error(row), series)


def _slope(
    rows: Rows,
    x: tuple[float, ...],
    bench: str,
    where: Params,
    along: tuple[str, int, int],
    series: str = "",
) -> Point | None:
    """Cycles for one more unit of a parameter, between two values of it."""
    key, *ends = along
    low, high = (_point(rows, x, bench, {**where, key: end}) for end in ends)
    if low is None or high is None:
        return None
    span = ends[1] - ends[0]
    sigma = float(np.hypot(low.sigma, high.sigma)) / span
    return Point(x, (high.y - low.y) / span, sigma, series)


def _landing(rows: Rows) -> Iterator[Point | None]:
    elect = d.issue("elect")(rows)  # the benchmark does it before the copy
    for size in (1, 2, 4, 8, 16, 32):
        where: Params = {"level": "l2", "bytes": size * KB}
        point = _point(rows, (size * KB,), "tma_landing", where, "other_warp")
        yield point and replace(point, y=point.y - elect)


def _trains(rows: Rows) -> Iterator[Point | None]:
    for kind, size, low, high in (
        ("bulk", 16, 64, 256),
        ("bulk", 128, 64, 256),
        ("tensor", KB, 64, 256),
        ("tensor", 2 * KB, 64, 256),
        ("tensor", 4 * KB, 32, 192),
        ("tensor", 16 * KB, 16, 48),
        ("tensor", 32 * KB, 8, 28),
    ):
        where: Params = {"kind": kind, "bytes": size}
        x, along = (size, max(size // 128, 1)), ("copies", low, high)
        yield _slope(rows, x, "tma_train", where, along, "rows of 128 bytes")
    for size, low, high in ((KB, 64, 256), (8 * KB, 32, 96)):
        where = {"row": 64, "pitch": 64, "bytes": size}
        x, along = (size, size // 64), ("copies", low, high)
        yield _slope(rows, x, "tma_train_narrow", where, along, "rows of 64 bytes")


def _engine(theta: Floats, x: Floats) -> Floats:
    """The engine takes a row of at most 128 bytes at a time, the port takes bytes."""
    least, row_rate, fill = theta
    value: Floats = np.maximum(np.maximum(least, x[:, 1] * 128 / row_rate), x[:, 0] / fill)
    return value


def _stores(rows: Rows) -> Iterator[Point | None]:
    for size in (1, 4, 16):
        for count in (1, 8):
            where: Params = {"kind": "tensor", "bytes": size * KB, "stores": count}
            yield _point(rows, (size * KB * count,), "tma_store", where, "done")


def _intervals(rows: Rows) -> Iterator[Point | None]:
    for rs, sizes in ((0, (8, 16, 32, 64, 96, 128, 192, 256)), (1, (8, 16, 64, 128, 256))):
        for n in sizes:
            where: Params = {"n": n, "rs": rs, "per_group": 8, "wait": 1, "warpgroups": 1}
            yield _point(rows, (n, rs), "wgmma_stream", where, series=_OPERAND[rs])


def _interval(theta: Floats, x: Floats) -> Floats:
    """The excess: start and drain of a stream, spread over its 512 instructions."""
    per_column, base, base_per_column, floor, excess = theta
    n, rs = x[:, 0], x[:, 1]
    least = np.where(rs > 0, floor, base + base_per_column * n)
    value: Floats = np.maximum(per_column * n, least) + excess / 512
    return value


def _drains(rows: Rows) -> Iterator[Point | None]:
    for rs, counts in ((0, (1, 2, 4, 8, 16)), (1, (1, 4, 8))):
        for n in (64, 128, 256):
            for count in counts:
                where: Params = {"n": n, "rs": rs, "per_group": count}
                x = (count * d.law(n), rs)
                yield _point(rows, x, "wgmma_once", where, "done", _OPERAND[rs])


def _block_barriers(rows: Rows) -> Iterator[Point | None]:
    for bench, named in (("syncthreads", 0), ("named_barrier", 1)):
        for warps in (1, 2, 4, 8, 12, 16, 32):
            yield _slope(rows, (warps, named), bench, {"warps": warps}, ("run", 16, 48), bench)


def _loops(rows: Rows) -> Iterator[Point | None]:
    for body in (1, 4, 8, 32, 128):
        yield _point(rows, (body,), "loop", {"body": body, "warps": 1})


def _within_gpc(rows: Rows) -> Iterator[Point | None]:
    for sms in (4, 8, 16):
        yield _point(rows, (sms,), "stream", {"data": "l2_private", "gpc_sms": sms}, "total")


def _dram(rows: Rows) -> Iterator[Point | None]:
    for box, depths in ((2, (1, 2)), (4, (1, 2, 4, 8)), (16, (1, 2, 3, 4, 6, 8, 12))):
        for depth in depths:
            where: Params = {"data": "dram", "ctas": SMS, "box": box * KB, "depth": depth}
            yield _point(rows, (box * KB * depth,), "stream", where, "sm", f"boxes of {box} KB")


def _little(theta: Floats, x: Floats) -> Floats:
    """Bytes in flight over a round trip that grows with them, up to the server's rate."""
    rate, trip, growth = theta
    value: Floats = np.minimum(rate, x[:, 0] / (trip + growth * x[:, 0] / KB))
    return value


def _cp_rates(rows: Rows) -> Iterator[Point | None]:
    for flight in (4 * KB, 8 * KB, 16 * KB, 32 * KB, 64 * KB, 128 * KB, 192 * KB):
        yield _point(rows, (flight,), "cp_rate", {"ctas": 1, "in_flight": flight}, "sm")


LAWS: tuple[Law, ...] = (
    Law(
        "tma_landing",
        "latency_l2 + bytes / port",
        "tma_landing, issue elect",
        "cycles",
        (
            Parameter("tma.latency_l2", "cycles", 350),
            Parameter("(port of a lone copy)", "bytes_per_cycle", 100),
        ),
        _landing,
        lambda p, x: p[0] + x[:, 0] / p[1],
        "bytes of the copy",
        inferred=True,
    ),
    Law(
        "tma_engine",
        "max(min_copy, rows * 128 / load, bytes / fill)",
        "tma_train, tma_train_narrow",
        "cycles",
        (
            Parameter("tma.min_copy", "cycles", 6),
            Parameter("tma.load", "bytes_per_cycle", 120),
            Parameter("tma.fill", "bytes_per_cycle", 108),
        ),
        _trains,
        _engine,
        "bytes of each copy of a long train",
    ),
    Law(
        "tma_store",
        "store_latency + bytes / store",
        "tma_store",
        "cycles",
        (
            Parameter("tma.store_latency", "cycles", 58),
            Parameter("tma.store", "bytes_per_cycle", 32),
        ),
        _stores,
        lambda p, x: p[0] + x[:, 0] / p[1],
        "bytes stored by a group",
    ),
    Law(
        "wgmma_interval",
        "max(per_column * N, ss_base + ss_base_per_column * N or rs_floor)",
        "wgmma_stream",
        "cycles",
        (
            Parameter("wgmma.per_column", "cycles", 0.5),
            Parameter("wgmma.ss_base", "cycles", 16),
            Parameter("wgmma.ss_base_per_column", "cycles", 0.25),
            Parameter("wgmma.rs_floor", "cycles", 13),
            Parameter("(start and drain of a stream)", "cycles", 100),
        ),
        _intervals,
        _interval,
        "N",
    ),
    Law(
        "wgmma_drained",
        "tail + instructions * interval",
        "wgmma_once",
        "cycles",
        (
            Parameter("wgmma.tail_ss", "cycles", 70),
            Parameter("wgmma.tail_rs", "cycles", 55),
        ),
        _drains,
        lambda p, x: x[:, 0] + np.where(x[:, 1] > 0, p[1], p[0]),
        "instructions * interval of a group, cycles",
    ),
    Law(
        "block_barrier",
        "sync + sync_per_warp * warps, + named_extra where the number is in a register",
        "syncthreads, named_barrier",
        "cycles",
        (
            Parameter("barrier.sync", "cycles", 12),
            Parameter("barrier.sync_per_warp", "cycles", 2),
            Parameter("barrier.named_extra", "cycles", 12),
        ),
        _block_barriers,
        lambda p, x: p[0] + p[1] * x[:, 0] + p[2] * x[:, 1],
        "warps",
    ),
    Law(
        "loop",
        "max(loop_min, ffma_latency * FFMA + loop)",
        "loop",
        "cycles",
        (
            Parameter("code.loop_min", "cycles", 29),
            Parameter("alu.ffma_latency", "cycles", 4),
            Parameter("code.loop", "cycles", 8),
        ),
        _loops,
        lambda p, x: np.maximum(p[0], p[1] * x[:, 0] + p[2]),
        "dependent FFMA of a turn",
    ),
    Law(
        "gpc_port",
        "min(SMs * one, gpc)",
        "stream",
        "bytes_per_cycle",
        (
            Parameter("l2.gpc", "bytes_per_cycle", 620),
            Parameter("(one SM)", "bytes_per_cycle", 105),
        ),
        _within_gpc,
        lambda p, x: np.minimum(p[0], p[1] * x[:, 0]),
        "SMs of one GPC that read lines of their own",
    ),
    Law(
        "dram_in_flight",
        "min(read / SMs, bytes / (trip + growth * KB))",
        "stream",
        "bytes_per_cycle",
        (
            Parameter("dram.read", "bytes_per_cycle", 17.5, SMS),
            Parameter("(round trip, nothing in flight)", "cycles", 850),
            Parameter("(round trip for each KB in flight)", "cycles", 25),
        ),
        _dram,
        _little,
        "bytes in flight of each SM",
    ),
    Law(
        "cp_async_port",
        "min(port, bytes / trip)",
        "cp_rate",
        "bytes_per_cycle",
        (
            Parameter("cp_async.port", "bytes_per_cycle", 120),
            Parameter("(round trip)", "cycles", 330),
        ),
        _cp_rates,
        lambda p, x: np.minimum(p[0], x[:, 0] / p[1]),
        "bytes in flight of one SM",
    ),
)


def points_of(law: Law, rows: Rows) -> list[Point]:
    """The points that the rows of one file give; those whose rows it lacks are left out."""
    try:
        return [point for point in law.points(rows) if point is not None]
    except MissingRowError:
        return []
