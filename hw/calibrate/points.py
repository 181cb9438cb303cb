"""What the laws have to meet: points from the rows of one raw file.  See docs/machine.md."""

__all__ = [
    "SMS",
    "Point",
    "Points",
    "besides",
    "block_barriers",
    "bulk_out",
    "cp_rates",
    "drains",
    "dram",
    "intervals",
    "landing",
    "loops",
    "points_of",
    "polls",
    "stores",
    "trains",
    "within_gpc",
]

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from . import derive as d
from .rows import MissingRowError, Rows, standard_error

KB = 1024
SMS = 132
Params = dict[str, int | str]
# Boxes of another shape: bytes, and rows of at most 128 bytes.
BOXES = {
    "2d, 16-byte rows": (4 * KB, 256),
    "2d, 32-byte rows": (8 * KB, 256),
    "2d, 32-byte rows, swizzled": (8 * KB, 256),
    "2d, 64-byte rows, swizzled": (16 * KB, 256),
    "2d, 256-byte rows": (16 * KB, 128),
    "2d, 512-byte rows": (16 * KB, 128),
    "3d": (16 * KB, 128),
    "4d": (16 * KB, 128),
    "5d": (16 * KB, 128),
    "im2col, 128 pixels": (16 * KB, 128),
}
_OPERAND = ("A in shared memory", "A in registers")  # by whether it is


@dataclass(frozen=True, slots=True)
class Point:
    """What one row says: ``x`` for the law, ``y`` and its standard error; ``series`` names the
    curve of the report that it belongs to."""

    x: tuple[float, ...]
    y: float
    sigma: float
    series: str = ""


Points = Callable[[Rows], Iterator[Point | None]]


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


def landing(rows: Rows) -> Iterator[Point | None]:
    elect = d.issue("elect")(rows)  # the benchmark does it before the copy
    for size in (1, 2, 4, 8, 16, 32):
        where: Params = {"level": "l2", "bytes": size * KB}
        point = _point(rows, (size * KB,), "tma_landing", where, "other_warp")
        yield point and replace(point, y=point.y - elect)


def trains(rows: Rows) -> Iterator[Point | None]:
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

    for name, (size, lines) in BOXES.items():
        x, along = (size, lines), ("copies", 16, 48)
        series = (
            "256 rows of 16 to 64 bytes" if lines == 256 else "im2col, and boxes of 2 to 5 ranks"
        )
        yield _slope(rows, x, "boxes", {"box": name}, along, series)


def stores(rows: Rows) -> Iterator[Point | None]:
    for size in (1, 4, 16):
        for count in (1, 8):
            where: Params = {"kind": "tensor", "bytes": size * KB, "stores": count}
            yield _point(rows, (size * KB * count,), "tma_store", where, "done")


def bulk_out(rows: Rows) -> Iterator[Point | None]:
    for kind, reduces in (("store", 0), ("reduce", 1)):
        for size in (1, 2, 4, 8, 16, 32):
            where: Params = {"kind": kind, "bytes": size * KB}
            yield _point(rows, (size * KB, reduces), "bulk_once", where, series=kind)


def polls(rows: Rows) -> Iterator[Point | None]:
    for style, parked in (("parked", 1), ("alone", 0)):
        for pad in (8, 16, 32, 64):
            where: Params = {"style": style, "op": "test_wait", "pad": pad}
            yield _point(rows, (pad, parked), "poll", where, series=style)


def intervals(rows: Rows) -> Iterator[Point | None]:
    for rs, sizes in ((0, (8, 16, 32, 64, 96, 128, 192, 256)), (1, (8, 16, 64, 128, 256))):
        for n in sizes:
            where: Params = {"n": n, "rs": rs, "per_group": 8, "wait": 1, "warpgroups": 1}
            yield _point(rows, (n, rs), "wgmma_stream", where, series=_OPERAND[rs])


def drains(rows: Rows) -> Iterator[Point | None]:
    for rs, counts in ((0, (1, 2, 4, 8, 16)), (1, (1, 4, 8))):
        for n in (64, 128, 256):
            for count in counts:
                where: Params = {"n": n, "rs": rs, "per_group": count}
                x = (count * d.law(n), rs)
                yield _point(rows, x, "wgmma_once", where, "done", _OPERAND[rs])


def block_barriers(rows: Rows) -> Iterator[Point | None]:
    for bench, named in (("syncthreads", 0), ("named_barrier", 1)):
        for warps in (1, 2, 4, 8, 12, 16, 32):
            yield _slope(rows, (warps, named), bench, {"warps": warps}, ("run", 16, 48), bench)


def loops(rows: Rows) -> Iterator[Point | None]:
    for body in (1, 4, 8, 32, 128):
        yield _point(rows, (body,), "loop", {"body": body, "warps": 1})


def within_gpc(rows: Rows) -> Iterator[Point | None]:
    for sms in (4, 8, 16):
        yield _point(rows, (sms,), "stream", {"data": "l2_private", "gpc_sms": sms}, "total")


def dram(rows: Rows) -> Iterator[Point | None]:
    for box, depths in ((2, (1, 2)), (4, (1, 2, 4, 8)), (16, (1, 2, 3, 4, 6, 8, 12))):
        for depth in depths:
            where: Params = {"data": "dram", "ctas": SMS, "box": box * KB, "depth": depth}
            yield _point(rows, (box * KB * depth,), "stream", where, "sm", f"boxes of {box} KB")


def cp_rates(rows: Rows) -> Iterator[Point | None]:
    for flight in (4 * KB, 8 * KB, 16 * KB, 32 * KB, 64 * KB, 128 * KB, 192 * KB):
        yield _point(rows, (flight,), "cp_rate", {"ctas": 1, "in_flight": flight}, "sm")


def besides(rows: Rows) -> Iterator[Point | None]:
    """x: FFMA and ALU instructions of a sub-partition in an interval of wgmma; exponentials, which
    cost it nothing, show the interval by itself."""
    for op in ("ex2", "ffma", "fadd", "maximum", "cvt", "imad"):
        for a in ("shared", "registers"):
            for warps in (1, 2):
                where: Params = {"op": op, "warps": warps, "a": a}
                point = _point(rows, (0.0, 0.0), "beside", where, "wgmma", f"A in {a}")
                if point is not None:
                    count = point.y / rows.median("beside", "cycles", **where)
                    counts = {"ffma": (count, 0.0), "fadd": (count, 0.0), "ex2": (0.0, 0.0)}
                    yield replace(point, x=counts.get(op, (0.0, count)))


def points_of(points: Points, rows: Rows) -> list[Point]:
    """The points that the rows of one file give; those whose rows it lacks are left out."""
    try:
        return [point for point in points(rows) if point is not None]
    except MissingRowError:
        return []
