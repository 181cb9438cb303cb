"""The fit: for each measured number of a machine file, how it follows from raw rows.

Costs of generated loop turns are what is left of a turn when the costs of its modelled ops are
taken off; those come from the same rows.  See docs/machine.md.
"""

__all__ = ["LOWEST", "RULES", "Rule"]

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Any

from .rows import Rows

LOWEST = 0.005  # uncertainties below are not written
KB = 1024


@dataclass(frozen=True, slots=True)
class Rule:
    """One number: its unit, the benchmarks it comes from, and its value from the rows of a file."""

    unit: str
    source: str
    value: Callable[[Rows], Any]
    spread: Callable[[Rows], float] | None = None


def _issue(op: str, low: int = 16, high: int = 48) -> Callable[[Rows], float]:
    return lambda rows: rows.slope("issue", "run", low, high, op=op)


def _issue_rule(op: str, low: int = 16, high: int = 48) -> Rule:
    return Rule("cycles", f"issue {op}", _issue(op, low, high))


def _pipe_rules(name: str, op: str) -> dict[str, Rule]:
    return {
        f"alu.{name}": Rule(
            "cycles", f"pipe {op}", lambda r: r.median("pipe", op=op, chains=8, warps=4)
        ),
        f"alu.{name}_latency": Rule(
            "cycles", f"pipe {op}", lambda r: r.median("pipe", op=op, chains=1, warps=1)
        ),
    }


# launch


def _ramp(rows: Rows) -> float:
    ns = mean(
        rows.median("cta_starts", "ramp_ns", threads=t, waves=w)
        for t in (32, 128, 384)
        for w in (1, 4)
    )
    return ns * rows.median("clock_idle", "mhz") / 1000


def _prologue(rows: Rows) -> float:
    barriers = 8 * _issue("mbarrier_init")(rows) + _issue("fence_mbarrier_init")(rows)
    sync = _sync_base(rows) + 5 * _sync_per_warp(rows)
    return rows.median("ring_setup", "total", threads=160) - barriers - sync


# barriers


def _sync(rows: Rows, warps: int, bench: str = "syncthreads") -> float:
    return rows.slope(bench, "run", 16, 48, warps=warps)


def _sync_per_warp(rows: Rows) -> float:
    return (_sync(rows, 16) - _sync(rows, 1)) / 15


def _sync_base(rows: Rows) -> float:
    return _sync(rows, 1) - _sync_per_warp(rows)


def _wake(rows: Rows) -> list[list[float]]:
    return [
        [n, rows.median("mbarrier_handoff", "last", waiters=n, style="converged")]
        for n in (1, 2, 4, 8, 12, 16)
    ]


def _poll(rows: Rows) -> float:
    """A wait passes at the next poll: the mean delay beyond a sleeping waiter is half a period."""
    style = "diverged_counted" if rows.counted else "diverged"
    row = rows.row("mbarrier_handoff", "last", waiters=1, style=style)
    asleep = rows.median("mbarrier_handoff", "last", waiters=1, style="converged")
    return 2 * ((row["p10"] + row["median"] + row["p90"]) / 3 - asleep)


# copies


def _train(rows: Rows, kind: str, size: int, low: int, high: int) -> float:
    return rows.slope("tma_train", "copies", low, high, kind=kind, bytes=size)


def _fill(rows: Rows) -> float:
    return 16 * KB / _train(rows, "tensor", 16 * KB, 16, 48)


def _landing(rows: Rows, level: str, sizes: tuple[int, ...]) -> float:
    """Beside the bytes, and without the elect that the benchmark does first."""
    elect = _issue("elect")(rows)
    return median(
        rows.median("tma_landing", "other_warp", level=level, bytes=s) - s / _fill(rows) - elect
        for s in sizes
    )


def _store_each(rows: Rows, metric: str, size: int) -> float:
    one = rows.median("tma_store", metric, kind="tensor", bytes=size, stores=1)
    return (rows.median("tma_store", metric, kind="tensor", bytes=size, stores=8) - one) / 7


