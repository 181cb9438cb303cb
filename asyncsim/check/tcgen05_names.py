"""From a clash of tcgen05 ops to the rule that it breaks, and what would order the pair."""

from __future__ import annotations

from asyncsim.check.classify import Named
from asyncsim.check.describe import op_text
from asyncsim.check.model import Step, Touch
from asyncsim.check.report import Clash, Reason
from asyncsim.ir import op as ops
from asyncsim.memory.region import TmemRegion
from asyncsim.rules import Rule, Severity

_READS_SMEM = (ops.Tcgen05Mma, ops.Tcgen05Cp)


def name_tcgen05(clash: Clash) -> Named | None:
    """The rule of a clash; None if it is one of ordinary accesses."""
    x, y = clash.earlier, clash.later
    if isinstance(x.access.region, TmemRegion):
        if isinstance(y.step.dyn.op, ops.Tcgen05Dealloc):
            return _freed(clash)
        return _unordered(clash) if clash.reason is Reason.RACE else _unfenced(clash)
    pair = x.step.dyn.op, y.step.dyn.op
    if any(isinstance(o, ops.Tcgen05Alloc) for o in pair):
        return _address(clash)
    if isinstance(pair[0], _READS_SMEM) and y.access.write and not clash.narrow:
        return _operand(clash) if clash.reason is Reason.RACE else _unbridged(clash)
    return None


def _named(
    clash: Clash,
    rule: Rule,
    message: str,
    missing: str,
    repair: str,
    culprit: Step,
    *,
    warning: bool = False,
) -> Named:
    x, y = clash.earlier, clash.later
    reader = y if x.access.write and not y.access.write else x
    return Named(
        rule=rule,
        severity=Severity.WARNING if warning else Severity.ERROR,
        message=message,
        missing=missing,
        repair=repair,
        culprit=culprit,
        reader=reader.step,
    )


def _completion(clash: Clash) -> tuple[str, str]:
    """What would tell that the earlier op is over, and what to write for it."""
    x = clash.earlier
    match x.step.dyn.op:
        case ops.Tcgen05Ld():
            missing, repair = "tcgen05.wait::ld", "k.tcgen05.wait_ld()"
        case ops.Tcgen05St():
            missing, repair = "tcgen05.wait::st", "k.tcgen05.wait_st()"
        case _ if clash.committed:
            return (
                "a wait for the mbarrier of the commit that covers it",
                "wait for the mbarrier that tcgen05.commit arrives on",
            )
        case _:
            return (
                "a tcgen05.commit by the same thread, and a wait for its mbarrier",
                "add k.tcgen05.commit(barrier) after it, and wait for the barrier",
            )
    if clash.committed:
        return "an edge between them", "signal after the access, and wait for the signal"
    return missing, f"add {repair} after it"


def _unordered(clash: Clash) -> Named:
    x, y = clash.earlier, clash.later
    first, second, name = op_text(x.step.dyn), op_text(y.step.dyn), clash.name
    missing, repair = _completion(clash)
    if not y.access.write:
        message = f"{second} reads {name} without being ordered after {first}"
        return _named(clash, Rule.READ_BEFORE_ARRIVAL, message, missing, repair, y.step)
    if x.access.write:
        message = f"{first} and {second} write {name} in no order"
        return _named(clash, Rule.WRITE_WRITE_RACE, message, missing, repair, y.step)
    message = f"{second} overwrites {name} while {first} may still read it"
    kept = _kept_in_practice(x, y)
    if kept:
        message += "; PTX does not keep the two in order, though much production code relies on it"
    return _named(clash, Rule.WRITE_BEFORE_RELEASE, message, missing, repair, x.step, warning=kept)


def _kept_in_practice(x: Touch, y: Touch) -> bool:
    """A cp of the thread that issued the mma, over operands that the mma reads."""
    mma = isinstance(x.step.dyn.op, ops.Tcgen05Mma) and isinstance(y.step.dyn.op, ops.Tcgen05Cp)
    return mma and x.step.warp is y.step.warp


def _unfenced(clash: Clash) -> Named:
    x, y = clash.earlier, clash.later
    before = clash.reason is Reason.BEFORE_FENCE
    side = "before" if before else "after"
    place = (
        f"after {op_text(x.step.dyn)}, before the signal"
        if before
        else f"after the wait, before {op_text(y.step.dyn)}"
    )
    return _named(
        clash,
        Rule.MISSING_TCGEN05_FENCE,
        f"{op_text(y.step.dyn)} comes after {op_text(x.step.dyn)} on {clash.name}, without "
        f"tcgen05.fence::{side}_thread_sync between them",
        f"tcgen05.fence::{side}_thread_sync {place}",
        f"add k.tcgen05.fence_{side}_thread_sync() {side} the {'signal' if before else 'wait'}",
        x.step if before else y.step,
    )


def _freed(clash: Clash) -> Named:
    x, y = clash.earlier, clash.later
    missing, repair = _completion(clash)
    return _named(
        clash,
        Rule.TMEM_DEALLOC,
        f"{op_text(y.step.dyn)} frees {clash.name} while {op_text(x.step.dyn)} may still use it",
        missing + ", before the dealloc",
        repair + ", before the dealloc",
        y.step,
    )


def _address(clash: Clash) -> Named | None:
    """The address of an allocation is read and written like any other word."""
    x, y = clash.earlier, clash.later
    alloc, use = (x, y) if isinstance(x.step.dyn.op, ops.Tcgen05Alloc) else (y, x)
    if isinstance(use.step.dyn.op, ops.Tcgen05Alloc) or not isinstance(
        use.step.dyn.op, ops.Tcgen05Op
    ):
        return None
    return _named(
        clash,
        Rule.TMEM_ALLOC,
        f"{op_text(use.step.dyn)} takes its address from {clash.name} without being ordered "
        + ("after " if alloc is x else "before ")
        + op_text(alloc.step.dyn),
        "a barrier between tcgen05.alloc and the first use of its address",
        "add k.bar.sync() after the alloc",
        alloc.step,
    )


def _operand(clash: Clash) -> Named:
    x, y = clash.earlier, clash.later
    missing, repair = _completion(clash)
    return _named(
        clash,
        Rule.OPERAND_IN_FLIGHT,
        f"{op_text(y.step.dyn)} overwrites {clash.name} while {op_text(x.step.dyn)} may still "
        "read it",
        missing + ", before the overwrite",
        repair,
        y.step,
    )


def _unbridged(clash: Clash) -> Named:
    """Completion of an mma makes its reads no part of the generic proxy."""
    x, y = clash.earlier, clash.later
    return _named(
        clash,
        Rule.PROXY_WAR,
        f"{clash.name} is read by {op_text(x.step.dyn)} through the async proxy and then "
        f"overwritten by {op_text(y.step.dyn)}, ordered but not fenced",
        "fence.proxy.async after the wait for the commit, before the overwrite",
        'add k.fence.proxy_async("shared") after the wait',
        y.step,
        warning=True,
    )
