"""What may not be left at the end of a kernel: copies in flight, phases that do not add up."""

from __future__ import annotations

from asyncsim.check.barrier import Barrier
from asyncsim.check.deadlock import uneven_bytes, uneven_rule
from asyncsim.check.describe import op_text
from asyncsim.check.execution import Execution
from asyncsim.check.model import Flight
from asyncsim.check.report import Condition, Fault
from asyncsim.ir.op import GroupKind
from asyncsim.rules import Rule


def check_exit(execution: Execution) -> None:
    """Report what a finished execution leaves behind."""
    execution.peers.check_exits()
    execution.tcgen05.check_exit()
    for b in execution.barriers.by_key.values():
        if b.last_landing is not None and b.last_landing[0] > b.observed:
            step = b.last_landing[1]
            execution.fault(
                Fault(
                    rule=Rule.OUTSTANDING_AT_EXIT,
                    message=f"nobody waits for {op_text(step.dyn)}: the kernel may end before it",
                    step=step,
                    name=b.key.name,
                )
            )
        _bytes(execution, b)
        _unconsumed(execution, b)
        if b.last_tracked is not None and b.last_tracked[0] > b.observed:
            step = b.last_tracked[1]
            message = f"nobody waits for the copies that {op_text(step.dyn)} tracks"
            rule, name = Rule.OUTSTANDING_AT_EXIT, b.key.name
            execution.fault(Fault(rule=rule, message=message, step=step, name=name, warning=True))
    for unawaited in execution.named.unawaited():
        execution.fault(unawaited)
    uneven = execution.registers.uneven()
    if uneven is not None:
        execution.fault(uneven)
    short = execution.registers.short()
    if short is not None:
        execution.breach(short)
    for warp in execution.warps:
        for chain in (warp.elected, warp.others):
            for kind, queue in chain.queues.items():
                for member in queue.open:
                    _left(execution, member, kind)
                for group in queue.pending():
                    for member in group:
                        _left(execution, member, kind)
    for flight in execution.tracked.untracked() if execution.tracked is not None else ():
        _left(execution, flight, GroupKind.CP_ASYNC)
    for warpgroup in {id(g): g for g in execution.tensor.groups.values()}.values():
        for record in warpgroup.groups.values():
            for flight in record.flights:
                _left(execution, flight, GroupKind.WGMMA)
        for flight in warpgroup.open:
            _left(execution, flight, GroupKind.WGMMA)


def _bytes(execution: Execution, b: Barrier) -> None:
    """Condition B at the end: bytes left over on a phase, or announced and copied unequally."""
    left = execution.barriers.leftovers(b)
    if left is not None:
        execution.breach(left)
    early = [
        breach
        for breach in execution.report.breaches.values()
        if breach.array == b.key.name and breach.condition in (Condition.A, Condition.E)
    ]
    if (left is not None and b.state.tx < 0) or (early and b.landed > b.expected):
        step = (left or early[0]).step
        execution.fault(
            Fault(rule=uneven_rule(b), message=uneven_bytes(b), step=step, name=b.key.name)
        )


def _unconsumed(execution: Execution, b: Barrier) -> None:
    """An arrival in a phase whose predecessor no wait has observed until the end."""
    last = max(b.last_arrivals.values(), key=lambda a: a.generation, default=None)
    if last is not None and b.observed < last.generation - 1:
        message = (
            f"arrives on phase {last.generation} of {b.key} although nobody has observed the phase "
            "before"
        )
        rule, name = Rule.UNCONSUMED_PHASE, b.key.name
        execution.fault(Fault(rule=rule, message=message, step=last.step, name=name, warning=True))


def _left(execution: Execution, member: object, kind: GroupKind) -> None:
    """A copy that no wait has covered."""
    assert isinstance(member, Flight)
    if member.retired is not None or member.source_read is not None or member.tracked is not None:
        return
    what = op_text(member.step.dyn)
    region = member.touches[0].access.region
    name = getattr(region, "name", getattr(region, "tensor", ""))
    if member.commit is None and kind is not GroupKind.WGMMA:
        rule, message = Rule.UNCOMMITTED_COPY, f"{what} is never committed, and never waited for"
    else:
        rule, message = Rule.OUTSTANDING_AT_EXIT, f"the kernel ends while {what} may be in flight"
    # the hardware keeps shared memory alive under cp.async; the copy is useless, not harmful
    harmless = kind is GroupKind.CP_ASYNC
    repair = "add k.wgmma.wait_group(0) after the last group" if kind is GroupKind.WGMMA else ""
    execution.fault(
        Fault(
            rule=rule,
            message=message,
            step=member.step,
            name=name,
            warning=harmless,
            repair=repair,
        )
    )
