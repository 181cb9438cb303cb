"""A roofline for GEMM rows: the longer of FLOP over peak and bytes over DRAM bandwidth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from asyncsim.ir import op as ops
from asyncsim.ir.decl import GlobalTensor
from asyncsim.ir.matrix import MmaSync
from asyncsim.ir.schedule import Schedule, statements
from asyncsim.machine import Machine

LANES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """What a schedule multiplies: ``flop`` and ``bytes`` count each operand and result once."""

    flop: int
    bytes: int
    operand_bytes: int
    result_bytes: int


def gemm(schedule: Schedule, params: Mapping[str, int]) -> Gemm | None:
    """None for a schedule that has no sizes m, n and k."""
    if not {"m", "n", "k"} <= set(params):
        return None
    tensors = [d for d in schedule.decls if isinstance(d, GlobalTensor)]
    matrices = [t for t in tensors if len(t.shape) == 2]
    results = [t for t in matrices if t.output]
    operands = [t for t in matrices if not t.output and params["k"] in t.shape]
    return Gemm(
        flop=2 * params["k"] * sum(prod(t.shape) for t in results),
        bytes=sum(prod(t.shape) * t.dtype.bytes for t in tensors),
        operand_bytes=operands[0].dtype.bytes,
        result_bytes=results[0].dtype.bytes,
    )


def flop_per_cycle(schedule: Schedule, problem: Gemm, machine: Machine) -> Fraction:
    """The peak of an SM for the instructions that the schedule multiplies with."""
    body = tuple(statements(schedule.body))
    k = 32 // problem.operand_bytes  # an instruction takes 32 bytes of K
    if any(isinstance(s, ops.WgmmaMmaAsync) for s in body):
        assert machine.wgmma, f"{machine.name} has no wgmma"
        return 2 * 64 * k / machine.wgmma.per_column_cycles
    parts = machine.gpu.sub_partitions
    if any(isinstance(s, MmaSync) for s in body):
        return 2 * 16 * 8 * k * parts / machine.mma.f16_cycles
    return 2 * LANES * parts / machine.alu.ffma_cycles


def roofline_cycles(schedule: Schedule, problem: Gemm, machine: Machine) -> float:
    """On the SMs that have a CTA, with the whole of DRAM's read bandwidth."""
    sms = min(schedule.ctas, machine.gpu.sms)
    compute = problem.flop / (flop_per_cycle(schedule, problem, machine) * sms)
    return float(max(compute, problem.bytes / machine.dram.read_bytes_per_cycle))
