"""The fit's table: for each measured number of a machine file, how it follows from raw rows.

See docs/machine.md.
"""

__all__ = ["LOWEST", "RULES", "Rule"]

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean
from typing import Any

from . import derive as d
from .derive import KB, TILE
from .rows import Rows

LOWEST = 0.005  # uncertainties below are not written


@dataclass(frozen=True, slots=True)
class Rule:
    """One number: its unit, the benchmarks it comes from, and its value from the rows of a file."""

    unit: str
    source: str
    value: Callable[[Rows], Any]
    spread: Callable[[Rows], float] | None = None


def _issue_rule(op: str, low: int = 16, high: int = 48) -> Rule:
    return Rule("cycles", f"issue {op}", d.issue(op, low, high))


def _pipe_rules(name: str, op: str) -> dict[str, Rule]:
    return {
        f"alu.{name}": Rule(
            "cycles", f"pipe {op}", lambda r: r.median("pipe", op=op, chains=8, warps=4)
        ),
        f"alu.{name}_latency": Rule(
            "cycles", f"pipe {op}", lambda r: r.median("pipe", op=op, chains=1, warps=1)
        ),
    }


def _mma_rules(name: str, kind: str) -> dict[str, Rule]:
    return {
        f"mma.{name}": Rule(  # two warps of a sub-partition: one alone leaves gaps
            "cycles", "mma_sync", lambda r: r.median("mma_sync", kind=kind, chains=8, warps=8) / 2
        ),
        f"mma.{name}_latency": Rule(
            "cycles", "mma_sync", lambda r: r.median("mma_sync", kind=kind, chains=1, warps=1)
        ),
    }


_X4 = 512  # bytes of four matrices

