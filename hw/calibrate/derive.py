"""Derivations: one quantity of a machine file from the rows of one raw file.

Costs of generated loop turns are what is left of a turn when the costs of its modelled ops are
taken off; those come from the same rows.  See docs/machine.md.
"""

from collections.abc import Callable
from itertools import pairwise
from statistics import mean, median

from .rows import Rows

KB = 1024
TILE = 128 * 128 * 4  # bytes of an fp32 accumulator tile
TILE_8X8 = "8x8"  # results of a thread
SUB_PARTITIONS = 4


def issue(op: str, low: int = 16, high: int = 48) -> Callable[[Rows], float]:
    return lambda rows: rows.slope("issue", "run", low, high, op=op)


# launch


def interval_of_ctas(rows: Rows) -> float:
    """Cycles that one more CTA adds to a train of CTAs that do nothing."""
    few, many = 4000, 12000
    kind = {"per_sm": 16, "warps": 4, "loads": 0, "store": 0, "marks": 0}
    ns = rows.median("cta_train", "total_ns", ctas=many, **kind)
    ns -= rows.median("cta_train", "total_ns", ctas=few, **kind)
    return ns * rows.median("clock_idle", "mhz") / 1000 / (many - few)


def prologue(rows: Rows) -> float:
    barriers = 8 * issue("mbarrier_init")(rows) + issue("fence_mbarrier_init")(rows)
    sync = sync_base(rows) + 5 * sync_per_warp(rows)
    return rows.median("ring_setup", "total", threads=160) - barriers - sync


# barriers


def sync(rows: Rows, warps: int, bench: str = "syncthreads") -> float:
    return rows.slope(bench, "run", 16, 48, warps=warps)


def sync_per_warp(rows: Rows) -> float:
    return (sync(rows, 16) - sync(rows, 1)) / 15


def sync_base(rows: Rows) -> float:
    return sync(rows, 1) - sync_per_warp(rows)


def wake(rows: Rows) -> list[list[float]]:
    return [
        [n, rows.median("mbarrier_handoff", "last", waiters=n, style="converged")]
        for n in (1, 2, 4, 8, 12, 16)
    ]


def poll(rows: Rows) -> float:
    """A wait passes at the next poll: the mean delay beyond a sleeping waiter is half a period."""
    style = "diverged_counted" if rows.counted else "diverged"
    row = rows.row("mbarrier_handoff", "last", waiters=1, style=style)
    asleep = rows.median("mbarrier_handoff", "last", waiters=1, style="converged")
    period: float = 2 * ((row["p10"] + row["median"] + row["p90"]) / 3 - asleep)
    return period


# copies


def train(rows: Rows, kind: str, size: int, low: int, high: int) -> float:
    return rows.slope("tma_train", "copies", low, high, kind=kind, bytes=size)


def fill(rows: Rows) -> float:
    return 16 * KB / train(rows, "tensor", 16 * KB, 16, 48)


def landing(rows: Rows, level: str, sizes: tuple[int, ...]) -> float:
    """Beside the bytes, and without the elect that the benchmark does first."""
    elect = issue("elect")(rows)
    return median(
        rows.median("tma_landing", "other_warp", level=level, bytes=s) - s / fill(rows) - elect
        for s in sizes
    )


def first_use(rows: Rows) -> float:
    """The first landing of a launch that prefetches the map against one later, which is timed
    from the return of its issue."""
    later = issue("elect")(rows) + issue("arrive_expect_tx")(rows)
    later += issue("tensor_load_elected", 3, 7)(rows)
    where: dict[str, int | str] = {"ctas": 1, "level": "l2", "prefetch": 1}
    first = rows.median("first_ring", "first", **where)
    return first - rows.median("first_ring", "again", **where) - later


def _mean(rows: Rows, bench: str, metric: str, **params: int | str) -> float:
    """Mean of a skewed distribution, from its percentiles: chained waits add up means."""
    row = rows.row(bench, metric, **params)
    value: float = (row["p10"] + 2 * row["median"] + row["p90"]) / 4
    return value


def landing_dram(bench: str) -> Callable[[Rows], list[list[float]]]:
    """By bytes of one tensor load, L2 miss."""

    def value(rows: Rows) -> list[list[float]]:
        elect = issue("elect")(rows)
        sizes = (KB, 2 * KB, 4 * KB, 8 * KB, 16 * KB, 32 * KB)
        return [[s, _mean(rows, bench, "other_warp", level="dram", bytes=s) - elect] for s in sizes]

    return value


