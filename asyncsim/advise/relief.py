"""What would bind next: the same schedule on a machine where what binds takes half the time."""

from __future__ import annotations

from fractions import Fraction

from asyncsim.machine import Machine, scaled
from asyncsim.predict.result import Prediction
from asyncsim.sim import path

HALF = Fraction(1, 2)

_ALU = ("ffma", "ffma_across", "ffma_along", "alu", "mufu", "cvt", "shfl")
_TMA = ("load", "store", "reduce", "min_copy", "copy_overhead", "send", "min_send")
_GST = ("issue", "partial_issue", "straddle_issue", "sm", "device", "partial_device")
NUMBERS: dict[str, tuple[str, ...]] = {
    path.TENSOR: (
        *(f"wgmma.{n}" for n in ("per_column", "ss_base", "ss_base_per_column", "rs_floor")),
        *(f"mma.{n}" for n in ("f16", "tf32", "f8", "i8")),
        *(f"tcgen05.{n}" for n in ("per_column", "pair_per_column")),
    ),
    path.TMA: tuple(f"tma.{n}" for n in _TMA),
    path.PORT: ("tma.fill", "cp_async.port"),
    path.GPC: ("l2.gpc", "l2.device", "l2.shared_gpc", "l2.shared_sm"),
    path.DRAM: ("dram.read", "dram.write"),
    path.L2_WRITE: ("l2.write",),
    path.SMEM: ("smem.port", "smem.warp", "smem.ldmatrix_warp", "smem.stmatrix_warp"),
    path.LSU: ("cp_async.issue", "cp_async.issue_contended"),
    path.STORE: (*(f"gst.{n}" for n in _GST), "gst.straddle_device"),
    path.PIPE: tuple(f"alu.{n}" for n in _ALU),
    path.LATENCY_DRAM: (
        *("tma.latency_dram", "tma.landing_dram", "tma.landing_dram_far"),
        *("cp_async.latency_dram", "cp_async.landing_dram"),
        *("dram.latency", "dram.round_trip_by_inflight"),
    ),
    path.LATENCY_L2: ("tma.latency_l2", "cp_async.latency_l2", "l2.latency"),
}
"""The numbers that a label of the critical path rests on, by key of the machine file."""

COMPUTE = "compute of "


def binding(prediction: Prediction) -> str:
    """The resource that most of the critical path goes through, of those that can be relieved."""
    ordered = sorted(prediction.path.items(), key=lambda item: -item[1])
    return next((name for name, _ in ordered if _numbers(name)), "")


def relieved(machine: Machine, label: str) -> Machine:
    """A machine on which what the label stands for takes half the time."""
    return scaled(machine, set(_numbers(label)), HALF)


def _numbers(label: str) -> tuple[str, ...]:
    return NUMBERS[path.PIPE] if label.startswith(COMPUTE) else NUMBERS.get(label, ())
