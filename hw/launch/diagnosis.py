"""What a launch that was abandoned says of itself: the first wait that reached its limit."""

from __future__ import annotations

from dataclasses import dataclass

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier
from asyncsim.ir.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """``index``: innermost loop variable; ``state``: the 64 bits of the mbarrier, undecoded."""

    op_id: int
    role: str
    warp: int
    cta: int
    barrier: str
    parity: int
    index: int
    state: int
    where: str

    def __str__(self) -> str:
        return (
            f"{self.role} (warp {self.warp}, CTA {self.cta}) waited too long at {self.where} for "
            f"{self.barrier}, parity {self.parity}, loop index {self.index}; "
            f"mbarrier state {self.state:#018x}"
        )


def diagnose(schedule: Schedule, report: tuple[int, ...]) -> Diagnosis | None:
    """The diagnosis in a report buffer; None if no wait timed out."""
    if not report or not report[0]:
        return None
    _, op_id, address, parity, index, cta, warp, low, high, *_ = report
    role = schedule.role_of(warp)
    op = next((o for o in schedule.ops() if o.id == op_id), None)
    name = op.mbarrier.name if isinstance(op, ops.MbarrierWait) else ""
    signed = index - (1 << 32) if index >> 31 else index
    return Diagnosis(
        op_id=op_id,
        role=role.name if role else "block",
        warp=warp,
        cta=cta,
        barrier=_barrier(schedule, name, address),
        parity=parity,
        index=signed,
        state=low | high << 32,
        where=str(op.loc) if op is not None and op.loc else f"op #{op_id}",
    )


def _barrier(schedule: Schedule, name: str, address: int) -> str:
    """Name and stage. The dynamic block begins at a multiple of 1024 that the kernel does not tell;
    stages of one array are told apart by their low bits."""
    if not name:
        return "?"
    decl = next(b for b in schedule.of_kind(Mbarrier) if b.name == name)
    stage = ((address - decl.offset) & 1023) // 8
    return f"{name}[{stage}]"
