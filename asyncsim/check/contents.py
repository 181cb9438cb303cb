"""Registers that hold nothing: read, stored or accumulated onto before anything was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from asyncsim.check.describe import op_text
from asyncsim.check.model import Chain, Step, Touch
from asyncsim.check.report import Fault
from asyncsim.ir.op import BulkSend, RedAsync, ReduceOp
from asyncsim.memory.region import RegisterRegion
from asyncsim.rules import Rule


def reduction(step: Step) -> ReduceOp | None:
    """What an op does with the element that it finds in shared memory; None: it replaces it."""
    op = step.dyn.op
    return op.reduce if isinstance(op, BulkSend | RedAsync) else None


def commute(x: Touch, y: Touch) -> bool:
    """Two reductions by one operator: any order gives the same."""
    how = reduction(x.step)
    return how is not None and how is reduction(y.step) and x.access.write and y.access.write


def use_registers(
    chains: Iterable[Chain],
    step: Step,
    reads: Iterable[RegisterRegion],
    writes: Iterable[RegisterRegion],
    fault: Callable[[Fault], None],
) -> None:
    """An op of these observers reads registers, then writes some."""
    for chain in chains:
        for region in reads:
            if region.mask & ~chain.written.get(region.name, 0):
                fault(_unwritten(step, region, chain))
        for region in (*reads, *writes):  # one finding: what follows from it is none
            chain.written[region.name] = chain.written.get(region.name, 0) | region.mask


def _unwritten(step: Step, region: RegisterRegion, chain: Chain) -> Fault:
    unset = region.mask & ~chain.written.get(region.name, 0)
    some = "" if unset == region.mask else "some of "
    return Fault(
        rule=Rule.USE_BEFORE_INIT,
        message=f"{op_text(step.dyn)} reads {some}{region.name}, which nothing has written",
        step=step,
        name=region.name,
        missing="a write of the registers before",
        repair="load or compute the registers first; the first wgmma of a sum takes accumulate=0",
        registers=True,
    )