def _store_latency(rows: Rows) -> float:
    size = 16 * KB
    done = rows.median("tma_store", "done", kind="tensor", bytes=size, stores=1)
    return done - _store_each(rows, "done", size)


def _queue_depth(rows: Rows) -> float:
    """Copies of 16 KB that were accepted before the first step of at least 64 cycles."""
    times = rows.row("tma_queue", "issued_at", bytes=16 * KB)["series"]
    steps = [later - earlier for earlier, later in pairwise(times)]
    return 1 + next(i for i, step in enumerate(steps) if step >= 64)


def _cp_issue(rows: Rows) -> float:
    low = rows.median("cp_latency", "issue", level="l2", warps=1, copies=4)
    return (rows.median("cp_latency", "issue", level="l2", warps=1, copies=8) - low) / 4


def _cp_latency(rows: Rows, level: str) -> float:
    return rows.median("cp_latency", "done", level=level, warps=1, copies=1) - _cp_issue(rows)


def _cp_turn(rows: Rows, copies: int, warps: int = 4, work: int = 64) -> float:
    return rows.median("cp_async_turn", warps=warps, copies=copies, work=work)


def _cp_code(rows: Rows) -> float:
    """What one-, two- and four-copy turns of four warps take beside the modelled ops."""
    ops = 64 * _ffma(rows) + _issue("cp_commit_wait")(rows) + _lds(rows)
    ops += _sync_base(rows) + 4 * _sync_per_warp(rows)
    return mean(_cp_turn(rows, c) - ops - c * _cp_issue(rows) for c in (1, 2, 4))


# wgmma


def _interval(rows: Rows, n: int, rs: int = 0) -> float:
    return rows.median("wgmma_stream", n=n, rs=rs, per_group=8, wait=1, warpgroups=1)


def _law(n: int) -> float:
    return max(n / 2, 16 + n / 4)


def _tail(rows: Rows, rs: int) -> float:
    return median(
        rows.median("wgmma_once", "done", n=n, rs=rs, per_group=d) - d * _law(n)
        for n in (64, 128, 256)
        for d in (1, 4, 8)
    )


def _wgmma_issue(rows: Rows) -> list[list[float]]:
    def cost(n: int) -> float:
        one = rows.median("wgmma_once", "issue", n=n, rs=0, per_group=1)
        return (rows.median("wgmma_once", "issue", n=n, rs=0, per_group=8) - one) / 7

    return [[n, cost(n)] for n in (8, 64, 96, 128, 192, 256)]