RULES: dict[str, Rule] = {
    "launch.interval": Rule("cycles", "cta_train", d.interval_of_ctas),
    "launch.replacement": Rule(
        "cycles",
        "cta_starts",
        lambda r: r.median("cta_starts", "replacement", threads=128, waves=4),
        lambda r: r.half_spread("cta_starts", "replacement", threads=128, waves=4),
    ),
    "launch.prologue": Rule("cycles", "ring_setup", d.prologue),
    "tma.issue": _issue_rule("tensor_load_elected", 3, 7),
    "tma.issue_lane_loop": _issue_rule("tensor_load_thread", 3, 7),
    "tma.store": Rule(
        "bytes_per_cycle", "tma_store", lambda r: 16 * KB / d.store_each(r, "done", 16 * KB)
    ),
    "tma.min_copy": Rule("cycles", "tma_train", lambda r: d.train(r, "bulk", 16, 64, 256)),
    "tma.copy_overhead": Rule(
        "cycles", "tma_train", lambda r: d.train(r, "tensor", KB, 64, 256) - KB / 128
    ),
    "tma.queue_depth": Rule("count", "tma_queue", d.queue_depth),
    "tma.fill": Rule("bytes_per_cycle", "tma_train", d.fill),
    "tma.latency_l2": Rule(
        "cycles", "tma_landing", lambda r: d.landing(r, "l2", (4096, 8192, 16384)), lambda r: 10.0
    ),
    "tma.latency_dram": Rule(
        "cycles",
        "tma_landing",
        lambda r: d.landing(r, "dram", (1024, 4096, 8192, 16384, 32768)),
        lambda r: r.half_spread("tma_landing", "other_warp", level="dram", bytes=4096),
    ),
    "tma.landing_dram": Rule("cycles", "tma_landing", d.landing_dram("tma_landing")),
    "tma.landing_dram_far": Rule("cycles", "tma_landing_far", d.landing_dram("tma_landing_far")),
    "tma.descriptor_first_use": Rule("cycles", "first_ring", d.first_use, lambda r: 60.0),
    "tma.store_issue": Rule("cycles", "tma_store", lambda r: d.store_each(r, "issue", KB)),
    "tma.store_latency": Rule("cycles", "tma_store", d.store_latency),
    "tma.commit": _issue_rule("bulk_commit"),
    "tma.wait": _issue_rule("bulk_wait"),
    "mbarrier.init": _issue_rule("mbarrier_init"),
    "mbarrier.arrive": _issue_rule("arrive"),
    "mbarrier.expect_tx": _issue_rule("arrive_expect_tx"),
    "mbarrier.try_wait": Rule("cycles", "issue try_wait_counted", d.wait_cost),
    "mbarrier.try_wait_pipelined": _issue_rule("try_wait_pipelined"),
    "mbarrier.wake_by_warps": Rule("cycles", "mbarrier_handoff", d.wake),
    "mbarrier.poll": Rule("cycles", "mbarrier_handoff", d.poll, lambda r: 50.0),
    "barrier.sync": Rule("cycles", "syncthreads", d.sync_base),
    "barrier.sync_per_warp": Rule("cycles", "syncthreads", d.sync_per_warp),
    "barrier.named_extra": Rule(
        "cycles", "named_barrier", lambda r: d.sync(r, 4, "named_barrier") - d.sync(r, 4)
    ),
    "barrier.handoff": Rule(
        "cycles", "named_handoff", lambda r: r.median("named_handoff", warps=2)
    ),
    "barrier.syncwarp": _issue_rule("syncwarp"),
    "barrier.elect": _issue_rule("elect"),
    "setmaxnreg.dec": Rule(
        "cycles",
        "setmaxnreg",
        lambda r: r.median("setmaxnreg", "dec", pool="free"),
        lambda r: r.half_spread("setmaxnreg", "dec", pool="free"),
    ),
    "setmaxnreg.inc": Rule(
        "cycles",
        "setmaxnreg",
        lambda r: r.median("setmaxnreg", "inc", pool="free"),
        lambda r: r.half_spread("setmaxnreg", "inc", pool="free"),
    ),
    "setmaxnreg.handoff": Rule(
        "cycles",
        "setmaxnreg",
        lambda r: r.median("setmaxnreg", "inc", pool="waits"),
        lambda r: r.half_spread("setmaxnreg", "inc", pool="waits"),
    ),
    "mma.f16_latency": _mma_rules("f16", "bf16")["mma.f16_latency"],  # the interval: whole tiles
    **_mma_rules("tf32", "tf32"),
    **_mma_rules("i8", "i8"),
    "smem.ldmatrix_latency": Rule(
        "cycles", "ldmatrix_chased", lambda r: r.median("ldmatrix_chased", num=4) - _X4 / 128
    ),
    "smem.stmatrix_warp": Rule(
        "bytes_per_cycle",
        "stmatrix_rate",
        lambda r: _X4 / r.median("stmatrix_rate", num=4, warps=1),
    ),
    "fence.proxy_async_smem": _issue_rule("fence_proxy_async_smem"),
    "fence.proxy_async": _issue_rule("fence_proxy_async"),
    "fence.mbarrier_init": _issue_rule("fence_mbarrier_init"),
    "fence.cta": _issue_rule("fence_cta"),
    "fence.gpu": _issue_rule("fence_gpu"),
    "cp_async.issue": Rule("cycles", "cp_latency", d.cp_issue),
    "cp_async.issue_contended": Rule(
        "cycles",
        "cp_async_turn",
        lambda r: (d.cp_turn(r, 4, 8, 256) - d.cp_turn(r, 1, 8, 256)) / 3 / 8,
    ),
    "cp_async.latency_l2": Rule("cycles", "cp_latency", lambda r: d.cp_latency(r, "l2")),
    "cp_async.latency_dram": Rule(
        "cycles",
        "cp_latency",
        lambda r: d.cp_latency(r, "dram"),
        lambda r: r.half_spread("cp_latency", "done", level="dram", warps=1, copies=1),
    ),
    "cp_async.landing_dram": Rule("cycles", "cp_latency", d.cp_landing_dram),
    "cp_async.commit": _issue_rule("cp_commit"),
    "cp_async.wait": Rule(
        "cycles",
        "issue cp_commit_wait",
        lambda r: d.issue("cp_commit_wait")(r) - d.issue("cp_commit")(r),
    ),
    "cp_async.port": Rule(
        "bytes_per_cycle", "cp_rate", lambda r: r.median("cp_rate", "sm", ctas=1, in_flight=131072)
    ),
    "wgmma.per_column": Rule(
        "cycles", "wgmma_stream", lambda r: (d.interval(r, 256) - d.interval(r, 128)) / 128
    ),
    "wgmma.ss_base_per_column": Rule(
        "cycles", "wgmma_stream", lambda r: (d.interval(r, 32) - d.interval(r, 16)) / 16
    ),
    "wgmma.tail_ss": Rule("cycles", "wgmma_once", lambda r: d.tail(r, 0), lambda r: 1.5),
    "wgmma.tail_rs": Rule("cycles", "wgmma_once", lambda r: d.tail(r, 1), lambda r: 1.0),
    "wgmma.issue_by_n": Rule("cycles", "wgmma_once", d.wgmma_issue),
    "wgmma.fence": _issue_rule("wgmma_fence"),
    "wgmma.wait": _issue_rule("wgmma_wait"),
    "wgmma.queue_depth": Rule("count", "wgmma_once", d.wgmma_queue),
    **_pipe_rules("ffma", "ffma"),
    "alu.ffma_across": Rule(
        "cycles", "outer", lambda r: d.outer_ffma(r, "step"), d.outer_spread("step")
    ),
    "alu.ffma_along": Rule(
        "cycles", "outer", lambda r: d.outer_ffma(r, "row"), d.outer_spread("row")
    ),
    "alu.ffma_latency": Rule("cycles", "consumer_turn", d.ffma),
    **_pipe_rules("alu", "lop3"),
    **_pipe_rules("mufu", "ex2"),
    **_pipe_rules("cvt", "cvt"),
    **_pipe_rules("shfl", "shfl"),
    "smem.load_latency": Rule("cycles", "pipe lds", d.lds),
    "smem.load_issue": Rule(
        "cycles", "pipe lds", lambda r: r.median("pipe", op="lds", chains=8, warps=1)
    ),
    "smem.store_issue": _issue_rule("sts"),
    "smem.warp": Rule(
        "bytes_per_cycle", "lds_rate", lambda r: 512 / r.median("lds_rate", width=16, warps=1)
    ),
    "l2.device": Rule("bytes_per_cycle", "stream", d.l2_device),
    "l2.gpc": Rule(
        "bytes_per_cycle",
        "stream",
        lambda r: d.stream(r, "total", data="l2_private", gpc_sms=16),
    ),
    "l2.shared_gpc": Rule(
        "bytes_per_cycle", "stream", lambda r: d.stream(r, "total", data="l2_shared", gpc_sms=16)
    ),
    "l2.shared_sm": Rule(
        "bytes_per_cycle", "stream", lambda r: d.stream(r, "sm", data="l2_shared", ctas=132)
    ),
    "l2.write": Rule("bytes_per_cycle", "tile_copy", d.l2_write),
    "l2.spread": Rule(
        "cycles",
        "first_ring",
        lambda r: 2 * r.half_spread("first_ring", "again", ctas=132, level="l2", prefetch=1),
    ),
    "dram.read": Rule("bytes_per_cycle", "stream", d.dram_device, lambda r: 60.0),
    "dram.write": Rule("bytes_per_cycle", "tile_copy", d.dram_write, lambda r: 180.0),
    "dram.latency": Rule(
        "cycles",
        "load_latency",
        lambda r: r.median("load_latency", level="dram"),
        lambda r: r.half_spread("load_latency", level="dram"),
    ),
    "dram.round_trip_by_inflight": Rule("cycles", "stream", d.round_trip),
    "gst.issue": Rule(
        "cycles", "gstore", lambda r: d.store_tile(r, "fp32_pairs", "issue", 1, 8) / 256
    ),
    "gst.partial_issue": Rule(
        "cycles", "gstore", lambda r: d.store_tile(r, "bf16_pairs", "issue", 1, 8) / 256
    ),
    "gst.sm": Rule(
        "bytes_per_cycle", "gstore", lambda r: TILE / d.store_tile(r, "fp32_pairs", "issue", 1, 8)
    ),
    "gst.device": Rule(
        "bytes_per_cycle",
        "gstore",
        lambda r: 132 * TILE / d.store_tile(r, "fp32_pairs", "issue", 132, 4),
    ),
    "gst.straddle_issue": Rule("cycles", "gstore", lambda r: d.straddling(r, 1, 8)),
    "gst.straddle_device": Rule(
        "bytes_per_cycle", "gstore", lambda r: 132 * 128 / d.straddling(r, 132, 4)
    ),
    "gst.partial_device": Rule(
        "bytes_per_cycle",
        "gstore",
        lambda r: 132 * TILE / 2 / d.store_tile(r, "bf16_pairs", "issue", 132, 4),
    ),
    "gst.drain": Rule(
        "cycles",
        "gstore",
        lambda r: d.store_tile(r, "fp32_pairs", "done", 1, 1)
        - d.store_tile(r, "fp32_pairs", "issue", 1, 1),
    ),
    "code.loop": Rule("cycles", "loop", lambda r: r.median("loop", body=128, warps=1) - 512),
    "code.loop_min": Rule("cycles", "loop", lambda r: r.median("loop", body=1, warps=1)),
    "code.producer_elected": Rule("cycles", "producer_turn", d.producer_code("elected_parked")),
    "code.producer_all_lanes": Rule("cycles", "producer_turn", d.producer_code("all_lanes")),
    "code.consumer": Rule("cycles", "consumer_turn", d.consumer_code),
    "code.wgmma_consumer": Rule("cycles", "wgmma_turn", d.wgmma_code, lambda r: 12.0),
    "code.cp_async": Rule("cycles", "cp_async_turn", d.cp_code, lambda r: 7.0),
    "code.outer_products": Rule(
        "cycles",
        "outer",
        lambda r: mean(d.outer_turns(r)),
        lambda r: (max(d.outer_turns(r)) - min(d.outer_turns(r))) / 2,
    ),
    "clock.boost": Rule("mhz", "clock_idle", lambda r: r.median("clock_idle", "mhz")),
    "clock.tensor_burst": Rule("mhz", "clock_tensor", d.tensor_mhz(slice(0, 4))),
    "clock.tensor_sustained": Rule("mhz", "clock_tensor", d.tensor_mhz(slice(-40, None))),
}
