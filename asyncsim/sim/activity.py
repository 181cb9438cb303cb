"""What the units of the GPU have done in a run, as a power model counts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncsim.ir import op as ops
from asyncsim.predict.result import Activity
from asyncsim.sim import do_tcgen05, do_tensor
from asyncsim.sim.do_compute import KINDS
from asyncsim.sim.do_matrix import KINDS as TYPES

if TYPE_CHECKING:
    from asyncsim.ir.tcgen05 import MmaKind
    from asyncsim.sim.machine_state import Model

_MMA_FLOPS = 2 * 16 * 8  # of mma.sync m16n8, for each k


def activity(model: Model) -> Activity:
    """Of all SMs, from those that were simulated; ops of one kind stand for each other."""
    scale = model.placement.active_sms / len(model.sms)
    tensor = scale * sum(sm.tensor.busy - sm.tensor.held for sm in model.sms)
    flops, operands = _tensor(model, tensor)
    products = scale * sum(
        n * pipe.busy for sm in model.sms for n, pipe in zip(model.alike, sm.products, strict=True)
    )
    for kind, amount in _products(model, products):
        flops[kind] = flops.get(kind, 0.0) + amount
    memory = model.memory
    ffma, mufu, others = (
        scale * sum(sm.issued[kind].busy for sm in model.sms) for kind in range(len(KINDS))
    )
    return Activity(
        sms=model.placement.active_sms / model.numbers.machine.gpu.sms,
        flops=flops,
        smem_bytes=operands + scale * sum(sm.smem.served for sm in model.sms),
        fill_bytes=scale * sum(sm.port.served for sm in model.sms),
        l2_bytes=memory.carried,
        dram_bytes=memory.moved,
        store_bytes=memory.stored,
        ffma=ffma,
        mufu=mufu,
        alu=others,
    )


def _tensor(model: Model, busy: float) -> tuple[dict[str, float], float]:
    """Flops by kind and operand bytes of wgmma or tcgen05 in so many ticks."""
    kinds: dict[str, float] = {}
    each = list(_instructions(model)) if busy else []
    whole = sum(ticks for *_, ticks in each)
    for kind, flops, _, _ in each:
        kinds[kind] = kinds.get(kind, 0.0) + flops * busy / whole
    return kinds, sum(operands for _, _, operands, _ in each) * busy / whole if each else 0.0


def _instructions(model: Model) -> Iterator[tuple[str, int, int, int]]:
    """(kind, flops, operand bytes, ticks) of each instruction of the schedule, on one SM."""
    schedule, numbers = model.schedule, model.numbers
    for op in schedule.ops():
        if isinstance(op, ops.WgmmaMmaAsync):
            dtype = schedule.element_type(op.a)
            registers = isinstance(op.a, ops.FragmentRef)
            size = (op.n if registers else 64 + op.n) * op.k * dtype.bytes
            ticks = do_tensor.interval(numbers, op.n, rs=registers)
            yield TYPES.get(dtype, "f8"), 2 * 64 * op.n * op.k, size, ticks
        elif isinstance(op, ops.Tcgen05Mma):
            flops = 2 * op.m * op.n * op.k // op.cta_group
            size = do_tcgen05.operand_bytes(op)
            yield _of_kind(op.kind), flops, size, do_tcgen05.interval(numbers, op)


def _of_kind(kind: MmaKind) -> str:
    return kind.value if kind.value in ("f16", "tf32") else "f8"


def _products(model: Model, busy: float) -> Iterator[tuple[str, float]]:
    """Flops of mma.sync in so many ticks of sub-partitions."""
    found = [op for op in model.schedule.ops() if isinstance(op, ops.MmaSync)]
    if not busy or not found:
        return
    kinds = [TYPES[model.schedule.element_type(op.a)] for op in found]
    ticks = sum(model.numbers.ticks(f"mma.{kind}") for kind in kinds)
    yield "mma", busy * sum(_MMA_FLOPS * op.k for op in found) / ticks