def _wgmma_queue(rows: Rows) -> float:
    """Instructions not yet complete when the sixteenth has been issued, rounded up."""
    ahead = rows.median("wgmma_once", "done", n=256, rs=0, per_group=16)
    ahead -= rows.median("wgmma_once", "issue", n=256, rs=0, per_group=16)
    return -(-ahead // _law(256))


def _wgmma_code(rows: Rows) -> float:
    """A drained turn beside its group, a wait and an arrive; the clock bound is taken off."""
    turn = median(
        rows.median("wgmma_turn", n=n, per_group=4, wait=0, warpgroups=1)
        - 4 * rows.median("wgmma_stream", n=n, rs=0, per_group=4, wait=0, warpgroups=1)
        for n in (64, 128, 256)
    )
    clock_bound = _consumer_turn(rows, 0) - _consumer_turn(rows, rows.counted)
    return turn - _issue("try_wait_branched")(rows) - _issue("arrive")(rows) - clock_bound


# loop turns


def _ffma(rows: Rows) -> float:
    """Dependent FFMA: the slope of a consumer's turn over its work."""
    return rows.slope("consumer_turn", "work", 16, 64, warps=1, load=1, proxy=1, counted=0)


def _lds(rows: Rows) -> float:
    return rows.median("pipe", op="lds", chains=1, warps=1)


def _wait_cost(rows: Rows) -> float:
    return _issue("try_wait_counted" if rows.counted else "try_wait_branched")(rows)


def _consumer_turn(rows: Rows, counted: int) -> float:
    return rows.median("consumer_turn", warps=1, work=64, load=1, proxy=0, counted=counted)


def _producer_code(style: str) -> Callable[[Rows], float]:
    def value(rows: Rows) -> float:
        turn = rows.median("producer_turn", style=style, stages=4, counted=rows.counted)
        ops = _wait_cost(rows) + _issue("arrive_expect_tx")(rows)
        return turn - ops - _issue("tensor_load_elected", 3, 7)(rows)

    return value


def _consumer_code(rows: Rows) -> float:
    ops = 64 * _ffma(rows) + _wait_cost(rows) + _lds(rows)
    ops += _issue("arrive")(rows) + _issue("syncwarp")(rows)
    return _consumer_turn(rows, rows.counted) - ops


# memory


def _stream(rows: Rows, metric: str, **params: int | str) -> float:
    return rows.median("stream", metric, **params)


def _l2_device(rows: Rows) -> float:
    return 132 * _stream(rows, "sm", data="l2_private", ctas=132, box=16 * KB, depth=4)


def _dram_device(rows: Rows) -> float:
    depths = (3, 4, 6, 8)
    return median(
        132 * _stream(rows, "sm", data="dram", ctas=132, box=16 * KB, depth=d) for d in depths
    )


def _round_trip(rows: Rows) -> list[list[float]]:
    shapes = ((2 * KB, 1), (4 * KB, 1), (4 * KB, 2), (16 * KB, 1))
    return [
        [box * d, box * d / _stream(rows, "sm", data="dram", ctas=132, box=box, depth=d)]
        for box, d in shapes
    ]


def _store_tile(rows: Rows, layout: str, metric: str, ctas: int, tiles: int) -> float:
    return rows.median("gstore", metric, layout=layout, ctas=ctas, tiles=tiles, pitch=16384)


def _tensor_mhz(part: slice) -> Callable[[Rows], float]:
    return lambda rows: median(rows.row("clock_tensor", "mhz")["series"][part])


TILE = 128 * 128 * 4

RULES: dict[str, Rule] = {
    "launch.start_ramp": Rule("cycles", "cta_starts", _ramp, lambda r: 64.0),
    "launch.replacement": Rule(
        "cycles",
        "cta_starts",
        lambda r: r.median("cta_starts", "replacement", threads=128, waves=4),
        lambda r: r.half_spread("cta_starts", "replacement", threads=128, waves=4),
    ),
    "launch.prologue": Rule("cycles", "ring_setup", _prologue),
    "tma.issue": _issue_rule("tensor_load_elected", 3, 7),
    "tma.issue_lane_loop": _issue_rule("tensor_load_thread", 3, 7),
    "tma.store": Rule(
        "bytes_per_cycle", "tma_store", lambda r: 16 * KB / _store_each(r, "done", 16 * KB)
    ),
    "tma.min_copy": Rule("cycles", "tma_train", lambda r: _train(r, "bulk", 16, 64, 256)),
    "tma.copy_overhead": Rule(
        "cycles", "tma_train", lambda r: _train(r, "tensor", KB, 64, 256) - KB / 128
    ),
    "tma.queue_depth": Rule("count", "tma_queue", _queue_depth),
    "tma.fill": Rule("bytes_per_cycle", "tma_train", _fill),
    "tma.latency_l2": Rule(
        "cycles", "tma_landing", lambda r: _landing(r, "l2", (4096, 8192, 16384)), lambda r: 10.0
    ),
    "tma.latency_dram": Rule(
        "cycles",
        "tma_landing",
        lambda r: _landing(r, "dram", (1024, 4096, 8192, 16384, 32768)),
        lambda r: r.half_spread("tma_landing", "other_warp", level="dram", bytes=4096),
    ),
    "tma.store_issue": Rule("cycles", "tma_store", lambda r: _store_each(r, "issue", KB)),
    "tma.store_latency": Rule("cycles", "tma_store", _store_latency),
    "tma.commit": _issue_rule("bulk_commit"),
    "tma.wait": _issue_rule("bulk_wait"),
    "mbarrier.init": _issue_rule("mbarrier_init"),
    "mbarrier.arrive": _issue_rule("arrive"),
    "mbarrier.expect_tx": _issue_rule("arrive_expect_tx"),
    "mbarrier.try_wait": Rule("cycles", "issue try_wait_counted", _wait_cost),
    "mbarrier.try_wait_pipelined": _issue_rule("try_wait_pipelined"),
    "mbarrier.wake_by_warps": Rule("cycles", "mbarrier_handoff", _wake),
    "mbarrier.poll": Rule("cycles", "mbarrier_handoff", _poll, lambda r: 50.0),
    "barrier.sync": Rule("cycles", "syncthreads", _sync_base),
    "barrier.sync_per_warp": Rule("cycles", "syncthreads", _sync_per_warp),
    "barrier.named_extra": Rule(
        "cycles", "named_barrier", lambda r: _sync(r, 4, "named_barrier") - _sync(r, 4)
    ),
    "barrier.handoff": Rule(
        "cycles", "named_handoff", lambda r: r.median("named_handoff", warps=2)
    ),
    "barrier.syncwarp": _issue_rule("syncwarp"),
    "barrier.elect": _issue_rule("elect"),
    "fence.proxy_async_smem": _issue_rule("fence_proxy_async_smem"),
    "fence.proxy_async": _issue_rule("fence_proxy_async"),
    "fence.mbarrier_init": _issue_rule("fence_mbarrier_init"),
    "fence.cta": _issue_rule("fence_cta"),
    "fence.gpu": _issue_rule("fence_gpu"),
    "cp_async.issue": Rule("cycles", "cp_latency", _cp_issue),
    "cp_async.issue_contended": Rule(
        "cycles",
        "cp_async_turn",
        lambda r: (_cp_turn(r, 4, 8, 256) - _cp_turn(r, 1, 8, 256)) / 3 / 8,
    ),
    "cp_async.latency_l2": Rule("cycles", "cp_latency", lambda r: _cp_latency(r, "l2")),
    "cp_async.latency_dram": Rule(
        "cycles",
        "cp_latency",
        lambda r: _cp_latency(r, "dram"),
        lambda r: r.half_spread("cp_latency", "done", level="dram", warps=1, copies=1),
    ),
    "cp_async.commit": _issue_rule("cp_commit"),
    "cp_async.wait": Rule(
        "cycles",
        "issue cp_commit_wait",
        lambda r: _issue("cp_commit_wait")(r) - _issue("cp_commit")(r),
    ),
    "cp_async.port": Rule(
        "bytes_per_cycle", "cp_rate", lambda r: r.median("cp_rate", "sm", ctas=1, in_flight=131072)
    ),
    "wgmma.per_column": Rule(
        "cycles", "wgmma_stream", lambda r: (_interval(r, 256) - _interval(r, 128)) / 128
    ),
    "wgmma.ss_base_per_column": Rule(
        "cycles", "wgmma_stream", lambda r: (_interval(r, 32) - _interval(r, 16)) / 16
    ),
    "wgmma.rs_floor": Rule("cycles", "wgmma_stream", lambda r: _interval(r, 8, 1)),
    "wgmma.tail_ss": Rule("cycles", "wgmma_once", lambda r: _tail(r, 0), lambda r: 1.5),
    "wgmma.tail_rs": Rule("cycles", "wgmma_once", lambda r: _tail(r, 1), lambda r: 1.0),
    "wgmma.issue_by_n": Rule("cycles", "wgmma_once", _wgmma_issue),
    "wgmma.fence": _issue_rule("wgmma_fence"),
    "wgmma.wait": _issue_rule("wgmma_wait"),
    "wgmma.queue_depth": Rule("count", "wgmma_once", _wgmma_queue),
    **_pipe_rules("ffma", "ffma"),
    "alu.ffma_latency": Rule("cycles", "consumer_turn", _ffma),
    **_pipe_rules("alu", "lop3"),
    **_pipe_rules("mufu", "ex2"),
    **_pipe_rules("cvt", "cvt"),
    **_pipe_rules("shfl", "shfl"),
    "smem.load_latency": Rule("cycles", "pipe lds", _lds),
    "smem.load_issue": Rule(
        "cycles", "pipe lds", lambda r: r.median("pipe", op="lds", chains=8, warps=1)
    ),
    "smem.store_issue": _issue_rule("sts"),
    "smem.warp": Rule(
        "bytes_per_cycle", "lds_rate", lambda r: 512 / r.median("lds_rate", width=16, warps=1)
    ),
    "l2.device": Rule("bytes_per_cycle", "stream", _l2_device),
    "l2.gpc": Rule(
        "bytes_per_cycle",
        "stream",
        lambda r: _stream(r, "total", data="l2_private", gpc_sms=16),
    ),
    "l2.shared_gpc": Rule(
        "bytes_per_cycle", "stream", lambda r: _stream(r, "total", data="l2_shared", gpc_sms=16)
    ),
    "l2.shared_sm": Rule(
        "bytes_per_cycle", "stream", lambda r: _stream(r, "sm", data="l2_shared", ctas=132)
    ),
    "dram.read": Rule("bytes_per_cycle", "stream", _dram_device, lambda r: 60.0),
    "dram.latency": Rule(
        "cycles",
        "load_latency",
        lambda r: r.median("load_latency", level="dram"),
        lambda r: r.half_spread("load_latency", level="dram"),
    ),
    "dram.round_trip_by_inflight": Rule("cycles", "stream", _round_trip),
    "gst.issue": Rule(
        "cycles", "gstore", lambda r: _store_tile(r, "fp32_pairs", "issue", 1, 8) / 256
    ),
    "gst.partial_issue": Rule(
        "cycles", "gstore", lambda r: _store_tile(r, "bf16_pairs", "issue", 1, 8) / 256
    ),
    "gst.sm": Rule(
        "bytes_per_cycle", "gstore", lambda r: TILE / _store_tile(r, "fp32_pairs", "issue", 1, 8)
    ),
    "gst.device": Rule(
        "bytes_per_cycle",
        "gstore",
        lambda r: 132 * TILE / _store_tile(r, "fp32_pairs", "issue", 132, 4),
    ),
    "gst.partial_device": Rule(
        "bytes_per_cycle",
        "gstore",
        lambda r: 132 * TILE / 2 / _store_tile(r, "bf16_pairs", "issue", 132, 4),
    ),
    "gst.drain": Rule(
        "cycles",
        "gstore",
        lambda r: _store_tile(r, "fp32_pairs", "done", 1, 1)
        - _store_tile(r, "fp32_pairs", "issue", 1, 1),
    ),
    "code.loop": Rule("cycles", "loop", lambda r: r.median("loop", body=128, warps=1) - 512),
    "code.loop_min": Rule("cycles", "loop", lambda r: r.median("loop", body=1, warps=1)),
    "code.producer_elected": Rule("cycles", "producer_turn", _producer_code("elected_parked")),
    "code.producer_all_lanes": Rule("cycles", "producer_turn", _producer_code("all_lanes")),
    "code.consumer": Rule("cycles", "consumer_turn", _consumer_code),
    "code.wgmma_consumer": Rule(
        "cycles", "wgmma_turn and consumer_turn", _wgmma_code, lambda r: 12.0
    ),
    "code.cp_async": Rule("cycles", "cp_async_turn", _cp_code, lambda r: 7.0),
    "clock.boost": Rule("mhz", "clock_idle", lambda r: r.median("clock_idle", "mhz")),
    "clock.tensor_burst": Rule("mhz", "clock_tensor", _tensor_mhz(slice(0, 4))),
    "clock.tensor_sustained": Rule("mhz", "clock_tensor", _tensor_mhz(slice(-40, None))),
}