def cp_landing_dram(rows: Rows) -> list[list[float]]:
    """By bytes that the warps of an SM copy at once, L2 miss, from the end of issue."""
    shapes = ((1, 1), (4, 1), (4, 4), (8, 4))
    return [
        [
            512 * w * c,
            _mean(rows, "cp_latency", "done", level="dram", warps=w, copies=c)
            - rows.median("cp_latency", "issue", level="dram", warps=w, copies=c),
        ]
        for w, c in shapes
    ]


def store_each(rows: Rows, metric: str, size: int) -> float:
    one = rows.median("tma_store", metric, kind="tensor", bytes=size, stores=1)
    return (rows.median("tma_store", metric, kind="tensor", bytes=size, stores=8) - one) / 7


def store_latency(rows: Rows) -> float:
    size = 16 * KB
    done = rows.median("tma_store", "done", kind="tensor", bytes=size, stores=1)
    return done - store_each(rows, "done", size)


def queue_depth(rows: Rows) -> float:
    """Copies of 16 KB that were accepted before the first step of at least 64 cycles."""
    times: list[float] = rows.row("tma_queue", "issued_at", bytes=16 * KB)["series"]
    steps = [later - earlier for earlier, later in pairwise(times)]
    return float(1 + next(i for i, step in enumerate(steps) if step >= 64))


def cp_issue(rows: Rows) -> float:
    low = rows.median("cp_latency", "issue", level="l2", warps=1, copies=4)
    return (rows.median("cp_latency", "issue", level="l2", warps=1, copies=8) - low) / 4


def cp_latency(rows: Rows, level: str) -> float:
    return rows.median("cp_latency", "done", level=level, warps=1, copies=1) - cp_issue(rows)


def cp_turn(rows: Rows, copies: int, warps: int = 4, work: int = 64) -> float:
    return rows.median("cp_async_turn", warps=warps, copies=copies, work=work)


def cp_code(rows: Rows) -> float:
    """What one-, two- and four-copy turns of four warps take beside the modelled ops."""
    ops = 64 * ffma(rows) + issue("cp_commit_wait")(rows) + lds(rows)
    ops += sync_base(rows) + 4 * sync_per_warp(rows)
    return mean(cp_turn(rows, c) - ops - c * cp_issue(rows) for c in (1, 2, 4))


# wgmma


def interval(rows: Rows, n: int, rs: int = 0) -> float:
    return rows.median("wgmma_stream", n=n, rs=rs, per_group=8, wait=1, warpgroups=1)


def law(n: int) -> float:
    return max(n / 2, 16 + n / 4)


def tail(rows: Rows, rs: int) -> float:
    return median(
        rows.median("wgmma_once", "done", n=n, rs=rs, per_group=d) - d * law(n)
        for n in (64, 128, 256)
        for d in (1, 4, 8)
    )


def wgmma_issue(rows: Rows) -> list[list[float]]:
    def cost(n: int) -> float:
        one = rows.median("wgmma_once", "issue", n=n, rs=0, per_group=1)
        return (rows.median("wgmma_once", "issue", n=n, rs=0, per_group=8) - one) / 7

    return [[n, cost(n)] for n in (8, 64, 96, 128, 192, 256)]


