"""Laws of the hardware: a formula whose parameters are numbers of a machine file, and the points
that it has to meet.  See docs/machine.md.
"""

__all__ = ["LAWS", "Law", "Parameter"]

from dataclasses import dataclass

import numpy as np

from . import laws_power as power
from . import points as of
from . import points_power as of_power
from .points import SMS, Points
from .solve import Floats, Model

KB = 1024


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
    """``axis``: which column of x the report draws along, with that label; ``across_law``: along
    what the law itself says.  ``inferred``: other costs are taken off before the fit."""

    name: str
    formula: str
    benches: str
    unit: str
    parameters: tuple[Parameter, ...]
    points: Points
    model: Model
    label: str
    axis: int = 0
    inferred: bool = False
    across_law: bool = False


def _engine(theta: Floats, x: Floats) -> Floats:
    """The engine takes a row of at most 128 bytes at a time, the port takes bytes."""
    least, row_rate, fill = theta
    value: Floats = np.maximum(np.maximum(least, x[:, 1] * 128 / row_rate), x[:, 0] / fill)
    return value


def _out(theta: Floats, x: Floats) -> Floats:
    store, store_rate, reduce, reduce_rate = theta
    reduces = x[:, 1] > 0
    value: Floats = np.where(reduces, reduce + x[:, 0] / reduce_rate, store + x[:, 0] / store_rate)
    return value


def _interval(theta: Floats, x: Floats) -> Floats:
    """The excess: start and drain of a stream, spread over its 512 instructions."""
    per_column, base, base_per_column, floor, excess = theta
    n, rs = x[:, 0], x[:, 1]
    least = np.where(rs > 0, floor, base + base_per_column * n)
    value: Floats = np.maximum(per_column * n, least) + excess / 512
    return value


def _little(theta: Floats, x: Floats) -> Floats:
    """Bytes in flight over a round trip that grows with them, up to the server's rate."""
    rate, trip, growth = theta
    value: Floats = np.minimum(rate, x[:, 0] / (trip + growth * x[:, 0] / KB))
    return value


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
        of.landing,
        lambda p, x: p[0] + x[:, 0] / p[1],
        "bytes of the copy",
        inferred=True,
    ),
    Law(
        "tma_engine",
        "max(min_copy, rows * 128 / load, bytes / fill)",
        "tma_train, tma_train_narrow, boxes",
        "cycles",
        (
            Parameter("tma.min_copy", "cycles", 6),
            Parameter("tma.load", "bytes_per_cycle", 120),
            Parameter("tma.fill", "bytes_per_cycle", 108),
        ),
        of.trains,
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
        of.stores,
        lambda p, x: p[0] + x[:, 0] / p[1],
        "bytes stored by a group",
    ),
    Law(
        "bulk_out",
        "bulk_store_latency + bytes / rate; the same of reductions",
        "bulk_once",
        "cycles",
        (
            Parameter("tma.bulk_store_latency", "cycles", 67),
            Parameter("(rate of bulk stores)", "bytes_per_cycle", 32),
            Parameter("(latency of reductions)", "cycles", 68),
            Parameter("tma.reduce", "bytes_per_cycle", 25),
        ),
        of.bulk_out,
        _out,
        "bytes of one bulk store or reduction",
    ),
    Law(
        "poll",
        "try + each * FFMA, + parked where other lanes of the warp wait",
        "poll",
        "cycles",
        (
            Parameter("(one try and its branch)", "cycles", 50),
            Parameter("(each FFMA of the loop)", "cycles", 4),
            Parameter("(lanes parked at a reconvergence)", "cycles", 100),
        ),
        of.polls,
        lambda p, x: p[0] + p[1] * x[:, 0] + p[2] * x[:, 1],
        "dependent FFMA in a loop that polls a barrier",
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
        of.intervals,
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
        of.drains,
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
        of.block_barriers,
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
        of.loops,
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
        of.within_gpc,
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
        of.dram,
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
        of.cp_rates,
        lambda p, x: np.minimum(p[0], x[:, 0] / p[1]),
        "bytes in flight of one SM",
    ),
    Law(
        "beside",
        "interval + beside_lost_ffma * FFMA, + beside_lost_alu * ALU, of each sub-partition in it",
        "beside",
        "cycles",
        (
            Parameter("(interval of wgmma alone)", "cycles", 64),
            Parameter("wgmma.beside_lost_ffma", "cycles", 0.8),
            Parameter("wgmma.beside_lost_alu", "cycles", 0.3),
        ),
        of.besides,
        power.beside,
        "cycles, as the law has them",
        across_law=True,
    ),
    Law(
        "power",
        "base + (awake + energies of SMs) * (clock / boost)^(2 voltage) + energies of L2 and DRAM",
        "power",
        "watts",
        (
            Parameter("power.base", "watts", 130),
            Parameter("power.voltage", "share", 0.9),
            Parameter("power.awake", "watts", 10),
            *(
                Parameter(key, "picojoules", start)
                for key, start in (
                    *(("power.f16", 0.5), ("power.f8", 0.3), ("power.tf32", 1)),
                    *(("power.f16_zeros", 0.1), ("power.f8_zeros", 0.1), ("power.mma", 1)),
                    *(("power.smem", 6), ("power.smem_zeros", 3), ("power.fill", 12)),
                    *(("power.l2", 15), ("(a byte from L2, of zeros)", 15), ("power.dram", 60)),
                    *(("(a byte from DRAM, of zeros)", 40), ("power.store", 35)),
                    *(("(a byte written to DRAM)", 45), ("power.ffma", 500)),
                    *(("power.alu", 400), ("power.mufu", 150)),
                )
            ),
        ),
        of_power.drawn,
        power.drawn_watts,
        "watts, as the law has them",
        across_law=True,
    ),
    Law(
        "peak_power",
        "peak - (sum of reckoned energies) * (clock / boost)^1.84",
        "power",
        "watts",
        (
            Parameter("power.peak", "watts", 2500),
            Parameter("power.peak_f16", "picojoules", 1.7),
            Parameter("power.peak_f8", "picojoules", 1.2),
            Parameter("power.peak_smem", "picojoules", 70),
            Parameter("power.peak_fill", "picojoules", 20),
        ),
        of_power.peaks,
        power.peak_watts,
        "watts, as the law has them",
        across_law=True,
    ),
)
