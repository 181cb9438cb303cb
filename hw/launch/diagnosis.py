"""What a launch that was abandoned says of itself: the first wait that reached its limit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice

from asyncsim.ir import op as ops
from asyncsim.ir.decl import Mbarrier
from asyncsim.ir.schedule import Schedule
from asyncsim.stream import BarrierKey, Program

_MOST_OPS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """``parity``: None of a wait by state; ``index``: innermost loop variable; ``generation``: the
    one that was waited for, None if the loop index does not tell; ``state``: the raw 64 bits of the
    mbarrier (opaque; an H200 lets software read zeros)."""

    op_id: int
    role: str
    warp: int
    cta: int
    barrier: str
    parity: int | None
    index: int
    generation: int | None
    state: int
    where: str

    def __str__(self) -> str:
        raw = f"; mbarrier state {self.state:#018x}" if self.state else ""
        return (
            f"{self.role} (warp {self.warp}, CTA {self.cta}) waited too long at {self.where} for "
            f"{self.barrier}, {self._phase()}, loop index {self.index}{raw}"
        )

    def _phase(self) -> str:
        if self.parity is None:
            return "by state"
        if self.generation is None:
            return f"parity {self.parity}"
        return f"generation {self.generation} (parity {self.parity})"


def diagnose(schedule: Schedule, report: tuple[int, ...]) -> Diagnosis | None:
    """The diagnosis in a report buffer; None if no wait timed out."""
    if not report or not report[0]:
        return None
    _, op_id, address, parity, index, cta, warp, low, high, *_ = report
    role = schedule.role_of(warp)
    op = next((o for o in schedule.ops() if o.id == op_id), None)
    name = op.mbarrier.name if isinstance(op, ops.MbarrierWaitOp) else ""
    by_state = isinstance(op, ops.MbarrierWaitState)
    signed = index - (1 << 32) if index >> 31 else index
    return Diagnosis(
        op_id=op_id,
        role=role.name if role else "block",
        warp=warp,
        cta=cta,
        barrier=_barrier(schedule, name, address),
        parity=None if by_state else parity,
        index=signed,
        generation=None if by_state else _generation(schedule, cta, warp, op_id, signed, parity),
        state=low | high << 32,
        where=str(op.loc) if op is not None and op.loc else f"op #{op_id}",
    )


def _generation(
    schedule: Schedule, cta: int, warp: int, op_id: int, index: int, parity: int
) -> int | None:
    """The generation that the wait means, if the warp waits there with this index only once.

    The warp's waits on one barrier object observe its generations in order; one that starts with
    parity 1 observes the virtual generation -1 first. Who got which of the tiles that are handed
    out is not known.
    """
    if schedule.assigned:
        return None
    x, y, _ = schedule.grid
    block = (cta % x, cta // x % y, cta // (x * y))
    seen: Counter[BarrierKey] = Counter()
    found = []
    for dyn, indices in islice(Program(schedule).stream(block, warp), _MOST_OPS):
        if dyn.barrier is None or not isinstance(dyn.op, ops.MbarrierWait):
            continue
        if dyn.op.id == op_id and (indices[-1] if indices else 0) == index:
            count = seen[dyn.barrier]
            found.append(count - ((count + parity) & 1))
        seen[dyn.barrier] += 1
    return found[0] if len(found) == 1 else None


def _barrier(schedule: Schedule, name: str, address: int) -> str:
    """Name and stage. The dynamic block begins at a multiple of 1024 that the kernel does not tell;
    stages of one array are told apart by their low bits."""
    if not name:
        return "?"
    decl = next(b for b in schedule.of_kind(Mbarrier) if b.name == name)
    stage = ((address - decl.offset) & 1023) // 8
    return f"{name}[{stage}]"