def wgmma_queue(rows: Rows) -> float:
    """Instructions not yet through when the sixteenth has been issued, rounded up."""
    ahead = rows.median("wgmma_once", "done", n=256, rs=0, per_group=16)
    ahead -= rows.median("wgmma_once", "issue", n=256, rs=0, per_group=16) + tail(rows, 0)
    return -(-ahead // law(256))


def wgmma_code(rows: Rows) -> float:
    """A drained turn, with waits as rendered kernels write them, beside its ops."""
    turn = median(
        rows.median("wgmma_turn", n=n, per_group=4, wait=0, warpgroups=1, tight=1)
        - 4 * rows.median("wgmma_stream", n=n, rs=0, per_group=4, wait=0, warpgroups=1)
        for n in (64, 128, 256)
    )
    return turn - wait_cost(rows) - issue("arrive")(rows)


# loop turns


def ffma(rows: Rows) -> float:
    """Dependent FFMA: the slope of a consumer's turn over its work."""
    return rows.slope("consumer_turn", "work", 16, 64, warps=1, load=1, proxy=1, counted=0)


def outer_step(rows: Rows, factors: str, tile: str, warps: int) -> float:
    """Cycles of a sub-partition for one step of a warp's outer products, loads included."""
    return rows.slope("outer", "depth", 4, 16, factors=factors, tile=tile, warps=warps) / (
        warps / SUB_PARTITIONS
    )


def outer_ffma(rows: Rows, factors: str, tile: str = TILE_8X8) -> float:
    """One FFMA of an outer product: a step beside its loads, at two and four warps each."""
    rows_, columns = (int(n) for n in tile.split("x"))
    loads = (rows_ + columns) // 4
    steps = [outer_step(rows, factors, tile, warps) for warps in (8, 16)]
    return mean((step - loads) / (rows_ * columns) for step in steps)


def outer_spread(factors: str) -> Callable[[Rows], float]:
    """Half of what tiles of other shapes differ by: compilers choose their registers."""

    def spread(rows: Rows) -> float:
        each = [outer_ffma(rows, factors, tile) for tile in ("4x8", "8x4", "4x12", "12x4", "8x8")]
        return (max(each) - min(each)) / 2

    return spread


def outer_turns(rows: Rows) -> list[float]:
    """What a turn with outer products takes of a sub-partition beside its steps and its loop."""
    return [
        rows.median("outer", factors=factors, tile=TILE_8X8, depth=4, warps=warps)
        / (warps / SUB_PARTITIONS)
        - 4 * outer_step(rows, factors, TILE_8X8, warps)
        - rows.median("loop", body=128, warps=1)
        + 512
        for factors in ("step", "row")
        for warps in (8, 16)
    ]


def lds(rows: Rows) -> float:
    return rows.median("pipe", op="lds", chains=1, warps=1)


def wait_cost(rows: Rows) -> float:
    return issue("try_wait_counted" if rows.counted else "try_wait_branched")(rows)


def consumer_turn(rows: Rows, counted: int) -> float:
    return rows.median("consumer_turn", warps=1, work=64, load=1, proxy=0, counted=counted)


def producer_code(style: str) -> Callable[[Rows], float]:
    def value(rows: Rows) -> float:
        turn = rows.median("producer_turn", style=style, stages=4, counted=rows.counted)
        ops = wait_cost(rows) + issue("arrive_expect_tx")(rows)
        return turn - ops - issue("tensor_load_elected", 3, 7)(rows)

    return value


def consumer_code(rows: Rows) -> float:
    ops = 64 * ffma(rows) + wait_cost(rows) + lds(rows)
    ops += issue("arrive")(rows) + issue("syncwarp")(rows)
    return consumer_turn(rows, rows.counted) - ops


# memory


def stream(rows: Rows, metric: str, **params: int | str) -> float:
    return rows.median("stream", metric, **params)


def l2_device(rows: Rows) -> float:
    return 132 * stream(rows, "sm", data="l2_private", ctas=132, box=16 * KB, depth=4)


def dram_device(rows: Rows) -> float:
    depths = (3, 4, 6, 8)
    return median(
        132 * stream(rows, "sm", data="dram", ctas=132, box=16 * KB, depth=d) for d in depths
    )


def round_trip(rows: Rows) -> list[list[float]]:
    shapes = ((2 * KB, 1), (4 * KB, 1), (4 * KB, 2), (16 * KB, 1))
    return [
        [box * d, box * d / stream(rows, "sm", data="dram", ctas=132, box=box, depth=d)]
        for box, d in shapes
    ]


def store_tile(rows: Rows, layout: str, metric: str, ctas: int, tiles: int) -> float:
    return rows.median("gstore", metric, layout=layout, ctas=ctas, tiles=tiles, pitch=16384)


def half_rows(rows: Rows, pitch: int, ctas: int, tiles: int) -> float:
    """Cycles of a warp's store of 4 of 8 bytes in 8 rows, by the pitch of the rows."""
    where: dict[str, int | str] = {"layout": "fp32_halves", "ctas": ctas, "tiles": tiles}
    return rows.median("gstore", "issue", pitch=pitch, **where) / 512


def straddling(rows: Rows, ctas: int, tiles: int) -> float:
    """The same where every row lies in two sectors: with a pitch of 4 modulo 32 six of eight do."""
    aligned = half_rows(rows, 16384, ctas, tiles)
    return (half_rows(rows, 16388, ctas, tiles) - aligned / 4) / (3 / 4)


def dram_write(rows: Rows) -> float:
    """Bytes a cycle that a long copy writes in the time that it needs beside its loads."""
    tiles = 130
    of: dict[str, int | str] = {"tiles": tiles, "level": "dram"}
    copy = rows.median("tile_copy", "tile", kind="copy", **of)
    return 132 * 16 * KB / (copy - rows.median("tile_copy", "tile", kind="load", **of))


def l2_write(rows: Rows) -> float:
    return 132 * 16 * KB / rows.median("tile_copy", "tile", kind="store", tiles=8, level="l2")


def tensor_mhz(part: slice) -> Callable[[Rows], float]:
    return lambda rows: median(rows.row("clock_tensor", "mhz")["series"][part])
